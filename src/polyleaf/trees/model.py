"""A fitted tree, or several: its structure and what its leaves hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.trees.additive import AdditiveTrees, ChannelChoice
from polyleaf.trees.leaves import DenseLeaves, Leaves, RowLeaves
from polyleaf.trees.structure import TreeStructure, apply_trees

if TYPE_CHECKING:
    from collections.abc import Mapping

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]

#: Channels handled at a time where all of them at once could be too many.
_CHANNEL_BLOCK = 64
#: Relative size of what sums of rounded numbers leave behind.
_ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class Trees:
    """One or more trees with their leaves.

    Attributes
    ----------
    structure : TreeStructure
    leaves : DenseLeaves or RowLeaves
    """

    structure: TreeStructure
    leaves: Leaves

    def apply(self, X: NDArray[Any] | CSR, n_threads: int = 1) -> NDArray[np.int32]:
        """Find the leaf of every row in every tree; see `apply_trees`."""
        return apply_trees(self.structure, X, n_threads)

    def predict(self, X: NDArray[Any] | CSR, n_threads: int = 1) -> Any:
        """Predict with the first tree: ndarray or csr_array of shape (n_rows, n_channels)."""
        nodes = self.apply(X, n_threads)[:, 0]
        return self.leaves.predict(self.structure.leaf_index[nodes])

    def channel_gains(self) -> NDArray[np.float64]:
        """Sum up what each feature's splits take off each channel's squared deviations.

        Returns
        -------
        ndarray of shape (n_channels, n_features), float64
            A row of zeros if no split helps to predict the channel.
        """
        structure, n_channels = self.structure, self.leaves.n_channels
        inner, left, right = structure.children()
        features = structure.feature[inner]
        totals = np.zeros((n_channels, structure.n_features))
        for start in range(0, n_channels, _CHANNEL_BLOCK):
            stop = min(start + _CHANNEL_BLOCK, n_channels)
            scores = _centred_scores(*self.leaves.leaf_sums(start, stop), structure)
            gains = np.maximum(scores[left] + scores[right] - scores[inner], 0.0)
            for k in range(stop - start):
                totals[start + k] = np.bincount(
                    features, weights=gains[:, k], minlength=structure.n_features
                )
        return totals

    def channel_node_gains(self) -> NDArray[np.float64]:
        """Sum up what each split takes off all channels' squared deviations: (n_nodes,)."""
        inner, left, right = self.structure.children()
        gains = np.zeros(self.structure.n_nodes)
        for start in range(0, self.leaves.n_channels, _CHANNEL_BLOCK):
            stop = min(start + _CHANNEL_BLOCK, self.leaves.n_channels)
            scores = _centred_scores(*self.leaves.leaf_sums(start, stop), self.structure)
            taken = np.maximum(scores[left] + scores[right] - scores[inner], 0.0)
            gains[inner] += taken.sum(axis=1)
        return gains

    def additive(self) -> AdditiveTrees:
        """Give the trees as a sum; their nodes must have statistics."""
        before = np.concatenate([[0], np.cumsum(self.structure.is_leaf)])[
            self.structure.tree_offsets
        ]

        def tree_values(first: int, last: int, choice: ChannelChoice) -> NDArray[np.float64]:
            return choice(self.leaves.means()[before[first] : before[last]])

        rows = self.structure.n_samples[self.structure.is_leaf].astype(np.float64)
        return AdditiveTrees(self.structure, np.zeros(self.leaves.n_channels), rows, tree_values)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Name the arrays, for a model file."""
        return {**self.structure.to_arrays(), **self.leaves.to_arrays()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], leaves_kind: str) -> Trees:
        """Rebuild and check trees from named arrays.

        Raises
        ------
        ValueError
            If anything is absent, of another type or shape, or out of range.
        """
        structure = TreeStructure.from_arrays(arrays)
        if leaves_kind == DenseLeaves.kind:
            return cls(structure, DenseLeaves.from_arrays(arrays, structure.n_leaves))
        if leaves_kind == RowLeaves.kind:
            return cls(structure, RowLeaves.from_arrays(arrays, structure.n_leaves))
        raise ValueError(f"Expected leaves to be 'dense' or 'rows'; got {leaves_kind!r:.40}.")


def _centred_scores(
    weights: NDArray[np.float64], sums: NDArray[np.float64], structure: TreeStructure
) -> NDArray[np.float64]:
    """G^2 / H of every node and channel, where G is a sum of deviations from the mean.

    Parameters
    ----------
    weights, sums : ndarray of shape (n_leaves, n_channels)
        Sums of weights and of weighted outputs in each leaf.
    structure : TreeStructure
    """
    total = weights.sum(axis=0)
    mean = np.divide(sums.sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
    deviations = sums - weights * mean
    is_rounding = np.abs(deviations) <= _ROUNDING * np.abs(weights * mean)
    deviations[is_rounding] = 0.0
    first, last = structure.leaf_ranges
    up_to = np.zeros((2, sums.shape[0] + 1, sums.shape[1]))
    np.cumsum(weights, axis=0, out=up_to[0, 1:])
    np.cumsum(deviations, axis=0, out=up_to[1, 1:])
    node_weights, node_sums = up_to[:, last] - up_to[:, first]
    # A difference of running totals leaves a trace of weight where there is none.
    has_weight = node_weights > _ROUNDING * total
    scores = np.zeros(node_sums.shape)
    np.divide(node_sums**2, node_weights, out=scores, where=has_weight)
    return scores
