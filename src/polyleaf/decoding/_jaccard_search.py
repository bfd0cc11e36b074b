"""The label set with the highest expected Jaccard index under a distribution of label sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MOST_ENUMERATED = 10  # labels: 1024 sets

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def best_jaccard_set(weights: Floats, support: Bools) -> Bools:
    """Search the best label set: all of them if there are few, else by single changes.

    Parameters
    ----------
    weights : ndarray of shape (t,)
        Probabilities of the label sets.
    support : ndarray of shape (t, m), bool
        The label sets, over labels of which each occurs.

    Returns
    -------
    ndarray of shape (m,), bool
    """
    n_labels = support.shape[1]
    if n_labels <= _MOST_ENUMERATED:
        codes = np.arange(2**n_labels)
        candidates = (codes[:, np.newaxis] >> np.arange(n_labels)) & 1 > 0
        return np.asarray(candidates[np.argmax(_expected(candidates, weights, support))])
    return _local_search(weights, support)


def _local_search(weights: Floats, support: Bools) -> Bools:
    """Start from the best label set at hand; add or drop one label at a time."""
    n_labels = support.shape[1]
    order = np.argsort(-(weights @ support), kind="stable")
    rank = np.argsort(order)
    likeliest = rank < np.arange(n_labels + 1)[:, np.newaxis]
    candidates = np.concatenate([likeliest, support])
    values = _expected(candidates, weights, support)
    current, value = candidates[np.argmax(values)], values.max()
    while True:
        neighbours = current ^ np.eye(n_labels, dtype=np.bool_)
        values = _expected(neighbours, weights, support)
        if values.max() <= value + 1e-12:
            return np.asarray(current)
        current, value = neighbours[np.argmax(values)], values.max()


def _expected(candidates: Bools, weights: Floats, support: Bools) -> Floats:
    """Return the expected Jaccard index of each candidate."""
    common = candidates.astype(np.float64) @ support.T
    union = candidates.sum(axis=1)[:, np.newaxis] + support.sum(axis=1) - common
    indices = np.divide(common, union, out=np.ones_like(common), where=union > 0)
    return np.asarray(indices @ weights)
