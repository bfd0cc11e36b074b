"""Losses by name: for the `loss` parameter and for model files."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.files.described import read_description, registered
from polyleaf.losses._base import Loss
from polyleaf.losses._classes import Softmax
from polyleaf.losses._examplewise import (
    ExamplewiseLogistic,
    ExamplewiseSquaredError,
    ExamplewiseSquaredHinge,
)
from polyleaf.losses._labels import Logistic, MarginLoss, SquaredHinge
from polyleaf.losses._per_output import LossPerOutput
from polyleaf.losses._quantile import AbsoluteError, Quantile
from polyleaf.losses._smooth import Huber, Poisson, SquaredError

LOSSES: dict[str, type[Loss]] = {
    "squared_error": SquaredError,
    "absolute_error": AbsoluteError,
    "huber": Huber,
    "quantile": Quantile,
    "poisson": Poisson,
    "logistic": Logistic,
    "softmax": Softmax,
    "examplewise_logistic": ExamplewiseLogistic,
    "squared_hinge": SquaredHinge,
    "examplewise_squared_hinge": ExamplewiseSquaredHinge,
    "examplewise_squared_error": ExamplewiseSquaredError,
}


def resolve(loss: str | Loss) -> Loss:
    """Return the loss that an estimator's `loss` parameter names.

    Parameters
    ----------
    loss : str or Loss
        A key of `LOSSES`, which stands for that class with its defaults, or an instance.

    Examples
    --------
    >>> resolve("huber")
    Huber()
    >>> resolve("hubber")
    Traceback (most recent call last):
        ...
    ValueError: loss must be one of 'squared_error', ... or a Loss; got 'hubber'.
    Did you mean 'huber'?
    """
    if isinstance(loss, Loss):
        loss.check_params()
        return loss
    if isinstance(loss, str):
        return _class_named(loss)()
    is_class = isinstance(loss, type) and issubclass(loss, Loss)
    hint = f" Did you mean {loss.__name__}()?" if is_class else ""
    raise TypeError(f"loss must be one of {_names()} or a Loss; got {shown(loss)}.{hint}")


def is_for(loss: Any, learner: str, task: str) -> bool:
    """Check whether a family can minimise the loss that a parameter names.

    Parameters
    ----------
    loss : object
        A name, an instance, or something else, which no family can.
    learner : {"boosting", "rules"}
    task : str
        Kind of targets. Rules score labels by margins, and take classes for labels.

    Examples
    --------
    >>> [is_for(name, "rules", "multilabel") for name in ("logistic", "softmax", "huber")]
    [True, False, False]
    """
    if isinstance(loss, str) and loss in LOSSES:
        loss = LOSSES[loss]()
    elif isinstance(loss, Loss):
        loss.check_params()
    else:
        return False
    if learner not in loss.learners or task not in loss.tasks:
        return False
    has_margins = loss.is_of_margins or loss.margin_form is not None
    return has_margins or (learner, task) != ("rules", "multilabel")


def resolve_margin_loss(loss: str | Loss) -> MarginLoss:
    """Return the loss of margins that a `loss` parameter names, if `is_for` allows it.

    Parameters
    ----------
    loss : str or Loss

    Examples
    --------
    >>> resolve_margin_loss("logistic"), resolve_margin_loss("squared_error")
    (Logistic(), SquaredMargin())
    """
    given = resolve(loss)
    return cast("MarginLoss", given if given.is_of_margins else given.margin_form)


def to_json(loss: Loss) -> dict[str, Any]:
    """Describe a registered loss in JSON's types, for a model file.

    Parameters
    ----------
    loss : Loss
        An instance of one of the classes in `LOSSES`, or a `LossPerOutput` of some.

    Examples
    --------
    >>> to_json(Huber(delta=2.0))
    {'name': 'huber', 'params': {'delta': 2.0}}
    """
    if isinstance(loss, LossPerOutput):
        scales = None if loss.scales is None else [float(scale) for scale in loss.scales]
        return {"per_output": [to_json(part) for part in loss.parts], "scales": scales}
    names = {cls: name for name, cls in LOSSES.items()}
    if type(loss) not in names:
        raise TypeError(
            f"A model file can hold the losses {_names()}; got "
            f"{shown(loss)}. Register its class in "
            "polyleaf.losses.LOSSES, before saving and before loading."
        )
    params = {
        key: value.tolist() if isinstance(value, np.generic | np.ndarray) else value
        for key, value in loss.get_params(deep=False).items()
    }
    return {"name": names[type(loss)], "params": params}


def from_json(description: Any) -> Loss:
    """Make the loss that :func:`to_json` described.

    Parameters
    ----------
    description : dict
        With exactly the keys "name", one of `LOSSES`, and "params", a dict with exactly the
        parameters of that class; or with "per_output", a list of those, and "scales". Anything
        else is a ValueError.

    Examples
    --------
    >>> from_json({"name": "quantile", "params": {"quantile": [0.1, 0.9]}})
    Quantile(quantile=[0.1, 0.9])
    """
    loss: Loss
    if isinstance(description, dict) and set(description) == {"per_output", "scales"}:
        return _per_output(description["per_output"], description["scales"])
    loss, params = read_description(description, "loss", _stored_class)
    loss.set_params(**params)
    loss.check_params()
    return loss


def _per_output(stored: Any, scales: Any) -> LossPerOutput:
    if not isinstance(stored, list) or not all(
        isinstance(part, dict) and "per_output" not in part for part in stored
    ):
        raise ValueError(f"Expected a loss per output; got {shown(stored, 80)}.")
    if scales is not None and not (
        isinstance(scales, list) and all(type(scale) in (int, float) for scale in scales)
    ):
        raise ValueError(f"Expected a scale per output; got {shown(scales, 80)}.")
    loss = LossPerOutput([from_json(part) for part in stored], scales)
    loss.check_params()
    return loss


def _stored_class(name: str) -> Any:
    return registered(name, LOSSES, "loss", "polyleaf.losses.LOSSES")


def _class_named(name: str) -> type[Loss]:
    if name in LOSSES:
        return LOSSES[name]
    hint = did_you_mean(name, LOSSES)
    raise ValueError(f"loss must be one of {_names()} or a Loss; got {shown(name)}.{hint}")


def _names() -> str:
    return ", ".join(map(repr, LOSSES))
