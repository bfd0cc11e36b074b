"""Metrics of the probabilities of labels: log loss and Brier score, per entry.

With y in {0, 1} and the predicted probability p of an entry::

    log loss = -y log p - (1 - y) log(1 - p)
    Brier    = (y - p)^2

An entry that is 0 and has the probability 0 costs nothing, so where truth and probabilities are
sparse, only the entries that one of them stores are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from polyleaf.checks.matrices import is_sparse
from polyleaf.checks.numbers import is_one_of, shown
from polyleaf.metrics._inputs import (
    Bools,
    Floats,
    Labels,
    read_entry_weights,
    read_labels,
    read_scores,
)
from polyleaf.metrics._places import is_true_at

_BLOCK_ENTRIES = 1 << 20  # of a buffer of rows times labels

Average = Literal["micro", "macro"] | None
#: From the probabilities that were given to what is true, to the losses of the entries.
EntryLoss = Callable[[Floats], Floats]


def log_loss(
    y_true: Any, y_prob: Any, *, average: Average = "micro", sample_weight: Any = None
) -> Any:
    """Mean negative logarithm of the probability of what was observed, label by label.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n, d)
        0 and 1; NaN is not observed and does not count.
    y_prob : array-like or sparse matrix of shape (n, d)
        The probability of each label; 0 where a sparse matrix stores nothing. Probabilities
        below the precision of their dtype are raised to it, as in scikit-learn.
    average : {"micro", "macro", None}, default="micro"
        The mean over all observed entries, the plain average over labels, or one value per label.
    sample_weight : array-like of shape (n,) or (n, d), optional

    Returns
    -------
    float or ndarray of shape (d,)
        0 is best. A label without an observed entry is NaN and left out of the average.

    Examples
    --------
    >>> from polyleaf.metrics import log_loss
    >>> round(log_loss([[1, 0], [0, 1]], [[0.5, 0.5], [0.5, 1.0]]), 4)
    0.5199
    """
    least = _precision(y_prob)
    return _mean_loss(
        y_true, y_prob, lambda p: -np.log(np.maximum(p, least)), average, sample_weight
    )


def brier_score_loss(
    y_true: Any, y_prob: Any, *, average: Average = "micro", sample_weight: Any = None
) -> Any:
    """Mean squared difference of probabilities and labels, label by label.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n, d)
        0 and 1; NaN is not observed and does not count.
    y_prob : array-like or sparse matrix of shape (n, d)
        The probability of each label; 0 where a sparse matrix stores nothing.
    average : {"micro", "macro", None}, default="micro"
        The mean over all observed entries, the plain average over labels, or one value per label.
    sample_weight : array-like of shape (n,) or (n, d), optional

    Returns
    -------
    float or ndarray of shape (d,)
        From 0, the best, to 1. A label without an observed entry is NaN and left out of the
        average.

    Examples
    --------
    >>> from polyleaf.metrics import brier_score_loss
    >>> brier_score_loss([[1, 0], [0, 1]], [[0.5, 0.5], [0.5, 1.0]])
    0.1875
    """
    return _mean_loss(y_true, y_prob, lambda p: (1.0 - p) ** 2, average, sample_weight)


def check_average(average: Any) -> None:
    """Raise unless this is a way to average over labels."""
    if not is_one_of(average, ("macro", "micro", None)):
        raise ValueError(f"average must be 'macro', 'micro' or None; got {shown(average)}.")


def averaged(values: Floats, totals: Floats, average: Average) -> Any:
    """Average sums over labels, whose entries weigh `totals`, in one of three ways."""
    if average == "micro":
        total = totals.sum()
        return float(values.sum() / total) if total else float("nan")
    means = np.full(values.shape, np.nan)
    np.divide(values, totals, out=means, where=totals > 0)
    if average is None:
        return means
    defined = means[~np.isnan(means)]
    return float(defined.mean()) if defined.size else float("nan")


@dataclass(frozen=True)
class _Part:
    """Some entries: the probability of what is true there, their labels and weights."""

    chances: Floats
    weights: Floats
    columns: Any = None  # None: a block of rows with all labels


def _mean_loss(
    y_true: Any, y_prob: Any, loss: EntryLoss, average: Average, sample_weight: Any
) -> Any:
    check_average(average)
    true = read_labels(y_true, "y_true", allow_unobserved=True)
    prob = _read_probabilities(y_prob, true.shape)
    weights = read_entry_weights(sample_weight, true.shape)
    n_labels = true.shape[1]
    sums = np.zeros(n_labels)
    for part in _parts(true, prob, weights):
        losses = part.weights * loss(part.chances)
        if part.columns is None:
            sums += losses.sum(axis=0)
        else:
            sums += np.bincount(part.columns, losses, minlength=n_labels)
    return averaged(sums, observed_weights(true, weights), average)


def _parts(true: Labels, prob: Any, weights: Floats) -> Iterator[_Part]:
    if isinstance(true.present, sparse.csr_array) and isinstance(prob, sparse.csr_array):
        yield from _stored_parts(true, prob, weights)
        return
    n_rows, n_labels = true.shape
    step = max(1, _BLOCK_ENTRIES // n_labels)
    for start in range(0, n_rows, step):
        rows = slice(start, start + step)
        present, chances = _dense(true.present[rows]), _dense(prob[rows])
        counted = weights[rows]
        if true.observed is not None:
            counted = counted * true.observed[rows]
        yield _Part(np.where(present, chances, 1.0 - chances), counted)


def _stored_parts(true: Labels, prob: Any, weights: Floats) -> Iterator[_Part]:
    """Yield the entries with a probability, then the labels that have none."""
    entries = prob.tocoo()
    is_true = is_true_at(true, entries.row, entries.col)
    chances = np.where(is_true, entries.data, 1.0 - entries.data)
    yield _Part(chances, _weights_at(weights, entries.row, entries.col), entries.col)
    stored = sparse.csr_array(
        (np.ones(prob.nnz, dtype=np.bool_), prob.indices, prob.indptr), shape=prob.shape
    )
    present: Any = true.present
    rows, columns = (present > stored).nonzero()
    yield _Part(np.zeros(rows.size), _weights_at(weights, rows, columns), columns)


def observed_weights(true: Labels, weights: Floats) -> Floats:
    """Return the weight of the observed entries of each label, of shape (d,)."""
    if true.observed is not None:
        return np.asarray((weights * true.observed).sum(axis=0))
    return np.broadcast_to(weights.sum(axis=0), (true.shape[1],))


def _weights_at(weights: Floats, rows: Any, columns: Any) -> Floats:
    return np.asarray(weights[rows, 0] if weights.shape[1] == 1 else weights[rows, columns])


def _read_probabilities(y_prob: Any, shape: tuple[int, int]) -> Floats | sparse.csr_array:
    prob = read_scores(y_prob, shape, "y_prob")
    values = prob.data if isinstance(prob, sparse.csr_array) else prob
    if values.size and (values.min() < 0.0 or values.max() > 1.0):
        raise ValueError(
            "y_prob must hold probabilities, from 0 to 1; got numbers from "
            f"{values.min():.3g} to {values.max():.3g}. Scores of a "
            "decision_function are not probabilities."
        )
    return prob


def _precision(y_prob: Any) -> float:
    dtype = getattr(y_prob, "dtype", None)
    is_float = isinstance(dtype, np.dtype) and dtype.kind == "f"
    return float(np.finfo(dtype if is_float else np.float64).eps)


def _dense(block: Any) -> Bools | Floats:
    return np.asarray(block.toarray() if is_sparse(block) else block)
