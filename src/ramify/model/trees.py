"""A fitted tree, or several: its structure and what its leaves hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ramify.model.leaves import DenseLeaves, Leaves, RowLeaves
from ramify.model.structure import TreeStructure

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Outputs handled at a time where all of them at once could be too many.
_OUTPUT_BLOCK = 64


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

    def apply(self, X: Any, n_threads: int = 1) -> NDArray[np.int32]:
        """Find the leaf of every row in every tree.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features) or csr_array
            Encoded features, float32 or float64.
        n_threads : int

        Returns
        -------
        ndarray of shape (n_rows, n_trees), int32
            Nodes, counted within each tree.
        """
        n_trees = self.structure.tree_offsets.size - 1
        nodes = np.empty((X.shape[0], n_trees), dtype=np.int32)
        if sparse.issparse(X):
            self.structure.predictor.apply_csr(
                X.indptr.astype(np.int64, copy=False),
                X.indices.astype(np.int32, copy=False),
                X.data,
                nodes,
                n_threads,
            )
        else:
            self.structure.predictor.apply_dense(X, nodes, n_threads)
        return nodes

    def predict(self, X: Any, n_threads: int = 1) -> Any:
        """Outputs of the first tree: ndarray or csr_array of shape (n_rows, n_channels)."""
        nodes = self.apply(X, n_threads)[:, 0]
        return self.leaves.predict(self.structure.leaf_index[nodes])

    def output_importances(self) -> NDArray[np.float64]:
        """Importance of each feature for each channel, of shape (n_channels, n_features).

        The part that each feature's splits take off a channel's sum of squared deviations; a
        row adds up to 1, or to 0 if no split tells anything about the channel.
        """
        structure = self.structure
        first, last = structure.leaf_ranges
        inner = np.flatnonzero(~structure.is_leaf)
        tree_start = np.repeat(structure.tree_offsets[:-1], np.diff(structure.tree_offsets))
        left, right = inner + 1, tree_start[inner] + structure.right[inner]
        importances = np.zeros((self.leaves.n_channels, structure.n_features))
        for start in range(0, self.leaves.n_channels, _OUTPUT_BLOCK):
            stop = min(start + _OUTPUT_BLOCK, self.leaves.n_channels)
            scores = _scores(*self.leaves.leaf_sums(start, stop), first, last)
            gains = np.maximum(scores[left] + scores[right] - scores[inner], 0.0)
            for k in range(stop - start):
                importances[start + k] = np.bincount(
                    structure.feature[inner], weights=gains[:, k], minlength=structure.n_features
                )
        totals = importances.sum(axis=1, keepdims=True)
        return np.divide(importances, totals, out=np.zeros_like(importances), where=totals > 0)

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
        kinds = {"dense": DenseLeaves, "rows": RowLeaves}
        if leaves_kind not in kinds:
            raise ValueError(f"Expected leaves to be 'dense' or 'rows'; got {leaves_kind!r:.40}.")
        return cls(structure, kinds[leaves_kind].from_arrays(arrays, structure.n_leaves))


def _scores(
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> NDArray[np.float64]:
    """G^2 / H of every node and channel, from sums over the leaves below it."""
    up_to = np.zeros((2, sums.shape[0] + 1, sums.shape[1]))
    np.cumsum(weights, axis=0, out=up_to[0, 1:])
    np.cumsum(sums, axis=0, out=up_to[1, 1:])
    totals, gradients = up_to[:, last] - up_to[:, first]
    return np.divide(gradients**2, totals, out=np.zeros_like(totals), where=totals > 0)
