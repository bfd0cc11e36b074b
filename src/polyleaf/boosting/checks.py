"""Which parameters of boosting go together, and what a warm start may change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from polyleaf import projections
from polyleaf.boosting.booster import BoostingSettings
from polyleaf.boosting.model import BoostedTrees
from polyleaf.checks import memory
from polyleaf.checks.numbers import shown
from polyleaf.checks.warning import warn_user
from polyleaf.data import FeatureSchema, Targets, TrainingData
from polyleaf.losses import Loss

if TYPE_CHECKING:
    from polyleaf.boosting.fitted import FittedBoosting

#: Raw predictions beyond this many bytes are kept in factored form where that is possible.
LARGEST_RAW_BYTES = 2**31

#: Names that the leaves of a model can be fitted under.
_LEAF_FITS = {"dense": ("relabel",), "linear": ("linear",), "single": ("relabel", "linear")}


@dataclass(frozen=True)
class BoostingProgress:
    """How far boosting has come, for callbacks.

    Attributes
    ----------
    n_estimators : int
        Number of rounds so far, those of an earlier fit included.
    train_loss : float
        Mean loss of the training rows.
    validation_loss : float or None
        Mean loss of the validation rows.
    validation_score : float or None
        The metric that was asked for, on the validation rows.
    """

    n_estimators: int
    train_loss: float
    validation_loss: float | None = None
    validation_score: float | None = None


@dataclass(frozen=True)
class StoppingRule:
    """When to stop: after so many rounds without anything better.

    Attributes
    ----------
    n_iter_no_change : int or None
        None: never.
    tolerance : float
        By how much the loss or score must get better to count, relative to its size.
    """

    n_iter_no_change: int | None = None
    tolerance: float = 1e-7


Callback = Callable[[BoostingProgress], Any]


def as_callbacks(callbacks: Callback | Sequence[Callback] | None) -> Sequence[Callback]:
    """Take one callback, several or none."""
    if callbacks is None:
        return ()
    several = [callbacks] if callable(callbacks) else list(callbacks)
    for callback in several:
        if not callable(callback):
            raise TypeError(
                f"callbacks must be a function of the progress, or several; got "
                f"{shown(callback, 80)}."
            )
    return several


def resolved_leaf_values(leaf_values: str, loss: Loss) -> str:
    """Tell what 'auto' stands for: Newton steps, or exact values where there is no curvature."""
    if leaf_values != "auto":
        return leaf_values
    return "exact" if loss.hessian == "none" else "newton"


def check_combinations(
    estimator: Any, settings: BoostingSettings, features: FeatureSchema, targets: Targets
) -> None:
    """Raise a ValueError if parameters, loss and targets do not go together."""
    kind, loss = targets.schema.kind, settings.loss
    if "boosting" not in loss.learners:
        raise ValueError(
            f"loss={estimator.loss!r} is for {', '.join(sorted(loss.learners))}, not for "
            "boosting. Use another loss."
        )
    if kind not in loss.tasks:
        raise ValueError(
            f"loss={estimator.loss!r} is for {', '.join(sorted(loss.tasks))} targets; y is "
            f"{kind}. Use another loss."
        )
    if estimator.leaf_values == "newton" and loss.hessian == "none":
        raise ValueError(
            f"leaf_values='newton' needs a loss with second derivatives; {loss!r} has none. Use "
            "'exact', 'gradient' or 'auto'."
        )
    if estimator.leaf_values == "exact" and not loss.decomposable:
        raise ValueError(
            f"leaf_values='exact' needs a loss that adds up over outputs; {loss!r} does not. Use "
            "'newton', 'gradient' or 'auto'."
        )
    if estimator.monotonic_cst is not None and estimator.leaf_fit == "linear":
        raise ValueError(
            "monotonic_cst cannot be kept with leaf_fit='linear', because an output may follow a "
            "tree with the opposite sign. Use leaf_fit='relabel'."
        )
    if estimator.monotonic_cst is not None and kind.startswith("multiclass"):
        raise ValueError(
            "monotonic_cst cannot be kept for more than two classes, whose probabilities cannot "
            "all rise; y is multi-class. Give one binary label per class, or no constraint."
        )
    if estimator.estimator is not None:
        _check_weak_models(estimator, features)
    if (
        settings.n_values > 1
        and estimator.eval_metric is not None
        and not callable(estimator.eval_metric)
    ):
        raise ValueError(
            f"eval_metric={estimator.eval_metric!r} compares one prediction per output; {loss!r} "
            "gives several. Use a callable, or None for the loss itself."
        )
    if not is_factored(estimator, settings, targets):
        _check_memory(estimator, settings, targets)


def is_factored(estimator: Any, settings: BoostingSettings, targets: Targets) -> bool:
    """Whether a model is boosted without raw predictions of all rows, because they are many."""
    is_possible = (
        settings.is_squared_error
        and estimator.leaf_fit == "linear"
        and targets.schema.is_sparse
        and estimator.estimator is None
    )
    return is_possible and _raw_bytes(settings, targets) > LARGEST_RAW_BYTES


def _raw_bytes(settings: BoostingSettings, targets: Targets) -> int:
    """Count the bytes of raw predictions of all training rows."""
    n_rows, n_channels = targets.values.shape
    return int(4 * n_rows * n_channels * settings.n_values)


def _check_memory(estimator: Any, settings: BoostingSettings, targets: Targets) -> None:
    """Refuse what does not fit: targets, raw predictions and gradients of all rows."""
    needed = 3 * _raw_bytes(settings, targets)
    if needed < memory.SMALL_BYTES:
        return
    n_rows, n_channels = targets.values.shape
    advice = "Boost fewer rows or outputs, or use a forest, whose leaves hold training rows."
    if targets.schema.is_sparse:
        advice = (
            "With loss='squared_error' and leaf_fit='linear' they are kept in factored form; or "
            "use a forest, whose leaves hold training rows."
        )
    memory.check_memory(
        needed,
        f"Boosting with loss={estimator.loss!r} keeps targets, raw predictions and gradients of "
        f"{n_rows} rows and {n_channels} outputs:",
        advice,
    )


def _check_weak_models(estimator: Any, features: FeatureSchema) -> None:
    """Refuse what needs leaves, and warn where codes would be taken for numbers."""
    projection = estimator.projection
    has_view = projection is not None and not (
        isinstance(projection, str) and projection == "auto"
    )
    if has_view and estimator.leaf_fit == "relabel":
        raise ValueError(
            "estimator has no leaves to be relabelled after it was fitted to a projection. Use "
            "leaf_fit='linear', or projection=None."
        )
    if estimator.monotonic_cst is not None:
        raise ValueError("monotonic_cst is for trees; got an estimator.")
    if features.is_categorical.any() and not isinstance(estimator.estimator, Pipeline):
        warn_user(
            f"{type(estimator.estimator).__name__} sees categories as their codes 0, 1, ...: put "
            "a scikit-learn pipeline with an encoder there, or boost trees.",
        )


def monotone_signs(monotonic_cst: Any, schema: FeatureSchema) -> NDArray[np.int8] | None:
    """Read the constraints of all features: -1, 0 or 1 each.

    Parameters
    ----------
    monotonic_cst : None, dict or array-like of int
    schema : FeatureSchema
    """
    if monotonic_cst is None:
        return None
    signs = np.zeros(schema.n_features, np.int8)
    if isinstance(monotonic_cst, dict):
        names = list(schema.names or [])
        for name, sign in monotonic_cst.items():
            if name not in names:
                raise ValueError(
                    f"monotonic_cst names the feature {name!r}; X has {names[:10] or 'no names'}."
                )
            signs[names.index(name)] = sign
    else:
        given = np.asarray(monotonic_cst)
        if given.shape != signs.shape:
            raise ValueError(
                f"monotonic_cst must have shape {signs.shape}, a number per feature; got "
                f"{given.shape}."
            )
        signs[:] = given
    wrong = np.flatnonzero((signs != 0) & schema.is_categorical)
    if wrong.size:
        raise ValueError(
            f"monotonic_cst needs features with an order; feature {wrong[0]} is categorical. Give "
            "it 0."
        )
    return signs if signs.any() else None


def check_goes_on(estimator: Any, old: FittedBoosting, data: TrainingData, loss: Loss) -> None:
    """Raise a ValueError if new rounds would not go with those that are there.

    Parameters
    ----------
    estimator : Boosting
    old : FittedBoosting
        What it has learnt so far.
    data : TrainingData
    loss : Loss
    """
    n_there, targets = old.n_rounds, data.targets
    if estimator.n_estimators < n_there:
        raise ValueError(
            f"n_estimators must be at least {n_there}, the number of rounds already trained, if "
            f"warm_start=True; got {estimator.n_estimators}."
        )
    is_same = (
        data.schema.to_json() == old.features.to_json()
        and targets.schema.to_json() == old.targets.to_json()
    )
    if not is_same:
        raise ValueError(
            "warm_start=True adds rounds for the columns of X and y (and classes) that the model "
            "was first fitted to; got others. Use warm_start=False to start again."
        )
    baseline = old.model.baseline
    if targets.observed is not None:
        seen = np.repeat(targets.observed.any(axis=0), baseline.size // targets.schema.n_channels)
    else:
        seen = np.ones(baseline.size, np.bool_)
    if np.any(np.isnan(baseline) & seen):
        raise ValueError(
            "warm_start=True goes on from a model that never saw some of the outputs that are "
            "observed now. Use warm_start=False to start again."
        )
    for name, before, now in _changes(estimator, old, loss):
        raise ValueError(
            f"warm_start=True adds rounds of the same kind; {name} was {before}, and is now "
            f"{now}. Set it back, or use warm_start=False to start again."
        )


def _changes(estimator: Any, old: FittedBoosting, loss: Loss) -> list[tuple[str, str, str]]:
    """Find what is not as it was: name, value before, value now."""
    found = []
    if _plain(old.reader.loss) != _plain(loss):
        found.append(("loss", repr(old.reader.loss), repr(loss)))
    is_normalized = bool(getattr(estimator, "normalize_outputs", False))
    if old.is_normalized != is_normalized:
        found.append(("normalize_outputs", str(not is_normalized), str(is_normalized)))
    given = estimator.projection
    if not (isinstance(given, str) and given == "auto"):
        resolved = projections.resolve(given)
        if _plain(resolved) != _plain(old.projection):
            found.append(("projection", repr(old.projection), repr(resolved)))
    model = old.model
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
    old: FittedBoosting | None, new: Mapping[str, Sequence[Any]]
) -> dict[str, NDArray[np.float64]]:
    """Put learning curves one after the other: NaN for rounds that were not measured.

    Parameters
    ----------
    old : FittedBoosting or None
        Whose rounds were gone on from.
    new : mapping of str to sequence of float or ndarray of shape (n_outputs,)
    """
    before: Mapping[str, NDArray[np.float64]] = {} if old is None else old.history
    n_kept = 0 if old is None else old.n_rounds
    n_new = len(new["train_loss"])
    curves = {name: np.asarray(values) for name, values in new.items()}
    joined = {}
    for name in [*curves, *(name for name in before if name not in curves)]:
        shape = (curves[name] if name in curves else before[name]).shape[1:]
        parts = [
            before[name][:n_kept] if name in before else np.full((n_kept, *shape), np.nan),
            curves[name] if name in curves else np.full((n_new, *shape), np.nan),
        ]
        joined[name] = np.concatenate(parts)
    return joined
