"""Which parameters of boosting go together, and what they stand for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from polyleaf.boosting.loop import BoostingProgress
from polyleaf.checks.memory import check_memory
from polyleaf.data import FeatureSchema, Targets
from polyleaf.losses import Loss

#: Raw predictions beyond this many bytes are kept in factored form where that is possible.
LARGEST_RAW_BYTES = 2**31

Callback = Callable[[BoostingProgress], Any]


def as_callbacks(callbacks: Callback | Sequence[Callback] | None) -> Sequence[Callback]:
    """Take one callback, several or none."""
    if callbacks is None:
        return ()
    several = [callbacks] if callable(callbacks) else list(callbacks)
    for callback in several:
        if not callable(callback):
            raise TypeError(
                f"callbacks must be a function of the progress, or several; got {callback!r:.80}."
            )
    return several


def resolved_leaf_values(leaf_values: str, loss: Loss) -> str:
    """Tell what 'auto' stands for: Newton steps, or exact values where there is no curvature."""
    if leaf_values != "auto":
        return leaf_values
    return "exact" if loss.hessian == "none" else "newton"


def check_combinations(
    estimator: Any, loss: Loss, features: FeatureSchema, targets: Targets
) -> None:
    """Raise a ValueError if parameters, loss and targets do not go together."""
    kind = targets.schema.kind
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
    is_several = loss.n_values_per_output > 1
    if is_several and estimator.eval_metric is not None and not callable(estimator.eval_metric):
        raise ValueError(
            f"eval_metric={estimator.eval_metric!r} compares one prediction per output; {loss!r} "
            "gives several. Use a callable, or None for the loss itself."
        )
    if not is_factored(estimator, loss, targets):
        _check_memory(estimator, loss, targets)


def is_factored(estimator: Any, loss: Loss, targets: Targets) -> bool:
    """Whether a model is boosted without raw predictions of all rows, because they are many."""
    is_possible = (
        loss.is_squared_error
        and estimator.leaf_fit == "linear"
        and targets.schema.is_sparse
        and estimator.estimator is None
    )
    return is_possible and raw_bytes(loss, targets) > LARGEST_RAW_BYTES


def raw_bytes(loss: Loss, targets: Targets) -> int:
    """Count the bytes of raw predictions of all training rows."""
    n_raw = targets.schema.n_channels * loss.n_values_per_output
    return int(4 * targets.values.shape[0] * n_raw)


def _check_memory(estimator: Any, loss: Loss, targets: Targets) -> None:
    """Refuse what does not fit: targets, raw predictions and gradients of all rows."""
    needed = 3 * raw_bytes(loss, targets)
    n_rows, n_channels = targets.values.shape
    advice = "Boost fewer rows or outputs, or use a forest, whose leaves hold training rows."
    if targets.schema.is_sparse:
        advice = (
            "With loss='squared_error' and leaf_fit='linear' they are kept in factored form; or "
            "use a forest, whose leaves hold training rows."
        )
    check_memory(
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
        warnings.warn(
            f"{type(estimator.estimator).__name__} sees categories as their codes 0, 1, ...: put "
            "a scikit-learn pipeline with an encoder there, or boost trees.",
            UserWarning,
            stacklevel=6,
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
