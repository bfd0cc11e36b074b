"""Bootstrap bias corrected cross-validation (BBC-CV, Tsamardinos et al. 2018; Rapp et al. 2020).

Every setting of a method is trained on the training rows of every fold. The test rows of a fold
are then drawn with replacement, B times: `inside` is the score on the rows that were drawn,
`outside` that on the rows that were not. Choosing a setting by the first and judging it by the
second takes the optimism off the score of the best of many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.metrics import Metric

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CorrectedScore:
    """A score of a tuned method from the cross-validation that tuned it.

    Attributes
    ----------
    score : float
        The corrected estimate.
    low, high : float
        The middle 95 % of the bootstraps.
    optimistic : float
        The score of the best setting on the rows that chose it.
    settings : dict
        The best setting over all rows.

    Examples
    --------
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.experiments import compare
    >>> data = {"made": make_correlated_targets(120, 5, 4, random_state=0)}
    >>> result = compare(data, methods=["Tree"], metrics=["r2"], cv=2, bootstraps=50)
    >>> found = result.corrected("made", "Tree")
    >>> found.low < found.score < found.high
    True
    """

    score: float
    low: float
    high: float
    optimistic: float
    settings: dict[str, Any]


def bootstrap_scores(
    metric: Metric, Y_train: Any, Y: Any, predicted: Any, n_bootstraps: int, random_state: int
) -> dict[str, Any]:
    """Return the score of predictions, and of draws of their rows.

    Parameters
    ----------
    metric : Metric
    Y_train, Y : array or sparse matrix
        Of the training and the test rows.
    predicted : array or sparse matrix
        What the metric compares with Y.
    n_bootstraps : int
    random_state : int
        The same for all methods, so that they are judged on the same draws.

    Returns
    -------
    dict
        "score", and lists "inside" and "outside" of length n_bootstraps.
    """
    rng = np.random.default_rng(random_state)
    score = metric.prepare(Y_train)
    n = Y.shape[0]
    inside, outside = [], []
    for _ in range(n_bootstraps):
        drawn = np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64)
        inside.append(_number(score(Y, predicted, sample_weight=drawn)))
        outside.append(_number(score(Y, predicted, sample_weight=(drawn == 0).astype(float))))
    return {"score": _number(score(Y, predicted)), "inside": inside, "outside": outside}


def corrected_score(
    folds: Sequence[Sequence[dict[str, Any]]], metric: Metric
) -> CorrectedScore | None:
    """Correct the score of the best setting.

    Parameters
    ----------
    folds : sequence of sequence of dict
        For each fold and setting, what :func:`bootstrap_scores` returned, and "settings".
    metric : Metric
        Which direction is better.

    Returns
    -------
    CorrectedScore or None
        None if there is nothing to choose from.
    """
    if not folds or not folds[0]:
        return None
    sign = 1.0 if metric.greater_is_better else -1.0
    plain = np.array([[s["score"] for s in fold] for fold in folds], dtype=np.float64)
    inside = _fold_mean([[s["inside"] for s in fold] for fold in folds])
    outside = _fold_mean([[s["outside"] for s in fold] for fold in folds])
    means = plain.mean(axis=0)
    if np.isnan(means).all() or inside.shape[1] == 0:
        return None
    best = int(np.nanargmax(sign * means))
    chosen = np.argmax(np.where(np.isnan(inside), -np.inf, sign * inside), axis=0)
    estimates = outside[chosen, np.arange(outside.shape[1])]
    estimates = estimates[~np.isnan(estimates)]
    if not estimates.size:
        return None
    low, high = np.quantile(estimates, (0.025, 0.975))
    return CorrectedScore(
        float(estimates.mean()),
        float(low),
        float(high),
        float(means[best]),
        dict(folds[0][best]["settings"]),
    )


def _fold_mean(values: Any) -> Floats:
    """Return means over folds, of shape (settings, bootstraps)."""
    return np.asarray(np.array(values, dtype=np.float64).mean(axis=0))


def _number(value: float) -> float | None:
    return round(float(value), 6) if np.isfinite(value) else None
