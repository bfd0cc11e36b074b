"""Validation rows of boosting: set aside or given, with their weights, and scores on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.boosting.scorers import is_scorer, scorer_function
from polyleaf.data import BinnedData, Targets, align_targets
from polyleaf.metrics import METRICS, Metric

#: A stream of chance for the rows that are set aside.
_SPLIT_STREAM = 2**32 + 1


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows that are not trained on.

    Attributes
    ----------
    encoded : ndarray or csr_array of shape (n_rows, n_features)
    targets : Targets
    sample_weight : ndarray of shape (n_rows,) or (n_rows, n_channels), or None
        As they were given.
    weights : ndarray of shape (n_rows,) or (n_rows, n_channels), or None
        Those of the loss: times the weights of classes.
    """

    encoded: Any
    targets: Targets
    sample_weight: NDArray[np.float64] | None
    weights: NDArray[np.float64] | None


def set_aside(
    targets: Targets,
    weights: NDArray[np.float64] | None,
    fraction: float,
    entropy: Sequence[int],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the rows to train on and those to validate on, both ascending.

    A row without weight or observed output validates nothing: it stays with the others.

    Parameters
    ----------
    targets : Targets
    weights : ndarray of shape (n_rows,) or (n_rows, n_channels), or None
    fraction : float
        Share of the rows that count.
    entropy : sequence of int
        The seed.
    """
    n_rows = targets.values.shape[0]
    counts = np.ones((n_rows, 1), np.bool_) if targets.observed is None else targets.observed
    if weights is not None:
        counts = counts & (weights > 0 if weights.ndim == 2 else weights[:, None] > 0)
    rows = np.flatnonzero(counts.any(axis=1))
    n_aside = int(np.ceil(fraction * rows.size))
    if n_aside >= rows.size:
        raise ValueError(
            f"early_stopping=True sets {n_aside} of {rows.size} rows with a weight and an "
            "observed output aside, which leaves none to train on. Give more rows, an eval_set, "
            "or early_stopping=False."
        )
    order = np.random.default_rng([*entropy, _SPLIT_STREAM]).permutation(rows.size)
    aside = np.zeros(n_rows, np.bool_)
    aside[rows[order[:n_aside]]] = True
    return np.flatnonzero(~aside), np.flatnonzero(aside)


def read_eval_set(estimator: Any, data: BinnedData, targets: Targets, eval_set: Any) -> HeldOut:
    """Read the validation rows that were given.

    Parameters
    ----------
    estimator : BoostingEstimator
    data : BinnedData
    targets : Targets
        Those of the training rows.
    eval_set : tuple (X, y) or (X, y, sample_weight)
    """
    if not isinstance(eval_set, tuple) or len(eval_set) not in (2, 3):
        raise ValueError(
            "eval_set must be a pair (X, y), or (X, y, sample_weight); got "
            f"{type(eval_set).__name__}. For early stopping on training rows leave it out."
        )
    encoded = _encoded(estimator, data, eval_set[0])
    read = estimator._ingest_targets(eval_set[1], encoded.shape[0])
    aligned = align_targets(read, targets.schema)
    given = estimator._read_weights(eval_set[2] if len(eval_set) == 3 else None, aligned)
    return HeldOut(encoded, aligned, given, estimator._loss_weights(given, aligned, targets))


def _encoded(estimator: Any, data: BinnedData, X: Any) -> Any:
    """Encode validation rows as the training rows were."""
    if not isinstance(X, BinnedData):
        return data.schema.encode(X, estimator_name=type(estimator).__name__)
    if X.schema.to_json() != data.schema.to_json():
        raise ValueError(
            "The BinnedData of eval_set has other columns or categories than X. Give the rows of "
            "eval_set as they were read: they are encoded like X."
        )
    return X.encoded


def score_function(
    estimator: Any, held_out: HeldOut, training: Targets
) -> Callable[[NDArray[np.float32]], float]:
    """Make the function from raw predictions of validation rows to a score; larger is better.

    Parameters
    ----------
    estimator : BoostingEstimator
        Whose `eval_metric` it is.
    held_out : HeldOut
    training : Targets
    """
    metric, kind = estimator.eval_metric, held_out.targets.schema.kind
    truth = estimator._truth(held_out.targets)
    weights = held_out.sample_weight
    given = {} if weights is None or weights.ndim == 2 else {"sample_weight": weights}
    if is_scorer(metric) or (isinstance(metric, str) and metric not in METRICS):
        return scorer_function(metric, estimator, held_out.targets, truth, given)
    if not isinstance(metric, str | Metric):
        needs = "values" if kind == "regression" else "labels"
        return lambda raw: float(metric(truth, estimator._shown(raw, needs)))
    known = METRICS[metric] if isinstance(metric, str) else metric
    if known.task != kind:
        names = sorted(name for name, other in METRICS.items() if other.task == kind)
        raise ValueError(
            f"eval_metric={known.name!r} is for {known.task} problems; y is {kind}. Use "
            f"{' or '.join(map(repr, names[:3] or ['accuracy', 'neg_log_loss']))}, the name of "
            "another scorer of scikit-learn, or a callable."
        )
    sign = 1.0 if known.greater_is_better else -1.0
    function = known.prepare(estimator._truth(training))
    return lambda raw: sign * float(function(truth, estimator._shown(raw, known.needs), **given))
