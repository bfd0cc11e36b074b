"""What may change between a boosted model and one that goes on from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from polyleaf import projections
from polyleaf.boosting.model import BoostedTrees
from polyleaf.data import BinnedData, Targets
from polyleaf.losses import Loss

#: Names that the leaves of a model can be fitted under.
_LEAF_FITS = {"dense": ("relabel",), "linear": ("linear",), "single": ("relabel", "linear")}


def check_goes_on(estimator: Any, data: BinnedData, targets: Targets, loss: Loss) -> None:
    """Raise a ValueError if new rounds would not go with those that are there.

    Parameters
    ----------
    estimator : BoostingEstimator
        Fitted.
    data : BinnedData
    targets : Targets
    loss : Loss
    """
    n_there = estimator.n_estimators_
    if estimator.n_estimators < n_there:
        raise ValueError(
            f"n_estimators must be at least {n_there}, the number of rounds that are there, if "
            f"warm_start=True; got {estimator.n_estimators}."
        )
    is_same = (
        data.schema.to_json() == estimator._features.to_json()
        and targets.schema.to_json() == estimator._targets.to_json()
    )
    if not is_same:
        raise ValueError(
            "warm_start=True adds rounds for the columns of X and y (and classes) that the model "
            "was first fitted to; got others. Use warm_start=False to start anew."
        )
    baseline = estimator._model.baseline
    if targets.observed is not None:
        seen = np.repeat(targets.observed.any(axis=0), baseline.size // targets.schema.n_channels)
    else:
        seen = np.ones(baseline.size, np.bool_)
    if np.any(np.isnan(baseline) & seen):
        raise ValueError(
            "warm_start=True goes on from a model that never saw some of the outputs that are "
            "observed now. Use warm_start=False to start anew."
        )
    for name, before, now in _changes(estimator, loss):
        raise ValueError(
            f"warm_start=True adds rounds of the same kind; {name} was {before}, and is now "
            f"{now}. Set it back, or use warm_start=False to start anew."
        )


def _changes(estimator: Any, loss: Loss) -> list[tuple[str, str, str]]:
    """Find what is not as it was: name, value before, value now."""
    found = []
    if _plain(estimator._loss) != _plain(loss):
        found.append(("loss", repr(estimator._loss), repr(loss)))
    is_normalized = bool(getattr(estimator, "normalize_outputs", False))
    if estimator._is_normalized != is_normalized:
        found.append(("normalize_outputs", str(not is_normalized), str(is_normalized)))
    given = estimator.projection
    if not (isinstance(given, str) and given == "auto"):
        resolved = projections.resolve(given)
        if _plain(resolved) != _plain(estimator.projection_):
            found.append(("projection", repr(estimator.projection_), repr(resolved)))
    model = estimator._model
    has_trees = isinstance(model, BoostedTrees)
    if has_trees != (estimator.estimator is None):
        found.append(
            ("estimator", "None" if has_trees else "a regressor", repr(estimator.estimator))
        )
    elif isinstance(model, BoostedTrees) and estimator.leaf_fit not in _LEAF_FITS[model.kind]:
        found.append(("leaf_fit", repr(_LEAF_FITS[model.kind][0]), repr(estimator.leaf_fit)))
    return found


def _plain(value: Any) -> Any:
    """Give a value that can be compared: parameters of objects, and arrays as lists."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, BaseEstimator):
        parameters = value.get_params(deep=False)
        return type(value), {name: _plain(item) for name, item in parameters.items()}
    return value


def joined_history(
    old: Mapping[str, NDArray[np.float64]], n_kept: int, new: Mapping[str, Sequence[float]]
) -> dict[str, NDArray[np.float64]]:
    """Put learning curves one after the other: a number per round, NaN where there is none.

    Parameters
    ----------
    old : mapping of str to ndarray
    n_kept : int
        Rounds of the old model that were kept.
    new : mapping of str to sequence of float
    """
    n_new = len(new["train_loss"])
    names = [*new, *(name for name in old if name not in new)]
    return {
        name: np.concatenate(
            [
                old[name][:n_kept] if name in old else np.full(n_kept, np.nan),
                new[name] if name in new else np.full(n_new, np.nan),
            ]
        )
        for name in names
    }
