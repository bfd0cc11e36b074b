"""Expected F1 and Jaccard index of the k likeliest labels, for every k, if labels are independent.

Let p_1 >= p_2 >= ... be the probabilities of a row. Under independence the best set of size k
holds the k likeliest labels, so that it remains to find the best k. Write A for the number of true
labels among the first k and B for that among the others: then F1 = 2A / (k + A + B), and the
Jaccard index is A / (k + B). Both need ``s(k, x) = E[1 / (x + B)]``, which obeys

    s(d, x) = 1 / x,    s(k - 1, x) = p_k s(k, x + 1) + (1 - p_k) s(k, x)

(Ye, Chai, Lee and Chieu, ICML 2012). The empty set scores 1 where there is no true label.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NEGLIGIBLE = 1e-12  # probability


def f1_by_size(probabilities: Floats) -> Floats:
    """Return the expected F1 of the k first labels, k = 0 .. d.

    Parameters
    ----------
    probabilities : ndarray of shape (rows, d)
        Descending in each row.

    Returns
    -------
    ndarray of shape (rows, d + 1)
    """
    n_rows, n_labels = probabilities.shape
    most = most_true_labels(probabilities)
    heads = _head_distributions(probabilities, most)
    values = np.empty((n_rows, n_labels + 1))
    values[:, 0] = np.prod(1.0 - probabilities, axis=1)
    twice = 2.0 * np.arange(most + 1)
    for k, inverse in _tail_inverses(probabilities, n_extra=most):
        values[:, k] = ((twice * heads[:, k]) * inverse[:, k : k + most + 1]).sum(axis=1)
    return values


def jaccard_by_size(probabilities: Floats) -> Floats:
    """Return the expected Jaccard index of the k first labels, k = 0 .. d.

    Parameters
    ----------
    probabilities : ndarray of shape (rows, d)
        Descending in each row.

    Returns
    -------
    ndarray of shape (rows, d + 1)
    """
    n_rows, n_labels = probabilities.shape
    values = np.empty((n_rows, n_labels + 1))
    values[:, 0] = np.prod(1.0 - probabilities, axis=1)
    expected_hits = np.cumsum(probabilities, axis=1)  # independent of B
    for k, inverse in _tail_inverses(probabilities, n_extra=0):
        values[:, k] = expected_hits[:, k - 1] * inverse[:, k]
    return values


def _tail_inverses(probabilities: Floats, n_extra: int) -> Iterator[tuple[int, Floats]]:
    """Yield k = d .. 1 with s(k, x) in column x, right for x = k .. k + n_extra."""
    n_rows, n_labels = probabilities.shape
    x = np.arange(n_labels + n_extra + 1, dtype=np.float64)
    x[0] = 1.0  # never used
    inverse = np.tile(1.0 / x, (n_rows, 1))
    for k in range(n_labels, 0, -1):
        yield k, inverse
        p = probabilities[:, [k - 1]]
        inverse = p * inverse[:, 1:] + (1.0 - p) * inverse[:, :-1]


def _head_distributions(probabilities: Floats, most: int) -> Floats:
    """Return P(A = a) among the first k labels, of shape (rows, d + 1, most + 1)."""
    n_rows, n_labels = probabilities.shape
    heads = np.zeros((n_rows, n_labels + 1, most + 1))
    heads[:, 0, 0] = 1.0
    for k in range(1, n_labels + 1):
        p = probabilities[:, [k - 1]]
        heads[:, k] = heads[:, k - 1] * (1.0 - p)
        heads[:, k, 1:] += heads[:, k - 1, :-1] * p
    return heads


def most_true_labels(probabilities: Floats) -> int:
    """Bound the number of true labels of a row, up to a negligible probability (Bernstein)."""
    mean = probabilities.sum(axis=1)
    variance = (probabilities * (1.0 - probabilities)).sum(axis=1)
    log = -np.log(_NEGLIGIBLE)
    excess = log / 3.0 + np.sqrt(log**2 / 9.0 + 2.0 * log * variance)
    return int(min(probabilities.shape[1], np.ceil((mean + excess).max())))
