"""The splits of trees as arrays: nodes in preorder, so that a left child follows its parent."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ramify import _core

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Name and dtype of every array of a TreeStructure.
STRUCTURE_DTYPES: dict[str, type[np.generic]] = {
    "n_categories": np.int32,
    "tree_offsets": np.int64,
    "feature": np.int32,
    "threshold": np.float64,
    "right": np.int32,
    "missing_left": np.uint8,
    "category_offset": np.int64,
    "category_words": np.uint32,
    "n_samples": np.int64,
    "weight": np.float64,
    "impurity": np.float64,
    "gain": np.float64,
}


@dataclass(frozen=True, eq=False)
class TreeStructure:
    """The nodes of one or more trees.

    Attributes
    ----------
    n_categories : ndarray of shape (n_features,), int32
        0 for a numeric feature.
    tree_offsets : ndarray of shape (n_trees + 1,), int64
        Tree t has the nodes tree_offsets[t] up to tree_offsets[t + 1].
    feature : ndarray of shape (n_nodes,), int32
        -1 for a leaf.
    threshold : ndarray of shape (n_nodes,), float64
        A numeric value goes left if it is at most the threshold.
    right : ndarray of shape (n_nodes,), int32
        Right child, counted within the tree; -1 for a leaf.
    missing_left : ndarray of shape (n_nodes,), uint8
    category_offset : ndarray of shape (n_nodes,), int64
        First word of the set of categories that go left; -1 for a numeric split.
    category_words : ndarray of shape (n_words,), uint32
        Bit c % 32 of word c // 32 stands for category c.
    n_samples : ndarray of shape (n_nodes,), int64
    weight, impurity, gain : ndarray of shape (n_nodes,), float64
        Sum of weights; sum over channels of the weighted squared deviations from the node's
        mean; what the split takes off that sum.
    """

    n_categories: NDArray[np.int32]
    tree_offsets: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    right: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    category_offset: NDArray[np.int64]
    category_words: NDArray[np.uint32]
    n_samples: NDArray[np.int64]
    weight: NDArray[np.float64]
    impurity: NDArray[np.float64]
    gain: NDArray[np.float64]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.n_categories.size

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return self.feature.size

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf, of shape (n_nodes,)."""
        return self.feature < 0

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return int(np.count_nonzero(self.is_leaf))

    @cached_property
    def leaf_index(self) -> NDArray[np.int32]:
        """Position of each node among the leaves, -1 for inner nodes; of shape (n_nodes,)."""
        index = np.cumsum(self.is_leaf, dtype=np.int32) - np.int32(1)
        return np.where(self.is_leaf, index, np.int32(-1))

    @cached_property
    def parent(self) -> NDArray[np.int32]:
        """Parent of each node, counted within its tree, -1 for roots; of shape (n_nodes,)."""
        parent = np.full(self.n_nodes, -1, dtype=np.int32)
        for start, stop in zip(self.tree_offsets[:-1], self.tree_offsets[1:]):
            inner = np.flatnonzero(~self.is_leaf[start:stop])
            parent[start + inner + 1] = inner
            parent[start + self.right[start + inner]] = inner
        return parent

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """Depth of each node, 0 for roots; of shape (n_nodes,)."""
        depth = np.zeros(self.n_nodes, dtype=np.int32)
        for start, stop in zip(self.tree_offsets[:-1], self.tree_offsets[1:]):
            parents = self.parent[start:stop]
            tree = depth[start:stop]
            for node in range(1, tree.size):
                tree[node] = tree[parents[node]] + 1
        return depth

    @cached_property
    def leaf_ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First leaf below each node and the one after the last, each of shape (n_nodes,)."""
        first = np.cumsum(self.is_leaf) - self.is_leaf
        last = first + 1
        for start, stop in zip(self.tree_offsets[:-1], self.tree_offsets[1:]):
            for node in range(stop - 1, start - 1, -1):
                if self.feature[node] >= 0:
                    last[node] = last[start + self.right[node]]
        return first, last

    @cached_property
    def predictor(self) -> _core.Predictor:
        """The checked trees, ready to send rows down.

        Raises
        ------
        ValueError
            If an index is out of range or the nodes do not form trees.
        """
        return _core.Predictor(
            n_categories=self.n_categories,
            tree_offsets=self.tree_offsets,
            feature=self.feature,
            threshold=self.threshold,
            right=self.right,
            missing_left=self.missing_left,
            category_offset=self.category_offset,
            category_words=self.category_words,
        )

    def left_categories(self, node: int) -> NDArray[np.int64]:
        """Give the category codes that go left at a categorical split.

        Parameters
        ----------
        node : int
            A node with category_offset >= 0.
        """
        n_categories = int(self.n_categories[self.feature[node]])
        start = int(self.category_offset[node])
        words = self.category_words[start : start + -(-n_categories // 32)]
        bits = np.unpackbits(words.view(np.uint8), bitorder="little")
        return np.flatnonzero(bits[:n_categories])

    def feature_importances(self) -> NDArray[np.float64]:
        """Share of each feature in the gains of all splits, of shape (n_features,).

        Gains count per unit of a tree's weight, so that every tree counts alike. All zeros if
        nothing was split.
        """
        per_tree = self.weight[self.tree_offsets[:-1]]
        scale = np.repeat(1.0 / per_tree, np.diff(self.tree_offsets))
        inner = ~self.is_leaf
        gains = np.bincount(
            self.feature[inner], weights=(self.gain * scale)[inner], minlength=self.n_features
        )
        total = gains.sum()
        return gains / total if total > 0 else gains

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Name the arrays, for a model file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> TreeStructure:
        """Rebuild and check a structure from named arrays.

        Raises
        ------
        ValueError
            If an array is absent, of another type or shape, or holds an index out of range.
        """
        for name, dtype in STRUCTURE_DTYPES.items():
            if name not in arrays:
                raise ValueError(f"Expected an array named {name!r}; there is none.")
            array = arrays[name]
            if array.dtype != dtype or array.ndim != 1:
                raise ValueError(
                    f"Expected {name} to be one-dimensional {np.dtype(dtype).name}; got "
                    f"{array.ndim}-dimensional {array.dtype.name}."
                )
        structure = cls(**{name: np.ascontiguousarray(arrays[name]) for name in STRUCTURE_DTYPES})
        for name in ("n_samples", "weight", "impurity", "gain"):
            if getattr(structure, name).size != structure.n_nodes:
                raise ValueError(f"Expected {name} to have one value per node.")
        _ = structure.predictor
        return structure

    def __getstate__(self) -> dict[str, Any]:
        return self.to_arrays()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
