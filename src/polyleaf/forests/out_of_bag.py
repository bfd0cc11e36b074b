"""What the trees of a forest say of the training rows that they did not see."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.warning import warn_user
from polyleaf.trees.moments import row_blocks

if TYPE_CHECKING:
    from polyleaf.data import EncodedX
    from polyleaf.forests.model import Forest

#: Rows by which the error of a tree is drawn towards that of the average tree.
_PRIOR_ROWS = 10.0


class RowsElsewhere(ABC):
    """Training rows that stay with several workers, which find their leaves.

    Attributes
    ----------
    shape : tuple (n_train, n_features)
    """

    shape: tuple[int, int]

    @abstractmethod
    def leaves_of(self, forest: Forest, n_threads: int) -> NDArray[np.int32]:
        """Find the leaf of every row in every tree, counted over all trees: (n_train, n_trees)."""


def _leaf_finder(
    forest: Forest, X: EncodedX | RowsElsewhere, n_threads: int
) -> Callable[[Any], NDArray[np.int32]]:
    """Give a function that finds the leaves of some training rows."""
    if isinstance(X, RowsElsewhere):
        found = X.leaves_of(forest, n_threads)
        return lambda rows: found[rows]
    return lambda rows: forest.leaves_of(X[rows], n_threads)


@dataclass(frozen=True, eq=False)
class OutOfBag:
    """Out-of-bag predictions of the training rows.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_channels), float64, or csr_array if Y is sparse
        Of a dense array, NaN where no tree can tell.
    n_trees : ndarray of shape (n_rows,), int64
        Trees that did not see the row.
    """

    values: Any
    n_trees: NDArray[np.int64]

    def scorable_rows(self, observed: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """Tell which rows have a prediction of each of their observed outputs: (n_rows,).

        Parameters
        ----------
        observed : ndarray of shape (n_rows, n_channels), bool, or None
            None: everything is.
        """
        scorable: NDArray[np.bool_] = self.n_trees > 0
        if isinstance(self.values, np.ndarray):
            is_gap = np.isnan(self.values)
            is_gap = is_gap if observed is None else is_gap & observed
            scorable = scorable & ~is_gap.any(axis=1)
        return scorable


def is_out_of_bag(forest: Forest) -> NDArray[np.bool_]:
    """Tell which rows each tree was not grown on, of shape (n_train, n_trees)."""
    outside = np.ones((forest.outputs.n_rows, forest.n_trees), np.bool_)
    for t, counts in enumerate(forest.in_bag_counts()):
        outside[:, t] = counts == 0
    return outside


def predict_out_of_bag(
    forest: Forest, X: EncodedX | RowsElsewhere, n_threads: int = 1
) -> OutOfBag:
    """Predict every training row by the trees that did not see it.

    Parameters
    ----------
    forest : Forest
    X : ndarray, csr_array or RowsElsewhere of shape (n_train, n_features)
        The training features, encoded.
    n_threads : int
    """
    outside = is_out_of_bag(forest)
    nothing = np.int32(forest.structure.n_leaves)
    leaves_of, parts = _leaf_finder(forest, X, n_threads), []
    for rows in row_blocks(outside.shape[0], forest.outputs.n_channels + forest.n_trees):
        leaves = np.where(outside[rows], leaves_of(rows), nothing)
        sums = forest.predict_leaves(leaves, n_threads=n_threads)
        if forest.tree_weights is None:
            totals = outside[rows].mean(axis=1)[:, None]
        else:
            totals = outside[rows] @ forest.tree_weights
        parts.append(_divide(sums, totals))
    values = sparse.vstack(parts, format="csr") if forest.outputs.is_sparse else np.vstack(parts)
    return OutOfBag(values, outside.sum(axis=1))


def _divide(sums: Any, totals: NDArray[np.float64]) -> Any:
    """Divide entry by entry; nothing by nothing is not known, or 0 in a sparse matrix."""
    if isinstance(sums, np.ndarray):
        quotient = np.full(sums.shape, np.nan)
        return np.divide(sums, totals, out=quotient, where=totals > 0)
    divided = sparse.coo_array(sums)
    by_entry = np.broadcast_to(totals, sums.shape)[divided.row, divided.col]
    return sparse.csr_array(
        (divided.data / by_entry, (divided.row, divided.col)), shape=sums.shape
    )


def mixture_errors(
    forest: Forest,
    X: EncodedX | RowsElsewhere,
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    shares: Sequence[float],
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Sum squared errors out of bag for mixtures of two weightings: (n_shares, n_channels).

    Parameters
    ----------
    forest : Forest
    X : ndarray, csr_array or RowsElsewhere of shape (n_train, n_features)
        The training features, encoded.
    first, second : ndarray of shape (n_trees, n_channels), float64
        Weights of trees.
    shares : sequence of float
        Shares of the second.
    n_threads : int

    Returns
    -------
    ndarray of shape (n_shares, n_channels), float64
        Weighted by rows; entries that one of the two cannot tell are left out of all.
    """
    outside = is_out_of_bag(forest)
    nothing = np.int32(forest.structure.n_leaves)
    errors = np.zeros((len(shares), forest.outputs.n_channels))
    leaves_of = _leaf_finder(forest, X, n_threads)
    for rows in row_blocks(outside.shape[0], 4 * forest.outputs.n_channels + forest.n_trees):
        leaves = np.where(outside[rows], leaves_of(rows), nothing)
        sums = [
            forest.predict_leaves(leaves, each, n_threads=n_threads) for each in (first, second)
        ]
        totals = [outside[rows] @ each for each in (first, second)]
        known = (totals[0] > 0) & (totals[1] > 0)
        numbers = np.arange(rows.start, rows.stop)
        for k, share in enumerate(shares):
            mixed = (1.0 - share) * sums[0] + share * sums[1]
            total = (1.0 - share) * totals[0] + share * totals[1]
            if not forest.outputs.is_sparse:  # where what nobody tells is 0, not unknown
                total = np.where(known, total, 0.0)
            errors[k] += _squared_errors(forest, _divide(mixed, total), numbers)[0]
    return errors


def tree_errors(forest: Forest, X: EncodedX | RowsElsewhere) -> NDArray[np.float64]:
    """Mean squared error of each tree in each channel, out of bag: (n_trees, n_channels).

    The error of a tree counts together with a few rows of the average tree's, so that a tree
    with few rows out of bag, or a label that is rare among them, does not get a wild weight.

    Parameters
    ----------
    forest : Forest
    X : ndarray, csr_array or RowsElsewhere of shape (n_train, n_features)
        The training features, encoded.
    """
    outside = is_out_of_bag(forest)
    sums = np.zeros((forest.n_trees, forest.outputs.n_channels))
    weights = np.zeros_like(sums)
    leaves_of = _leaf_finder(forest, X, 1)
    for t in range(forest.n_trees):
        rows = np.flatnonzero(outside[:, t])
        if not rows.size:
            continue
        tree = forest.tree(t)
        if isinstance(X, RowsElsewhere):
            own = leaves_of(rows)[:, t] - forest.tree_leaves[t]
            predicted = tree.leaves.predict(own.astype(np.int32))
        else:
            predicted = tree.predict(X[rows])
        sums[t], weights[t] = _squared_errors(forest, predicted, rows)
    total = weights.sum(axis=0)
    average = np.divide(sums.sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
    prior = _PRIOR_ROWS * total / np.maximum(outside.sum(), 1)
    means: NDArray[np.float64] = np.divide(
        sums + prior * average, weights + prior, out=np.zeros_like(sums), where=prior > 0
    )
    return means


def _squared_errors(
    forest: Forest, predicted: Any, rows: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weighted sums of squared errors and of weights, each of shape (n_channels,)."""
    outputs = forest.outputs
    weights = np.ones(rows.size) if outputs.weights is None else outputs.weights[rows]
    if outputs.is_sparse:
        differences = sparse.csr_array(predicted - outputs.values[rows])
        total = np.full(outputs.n_channels, weights.sum())
        return np.asarray(weights @ differences.power(2)), total
    by_entry = np.broadcast_to(weights[:, None] if weights.ndim == 1 else weights, predicted.shape)
    known = ~np.isnan(predicted)
    if outputs.observed is not None:
        known &= outputs.observed[rows]
    by_entry = np.where(known, by_entry, 0.0)
    errors = np.where(known, predicted - outputs.values[rows], 0.0)
    return (by_entry * errors**2).sum(axis=0), by_entry.sum(axis=0)


def out_of_bag_score(forest: Any, default: Callable[..., float], truth: Any, guess: Any) -> float:
    """Score the rows that are given, by the forest's `oob_score` or as usual; NaN without any."""
    if not truth.shape[0]:
        warn_user(
            f"oob_score_ of {type(forest).__name__} is NaN: a row is scored if trees that were "
            "not grown on it saw all of its outputs; there is none. Use more trees, or "
            "oob_score=False.",
        )
        return float("nan")
    score = forest.oob_score if callable(forest.oob_score) else default
    return float(score(truth, guess))
