"""The named problems: every draw of a problem comes from a seed of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.real_data import REAL_DATA, data_folder


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test data.

    Attributes
    ----------
    X_train, X_test : ndarray (C order) or csr_array of shape (n_train, p) and (n_test, p)
    Y_train, Y_test : ndarray (C order) or csr_array of shape (n_train, d) and (n_test, d)
    """

    X_train: Any
    Y_train: Any
    X_test: Any
    Y_test: Any

    def with_features_as(self, dtype: str) -> Split:
        """Return the same data with X of another type."""

        def cast(X: Any) -> Any:
            return X.astype(dtype) if sparse.issparse(X) else np.ascontiguousarray(X, dtype=dtype)

        return Split(cast(self.X_train), self.Y_train, cast(self.X_test), self.Y_test)


@dataclass(frozen=True)
class Problem:
    """A named source of data.

    Parameters
    ----------
    name : str
    n_train, n_test, n_features, n_outputs : int
    draw : callable
        Takes the number of the draw (0, 1, ...) and returns a `Split`, always the same.
    """

    name: str
    n_train: int
    n_test: int
    n_features: int
    n_outputs: int
    draw: Callable[[int], Split]


def dense_regression(
    name: str, *, n_train: int, n_test: int, n_features: int, n_outputs: int
) -> Problem:
    """Describe targets of rank 5 that depend on 8 features in steps, interactions and waves.

    The noise (0.3 of each target's deviation) and the share of useless features are such that a
    tree of depth 8 reaches a test r2 of about 0.7 and a fully grown one about 0.5.
    """

    def draw(number: int) -> Split:
        from polyleaf.datasets import make_correlated_targets

        X, Y = make_correlated_targets(
            n_train + n_test,
            n_features,
            n_outputs,
            n_informative=min(8, n_features),
            rank=min(5, n_outputs),
            noise=0.3,
            random_state=number,
        )
        return Split(*_cut(X, Y, n_train))

    return Problem(name, n_train, n_test, n_features, n_outputs, draw)


def many_rows(name: str, *, n_train: int, n_outputs: int, is_skewed: bool) -> Problem:
    """Describe many rows of 28 features that are normal, or nine times of ten zero.

    Targets are waves of ten features and products of neighbours, with noise.
    """
    n_test, n_features = 50_000, 28

    def draw(number: int) -> Split:
        rng = np.random.default_rng(number)
        X = rng.normal(size=(n_train + n_test, n_features))
        if is_skewed:
            X = np.exp(X)
            X[rng.random(X.shape) < 0.9] = 0.0
        inputs = X[:, :10] - (X[:, :10].mean(axis=0) if is_skewed else 0.0)
        waves = np.sin(2.0 * inputs) @ rng.normal(size=(10, n_outputs))
        products = (inputs[:, :-1] * inputs[:, 1:]) @ rng.normal(size=(9, n_outputs))
        Y = waves + 0.5 * products + rng.normal(size=waves.shape)
        return Split(*_cut(X, Y, n_train))

    return Problem(name, n_train, n_test, n_features, n_outputs, draw)


def generated_labels(
    name: str, *, n_train: int, n_test: int, n_features: int, n_outputs: int
) -> Problem:
    """Describe generated labels: dense X, sparse Y, as `real_labels` has them."""

    def draw(number: int) -> Split:
        from polyleaf.datasets import make_multilabel

        X, Y = make_multilabel(n_train + n_test, n_features, n_outputs, random_state=number)
        X_train, Y_train, X_test, Y_test = _cut(X, Y, n_train)
        return Split(X_train, sparse.csr_array(Y_train), X_test, sparse.csr_array(Y_test))

    return Problem(name, n_train, n_test, n_features, n_outputs, draw)


def real_labels(name: str, *, n_train: int, is_sparse: bool = False) -> Problem:
    """Describe a public multi-label data set: sparse Y, a random division per draw."""
    facts = REAL_DATA[name]

    def draw(number: int) -> Split:
        folder = data_folder()
        if folder is None:
            raise ValueError(f"{name} is not here: set POLYLEAF_DATA to the folder of data sets.")
        data = facts.load(folder)
        order = np.random.default_rng(number).permutation(facts.n)
        X: Any = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X)
        if is_sparse:
            X = sparse.csr_array(X)
        Y = sparse.csr_array(data.Y)[order]
        return Split(X[order[:n_train]], Y[:n_train], X[order[n_train:]], Y[n_train:])

    suffix = "-sparse" if is_sparse else ""
    return Problem(name + suffix, n_train, facts.n - n_train, facts.p, facts.d, draw)


def _cut(X: NDArray[Any], Y: NDArray[Any], n_train: int) -> tuple[NDArray[Any], ...]:
    """Cut rows into training and test, each with memory of its own."""
    parts = X[:n_train], Y[:n_train], X[n_train:], Y[n_train:]
    return tuple(part.copy(order="C") for part in parts)


PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        dense_regression("dense-300-8-3", n_train=300, n_test=100, n_features=8, n_outputs=3),
        *(
            dense_regression(
                f"dense-5k-15-{d}", n_train=5_000, n_test=5_000, n_features=15, n_outputs=d
            )
            for d in (2, 4, 6)
        ),
        *(
            dense_regression(
                f"dense-2k-20-{d}", n_train=2_000, n_test=500, n_features=20, n_outputs=d
            )
            for d in (1, 16, 100)
        ),
        dense_regression(
            "dense-250-300-16", n_train=250, n_test=1_000, n_features=300, n_outputs=16
        ),
        dense_regression(
            "dense-9k-61-16", n_train=9_000, n_test=9_000, n_features=61, n_outputs=16
        ),
        dense_regression(
            "dense-10k-60-16", n_train=10_000, n_test=10_000, n_features=60, n_outputs=16
        ),
        *(
            dense_regression(
                f"dense-30k-120-{d}", n_train=30_000, n_test=10_000, n_features=120, n_outputs=d
            )
            for d in (16, 100, 256)
        ),
        *(
            many_rows(
                f"{columns}-{size}-28-{d}",
                n_train=n_train,
                n_outputs=d,
                is_skewed=columns == "skewed",
            )
            for columns in ("normal", "skewed")
            for size, n_train in (("100k", 100_000), ("1m", 1_000_000))
            for d in (1, 4, 16)
        ),
        generated_labels("labels-300-8-6", n_train=300, n_test=100, n_features=8, n_outputs=6),
        generated_labels(
            "labels-500-30-500", n_train=500, n_test=500, n_features=30, n_outputs=500
        ),
        real_labels("delicious", n_train=12_920),
        real_labels("yeast", n_train=1_500),
        real_labels("enron", n_train=1_123),
        real_labels("enron", n_train=1_123, is_sparse=True),
        real_labels("medical", n_train=650),
        real_labels("medical", n_train=650, is_sparse=True),
        real_labels("corel5k", n_train=4_500),
    )
}
