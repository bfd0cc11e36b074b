"""One tree of a forest with the statistics of its nodes, which the forest itself does not keep."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.forests.model import BLOCK_ENTRIES

if TYPE_CHECKING:
    from polyleaf.forests.model import Forest
    from polyleaf.trees.model import Trees


def described_tree(forest: Forest, t: int) -> Trees:
    """One tree with the statistics of its nodes, in the space of all channels."""
    tree = forest.tree(t)
    structure = tree.structure
    first, last = structure.leaf_ranges
    offsets = forest.leaf_offsets[forest.tree_leaves[t] : forest.tree_leaves[t + 1] + 1]
    running = np.concatenate([[0.0], np.cumsum(forest.entry_weights[offsets[0] : offsets[-1]])])
    up_to = running[offsets - offsets[0]]
    gains = tree.channel_node_gains()
    # What the splits below a node take off, and what is left in its leaves.
    taken = np.concatenate([[0.0], np.cumsum(gains)])
    left = np.concatenate([[0.0], np.cumsum(_leaf_deviations(forest, t, tree))])
    impurity = taken[structure.subtree_end] - taken[:-1] + left[last] - left[first]
    return replace(
        tree,
        structure=replace(
            structure,
            n_samples=offsets[last] - offsets[first],
            weight=up_to[last] - up_to[first],
            impurity=impurity,
            gain=gains,
        ),
    )


def _leaf_deviations(forest: Forest, t: int, tree: Trees) -> NDArray[np.float64]:
    """Sum the weighted squares of the deviations from each leaf's mean, over all channels."""
    offsets = forest.leaf_offsets[forest.tree_leaves[t] : forest.tree_leaves[t + 1] + 1]
    entries = slice(int(offsets[0]), int(offsets[-1]))
    leaf = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    deviations = np.zeros(offsets.size - 1)
    rows = forest.leaf_rows[entries]
    step = max(1, BLOCK_ENTRIES // forest.outputs.n_channels)
    for start in range(0, rows.size, step):
        block = slice(start, start + step)
        squares: Any = forest.outputs.values[rows[block]] - tree.leaves.predict(leaf[block])
        squares = squares.power(2) if forest.outputs.is_sparse else squares**2
        if forest.outputs.observed is not None:
            squares = np.where(forest.outputs.observed[rows[block]], squares, 0.0)
        if forest.outputs.weights is not None and forest.outputs.weights.ndim == 2:
            squares = squares * forest.outputs.weights[rows[block]]
        by_row = np.asarray(squares.sum(axis=1)) * forest.entry_weights[entries][block]
        deviations += np.bincount(leaf[block], weights=by_row, minlength=deviations.size)
    return deviations
