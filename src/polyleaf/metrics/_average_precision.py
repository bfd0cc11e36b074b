"""The area under the precision-recall curve, of each label or of all entries together.

Hierarchical multi-label learners are compared by AU(PRC)-bar, the area under the curve that pools
all pairs of row and label, and by averages of the areas of labels, plain or weighted by how many
rows have each (Vens et al. 2008). Areas are sums of precision times gain in recall over the
distinct scores, as in scikit-learn, without interpolation.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from polyleaf.checks.numbers import is_one_of, shown
from polyleaf.metrics._auc import Entries, joined_entries, label_entries
from polyleaf.metrics._inputs import Floats, read_entry_weights, read_labels, read_scores

_AVERAGES = ("micro", "macro", "weighted")


def average_precision_score(
    y_true: Any,
    y_score: Any,
    *,
    average: Literal["micro", "macro", "weighted"] | None = "micro",
    sample_weight: Any = None,
) -> Any:
    """Area under the precision-recall curve of labels, aware of NaN.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n, d)
        0 and 1; NaN is not observed and does not count.
    y_score : array-like or sparse matrix of shape (n, d)
        Higher for labels that are likelier; 0 where a sparse matrix stores nothing.
    average : {"micro", "macro", "weighted", None}, default="micro"
        The area of the curve of all entries together, AU(PRC)-bar of hierarchical problems; the
        plain average over labels, or weighted by the rows that have each; or one per label.
    sample_weight : array-like of shape (n,) or (n, d), optional

    Returns
    -------
    float or ndarray of shape (d,)
        From 0 to 1, the best. A label that no observed row has, has no curve: it is NaN and left
        out of averages.

    Examples
    --------
    >>> from polyleaf.metrics import average_precision_score
    >>> Y, scores = [[1, 0], [0, 0], [1, 1]], [[0.9, 0.1], [0.4, 0.3], [0.3, 0.8]]
    >>> average_precision_score(Y, scores, average=None)
    array([0.83333333, 1.        ])
    >>> round(average_precision_score(Y, scores), 3)
    0.867
    """
    if average is not None and not is_one_of(average, _AVERAGES):
        raise ValueError(
            f"average must be 'micro', 'macro', 'weighted' or None; got {shown(average)}."
        )
    true = read_labels(y_true, "y_true", allow_unobserved=True)
    scores = read_scores(y_score, true.shape)
    weights = read_entry_weights(sample_weight, true.shape)
    if average == "micro":
        areas, _ = _areas(joined_entries(label_entries(true, scores, weights)), 1)
        return float(areas[0])
    areas, positive = np.full(true.shape[1], np.nan), np.zeros(true.shape[1])
    for part in label_entries(true, scores, weights):
        found, counts = _areas(part, true.shape[1])
        areas = np.where(np.isnan(found), areas, found)
        positive += counts
    if average is None:
        return areas
    is_known = ~np.isnan(areas)
    if not is_known.any():
        return float("nan")
    shares = positive[is_known] if average == "weighted" else None
    return float(np.average(areas[is_known], weights=shares))


def _areas(entries: Entries, n_labels: int) -> tuple[Floats, Floats]:
    """Give the area of each label, NaN without positive rows, and the weight of those rows."""
    order = np.lexsort((-entries.scores, entries.columns))
    columns, scores = entries.columns[order], entries.scores[order]
    is_new = np.ones(columns.size, dtype=np.bool_)
    is_new[1:] = (columns[1:] != columns[:-1]) | (scores[1:] != scores[:-1])
    starts = np.flatnonzero(is_new)
    owner = columns[starts]
    positive = np.add.reduceat(entries.positive[order], starts)
    chosen = positive + np.add.reduceat(entries.negative[order], starts)
    found, counted = _sums_within(positive, owner), _sums_within(chosen, owner)
    precision = np.divide(found, counted, out=np.zeros_like(found), where=counted > 0)
    totals = np.bincount(owner, positive, minlength=n_labels).astype(np.float64)
    won = np.bincount(owner, positive * precision, minlength=n_labels)
    areas = np.full(n_labels, np.nan)
    np.divide(won, totals, out=areas, where=totals > 0)
    return areas, totals


def _sums_within(values: Floats, owner: Any) -> Floats:
    """Add up values so far, again for every owner."""
    sums = np.cumsum(values)
    is_first = np.ones(owner.size, dtype=np.bool_)
    is_first[1:] = owner[1:] != owner[:-1]
    before = (sums - values)[is_first]
    sizes = np.diff(np.append(np.flatnonzero(is_first), owner.size))
    return np.asarray(sums - np.repeat(before, sizes))
