"""Expected F1 and Jaccard index of the k likeliest labels, for every k, if labels are independent.

Let p_1 >= p_2 >= ... be the probabilities of a row. Under independence the best set of size k
holds the k likeliest labels, so that it remains to find the best k. Write A for the number of true
labels among the first k and B for that among the others: then F1 = 2A / (k + A + B), and the
Jaccard index is A / (k + B). Both need ``s(k, x) = E[1 / (x + B)]``, which obeys

    s(d, x) = 1 / x,    s(k - 1, x) = p_k s(k, x + 1) + (1 - p_k) s(k, x)

(Ye, Chai, Lee and Chieu, ICML 2012). The empty set scores 1 where there is no true label.

Sets of hundreds of labels are hardly ever the best. Write m for E[A] and M for E[A + B]. Jensen's
inequality bounds the values from both sides,

    2m / (k + 1 + M) <= F1(k) <= 2m / (k + m),    m / (k + M - m) <= Jaccard(k) <= m / k,

and no upper bound rises with k. The search ends at K, the last k whose upper bound reaches the
greatest lower bound; there s(K, x) comes from the distribution of B, which is computed once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NEGLIGIBLE = 1e-12  # probability
_ROUNDING = 1e-9  # relative; bounds that are closer than this decide nothing


def f1_by_size(probabilities: Floats, n_sizes: int | None = None) -> Floats:
    """Return the expected F1 of the k first labels, k = 0 .. n_sizes.

    Parameters
    ----------
    probabilities : ndarray of shape (rows, d)
        Descending in each row.
    n_sizes : int or None, default=None
        At most d, which None stands for.

    Returns
    -------
    ndarray of shape (rows, n_sizes + 1)
    """
    n_sizes = probabilities.shape[1] if n_sizes is None else n_sizes
    head = probabilities[:, :n_sizes]
    most = most_true_labels(head)
    heads = _head_distributions(head, most)
    values = np.empty((len(head), n_sizes + 1))
    values[:, 0] = np.prod(1.0 - probabilities, axis=1)
    twice = 2.0 * np.arange(most + 1)
    for k, inverse in _tail_inverses(probabilities, n_sizes, n_extra=most):
        values[:, k] = ((twice * heads[:, k]) * inverse[:, k : k + most + 1]).sum(axis=1)
    return values


def jaccard_by_size(probabilities: Floats, n_sizes: int | None = None) -> Floats:
    """Return the expected Jaccard index of the k first labels, k = 0 .. n_sizes.

    Parameters
    ----------
    probabilities : ndarray of shape (rows, d)
        Descending in each row.
    n_sizes : int or None, default=None
        At most d, which None stands for.

    Returns
    -------
    ndarray of shape (rows, n_sizes + 1)
    """
    n_sizes = probabilities.shape[1] if n_sizes is None else n_sizes
    values = np.empty((len(probabilities), n_sizes + 1))
    values[:, 0] = np.prod(1.0 - probabilities, axis=1)
    expected_hits = np.cumsum(probabilities[:, :n_sizes], axis=1)  # independent of B
    for k, inverse in _tail_inverses(probabilities, n_sizes, n_extra=0):
        values[:, k] = expected_hits[:, k - 1] * inverse[:, k]
    return values


def most_f1_sizes(probabilities: Floats) -> NDArray[np.intp]:
    """Bound the size of the set with the highest expected F1, for each row.

    Parameters
    ----------
    probabilities : ndarray of shape (rows, d)
        Descending in each row.

    Returns
    -------
    ndarray of shape (rows,)
    """
    k, hits, expected = _expected_hits(probabilities)
    return _last_reached(probabilities, 2.0 * hits / (k + 1.0 + expected), 2.0 * hits / (k + hits))


def most_jaccard_sizes(probabilities: Floats) -> NDArray[np.intp]:
    """Bound the size of the set with the highest expected Jaccard index, for each row.

    Parameters
    ----------
    probabilities : ndarray of shape (rows, d)
        Descending in each row.

    Returns
    -------
    ndarray of shape (rows,)
    """
    k, hits, expected = _expected_hits(probabilities)
    return _last_reached(probabilities, hits / (k + np.maximum(expected - hits, 0.0)), hits / k)


def most_true_labels(probabilities: Floats) -> int:
    """Bound the number of true labels of a row, up to a negligible probability (Bernstein)."""
    most = _most_true(probabilities.sum(axis=1), _variances(probabilities).sum(axis=1))
    return int(min(most, probabilities.shape[1]))


def _expected_hits(probabilities: Floats) -> tuple[Floats, Floats, Floats]:
    """Return all k from 1, E[A] for each row and k, and E[A + B] for each row."""
    hits = np.cumsum(probabilities, axis=1)
    return np.arange(1.0, hits.shape[1] + 1.0), hits, hits[:, -1:]


def _last_reached(probabilities: Floats, lower: Floats, upper: Floats) -> NDArray[np.intp]:
    """Count the sizes whose upper bound, which does not rise, reaches the best lower bound."""
    of_empty = np.prod(1.0 - probabilities, axis=1)
    reached = np.maximum(lower.max(axis=1), of_empty) * (1.0 - _ROUNDING)
    return np.asarray((upper >= reached[:, np.newaxis]).sum(axis=1))


def _tail_inverses(
    probabilities: Floats, n_sizes: int, n_extra: int
) -> Iterator[tuple[int, Floats]]:
    """Yield k = n_sizes .. 1 with s(k, x) in column x, right for x = k .. k + n_extra."""
    x = np.arange(n_sizes + n_extra + 1, dtype=np.float64)
    x[0] = 1.0  # never used
    tail = _tail_distribution(probabilities[:, n_sizes:])
    inverse = tail @ (1.0 / (x + np.arange(tail.shape[1])[:, np.newaxis]))
    for k in range(n_sizes, 0, -1):
        yield k, inverse
        p = probabilities[:, [k - 1]]
        inverse = p * inverse[:, 1:] + (1.0 - p) * inverse[:, :-1]


def _tail_distribution(probabilities: Floats) -> Floats:
    """Return P(B = b) of the number of true labels, of shape (rows, most + 1).

    Labels are added one by one, the least likely first: as long as few are expected, few columns
    are not negligible.
    """
    n_rows, n_labels = probabilities.shape
    ascending = np.ascontiguousarray(probabilities.T[::-1])
    means, variances = (np.cumsum(v, axis=0) for v in (ascending, _variances(ascending)))
    widths = np.minimum(_most_true(means, variances, axis=1), np.arange(1, n_labels + 1))
    shares = np.zeros((int(widths.max(initial=0)) + 1, n_rows))
    shares[0] = 1.0
    for p, width in zip(ascending, widths.tolist()):
        arriving = shares[:width] * p
        shares[: width + 1] *= 1.0 - p
        shares[1 : width + 1] += arriving
    return np.ascontiguousarray(shares.T)


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


def _variances(probabilities: Floats) -> Floats:
    return probabilities * (1.0 - probabilities)


def _most_true(means: Floats, variances: Floats, axis: int = 0) -> NDArray[np.intp]:
    """Bound numbers of true labels, given means and variances, for the worst along an axis."""
    log = -np.log(_NEGLIGIBLE)
    excess = log / 3.0 + np.sqrt(log**2 / 9.0 + 2.0 * log * variances)
    return np.asarray(np.ceil((means + excess).max(axis=axis, initial=0.0)), dtype=np.intp)
