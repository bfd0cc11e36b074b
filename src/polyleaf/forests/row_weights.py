"""Weights of the training rows in the predictions of a forest (appendix B of Joly et al. 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

if TYPE_CHECKING:
    from polyleaf.forests.model import Forest

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]


def row_weights(forest: Forest, leaves: NDArray[np.int32]) -> CSR:
    """Weights of the training rows where trees, and channels, count alike: csr (n, n_train).

    Parameters
    ----------
    forest : Forest
    leaves : ndarray of shape (n_rows, n_trees), int32
        Leaves of any number of trees, counted over the forest; the number of all leaves stands
        for nothing.
    """
    offsets = np.append(forest.leaf_offsets, forest.leaf_rows.size)
    starts, ends = offsets[leaves], offsets[leaves + 1]
    sizes = (ends - starts).ravel()
    entries = ranges(starts.ravel(), sizes)
    weights = forest.entry_shares[entries] / leaves.shape[1]
    return _as_matrix(forest, leaves.shape, sizes, entries, weights)


def channel_row_weights(forest: Forest, leaves: NDArray[np.int32], channel: int) -> CSR:
    """Weights of the training rows in the prediction of one channel: csr (n, n_train).

    A leaf without an observed row counts as the nearest node above it that has one.

    Parameters
    ----------
    forest : Forest
    leaves : ndarray of shape (n_rows, n_trees), int32
        Leaves of all trees.
    channel : int
    """
    n_rows, n_trees = leaves.shape
    by_tree = np.full(n_trees, 1.0 / n_trees)
    if forest.tree_weights is not None:
        by_tree = forest.tree_weights[:, channel]
    weights = forest.outputs.channel_weights(channel)[forest.leaf_rows]
    if forest.leaf_counts is not None:
        weights = weights * forest.leaf_counts
    starts, ends = _observed_ranges(forest, leaves, weights)
    sizes = (ends - starts).ravel()
    entries = ranges(starts.ravel(), sizes)
    picked = weights[entries]
    totals = np.add.reduceat(np.append(picked, 0.0), _starts_of(sizes))
    totals[totals == 0] = 1.0
    factors = np.tile(by_tree, n_rows) / totals
    return _as_matrix(forest, leaves.shape, sizes, entries, picked * np.repeat(factors, sizes))


def _as_matrix(
    forest: Forest,
    shape: tuple[int, ...],
    sizes: NDArray[np.int64],
    entries: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> CSR:
    indptr = np.concatenate([[0], np.cumsum(sizes.reshape(shape).sum(axis=1))])
    matrix: CSR = sparse.csr_array(
        (weights, forest.leaf_rows[entries], indptr), shape=(shape[0], forest.outputs.n_rows)
    )
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _observed_ranges(
    forest: Forest, leaves: NDArray[np.int32], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Entries of each leaf, or of the nearest node above it that has any weight.

    Parameters
    ----------
    forest : Forest
    leaves : ndarray of shape (n_rows, n_trees), int32
    weights : ndarray of shape (n_entries,), float64

    Returns
    -------
    starts, ends : ndarray of the shape of `leaves`, int64
    """
    structure = forest.structure
    n_weighty = np.concatenate([[0], np.cumsum(weights > 0)])
    first_leaf, last_leaf = structure.leaf_ranges
    start, end = forest.leaf_offsets[first_leaf], forest.leaf_offsets[last_leaf]
    is_empty = n_weighty[end] == n_weighty[start]
    root = np.repeat(structure.tree_offsets[:-1], np.diff(structure.tree_offsets))
    parent = np.maximum(structure.parent, 0) + root
    node = np.flatnonzero(structure.is_leaf)
    while np.any(stuck := is_empty[node] & (node > root[node])):
        node = np.where(stuck, parent[node], node)
    ends = np.where(is_empty[node], start[node], end[node])
    return start[node][leaves], ends[leaves]


def ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Put the integers from each start on, as many as its size, one after the other.

    Examples
    --------
    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    return np.arange(sizes.sum()) + np.repeat(starts - _starts_of(sizes), sizes)


def _starts_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    starts: NDArray[np.int64] = np.cumsum(sizes) - sizes
    return starts
