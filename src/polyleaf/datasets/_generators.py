"""Generate data with many correlated outputs from few hidden, non-linear factors.

A factor is a sum of terms that trees can learn: steps, interactions of two steps, and smooth
waves of single features. Outputs are random combinations of the factors, plus noise.
"""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.memory import check_memory
from polyleaf.checks.numbers import expect_count, expect_number
from polyleaf.checks.randomness import read_random_state

_TERMS_PER_KIND = 3
_LABEL_BLOCK = 256  # labels whose scores are held at a time


def make_correlated_targets(
    n_samples: int = 1000,
    n_features: int = 20,
    n_targets: int = 10,
    *,
    n_informative: int | None = None,
    rank: int = 3,
    noise: float = 0.1,
    random_state: int | RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Generate a multi-target regression problem of low rank.

    Parameters
    ----------
    n_samples, n_features, n_targets : int
        n, p and d.
    n_informative : int, optional
        How many features matter, the first ones; by default at most 10.
    rank : int, default=3
        The number of hidden factors: the targets without noise have at most this rank.
    noise : float, default=0.1
        The standard deviation of the noise, relative to that of each target without it.
    random_state : int, RandomState or None, default=None
        An integer gives the same data every time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features, uniform in [-1, 1).
    Y : ndarray of shape (n_samples, n_targets)
        Targets, centred and of unit variance before noise.

    Examples
    --------
    >>> from polyleaf.datasets import make_correlated_targets
    >>> X, Y = make_correlated_targets(100, 5, 8, random_state=0)
    >>> X.shape, Y.shape
    ((100, 5), (100, 8))
    """
    for name, size in {"n_features": n_features, "n_targets": n_targets}.items():
        expect_count(name, size)
    check_sizes(n_samples, n_features + n_targets, rank=rank)
    expect_number("noise", noise, 0.0, np.inf, "0 or more")
    rng = read_random_state(random_state)
    X = rng.uniform(-1.0, 1.0, size=(n_samples, n_features))
    factors = _hidden_factors(X[:, : _count_informative(n_informative, n_features)], rank, rng)
    Y = _standardise(factors @ rng.normal(size=(rank, n_targets)))
    return X, Y + noise * rng.normal(size=Y.shape)


def make_multilabel(
    n_samples: int = 1000,
    n_features: int = 20,
    n_labels: int = 10,
    *,
    n_informative: int | None = None,
    rank: int = 3,
    cardinality: float = 2.0,
    skew: float = 0.5,
    noise: float = 0.1,
    sparse_output: bool = False,
    random_state: int | RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int8] | sparse.csr_array]:
    """Generate a multi-label classification problem with correlated labels.

    A label is present in the rows with the highest scores, a combination of hidden factors;
    frequencies fall as the ``-skew``-th power of the rank of the label.

    Parameters
    ----------
    n_samples, n_features, n_labels : int
        n, p and d.
    n_informative : int, optional
        How many features matter, the first ones; by default at most 10.
    rank : int, default=3
        The number of hidden factors behind all labels.
    cardinality : float, default=2.0
        The mean number of labels of a row; reached up to rounding as long as no label would
        have to be present in more than nine tenths of the rows.
    skew : float, default=0.5
        How unequal the frequencies are; 0 makes all labels equally frequent.
    noise : float, default=0.1
        The standard deviation of the noise in the scores, relative to that of the scores.
    sparse_output : bool, default=False
        Whether Y is a csr_array; a dense matrix is then never made.
    random_state : int, RandomState or None, default=None
        An integer gives the same data every time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features, uniform in [-1, 1).
    Y : ndarray of shape (n_samples, n_labels) or csr_array, int8
        1 where the label is present.

    Examples
    --------
    >>> from polyleaf.datasets import make_multilabel
    >>> X, Y = make_multilabel(100, 5, 400, cardinality=3, sparse_output=True, random_state=0)
    >>> Y.shape, round(Y.sum() / 100)
    ((100, 400), 3)
    """
    for name, size in {"n_features": n_features, "n_labels": n_labels}.items():
        expect_count(name, size)
    check_sizes(n_samples, n_features + n_labels, rank=rank)
    told = f"from 0 to n_labels={n_labels}"
    expect_number("cardinality", cardinality, 0.0, n_labels, told)
    expect_number("noise", noise, 0.0, np.inf, "0 or more")
    expect_number("skew", skew, 0.0, np.inf, "0 or more")
    rng = read_random_state(random_state)
    X = rng.uniform(-1.0, 1.0, size=(n_samples, n_features))
    factors = _hidden_factors(X[:, : _count_informative(n_informative, n_features)], rank, rng)
    counts = _label_counts(n_samples, n_labels, cardinality, skew)
    blocks = []
    for start in range(0, n_labels, _LABEL_BLOCK):
        block_counts = counts[start : start + _LABEL_BLOCK]
        scores = _standardise(factors @ rng.normal(size=(rank, len(block_counts))))
        scores += noise * rng.normal(size=scores.shape)
        blocks.append(_highest(scores, block_counts))
    Y = sparse.csr_array(sparse.hstack(blocks, format="csr"))
    return X, Y if sparse_output else Y.toarray()


def _highest(scores: NDArray[np.float64], counts: NDArray[np.int64]) -> sparse.csr_array:
    """Return a matrix with ones at the ``counts[j]`` highest scores of each column j."""
    ranked = np.argsort(-scores.T, axis=1, kind="stable")
    rows = ranked[np.arange(len(scores)) < counts[:, np.newaxis]]
    columns = np.repeat(np.arange(len(counts)), counts)
    ones = np.ones(len(rows), dtype=np.int8)
    return sparse.csr_array((ones, (rows, columns)), shape=scores.shape)


def check_sizes(n_samples: int, n_columns: int, **sizes: int) -> None:
    """Refuse sizes that are no counts, or of more numbers than there is memory for."""
    for name, size in {"n_samples": n_samples, **sizes}.items():
        expect_count(name, size)
    advice = "Make fewer rows or columns."
    check_memory(8 * int(n_samples) * int(n_columns), "The data take", advice)


def _count_informative(n_informative: int | None, n_features: int) -> int:
    if n_informative is None:
        return min(10, n_features)
    if expect_count("n_informative", n_informative) > n_features:
        raise ValueError(
            f"n_informative must be from 1 to n_features={n_features}; got {n_informative!r}."
        )
    return n_informative


def _hidden_factors(
    X: NDArray[np.float64], n_factors: int, rng: RandomState
) -> NDArray[np.float64]:
    """Return factors of shape (n, n_factors), each a sum of steps, interactions and waves."""
    n_samples, n_features = X.shape
    factors = np.zeros((n_samples, n_factors))
    for factor in factors.T:
        for _ in range(_TERMS_PER_KIND):
            a, b, c, d = rng.randint(n_features, size=4)
            cut_a, cut_b, cut_c = rng.uniform(-0.5, 0.5, size=3)
            weights = rng.normal(size=3)
            step_a, step_b = X[:, a] > cut_a, X[:, b] > cut_b
            factor += weights[0] * (X[:, c] > cut_c)
            factor += weights[1] * (step_a ^ step_b)
            factor += weights[2] * np.sin(np.pi * X[:, d])
    return _standardise(factors)


def _standardise(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centre columns and scale those that vary to unit variance."""
    centred = columns - columns.mean(axis=0)
    scale = centred.std(axis=0)
    return np.asarray(centred / np.where(scale > 1e-12, scale, 1.0))


def _label_counts(
    n_samples: int, n_labels: int, cardinality: float, skew: float
) -> NDArray[np.int64]:
    """Return how many rows have each label."""
    shares = np.arange(1, n_labels + 1, dtype=np.float64) ** -skew
    target = cardinality
    frequencies = shares * (target / shares.sum())
    # What a capped label cannot hold goes to the others.
    for _ in range(n_labels):
        is_full = frequencies >= 0.9
        free = shares[~is_full].sum()
        if not (frequencies > 0.9).any() or not free:
            break
        frequencies = np.where(is_full, 0.9, shares * (target - 0.9 * is_full.sum()) / free)
    counts = np.rint(np.clip(frequencies, 0.0, 0.9) * n_samples)
    return np.asarray(counts, dtype=np.int64)
