"""Leaf values in all outputs: weighted means over the training rows of each leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.trees.leaves import DenseLeaves

if TYPE_CHECKING:
    from polyleaf.data.targets import Targets
    from polyleaf.trees.structure import TreeStructure

#: Channels whose weights are summed at a time.
_CHANNEL_BLOCK = 64


def fill_leaves(
    structure: TreeStructure,
    leaf_offsets: NDArray[np.int64],
    rows: NDArray[np.int32],
    counts: NDArray[np.float64] | None,
    outputs: Targets,
    n_threads: int,
) -> DenseLeaves:
    """Average the training outputs over every leaf.

    A leaf in which an output is nowhere observed takes the value of the nearest node above it
    that has one.

    Parameters
    ----------
    structure : TreeStructure
        One tree.
    leaf_offsets : ndarray of shape (n_leaves + 1,), int64
    rows : ndarray of shape (n_entries,), int32
        Training rows, leaf after leaf.
    counts : ndarray of shape (n_entries,), float64, or None
        How often each of them counts; None: once.
    outputs : Targets
        Dense ones.
    n_threads : int
    """
    weights = outputs.weights
    by_row = weights if weights is not None and weights.ndim == 1 else None
    by_entry = weights if weights is not None and weights.ndim == 2 else None
    if counts is not None:
        drawn = np.zeros(outputs.n_rows)
        drawn[rows] = counts
        by_row = drawn if by_row is None else drawn * by_row
    means = np.empty((leaf_offsets.size - 1, outputs.n_channels))
    _core.leaf_means(
        values=np.asarray(outputs.values),
        observed=None if outputs.observed is None else outputs.observed.view(np.uint8),
        row_weights=by_row,
        entry_weights=by_entry,
        rows=rows,
        leaf_offsets=leaf_offsets,
        right=structure.right,
        leaf_index=structure.leaf_index,
        means=means,
        n_threads=n_threads,
    )
    return DenseLeaves(means, _leaf_weights(outputs, by_row, by_entry, rows, leaf_offsets))


def _leaf_weights(
    outputs: Targets,
    by_row: NDArray[np.float64] | None,
    by_entry: NDArray[np.float64] | None,
    rows: NDArray[np.int32],
    offsets: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Sum the weights in each leaf: one column if all channels share them."""
    row_weights = np.ones(rows.size) if by_row is None else by_row[rows]
    if outputs.observed is None and by_entry is None:
        return np.add.reduceat(row_weights, offsets[:-1])[:, None]
    sums = np.empty((offsets.size - 1, outputs.n_channels))
    for start in range(0, outputs.n_channels, _CHANNEL_BLOCK):
        block = slice(start, start + _CHANNEL_BLOCK)
        entries: NDArray[Any] = row_weights[:, None]
        if by_entry is not None:
            entries = entries * by_entry[rows, block]
        if outputs.observed is not None:
            entries = entries * outputs.observed[rows, block]
        np.add.reduceat(entries, offsets[:-1], axis=0, out=sums[:, block])
    return sums
