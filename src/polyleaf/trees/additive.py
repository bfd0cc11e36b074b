"""A fitted model as a constant plus a sum of trees: what explanations and exports read.

Every family of trees and rules predicts f(x) = base + sum_t v_t(leaf of x in tree t), in its own
units; they differ in where the values of leaves come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.trees.structure import TreeStructure, apply_trees

#: Floats of leaf values that are held at a time.
_VALUE_FLOATS = 2**23


@dataclass(frozen=True, eq=False)
class ChannelChoice:
    """Some channels, or sums of channels.

    Attributes
    ----------
    matrix : csc_array of shape (n_channels, n_columns)
        A column has a 1 for every channel that it sums.
    """

    matrix: Any

    @classmethod
    def of(cls, groups: list[list[int]], n_channels: int) -> ChannelChoice:
        """Choose sums of channels; a group of one is that channel."""
        columns = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        rows = np.concatenate([np.asarray(group, np.int64) for group in groups])
        ones = np.ones(rows.size)
        shape = (n_channels, len(groups))
        return cls(sparse.csc_array((ones, (rows, columns)), shape=shape))

    @classmethod
    def all_of(cls, n_channels: int) -> ChannelChoice:
        """Choose every channel."""
        return cls.of([[c] for c in range(n_channels)], n_channels)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    @cached_property
    def channels(self) -> NDArray[np.int64] | None:
        """The channel of each column; None if a column sums several."""
        is_plain = np.all(np.diff(self.matrix.indptr) == 1)
        return self.matrix.indices.astype(np.int64) if is_plain else None

    def __call__(self, values: Any) -> NDArray[np.float64]:
        """Choose among the columns of a dense or sparse (n, n_channels) matrix."""
        picked = self.channels
        chosen: Any = values @ self.matrix if picked is None else values[:, picked]
        return np.asarray(chosen.toarray() if hasattr(chosen, "toarray") else chosen)


@dataclass(frozen=True, eq=False)
class AdditiveTrees:
    """A constant plus a sum of trees.

    Attributes
    ----------
    structure : TreeStructure
        All trees.
    base : ndarray of shape (n_channels,), float64
        What is predicted before the first tree; NaN for a channel that was never observed.
    leaf_rows : ndarray of shape (n_leaves,), float64, or None
        Training rows of every leaf, draws counted; None if the model does not know them.
    tree_values : callable
        Gives what the leaves of trees [first, last) add to the chosen channels:
        ``tree_values(first, last, choice)`` is an array of shape (n_leaves, n_columns).
    tree_channels : ndarray of shape (n_trees,), int32, or None
        The only channel that each tree adds to; None: to all of them.
    averaged_leaves : callable, optional
        Of forests whose leaves hold dense training rows: gives these rows, and what each tree
        counts for each channel, of shape (n_trees, n_channels).
    """

    structure: TreeStructure
    base: NDArray[np.float64]
    leaf_rows: NDArray[np.float64] | None
    tree_values: Callable[[int, int, ChannelChoice], NDArray[Any]]
    tree_channels: NDArray[np.int32] | None = None
    averaged_leaves: Callable[[], tuple[_core.LeafAverages, NDArray[np.float64]]] | None = None

    @property
    def n_channels(self) -> int:
        """Number of channels."""
        return self.base.size

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.structure.n_trees

    @cached_property
    def tree_leaves(self) -> NDArray[np.int64]:
        """First leaf of every tree, and the number of all leaves; of shape (n_trees + 1,)."""
        before = np.concatenate([[0], np.cumsum(self.structure.is_leaf)])
        starts: NDArray[np.int64] = before[self.structure.tree_offsets]
        return starts

    def node_rows(self) -> NDArray[np.float64]:
        """Training rows of every node, of shape (n_nodes,); ones where they are not known."""
        if self.leaf_rows is None:
            return np.ones(self.structure.n_nodes)
        first, last = self.structure.leaf_ranges
        up_to = np.concatenate([[0.0], np.cumsum(self.leaf_rows)])
        rows: NDArray[np.float64] = up_to[last] - up_to[first]
        return rows

    def value_blocks(
        self, choice: ChannelChoice
    ) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
        """Cut the trees into blocks whose leaf values fit in memory.

        Yields
        ------
        first, last : int
            The trees [first, last).
        values : ndarray of shape (n_leaves, n_columns), float64
            Those of their leaves.
        """
        limit = max(1, _VALUE_FLOATS // choice.n_columns)
        first = 0
        while first < self.n_trees:
            last = int(np.searchsorted(self.tree_leaves, self.tree_leaves[first] + limit)) - 1
            last = min(max(last, first + 1), self.n_trees)
            values = self.tree_values(first, last, choice)
            yield first, last, np.ascontiguousarray(values, dtype=np.float64)
            first = last

    def predict(self, X: Any, choice: ChannelChoice, n_threads: int) -> NDArray[np.float64]:
        """Predict the chosen channels of encoded rows, of shape (n, n_columns)."""
        scores = np.zeros((X.shape[0], choice.n_columns))
        scores += choice(self.base[None, :])
        for first, last, values in self.value_blocks(choice):
            leaves = self.leaves_of(X, first, last, n_threads)
            for t in range(last - first):
                scores += values[leaves[:, t]]
        return scores

    def feature_gains(self, choice: ChannelChoice) -> NDArray[np.float64]:
        """Sum what the splits on each feature take off the variance of what the trees add.

        Returns
        -------
        ndarray of shape (n_columns, n_features)
            Squared deviations over the training rows.
        """
        structure, rows = self.structure, self.node_rows()
        inner, left, right = structure.children()
        first_leaf, last_leaf = structure.leaf_ranges
        gains = np.zeros((structure.n_features, choice.n_columns))
        for first, last, values in self.value_blocks(choice):
            leaves = slice(int(self.tree_leaves[first]), int(self.tree_leaves[last]))
            leaf_rows = rows[structure.is_leaf][leaves]
            sums = np.zeros((values.shape[0] + 1, values.shape[1]))
            np.cumsum(values * leaf_rows[:, None], axis=0, out=sums[1:])
            nodes = slice(*np.searchsorted(inner, structure.tree_offsets[[first, last]]))

            def mean(side: NDArray[np.int64], sums: Any = sums, start: int = leaves.start) -> Any:
                of_nodes = sums[last_leaf[side] - start] - sums[first_leaf[side] - start]
                return of_nodes / np.maximum(rows[side], 1e-300)[:, None]

            at, a, b = inner[nodes], left[nodes], right[nodes]
            shares = rows[a] * rows[b] / np.maximum(rows[at], 1e-300)
            taken = shares[:, None] * (mean(a) - mean(b)) ** 2
            splits = (structure.feature[at], np.arange(at.size))
            by_feature = sparse.csr_array(
                (np.ones(at.size), splits), shape=(structure.n_features, at.size)
            )
            gains += by_feature @ taken
        return gains.T

    def leaves_of(self, X: Any, first: int, last: int, n_threads: int) -> NDArray[np.int64]:
        """Find the leaves of rows in trees [first, last), counted from the first of them."""
        nodes = apply_trees(self.structure, X, n_threads)[:, first:last]
        at = nodes + self.structure.tree_offsets[first:last]
        leaves: NDArray[np.int64] = self.structure.leaf_index[at] - self.tree_leaves[first]
        return leaves

    @cached_property
    def shap_trees(self) -> _core.ShapTrees:
        """The trees as the core explains them."""
        structure = self.structure
        return _core.ShapTrees(
            n_categories=structure.n_categories,
            tree_offsets=structure.tree_offsets,
            feature=structure.feature,
            threshold=structure.threshold,
            right=structure.right,
            missing_left=structure.missing_left,
            category_offset=structure.category_offset,
            category_words=structure.category_words,
            node_rows=self.node_rows(),
        )
