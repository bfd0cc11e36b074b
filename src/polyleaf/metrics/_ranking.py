"""Metrics of the order that scores give to the labels of a row, over the whole order.

Ties count against the prediction, as in scikit-learn: the rank of a label is the number of labels
with at least its score. Labels that are not observed (NaN) have no place in the order. Rows are
taken in blocks, so that the buffers stay small for any number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.matrices import is_sparse
from polyleaf.checks.numbers import is_one_of, shown
from polyleaf.metrics._inputs import (
    Bools,
    Floats,
    Labels,
    read_labels,
    read_row_weights,
    read_scores,
)
from polyleaf.metrics._label_sets import mean_over_rows

_BLOCK_ENTRIES = 1 << 20  # of a buffer of rows times labels


def label_ranking_average_precision_score(
    y_true: Any,
    y_score: Any,
    *,
    sample_weight: Any = None,
    empty_rows: Literal["count", "drop"] = "count",
) -> float:
    """Average precision of the true labels in the order of the scores (LRAP).

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n, d)
        0 and 1; NaN is not observed and does not count.
    y_score : array-like or sparse matrix of shape (n, d)
        Higher for labels that are likelier.
    sample_weight : array-like of shape (n,), optional
    empty_rows : {"count", "drop"}, default="count"
        Rows without any true label count as 1, as in scikit-learn and Joly et al. 2019, or are
        left out, as in Joly et al. 2014. Where many rows are empty the difference is large.

    Returns
    -------
    float
        From 0 to 1, the best.

    Examples
    --------
    >>> from polyleaf.metrics import label_ranking_average_precision_score
    >>> Y = [[1, 0, 0], [0, 0, 0]]
    >>> scores = [[0.5, 0.9, 0.1], [0.2, 0.1, 0.3]]
    >>> label_ranking_average_precision_score(Y, scores)
    0.75
    >>> label_ranking_average_precision_score(Y, scores, empty_rows="drop")
    0.5
    """
    if not is_one_of(empty_rows, ("count", "drop")):
        raise ValueError(f"empty_rows must be 'count' or 'drop'; got {shown(empty_rows)}.")
    true, weights, blocks = _read(y_true, y_score, sample_weight)
    values = np.ones(true.shape[0])
    n_true = np.zeros(true.shape[0])
    for rows, order in blocks:
        n_true[rows] = order.is_true.sum(axis=1)
        n_true_ahead = np.cumsum(order.is_true, axis=1)
        at_tie_end = np.take_along_axis(n_true_ahead, order.ranks - 1, axis=1)
        precisions = np.where(order.is_true, at_tie_end / order.ranks, 0.0).sum(axis=1)
        np.divide(precisions, n_true[rows], out=values[rows], where=n_true[rows] > 0)
    counts = n_true > 0 if empty_rows == "drop" else true.n_observed() > 0
    return mean_over_rows(values, weights, counts)


def coverage_error(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """How far down the order of the scores one must go to meet all true labels, on average.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n, d)
        0 and 1; NaN is not observed and does not count.
    y_score : array-like or sparse matrix of shape (n, d)
        Higher for labels that are likelier.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float
        The mean rank of the last true label; 0 for a row without any. The best value is the
        mean number of labels of a row.

    Examples
    --------
    >>> from polyleaf.metrics import coverage_error
    >>> coverage_error([[1, 0, 0], [0, 1, 1]], [[0.5, 0.9, 0.1], [0.2, 0.4, 0.3]])
    2.0
    """
    true, weights, blocks = _read(y_true, y_score, sample_weight)
    values = np.zeros(true.shape[0])
    for rows, order in blocks:
        values[rows] = np.where(order.is_true, order.ranks, 0).max(axis=1)
    return mean_over_rows(values, weights, true.n_observed() > 0)


@dataclass(frozen=True)
class _Order:
    """Labels of a block of rows from the highest score down.

    Attributes
    ----------
    is_true : ndarray of shape (rows, d), bool
        Whether the label at this place is a true one.
    ranks : ndarray of shape (rows, d), intp
        The number of labels with at least the score of the one at this place.
    """

    is_true: Bools
    ranks: NDArray[np.intp]


def _read(
    y_true: Any, y_score: Any, sample_weight: Any
) -> tuple[Labels, Floats, Iterator[tuple[slice, _Order]]]:
    true = read_labels(y_true, "y_true", allow_unobserved=True)
    scores = read_scores(y_score, true.shape)
    weights = read_row_weights(sample_weight, true.shape[0])
    return true, weights, _ordered_blocks(true, scores)


def _ordered_blocks(
    true: Labels, scores: Floats | sparse.csr_array
) -> Iterator[tuple[slice, _Order]]:
    n_rows, n_labels = true.shape
    step = max(1, _BLOCK_ENTRIES // n_labels)
    for start in range(0, n_rows, step):
        rows = slice(start, min(start + step, n_rows))
        block = _dense(scores[rows])
        if true.observed is not None:  # behind all others; scores are finite
            block = np.where(true.observed[rows], block, -np.inf)
        order = np.argsort(-block, axis=1)
        in_order = np.take_along_axis(block, order, axis=1)
        is_true = np.take_along_axis(_dense(true.present[rows]), order, axis=1)
        yield rows, _Order(is_true, _ranks(in_order))


def _ranks(in_order: Floats) -> NDArray[np.intp]:
    """Return for each place the number of places up to the end of its tie."""
    n_labels = in_order.shape[1]
    places = np.arange(1, n_labels + 1)
    ends_tie = np.ones(in_order.shape, dtype=np.bool_)
    ends_tie[:, :-1] = in_order[:, :-1] != in_order[:, 1:]
    ends = np.where(ends_tie, places, n_labels)
    return np.asarray(np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1])


def _dense(block: Any) -> Any:
    return block.toarray() if is_sparse(block) else block
