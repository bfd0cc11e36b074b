"""Boosted trees one by one, and the importance of features for outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.data import TargetSchema
from polyleaf.estimator.wording import channel_names_of
from polyleaf.trees.additive import AdditiveTrees, ChannelChoice
from polyleaf.trees.estimators import TreeRegressor
from polyleaf.trees.leaves import DenseLeaves
from polyleaf.trees.model import Trees
from polyleaf.trees.single_tree import FittedTree


def boosted_member(model: Any, trees: AdditiveTrees, t: int) -> TreeRegressor:
    """Make an estimator of what one tree adds to the scores.

    Parameters
    ----------
    model : Boosting
        Fitted.
    trees : AdditiveTrees
        Its trees, with the training rows of their leaves.
    t : int
    """
    assert trees.leaf_rows is not None
    names = channel_names_of(model, trees.n_channels)
    values = trees.tree_values(t, t + 1, ChannelChoice.all_of(trees.n_channels))
    rows = trees.leaf_rows[trees.tree_leaves[t] : trees.tree_leaves[t + 1]]
    tree = Trees(
        trees.structure.tree(t),
        DenseLeaves(np.ascontiguousarray(values, np.float64), np.ascontiguousarray(rows[:, None])),
    )
    nodes = slice(int(trees.structure.tree_offsets[t]), int(trees.structure.tree_offsets[t + 1]))
    counts = trees.node_rows()[nodes]
    gains = tree.channel_node_gains()
    taken = np.concatenate([[0.0], np.cumsum(gains)])
    structure = replace(
        tree.structure,
        n_samples=counts.astype(np.int64),
        weight=counts,
        impurity=taken[tree.structure.subtree_end] - taken[:-1],
        gain=gains,
    )
    schema = TargetSchema.build("regression", trees.n_channels, output_names=tuple(names))
    member = TreeRegressor()
    member._fitted = FittedTree(model._features, schema, replace(tree, structure=structure))
    return member


def boosted_importances(trees: AdditiveTrees, offsets: NDArray[Any]) -> NDArray[np.float64]:
    """Share of each feature in the variance that the trees add to each output: (n_outputs, p)."""
    by_channel = trees.feature_gains(ChannelChoice.all_of(trees.n_channels))
    gains = np.add.reduceat(by_channel, offsets[:-1], axis=0)
    totals = gains.sum(axis=1, keepdims=True)
    shares: NDArray[np.float64] = np.zeros(gains.shape)
    np.divide(gains, totals, out=shares, where=totals > 0)
    return shares
