"""Small problems with all kinds of features, channels and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from core_tree import Tree, binned_arrays, make_params, read_tree
from numpy.typing import NDArray
from reference import Reference, Rules
from scipy import sparse

from polyleaf import _core
from polyleaf.data import BinnedFeatures, bin_features

WEIGHTS = ("unit", "rows", "entries", "masked")


@dataclass(frozen=True, eq=False)
class Problem:
    """Features and channels, ready for the core and for the reference.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        Category codes where a feature is categorical; NaN is missing.
    n_categories : ndarray of shape (n_features,), int32
        0 for numeric features.
    binned : BinnedFeatures
    gradient : ndarray of shape (n_rows, n_channels), float32
        Weight times value.
    row_weights : ndarray of shape (n_rows,), float32, or None
    entry_weights : ndarray of shape (n_rows, n_channels), float32, or None
    """

    X: NDArray[np.float64]
    n_categories: NDArray[np.int32]
    binned: BinnedFeatures
    gradient: NDArray[np.float32]
    row_weights: NDArray[np.float32] | None = None
    entry_weights: NDArray[np.float32] | None = None

    @cached_property
    def core(self) -> _core.Binned:
        return _core.Binned(**binned_arrays(self.binned))

    @property
    def n_rows(self) -> int:
        return self.binned.n_rows

    @property
    def all_rows(self) -> NDArray[np.int32]:
        return np.arange(self.n_rows, dtype=np.int32)

    @property
    def hessian(self) -> NDArray[Any]:
        """Weights of shape (n_rows, n_channels), whatever their kind."""
        if self.entry_weights is not None:
            return self.entry_weights
        weights = np.ones(self.n_rows) if self.row_weights is None else self.row_weights
        return np.broadcast_to(weights[:, None], self.gradient.shape)

    def reference(self, **rules: Any) -> Reference:
        return Reference(
            self.binned,
            self.gradient,
            self.hessian,
            Rules(**rules),
            has_entry_weights=self.entry_weights is not None,
        )

    def grow(
        self, rows: NDArray[np.int32] | None = None, *, ordered: bool = False, **settings: Any
    ) -> Tree:
        """Grow with the core; `ordered`: on rows that come sorted by every feature."""
        return self.grow_on(self.channels, rows, ordered=ordered, **settings)

    def grow_sparse(self, **settings: Any) -> Tree:
        """Grow with the core on the same channels, given as sparse labels."""
        return self.grow_on(self.label_channels, **settings)

    def grow_on(
        self,
        channels: _core.Channels,
        rows: NDArray[np.int32] | None = None,
        *,
        ordered: bool = False,
        **settings: Any,
    ) -> Tree:
        """Grow with the core on given channels."""
        rows = self.all_rows if rows is None else rows
        params = make_params(self.binned.n_features, **settings)
        orders = _core.RowOrders(self.core, 1) if ordered else None
        return read_tree(_core.grow_tree(self.core, channels, rows, params, orders))

    @property
    def channels(self) -> _core.Channels:
        return _core.Channels.of_gradients(self.gradient, self.row_weights, self.entry_weights)

    @property
    def label_channels(self) -> _core.Channels:
        """The same channels, given as sparse labels."""
        weights = np.ones(self.n_rows) if self.row_weights is None else self.row_weights
        labels = sparse.csr_array(self.gradient / weights[:, None].astype(np.float32))
        return _core.Channels.of_labels(
            self.gradient.shape[1],
            labels.indptr.astype(np.int64),
            labels.indices.astype(np.int32),
            labels.data.astype(np.float32),
            self.row_weights,
        )


def make_problem(
    X: NDArray[Any],
    values: NDArray[Any],
    *,
    n_categories: Sequence[int] | None = None,
    max_bins: int | None = 255,
    weights: str = "unit",
    seed: int = 0,
) -> Problem:
    """Bin X and weight the values; `weights` is one of WEIGHTS."""
    categories = np.zeros(X.shape[1], np.int32)
    if n_categories is not None:
        categories[:] = n_categories
    rng = np.random.default_rng(seed + 1000)
    row_weights = entry_weights = None
    weight: NDArray[Any] = np.ones((len(X), 1), np.float32)
    if weights == "rows":
        row_weights = rng.uniform(0.25, 4.0, len(X)).astype(np.float32)
        weight = row_weights[:, None]
    elif weights in ("entries", "masked"):
        weight = rng.uniform(0.25, 4.0, values.shape).astype(np.float32)
        if weights == "masked":
            weight = (rng.random(values.shape) < 0.6).astype(np.float32)
        entry_weights = weight
    X = np.ascontiguousarray(X, dtype=np.float64)
    return Problem(
        X=X,
        n_categories=categories,
        binned=bin_features(X, categories > 0, categories, max_bins),
        gradient=np.ascontiguousarray(weight * values, dtype=np.float32),
        row_weights=row_weights,
        entry_weights=entry_weights,
    )


def make_values(X: NDArray[Any], n_channels: int, seed: int) -> NDArray[np.float64]:
    """Values that depend on X, with noise, standardised."""
    rng = np.random.default_rng(seed)
    columns = np.sin(2 * np.nan_to_num(X, nan=0.7))
    columns = (columns - columns.mean(0)) / np.maximum(columns.std(0), 1e-9)
    signal = columns @ rng.normal(size=(X.shape[1], n_channels))
    values = signal + rng.normal(size=(len(X), n_channels))
    return np.asarray((values - values.mean(0)) / values.std(0))


def numeric_problem(
    n_rows: int = 240,
    n_features: int = 5,
    n_channels: int = 3,
    *,
    missing: bool = False,
    seed: int = 0,
    **options: Any,
) -> Problem:
    """Continuous features, one of them with few values; a share of them missing on request."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[:, -1] = np.round(X[:, -1])
    values = make_values(X, n_channels, seed + 1)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
        X[:, 0] = np.where(X[:, 0] > 0.5, np.nan, X[:, 0])  # missing tells something
    return make_problem(X, values, seed=seed, **options)


def mixed_problem(
    n_rows: int = 300, n_channels: int = 3, *, seed: int = 0, **options: Any
) -> Problem:
    """Dense, mostly zero, mostly missing and categorical features side by side."""
    rng = np.random.default_rng(seed)

    def rarely(column: NDArray[Any], otherwise: float) -> NDArray[Any]:
        return np.where(rng.random(n_rows) < 0.15, column, otherwise)

    normal = rng.normal(size=(n_rows, 6))
    rare_with_gaps = rarely(normal[:, 2], 0.0)
    rare_with_gaps[rng.random(n_rows) < 0.04] = np.nan
    category = rng.integers(0, 6, n_rows).astype(float)
    category[rng.random(n_rows) < 0.1] = np.nan
    columns = {
        "dense": (normal[:, 0], 0),
        "mostly zero": (rarely(normal[:, 1], 0.0), 0),
        "mostly zero, some missing": (rare_with_gaps, 0),
        "mostly missing": (rarely(normal[:, 3], np.nan), 0),
        "mostly zero, only negative": (rarely(-np.abs(normal[:, 4]) - 0.1, 0.0), 0),
        "mostly zero, only positive": (rarely(np.abs(normal[:, 5]) + 0.1, 0.0), 0),
        "category": (category, 6),
        "mostly one category": (rarely(rng.integers(0, 5, n_rows).astype(float), 2.0), 5),
        "constant": (np.full(n_rows, 3.0), 0),
    }
    X = np.column_stack([column for column, _ in columns.values()])
    n_categories = [n for _, n in columns.values()]
    values = make_values(X, n_channels, seed + 1)
    return make_problem(X, values, n_categories=n_categories, seed=seed, **options)
