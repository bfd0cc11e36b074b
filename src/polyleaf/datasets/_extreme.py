"""Generate sparse problems with very many labels, whose frequencies follow a power law.

The work and memory follow the number of stored entries, never rows times labels.
"""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.memory import check_memory
from polyleaf.checks.numbers import expect_count, expect_number
from polyleaf.checks.randomness import read_random_state

_N_RELATED = 8  # labels that tend to come with a label
_N_WORDS = 10  # features that tell a label
_N_NOISE = 20  # features of a row that tell nothing


def make_extreme_labels(
    n_samples: int = 10_000,
    n_features: int = 10_000,
    n_labels: int = 10_000,
    *,
    cardinality: float = 5.0,
    exponent: float = 1.0,
    random_state: int | RandomState | None = None,
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Generate a sparse problem with a long tail of rare labels, like tagged texts.

    A row has a main label, drawn with a probability that falls as a power of its number, and
    others: half of them from a short list of labels related to the main one, half drawn like it.
    Each label has ten features of its own, of which a row shows some, among other features drawn
    by chance.

    Parameters
    ----------
    n_samples, n_features, n_labels : int, default=10000
        n, p and d.
    cardinality : float, default=5.0
        About the mean number of labels of a row, at least 1; labels drawn twice count once.
    exponent : float, default=1.0
        How fast frequencies fall with the number of the label.
    random_state : int, RandomState or None, default=None
        An integer gives the same data every time.

    Returns
    -------
    X : csr_array of shape (n_samples, n_features), float64
        Rows of unit length.
    Y : csr_array of shape (n_samples, n_labels), int8

    Examples
    --------
    >>> from polyleaf.datasets import make_extreme_labels
    >>> X, Y = make_extreme_labels(1000, 5000, 100_000, random_state=0)
    >>> Y.shape, Y.nnz < 6000
    ((1000, 100000), True)
    """
    n_samples = expect_count("n_samples", n_samples)
    n_features = expect_count("n_features", n_features)
    n_labels = expect_count("n_labels", n_labels)
    told = f"from 1 to n_labels={n_labels}"
    cardinality = expect_number("cardinality", cardinality, 1.0, n_labels, told)
    told = "0 or more, and finite"
    exponent = expect_number("exponent", exponent, 0.0, np.inf, told, below=True)
    needed = 8 * (n_labels * (_N_RELATED + _N_WORDS) + n_features + n_samples * (_N_NOISE + 1))
    check_memory(needed, "The data take at least", "Make fewer rows, features or labels.")
    rng = read_random_state(random_state)
    Y = _label_rows(n_samples, n_labels, cardinality, exponent, rng)
    return _feature_rows(Y, n_features, rng), Y


def _label_rows(
    n_samples: int, n_labels: int, cardinality: float, exponent: float, rng: RandomState
) -> sparse.csr_array:
    related = _power_law(n_labels * _N_RELATED, n_labels, exponent, rng)
    related = related.reshape(n_labels, _N_RELATED)
    main = _power_law(n_samples, n_labels, exponent, rng)
    n_more = rng.poisson(cardinality - 1.0, size=n_samples)
    rows = np.repeat(np.arange(n_samples), n_more)
    near = related[main[rows], rng.randint(_N_RELATED, size=rows.size)]
    far = _power_law(rows.size, n_labels, exponent, rng)
    more = np.where(rng.uniform(size=rows.size) < 0.5, near, far)
    labels = np.concatenate([main, more])
    rows = np.concatenate([np.arange(n_samples), rows])
    Y = sparse.csr_array((np.ones(rows.size), (rows, labels)), shape=(n_samples, n_labels))
    Y.data[:] = 1.0  # a label drawn twice
    return Y.astype(np.int8)


def _feature_rows(Y: sparse.csr_array, n_features: int, rng: RandomState) -> sparse.csr_array:
    n_samples, n_labels = Y.shape
    words = rng.randint(n_features, size=(n_labels, _N_WORDS))
    row_of = np.repeat(np.arange(n_samples), np.diff(Y.indptr))
    shown = rng.uniform(size=(Y.nnz, _N_WORDS)) < 0.5
    told_rows = np.repeat(row_of, _N_WORDS)[shown.ravel()]
    told = words[Y.indices].ravel()[shown.ravel()]
    noise_rows = np.repeat(np.arange(n_samples), _N_NOISE)
    noise = _power_law(noise_rows.size, n_features, 0.5, rng)
    rows = np.concatenate([told_rows, noise_rows])
    columns = np.concatenate([told, noise])
    counts = sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=(n_samples, n_features))
    counts.data = np.log1p(counts.data)
    lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)))
    counts.data /= np.repeat(lengths, np.diff(counts.indptr))
    return counts


def _power_law(
    n_draws: int, n_values: int, exponent: float, rng: RandomState
) -> NDArray[np.int64]:
    """Draw numbers below n_values, number i with a probability as (i + 1) ** -exponent."""
    cumulative = np.cumsum(np.arange(1, n_values + 1, dtype=np.float64) ** -exponent)
    draws = rng.uniform(high=cumulative[-1], size=n_draws)
    return np.searchsorted(cumulative, draws, side="right").astype(np.int64)
