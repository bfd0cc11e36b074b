"""The area under the ROC curve, of each label or of all entries together.

It is the chance that a row with the label has a higher score than a row without it; ties count
half. Entries are sorted once, per label; where scores are sparse, all entries that are not stored
are one tied group at the score 0, and are never written down.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.matrices import is_sparse
from polyleaf.metrics._inputs import (
    Floats,
    Labels,
    read_entry_weights,
    read_labels,
    read_scores,
)
from polyleaf.metrics._places import is_true_at
from polyleaf.metrics._probabilities import Average, check_average, observed_weights

_BLOCK_ENTRIES = 1 << 21  # of a buffer of rows times labels


def roc_auc_score(
    y_true: Any, y_score: Any, *, average: Average = "macro", sample_weight: Any = None
) -> Any:
    """Area under the ROC curve of labels; scikit-learn's ``roc_auc_score``, aware of NaN.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n, d)
        0 and 1; NaN is not observed and does not count.
    y_score : array-like or sparse matrix of shape (n, d)
        Higher for labels that are likelier; 0 where a sparse matrix stores nothing.
    average : {"macro", "micro", None}, default="macro"
        The plain average over labels, the area of all entries together, or one per label.
    sample_weight : array-like of shape (n,) or (n, d), optional

    Returns
    -------
    float or ndarray of shape (d,)
        From 0 to 1, the best; 0.5 is chance. A label that all observed rows have, or none, has
        no curve: it is NaN and left out of the average.

    Examples
    --------
    >>> from polyleaf.metrics import roc_auc_score
    >>> roc_auc_score([[1, 0], [0, 0], [1, 1]], [[0.9, 0.1], [0.4, 0.3], [0.4, 0.3]], average=None)
    array([0.75, 0.75])
    """
    check_average(average)
    true = read_labels(y_true, "y_true", allow_unobserved=True)
    scores = read_scores(y_score, true.shape)
    weights = read_entry_weights(sample_weight, true.shape)
    if average == "micro":
        return float(_areas(joined_entries(label_entries(true, scores, weights)), 1)[0])
    areas = np.full(true.shape[1], np.nan)
    for part in label_entries(true, scores, weights):
        found = _areas(part, true.shape[1])
        areas = np.where(np.isnan(found), areas, found)
    if average is None:
        return areas
    defined = areas[~np.isnan(areas)]
    return float(defined.mean()) if defined.size else float("nan")


@dataclass(frozen=True)
class Entries:
    """Entries of whole columns, as flat arrays.

    Attributes
    ----------
    columns : ndarray of int
    scores : ndarray of float64
    positive, negative : ndarray of float64
        The weight of the rows with the label and of those without, which an entry stands for.
    """

    columns: NDArray[Any]
    scores: Floats
    positive: Floats
    negative: Floats


def label_entries(true: Labels, scores: Any, weights: Floats) -> Iterator[Entries]:
    """Yield all columns at once if scores are sparse, else some at a time."""
    if isinstance(scores, sparse.csr_array):
        yield _sparse_entries(true, scores, weights)
        return
    n_rows, n_labels = true.shape
    present: Any = true.present
    if is_sparse(present):
        present = present.tocsc()
    step = max(1, _BLOCK_ENTRIES // n_rows)
    for start in range(0, n_labels, step):
        at = slice(start, min(start + step, n_labels))
        block = present[:, at]
        is_true = (block.toarray() if is_sparse(block) else block).T
        counted = np.broadcast_to(weights if weights.shape[1] == 1 else weights[:, at],
                                  (n_rows, at.stop - at.start)).T  # fmt: skip
        if true.observed is not None:
            counted = counted * true.observed[:, at].T
        yield Entries(
            np.repeat(np.arange(at.start, at.stop), n_rows),
            scores[:, at].T.ravel(),
            np.where(is_true, counted, 0.0).ravel(),
            np.where(is_true, 0.0, counted).ravel(),
        )


def _sparse_entries(true: Labels, scores: sparse.csr_array, weights: Floats) -> Entries:
    """Return the stored scores, and one entry per label for all the others."""
    n_labels = true.shape[1]
    entries = scores.tocoo()
    rows, columns = entries.row, entries.col
    counted = weights[rows, 0] if weights.shape[1] == 1 else weights[rows, columns]
    if true.observed is not None:
        counted = counted * true.observed[rows, columns]
    is_true = is_true_at(true, rows, columns)
    positive, negative = np.where(is_true, counted, 0.0), np.where(is_true, 0.0, counted)
    totals = observed_weights(true, weights)
    all_positive = _positive_weights(true, weights)
    rest = all_positive - np.bincount(columns, positive, minlength=n_labels)
    rest_negative = totals - all_positive - np.bincount(columns, negative, minlength=n_labels)
    least = 1e-12 * totals  # a difference of equal sums need not be 0
    return Entries(
        np.concatenate([columns, np.arange(n_labels)]),
        np.concatenate([entries.data, np.zeros(n_labels)]),
        np.concatenate([positive, np.where(rest > least, rest, 0.0)]),
        np.concatenate([negative, np.where(rest_negative > least, rest_negative, 0.0)]),
    )


def _positive_weights(true: Labels, weights: Floats) -> Floats:
    if weights.shape[1] == 1:
        return np.asarray(weights[:, 0] @ true.present)
    rows, columns = true.present.nonzero()
    sums = np.bincount(columns, weights[rows, columns], minlength=true.shape[1])
    return sums.astype(np.float64)


def joined_entries(parts: Iterator[Entries]) -> Entries:
    """Take all entries for those of one label."""
    found = list(parts)
    scores, positive, negative = (
        np.concatenate([getattr(part, name) for part in found])
        for name in ("scores", "positive", "negative")
    )
    return Entries(np.zeros(scores.size, dtype=np.intp), scores, positive, negative)


def _areas(entries: Entries, n_labels: int) -> Floats:
    """Return the area of each label; NaN for one without rows of both kinds."""
    order = np.lexsort((entries.scores, entries.columns))
    columns, scores = entries.columns[order], entries.scores[order]
    is_new = np.ones(columns.size, dtype=np.bool_)
    is_new[1:] = (columns[1:] != columns[:-1]) | (scores[1:] != scores[:-1])
    starts = np.flatnonzero(is_new)
    group_columns = columns[starts]
    positive = np.add.reduceat(entries.positive[order], starts)
    negative = np.add.reduceat(entries.negative[order], starts)
    # The weight of the negative rows with a lower score, counted within the label.
    below = np.cumsum(negative) - negative
    is_first = np.ones(starts.size, dtype=np.bool_)
    is_first[1:] = group_columns[1:] != group_columns[:-1]
    n_groups = np.diff(np.append(np.flatnonzero(is_first), starts.size))
    below -= np.repeat(below[is_first], n_groups)
    won = np.bincount(group_columns, positive * (below + negative / 2.0), minlength=n_labels)
    pairs = np.bincount(group_columns, positive, minlength=n_labels) * np.bincount(
        group_columns, negative, minlength=n_labels
    )
    areas = np.full(n_labels, np.nan)
    np.divide(won, pairs, out=areas, where=pairs > 0)
    return areas
