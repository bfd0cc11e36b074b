"""Projections by name: for the `projection` parameter and for model files."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.files.described import read_description, registered
from polyleaf.projections._base import Projection
from polyleaf.projections._gradient_outputs import GradientSampling, TopOutputs
from polyleaf.projections._pca import PCA
from polyleaf.projections._random import (
    Achlioptas,
    Gaussian,
    Hadamard,
    Rademacher,
    SparseRademacher,
)
from polyleaf.projections._selection import Adaptive, Identity, RoundRobin, Subsample
from polyleaf.projections._transformer import FromTransformer

PROJECTIONS: dict[str, type[Projection]] = {
    "identity": Identity,
    "gaussian": Gaussian,
    "rademacher": Rademacher,
    "achlioptas": Achlioptas,
    "sparse_rademacher": SparseRademacher,
    "hadamard": Hadamard,
    "subsample": Subsample,
    "pca": PCA,
    "top_outputs": TopOutputs,
    "gradient_sampling": GradientSampling,
    "adaptive": Adaptive,
    "round_robin": RoundRobin,
}


def resolve(projection: str | Projection | None) -> Projection | None:
    """Return the projection that an estimator's `projection` parameter names.

    Parameters
    ----------
    projection : str, Projection or None
        A key of `PROJECTIONS`, which stands for that class with its defaults; an instance,
        which is returned; a scikit-learn transformer, which is wrapped in `FromTransformer`; or
        None, no projection.

    Returns
    -------
    Projection or None

    Examples
    --------
    >>> resolve("gaussian")
    Gaussian()
    >>> resolve("gausian")
    Traceback (most recent call last):
        ...
    ValueError: projection must be one of 'identity', 'gaussian', ...
    or a Projection; got 'gausian'. Did you mean 'gaussian'?
    """
    if projection is None or isinstance(projection, Projection):
        return projection
    if isinstance(projection, str):
        return _class_named(projection)()
    if not isinstance(projection, type) and hasattr(projection, "fit_transform"):
        return FromTransformer(projection)
    hint = ""
    if isinstance(projection, type) and issubclass(projection, Projection):
        hint = f" Did you mean {projection.__name__}()?"
    raise TypeError(
        f"projection must be None, one of {_names()} or a Projection; got "
        f"{shown(projection)}.{hint}"
    )


def to_json(projection: Projection) -> dict[str, Any]:
    """Describe a registered projection in JSON's types, for a model file.

    Parameters
    ----------
    projection : Projection
        An instance of one of the classes in `PROJECTIONS`, with valid parameters.

    Returns
    -------
    dict
        With the keys "name" and "params".

    Examples
    --------
    >>> from polyleaf.projections import Gaussian
    >>> to_json(Gaussian(n_components=0.5))
    {'name': 'gaussian', 'params': {'n_components': 0.5}}
    """
    names = {cls: name for name, cls in PROJECTIONS.items()}
    if type(projection) not in names:
        raise TypeError(
            f"A model file can hold the projections {_names()}; got "
            f"{shown(projection)}. Register its "
            "class in polyleaf.projections.PROJECTIONS, before saving and before loading."
        )
    projection.check_params()
    params = {
        key: _value_to_json(value) for key, value in projection.get_params(deep=False).items()
    }
    return {"name": names[type(projection)], "params": params}


def from_json(description: Any) -> Projection:
    """Make the projection that :func:`to_json` described.

    Parameters
    ----------
    description : dict
        With exactly the keys "name", one of `PROJECTIONS`, and "params", a dict with exactly
        the parameters of that class. Anything else is a ValueError.

    Returns
    -------
    Projection

    Examples
    --------
    >>> from_json({"name": "gaussian", "params": {"n_components": 5}})
    Gaussian(n_components=5)
    """
    projection: Projection
    projection, params = read_description(description, "projection", _stored_class)
    candidates = params.get("candidates")
    if candidates is not None:
        if not isinstance(candidates, list):
            raise ValueError(f"Stored candidates must be a list; got {shown(candidates, 80)}.")
        params = params | {"candidates": [from_json(stored) for stored in candidates]}
    projection.set_params(**params)
    projection.check_params()
    return projection


def _value_to_json(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_value_to_json(item) for item in value]
    if isinstance(value, Projection):
        return to_json(value)
    return value.item() if isinstance(value, np.generic) else value


def _stored_class(name: str) -> Any:
    return registered(name, PROJECTIONS, "projection", "polyleaf.projections.PROJECTIONS")


def _class_named(name: str) -> type[Projection]:
    """Look up a projection class; suggest the nearest name if there is none."""
    if name in PROJECTIONS:
        return PROJECTIONS[name]
    hint = did_you_mean(name, PROJECTIONS)
    raise ValueError(
        f"projection must be one of {_names()} or a Projection; got {shown(name)}.{hint}"
    )


def _names() -> str:
    return ", ".join(map(repr, PROJECTIONS))
