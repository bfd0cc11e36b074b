"""Quantiles of the distributions that a forest predicts, without a dense matrix of sparse Y."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ramify import _core
from ramify.model import channel_row_weights, row_weights

if TYPE_CHECKING:
    from ramify.model import Forest

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
    values: Any = forest.outputs.values
    blocks = list(forest.row_blocks(leaves.shape[0]))
    if not forest.outputs.is_sparse:
        found = np.empty((leaves.shape[0], forest.outputs.n_channels, quantiles.size))
        for rows in blocks:
            parts = _blocks(forest, leaves[rows], values, quantiles[order], n_threads)
            found[rows] = np.concatenate(list(parts), axis=1)[:, :, place]
        return found
    values = values.tocsc()
    stacks: list[list[Any]] = [[] for _ in range(quantiles.size)]
    for rows in blocks:
        beside: list[list[Any]] = [[] for _ in range(quantiles.size)]
        for part in _blocks(forest, leaves[rows], values, quantiles[order], n_threads):
            for q, matrices in enumerate(beside):
                matrices.append(sparse.csr_array(part[:, :, q]))
        for stack, matrices in zip(stacks, beside):
            stack.append(sparse.hstack(matrices, format="csr"))
    return [sparse.csr_array(sparse.vstack(stacks[q], format="csr")) for q in place]


def _blocks(
    forest: Forest,
    leaves: NDArray[np.int32],
    values: Any,
    quantiles: NDArray[np.float64],
    n_threads: int,
) -> Iterator[NDArray[np.float64]]:
    """Yield ascending quantiles of some channels after the other: (n_rows, some, n_quantiles)."""
    n_train, n_channels = values.shape
    shared = row_weights(forest, leaves) if forest.shares_row_weights else None
    step = 1
    if shared is not None:
        step = n_channels
        if forest.outputs.is_sparse:
            step = max(1, _BLOCK_ENTRIES // max(n_train, leaves.shape[0] * quantiles.size))
    for start in range(0, n_channels, step):
        part = values[:, start : start + step]
        dense = part.toarray() if forest.outputs.is_sparse else part
        weights = channel_row_weights(forest, leaves, start) if shared is None else shared
        found = np.empty((leaves.shape[0], dense.shape[1], quantiles.size))
        _core.row_quantiles(
            indptr=weights.indptr.astype(np.int64, copy=False),
            indices=weights.indices.astype(np.int32, copy=False),
            weights=weights.data,
            values=np.ascontiguousarray(dense),
            quantiles=quantiles,
            found=found,
            n_threads=n_threads,
        )
        yield found
