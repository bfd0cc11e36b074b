"""The splits of trees as arrays: nodes in preorder, so that a left child follows its parent."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.files.arrays import StoredArray, StoredArrays

if TYPE_CHECKING:
    from collections.abc import Mapping

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]

_ARRAYS = StoredArrays(
    "A single tree",
    {
        "n_categories": StoredArray(np.int32, "n_features", "0 for a numeric feature."),
        "tree_offsets": StoredArray(np.int64, "n_trees + 1", "First node of each tree."),
        "feature": StoredArray(np.int32, "n_nodes", "-1 for a leaf. Nodes are in preorder."),
        "threshold": StoredArray(
            np.float64, "n_nodes", "A value goes left if it is at most this."
        ),
        "right": StoredArray(np.int32, "n_nodes", "Right child, -1 for a leaf; the left is next."),
        "missing_left": StoredArray(np.uint8, "n_nodes", "1 if missing values go left."),
        "category_offset": StoredArray(
            np.int64, "n_nodes", "First word of the categories that go left, or -1."
        ),
        "category_words": StoredArray(np.uint32, "n_words", "32 categories, one bit each."),
        "n_samples": StoredArray(np.int64, "n_nodes", "Training rows."),
        "weight": StoredArray(np.float64, "n_nodes", "Their weight."),
        "impurity": StoredArray(np.float64, "n_nodes", "Their squared deviations."),
        "gain": StoredArray(np.float64, "n_nodes", "What the split takes off them; 0 for a leaf."),
    },
)
#: Name and dtype of every array of a TreeStructure.
STRUCTURE_DTYPES: dict[str, type[np.generic]] = {
    name: array.dtype for name, array in _ARRAYS.arrays.items()
}

#: The arrays with one entry per node that lead rows down the trees.
SPLIT_ARRAYS = ("feature", "threshold", "right", "missing_left", "category_offset")

#: The statistics of nodes where they are not kept.
NO_STATISTICS: dict[str, NDArray[Any]] = {
    name: np.zeros(0, STRUCTURE_DTYPES[name])
    for name in ("n_samples", "weight", "impurity", "gain")
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

    The statistics of nodes, from n_samples on, are empty where they are not kept (in forests).
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
    def n_trees(self) -> int:
        """Number of trees."""
        return self.tree_offsets.size - 1

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

    @property
    def _tree_start(self) -> NDArray[np.int64]:
        """Root of each node's tree, of shape (n_nodes,)."""
        return np.repeat(self.tree_offsets[:-1], np.diff(self.tree_offsets))

    def children(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Inner nodes, their left and their right children, counted over all trees."""
        inner = np.flatnonzero(~self.is_leaf)
        return inner, inner + 1, self._tree_start[inner] + self.right[inner]

    @cached_property
    def parent(self) -> NDArray[np.int32]:
        """Parent of each node, counted within its tree, -1 for roots; of shape (n_nodes,)."""
        parent = np.full(self.n_nodes, -1, dtype=np.int32)
        inner, left, right = self.children()
        parent[left] = parent[right] = inner - self._tree_start[inner]
        return parent

    @cached_property
    def subtree_end(self) -> NDArray[np.int64]:
        """The node after the last one below each node, over all trees; of shape (n_nodes,)."""
        inner, _, right = self.children()
        last = np.arange(self.n_nodes)
        last[inner] = right
        # Going right from any node ends in the last node of its subtree, a leaf; every round
        # doubles the number of steps.
        while not np.array_equal(further := last[last], last):
            last = further
        return last + 1

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """Depth of each node, 0 for roots; of shape (n_nodes,)."""
        return self.n_enclosing(~self.is_leaf).astype(np.int32)

    def n_enclosing(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count the chosen nodes above each node, itself not included; of shape (n_nodes,)."""
        nodes = np.flatnonzero(chosen)
        begins = np.bincount(nodes + 1, minlength=self.n_nodes + 1)
        ends = np.bincount(self.subtree_end[nodes], minlength=self.n_nodes + 1)
        counts: NDArray[np.int64] = np.cumsum(begins - ends)[: self.n_nodes]
        return counts

    @cached_property
    def leaf_ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First leaf below each node and the one after the last, each of shape (n_nodes,)."""
        before = np.concatenate([[0], np.cumsum(self.is_leaf)])
        return before[:-1], before[self.subtree_end]

    @cached_property
    def dependence_trees(self) -> _core.DependenceTrees:
        """The trees as the core sends grids of values down."""
        return _core.DependenceTrees(
            n_categories=self.n_categories,
            tree_offsets=self.tree_offsets,
            feature=self.feature,
            threshold=self.threshold,
            right=self.right,
            missing_left=self.missing_left,
            category_offset=self.category_offset,
            category_words=self.category_words,
        )

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
        gains: NDArray[np.float64] = np.bincount(
            self.feature[inner], weights=(self.gain * scale)[inner], minlength=self.n_features
        ).astype(np.float64)  # integers if there is no split
        total = gains.sum()
        return gains / total if total > 0 else gains

    def without_statistics(self) -> TreeStructure:
        """Leave out what only readers of a tree need."""
        return replace(self, **NO_STATISTICS)

    def tree(self, t: int) -> TreeStructure:
        """One of the trees, without statistics; it shares this one's arrays."""
        nodes = slice(int(self.tree_offsets[t]), int(self.tree_offsets[t + 1]))
        return replace(
            self.without_statistics(),
            tree_offsets=np.array([0, nodes.stop - nodes.start], dtype=np.int64),
            **{name: getattr(self, name)[nodes] for name in SPLIT_ARRAYS},
        )

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
        checked = {name: _ARRAYS.read(arrays, name) for name in STRUCTURE_DTYPES}
        structure = cls(**checked)
        _ = structure.predictor  # checks whatever leads rows down the trees
        structure._check_statistics()
        return structure

    def _check_statistics(self) -> None:
        for name in ("n_samples", "weight", "impurity", "gain"):
            values = getattr(self, name)
            if values.size != self.n_nodes or not np.all(np.isfinite(values)):
                raise ValueError(f"Expected {name} to have one finite value per node.")
        roots = self.tree_offsets[:-1]
        if self.n_samples.min() < 1 or self.weight.min() < 0 or self.weight[roots].min() <= 0:
            raise ValueError("Expected every node to have rows, and every tree a positive weight.")

    def __getstate__(self) -> dict[str, Any]:
        return self.to_arrays()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


# Trees put together ------------------------------------------------------------------------------


def apply_trees(
    structure: TreeStructure, X: NDArray[Any] | CSR, n_threads: int = 1, *, over_all: bool = False
) -> NDArray[np.int32]:
    """Find the leaf of every row in every tree.

    Parameters
    ----------
    structure : TreeStructure
    X : ndarray of shape (n_rows, n_features) or csr_array
        Encoded features, float32 or float64.
    n_threads : int
    over_all : bool
        Number the leaves of all trees throughout, as `leaf_index` does.

    Returns
    -------
    ndarray of shape (n_rows, n_trees), int32
        Nodes, counted within each tree, or leaves, counted over all trees.
    """
    nodes = np.empty((X.shape[0], structure.n_trees), dtype=np.int32)
    if isinstance(X, sparse.csr_array):
        structure.predictor.apply_csr(*_core_csr(X), nodes, n_threads, over_all)
    else:
        structure.predictor.apply_dense(X, nodes, n_threads, over_all)
    return nodes


def add_leaf_values(
    structure: TreeStructure,
    X: NDArray[Any] | CSR,
    values: NDArray[np.float32],
    channels: NDArray[np.int32] | None,
    raw: NDArray[np.float32],
    n_threads: int = 1,
) -> None:
    """Add the values of every row's leaves to raw predictions in place, tree after tree.

    Parameters
    ----------
    structure : TreeStructure
    X : ndarray of shape (n_rows, n_features) or csr_array
        Encoded features, float32 or float64.
    values : ndarray of shape (n_leaves, n_channels), or (n_leaves, 1) with `channels`, float32
    channels : ndarray of shape (n_trees,), int32, or None
        The one channel that each tree adds to; None: all of them.
    raw : ndarray of shape (n_rows, n_channels), float32
    n_threads : int
    """
    if isinstance(X, sparse.csr_array):
        structure.predictor.add_csr(*_core_csr(X), values, channels, raw, n_threads)
    else:
        structure.predictor.add_dense(X, values, channels, raw, n_threads)


def average_leaf_rows(
    structure: TreeStructure,
    X: NDArray[Any] | CSR,
    leaves: _core.LeafAverages,
    tree_weights: NDArray[np.float64] | None,
    averages: NDArray[np.float64],
    n_threads: int = 1,
) -> None:
    """Add the means of every row's leaves to averages in place, tree after tree.

    Parameters
    ----------
    structure : TreeStructure
    X : ndarray of shape (n_rows, n_features) or csr_array
        Encoded features, float32 or float64.
    leaves : LeafAverages
        What the leaves of all trees hold.
    tree_weights : ndarray of shape (n_trees, n_channels), float64, or None
        None: sums are divided by the number of trees at the end.
    averages : ndarray of shape (n_rows, n_channels), float64
    n_threads : int
    """
    if isinstance(X, sparse.csr_array):
        structure.predictor.average_csr(*_core_csr(X), leaves, tree_weights, averages, n_threads)
    else:
        structure.predictor.average_dense(X, leaves, tree_weights, averages, n_threads)


def _core_csr(X: CSR) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    indptr, indices = X.indptr, X.indices
    return indptr.astype(np.int64, copy=False), indices.astype(np.int32, copy=False), X.data


#: Room for parts that are larger than the first.
_SLACK = 1.125


class JoinedArray:
    """An array that grows by the parts of trees of about the same size."""

    def __init__(self, dtype: Any, n_trees: int) -> None:
        self._array: NDArray[Any] = np.empty(0, dtype)
        self._n_trees = n_trees
        self.size = 0

    def add(self, part: NDArray[Any], n_trees: int) -> None:
        """Add what `n_trees` trees have."""
        end = self.size + part.size
        if end > self._array.size:
            # Memory that is never written to is never taken.
            of_all = int(_SLACK * self._n_trees * part.size / max(n_trees, 1))
            room = np.empty(
                max(2 * end if self.size else end, of_all),
                self._array.dtype,
            )
            room[: self.size] = self._array[: self.size]
            self._array = room
        self._array[self.size : end] = part
        self.size = end

    def finish(self) -> NDArray[Any]:
        """Give back what is not needed."""
        self._array.resize(self.size, refcheck=False)
        return self._array


class JoinedStructure:
    """Trees on the same features, one after the other, without statistics."""

    def __init__(self, n_trees: int) -> None:
        self._nodes = {name: JoinedArray(STRUCTURE_DTYPES[name], n_trees) for name in SPLIT_ARRAYS}
        self._words = JoinedArray(STRUCTURE_DTYPES["category_words"], n_trees)
        self._tree_sizes: list[NDArray[np.int64]] = []
        self._n_categories: NDArray[np.int32] | None = None

    def add(self, structure: TreeStructure) -> None:
        """Add trees behind those there are."""
        self._n_categories = structure.n_categories
        for name, joined in self._nodes.items():
            part = getattr(structure, name)
            if name == "category_offset" and structure.category_words.size:
                part = np.where(part >= 0, part + self._words.size, np.int64(-1))
            joined.add(part, structure.n_trees)
        self._words.add(structure.category_words, structure.n_trees)
        self._tree_sizes.append(np.diff(structure.tree_offsets))

    def finish(self) -> TreeStructure:
        """Give all trees; at least one was added."""
        assert self._n_categories is not None
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(self._tree_sizes))])
        return TreeStructure(
            n_categories=self._n_categories,
            tree_offsets=offsets,
            category_words=self._words.finish(),
            **{name: joined.finish() for name, joined in self._nodes.items()},
            **NO_STATISTICS,
        )


def join_structures(structures: list[TreeStructure]) -> TreeStructure:
    """Put trees on the same features one after the other, without statistics.

    Parameters
    ----------
    structures : list of TreeStructure
        At least one.
    """
    joined = JoinedStructure(sum(structure.n_trees for structure in structures))
    for structure in structures:
        joined.add(structure)
    return joined.finish()
