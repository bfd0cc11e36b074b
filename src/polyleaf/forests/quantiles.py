"""Quantiles of the distributions that a forest predicts, without a dense matrix of sparse Y."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.forests.row_weights import channel_row_weights, row_weights

if TYPE_CHECKING:
    from polyleaf.forests.model import Forest

#: Entries of sparse training outputs that are made dense at a time.
_BLOCK_ENTRIES = 2**22


def forest_quantiles(
    forest: Forest, leaves: NDArray[np.int32], quantiles: NDArray[np.float64], n_threads: int
) -> Any:
    """Give quantiles of every channel.

    Parameters
    ----------
    forest : Forest
    leaves : ndarray of shape (n_rows, n_trees), int32
        Leaves of all trees, counted over the forest.
    quantiles : ndarray of shape (n_quantiles,), float64
        In [0, 1].
    n_threads : int

    Returns
    -------
    ndarray of shape (n_rows, n_channels, n_quantiles), or list of csr_array
        One matrix of shape (n_rows, n_channels) per quantile if the training outputs are sparse.
    """
    order = np.argsort(quantiles)
    place = np.argsort(order)
    find = partial(weighted_row_quantiles, quantiles=quantiles[order], n_threads=n_threads)
    blocks = list(forest.row_blocks(leaves.shape[0]))
    if forest.outputs.is_sparse:
        parts = [_sparse_block(forest, leaves[rows], find) for rows in blocks]
        return [sparse.csr_array(sparse.vstack([p[q] for p in parts], "csr")) for q in place]
    found = np.empty((leaves.shape[0], forest.outputs.n_channels, quantiles.size))
    for rows in blocks:
        found[rows] = _dense_block(forest, leaves[rows], find)[:, :, place]
    return found


def _dense_block(forest: Forest, leaves: NDArray[np.int32], find: Any) -> NDArray[np.float64]:
    """Ascending quantiles of every channel: (n_rows, n_channels, n_quantiles)."""
    values: Any = forest.outputs.values
    if forest.shares_row_weights:
        return np.asarray(find(row_weights(forest, leaves), values))
    return np.concatenate(
        [
            find(channel_row_weights(forest, leaves, channel), values[:, channel : channel + 1])
            for channel in range(values.shape[1])
        ],
        axis=1,
    )


def _sparse_block(forest: Forest, leaves: NDArray[np.int32], find: Any) -> list[Any]:
    """Ascending quantiles as one csr_array of shape (n_rows, n_channels) each.

    A channel without an entry in any row that counts has the quantiles 0, and is left out.
    """
    values: Any = forest.outputs.values
    shared = row_weights(forest, leaves) if forest.shares_row_weights else None
    counted = values if shared is None else values[np.unique(shared.indices)]
    channels = np.unique(counted.indices)
    picked = values[:, channels].tocsc()
    step = 1
    if shared is not None:
        step = max(1, _BLOCK_ENTRIES // max(values.shape[0], leaves.shape[0]))
    parts: list[list[Any]] = []
    for start in range(0, channels.size, step):
        weights = shared
        if weights is None:
            weights = channel_row_weights(forest, leaves, int(channels[start]))
        found = find(weights, picked[:, start : start + step].toarray())
        parts.append([sparse.coo_array(found[:, :, q]) for q in range(found.shape[2])])
    shape = (leaves.shape[0], values.shape[1])
    if not parts:
        return [sparse.csr_array(shape) for _ in range(find.keywords["quantiles"].size)]
    return [_put(sparse.hstack(matrices), channels, shape) for matrices in zip(*parts)]


def _put(matrix: Any, channels: NDArray[np.integer[Any]], shape: tuple[int, int]) -> Any:
    """Put the columns of a matrix to the given places of a wider one."""
    entries = matrix.tocoo()
    rows, columns = entries.coords
    return sparse.csr_array((entries.data, (rows, channels[columns])), shape=shape)


def weighted_row_quantiles(
    weights: Any, values: NDArray[np.float64], quantiles: NDArray[np.float64], n_threads: int
) -> NDArray[np.float64]:
    """Quantiles of weighted training rows: (n_rows, n_channels, n_quantiles)."""
    found = np.empty((weights.shape[0], values.shape[1], quantiles.size))
    _core.row_quantiles(
        indptr=weights.indptr.astype(np.int64, copy=False),
        indices=weights.indices.astype(np.int32, copy=False),
        weights=weights.data,
        values=np.ascontiguousarray(values),
        quantiles=quantiles,
        found=found,
        n_threads=n_threads,
    )
    return found
