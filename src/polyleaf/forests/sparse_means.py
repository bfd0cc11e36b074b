"""Predictions of a forest whose training outputs are sparse: means, and the largest of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.forests.row_weights import row_weights

if TYPE_CHECKING:
    from polyleaf.forests.model import Forest

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]

#: Up to so many channels a dense vector per row is quicker than a sparse product.
_FEW_CHANNELS = 4096


def as_core_rows(forest: Forest) -> _core.LeafRows:
    """Give rows of leaves and outputs as the core reads them; the last leaf has no rows."""
    values: Any = forest.outputs.values
    return _core.LeafRows(
        np.append(forest.leaf_offsets, forest.leaf_rows.size),
        forest.leaf_rows,
        forest.entry_shares,
        values.indptr.astype(np.int64, copy=False),
        values.indices.astype(np.int32, copy=False),
        values.data,
        forest.outputs.n_channels,
    )


def sparse_means(
    forest: Forest,
    leaves: NDArray[np.int32],
    tree_weights: NDArray[np.float64] | None,
    n_threads: int,
) -> CSR:
    """Average training outputs over the leaves of every row: csr (n_rows, n_channels).

    Parameters
    ----------
    forest : Forest
    leaves : ndarray of shape (n_rows, n_some_trees), int32
        Counted over all trees; the number of all leaves stands for nothing to add.
    tree_weights : ndarray of shape (n_some_trees, n_channels), float64, or None
        None: all trees count alike.
    n_threads : int
    """
    if tree_weights is None and forest.outputs.n_channels <= _FEW_CHANNELS:
        sums = np.empty((leaves.shape[0], forest.outputs.n_channels))
        _core.predict_rows_dense(forest.core_rows, leaves, sums, n_threads)
        return sparse.csr_array(sums / leaves.shape[1])
    if tree_weights is None:
        return sparse.csr_array(row_weights(forest, leaves) @ forest.outputs.values)
    total: CSR = sparse.csr_array((leaves.shape[0], forest.outputs.n_channels))
    for t in range(leaves.shape[1]):
        by_tree: Any = row_weights(forest, leaves[:, t : t + 1]) @ forest.outputs.values
        total = total + by_tree.multiply(tree_weights[t]).tocsr()
    return total


def largest_sums(forest: Forest, leaves: NDArray[np.int32], k: int, n_threads: int) -> CSR:
    """Let the core find the k largest channels, without a vector of all of them per row.

    Parameters
    ----------
    forest : Forest
    leaves : ndarray of shape (n_rows, n_trees), int32
        Of all trees, which count alike.
    k : int
    n_threads : int

    Returns
    -------
    csr_array of shape (n_rows, n_channels)
    """
    n_rows, n_channels = leaves.shape[0], forest.outputs.n_channels
    k = min(k, n_channels)
    outputs = np.empty((n_rows, k), np.int32)
    sums = np.empty((n_rows, k))
    _core.predict_rows_topk(forest.core_rows, leaves, outputs, sums, n_threads)
    row, place = np.nonzero(outputs >= 0)
    entries = sums[row, place] / forest.n_trees, (row, outputs[row, place])
    return sparse.csr_array(entries, shape=(n_rows, n_channels))
