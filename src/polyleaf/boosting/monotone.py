"""Leaf values that rise or fall with a feature, in every output, whatever the splits.

Splits are chosen without regard to the constraints. Going down the tree, a split on a constrained
feature puts a bound between its sides: the middle of their values where these are in order, the
value of both together where they are not. Values of leaves are moved into their bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from polyleaf.trees.structure import TreeStructure


def bounded_values(
    structure: TreeStructure,
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    constraints: NDArray[np.int8],
) -> NDArray[np.float64]:
    """Move leaf values into the bounds that the constraints imply.

    Parameters
    ----------
    structure : TreeStructure
        One tree.
    values, weights : ndarray of shape (n_leaves, n_channels)
    constraints : ndarray of shape (n_features,), int8
        1: predictions never fall as the feature rises; -1: they never rise; 0: free.

    Returns
    -------
    ndarray of shape (n_leaves, n_channels), float64
    """
    inner, left, right = structure.children()
    if not np.any(constraints[structure.feature[inner]]):
        return values
    means = _node_means(structure, values, weights)
    low = np.full(means.shape, -np.inf)
    high = np.full(means.shape, np.inf)
    for node, a, b in zip(inner, left, right):  # parents come before their children
        low[[a, b]], high[[a, b]] = low[node], high[node]
        sign = constraints[structure.feature[node]]
        if sign == 0:
            continue
        below, above = (a, b) if sign > 0 else (b, a)
        in_order = means[below] <= means[above]
        bound = np.where(in_order, 0.5 * (means[below] + means[above]), means[node])
        bound = np.clip(bound, low[node], high[node])
        high[below] = np.minimum(high[below], bound)
        low[above] = np.maximum(low[above], bound)
    leaves = structure.is_leaf
    return np.clip(values, low[leaves], high[leaves])


def _node_means(
    structure: TreeStructure, values: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weighted mean of the leaf values below every node, of shape (n_nodes, n_channels)."""
    first, last = structure.leaf_ranges
    zero = np.zeros((1, values.shape[1]))
    mass = np.concatenate([zero, np.cumsum(weights, axis=0)])
    total = np.concatenate([zero, np.cumsum(weights * values, axis=0)])
    below = mass[last] - mass[first]
    sums = total[last] - total[first]
    means: NDArray[np.float64] = np.divide(sums, below, out=np.zeros_like(sums), where=below > 0)
    return means
