"""A forest whose leaves hold training rows: a prediction is a weighted mean of training outputs.

With w_ti(x) the share of training row i in the leaf of tree t that x falls into, and a_tj the
weight of tree t for output j, the forest predicts sum_t a_tj sum_i w_ti(x) y_ij (appendix B of
Joly et al. 2019; eq. 2 of Breskvar et al. 2018 where a_tj is 0 for outputs that a tree has
not seen).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.data.outputs import largest_entries
from polyleaf.data.targets import Targets
from polyleaf.files.arrays import StoredArray, StoredArrays, expect_below
from polyleaf.forests.condensing import CondensedLeaves
from polyleaf.forests.sparse_means import as_core_rows, largest_sums, sparse_means
from polyleaf.trees.additive import AdditiveTrees, ChannelChoice
from polyleaf.trees.compact import pack_structure, unpack_structure
from polyleaf.trees.filling import fill_leaves
from polyleaf.trees.leaves import RowLeaves
from polyleaf.trees.model import Trees
from polyleaf.trees.structure import (
    JoinedArray,
    JoinedStructure,
    TreeStructure,
    apply_trees,
    average_leaf_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]
    Encoded: TypeAlias = NDArray[Any] | CSR

#: Entries of predictions that are handled at a time.
BLOCK_ENTRIES = 2**22


_ARRAYS = StoredArrays(
    "Forests",
    {
        "leaf_sizes": StoredArray(np.int32, "n_leaves", "Training rows of each leaf."),
        "leaf_rows": StoredArray(np.int32, "n_entries", "These rows, leaf after leaf."),
        "leaf_counts": StoredArray(
            np.uint16, "n_entries", "How often each was drawn; absent if once."
        ),
        "tree_weights": StoredArray(
            np.float64, "n_trees, n_channels", "What a tree counts; absent if all count alike."
        ),
        "feature_gains": StoredArray(np.float64, "n_features", "Shares of gains, over the trees."),
        "tree_seen_bits": StoredArray(
            np.uint8, "n_trees n_channels / 8", "A bit per tree and channel: 1 if it saw that."
        ),
        "tree_updated_bits": StoredArray(
            np.uint8,
            "n_trees n_channels / 8",
            "A bit per tree and channel: 1 if it predicts that.",
        ),
    },
)


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees that share their training rows and outputs.

    Attributes
    ----------
    structure : TreeStructure
        Without statistics of nodes.
    leaf_offsets : ndarray of shape (n_leaves + 1,), int64
    leaf_rows : ndarray of shape (n_entries,), int32
        Leaf l, counted over all trees, has the training rows
        leaf_rows[leaf_offsets[l]:leaf_offsets[l + 1]].
    leaf_counts : ndarray of shape (n_entries,), uint16, or None
        How often each of those rows was drawn; None: once.
    outputs : Targets
    tree_weights : ndarray of shape (n_trees, n_channels), float64, or None
        Weight of each tree in each channel; columns add up to 1, or to 0 for a channel without
        any observed output. None: all trees count alike.
    feature_gains : ndarray of shape (n_features,), float64
        Sum over trees of each feature's share in the gains of the tree's splits.
    """

    structure: TreeStructure
    leaf_offsets: NDArray[np.int64]
    leaf_rows: NDArray[np.int32]
    leaf_counts: NDArray[np.uint16] | None
    outputs: Targets
    tree_weights: NDArray[np.float64] | None
    feature_gains: NDArray[np.float64]

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.structure.tree_offsets.size - 1

    @cached_property
    def tree_leaves(self) -> NDArray[np.int64]:
        """First leaf of every tree, and the number of all leaves; of shape (n_trees + 1,)."""
        before = np.concatenate([[0], np.cumsum(self.structure.is_leaf)])
        starts: NDArray[np.int64] = before[self.structure.tree_offsets]
        return starts

    @property
    def drawn_counts(self) -> NDArray[np.uint16]:
        """How often each row of leaf_rows was drawn, of shape (n_entries,)."""
        if self.leaf_counts is None:
            return np.ones(self.leaf_rows.size, np.uint16)
        return self.leaf_counts

    @cached_property
    def entry_weights(self) -> NDArray[np.float64]:
        """Weight of every entry of leaf_rows, before any mask; of shape (n_entries,)."""
        weights = np.ones(self.leaf_rows.size)
        if self.leaf_counts is not None:
            weights *= self.leaf_counts
        row_weights = self.outputs.weights
        if row_weights is not None and row_weights.ndim == 1:
            weights *= row_weights[self.leaf_rows]
        return weights

    @cached_property
    def entry_shares(self) -> NDArray[np.float64]:
        """Share of every entry in the weight of its leaf, before any mask: (n_entries,)."""
        totals = np.add.reduceat(self.entry_weights, self.leaf_offsets[:-1])
        shares: NDArray[np.float64] = self.entry_weights / np.repeat(
            totals, np.diff(self.leaf_offsets)
        )
        return shares

    # Prediction --------------------------------------------------------------------------------

    def leaves_of(self, X: Encoded, n_threads: int = 1) -> NDArray[np.int32]:
        """Find the leaf of every row in every tree, counted over all trees: (n_rows, n_trees)."""
        return apply_trees(self.structure, X, n_threads, over_all=True)

    def nodes_of(self, X: Encoded, n_threads: int = 1) -> NDArray[np.int32]:
        """Find the leaf of every row in every tree, as a node of that tree: (n_rows, n_trees)."""
        return apply_trees(self.structure, X, n_threads)

    @property
    def shares_row_weights(self) -> bool:
        """Whether all channels weigh the training rows alike."""
        return self.tree_weights is None and self.outputs.share_weights

    def predict_topk(self, X: Encoded, k: int, n_threads: int = 1) -> CSR:
        """Predict the k largest channels of every row that are above 0: csr (n_rows, n_channels).

        Of equal ones, the first.
        """
        parts = []
        for rows in self.row_blocks(int(X.shape[0])):
            leaves = self.leaves_of(X[rows], n_threads)
            if self.outputs.is_sparse and self.tree_weights is None:
                parts.append(largest_sums(self, leaves, k, n_threads))
            else:
                values = self.predict_leaves(leaves, n_threads=n_threads)
                parts.append(largest_entries(values, k))
        return sparse.csr_array(sparse.vstack(parts, format="csr"))

    @cached_property
    def core_rows(self) -> _core.LeafRows:
        """Rows of leaves and sparse outputs, as the core reads them, every index checked.

        Behind the last leaf there is one without rows.
        """
        return as_core_rows(self)

    def predict(self, X: Encoded, n_threads: int = 1) -> Any:
        """Predict all channels.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_rows, n_features)
            Encoded features.
        n_threads : int

        Returns
        -------
        ndarray of shape (n_rows, n_channels), float64, or csr_array if the outputs are sparse
            NaN for a channel that was never observed.
        """
        if self.outputs.is_sparse:
            parts = [
                self.predict_leaves(self.leaves_of(X[rows], n_threads), n_threads=n_threads)
                for rows in self.row_blocks(int(X.shape[0]))
            ]
            return sparse.vstack(parts, format="csr")
        predicted = np.zeros((X.shape[0], self.outputs.n_channels))
        leaves, weights = self._condensed.core_leaves, self.tree_weights
        average_leaf_rows(self.structure, X, leaves, weights, predicted, n_threads)
        return self._without_unobserved(predicted)

    def row_blocks(self, n_rows: int) -> Iterator[slice]:
        """Cut rows to predict into blocks whose predictions and leaves fit in the cache or so."""
        step = max(1, BLOCK_ENTRIES // (self.n_trees + self.outputs.n_channels))
        for start in range(0, max(n_rows, 1), step):
            yield slice(start, min(start + step, n_rows))

    def predict_leaves(
        self,
        leaves: NDArray[np.int32],
        tree_weights: NDArray[np.float64] | None = None,
        trees: slice = slice(None),
        n_threads: int = 1,
    ) -> Any:
        """Predict all channels of rows by their leaves.

        Parameters
        ----------
        leaves : ndarray of shape (n_rows, n_some_trees), int32
            Counted over all trees; the number of all leaves stands for nothing to add.
        tree_weights : ndarray of shape (n_some_trees, n_channels), optional
            Those of the forest by default.
        trees : slice
            The trees that the leaves belong to.
        n_threads : int
        """
        if tree_weights is None and self.tree_weights is not None:
            tree_weights = self.tree_weights[trees]
        if self.outputs.is_sparse:
            return sparse_means(self, leaves, tree_weights, n_threads)
        condensed = self._condensed
        predicted = np.zeros((leaves.shape[0], self.outputs.n_channels))
        _core.average_rows(
            leaves=np.ascontiguousarray(leaves),
            leaf_offsets=condensed.leaf_offsets,
            leaf_rows=condensed.leaf_rows,
            shares=condensed.shares,
            values=condensed.values,
            tree_weights=None if tree_weights is None else np.ascontiguousarray(tree_weights),
            averages=predicted,
            n_threads=n_threads,
        )
        return self._without_unobserved(predicted)

    def _without_unobserved(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.outputs.observed is not None or self.outputs.weights is not None:
            predicted[:, self._never_observed] = np.nan
        return predicted

    @cached_property
    def _never_observed(self) -> NDArray[np.bool_]:
        """Channels that no training row with a weight tells anything about."""
        if self.outputs.share_weights:
            return np.zeros(self.outputs.n_channels, np.bool_)
        never: NDArray[np.bool_] = np.all(self.root_weights <= 0, axis=0)
        return never

    @cached_property
    def root_weights(self) -> NDArray[np.float64]:
        """Weight of all rows of a tree in each channel, of shape (n_trees, n_channels)."""
        if self.outputs.share_weights:
            starts = self.leaf_offsets[self.tree_leaves[:-1]]
            totals = np.add.reduceat(self.entry_weights, starts)
            return np.broadcast_to(totals[:, None], (self.n_trees, self.outputs.n_channels))
        sums = np.zeros((self.n_trees, self.outputs.n_channels))
        for t, counts in enumerate(self.in_bag_counts()):
            for channel in range(self.outputs.n_channels):
                sums[t, channel] = counts @ self.outputs.channel_weights(channel)
        return sums

    def in_bag_counts(self) -> Iterator[NDArray[np.int64]]:
        """How often each training row stands in each tree, tree by tree; of shape (n_train,)."""
        ends = self.leaf_offsets[self.tree_leaves]
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist()):
            counts = np.zeros(self.outputs.n_rows, np.int64)
            drawn = 1 if self.leaf_counts is None else self.leaf_counts[start:end]
            counts[self.leaf_rows[start:end]] = drawn
            yield counts

    @cached_property
    def _condensed(self) -> CondensedLeaves:
        if not self.outputs.share_weights:
            return CondensedLeaves.of_means([self.tree(t) for t in range(self.n_trees)])
        return CondensedLeaves.of_rows(
            self.leaf_offsets, self.leaf_rows, self.entry_shares, np.asarray(self.outputs.values)
        )

    def additive(self) -> AdditiveTrees:
        """Give the forest as a sum of trees, each counted by its weight."""

        def tree_values(first: int, last: int, choice: ChannelChoice) -> NDArray[np.float64]:
            parts = []
            for t in range(first, last):
                means: Any = self.tree(t).leaves.means()
                if self.tree_weights is None:
                    parts.append(choice(means) / self.n_trees)
                elif self.outputs.is_sparse:
                    parts.append(choice(means.multiply(self.tree_weights[t]).tocsr()))
                else:
                    parts.append(choice(means * self.tree_weights[t]))
            return np.nan_to_num(np.concatenate(parts), copy=False)

        counts = np.add.reduceat(self.drawn_counts.astype(np.float64), self.leaf_offsets[:-1])
        base = np.where(self._never_observed, np.nan, 0.0)
        averaged = None if self.outputs.is_sparse else self._averaged_leaves
        return AdditiveTrees(self.structure, base, counts, tree_values, averaged_leaves=averaged)

    def _averaged_leaves(self) -> tuple[_core.LeafAverages, NDArray[np.float64]]:
        weights = self.tree_weights
        if weights is None:
            shape = (self.n_trees, self.outputs.n_channels)
            weights = np.full(shape, 1 / self.n_trees)
        return self._condensed.core_leaves, weights

    # Members -----------------------------------------------------------------------------------

    def tree(self, t: int, n_threads: int = 1) -> Trees:
        """One tree without statistics of its nodes, a model that shares the training outputs.

        Its leaves hold rows if all channels of a row share their weight; otherwise dense means.
        """
        structure = self.structure.tree(t)
        first, last = self.tree_leaves[t], self.tree_leaves[t + 1]
        offsets = self.leaf_offsets[first : last + 1]
        entries = slice(int(offsets[0]), int(offsets[-1]))
        rows = self.leaf_rows[entries]
        weights = np.ones(rows.size)
        if self.leaf_counts is not None:
            weights *= self.leaf_counts[entries]
        if self.outputs.share_weights:
            if self.outputs.weights is not None:
                weights *= self.outputs.weights[rows]
            outputs = replace(self.outputs, weights=None)
            return Trees(structure, RowLeaves(offsets - offsets[0], rows, weights, outputs))
        means = fill_leaves(
            structure, offsets - offsets[0], rows, weights, self.outputs, n_threads
        )
        return Trees(structure, means)

    def with_tree_weights(self, tree_weights: NDArray[np.float64] | None) -> Forest:
        """Give the forest other weights of trees."""
        return replace(self, tree_weights=tree_weights)

    # Model files -------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Name the arrays, for a model file."""
        arrays = pack_structure(self.structure) | self.outputs.to_arrays()
        arrays["leaf_sizes"] = np.diff(self.leaf_offsets).astype(np.int32)
        arrays["leaf_rows"] = self.leaf_rows
        arrays["feature_gains"] = self.feature_gains
        if self.leaf_counts is not None:
            arrays["leaf_counts"] = self.leaf_counts
        if self.tree_weights is not None:
            arrays["tree_weights"] = self.tree_weights
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Forest:
        """Rebuild and check a forest from named arrays.

        Raises
        ------
        ValueError
            If anything is absent, of another type or shape, or out of range.
        """
        structure = unpack_structure(arrays)
        outputs = Targets.from_arrays(arrays)
        sizes = _ARRAYS.read(arrays, "leaf_sizes")
        rows = _ARRAYS.read(arrays, "leaf_rows")
        if sizes.size != structure.n_leaves or sizes.min() < 1:
            raise ValueError(f"Expected {structure.n_leaves} leaves, each with a training row.")
        if sizes.sum(dtype=np.int64) != rows.size:
            raise ValueError(f"Expected the leaves to hold {rows.size} training rows.")
        expect_below(rows, outputs.n_rows, "leaf_rows")
        gains = _ARRAYS.read(arrays, "feature_gains")
        if gains.size != structure.n_features or not np.all((gains >= 0) & np.isfinite(gains)):
            raise ValueError("Expected a finite gain, not negative, of every feature.")
        forest = cls(
            structure=structure,
            leaf_offsets=np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
            leaf_rows=rows,
            leaf_counts=_counts_from_arrays(arrays, rows.size),
            outputs=outputs,
            tree_weights=_tree_weights_from_arrays(
                arrays, (structure.tree_offsets.size - 1, outputs.n_channels)
            ),
            feature_gains=gains,
        )
        with np.errstate(over="ignore"):
            totals = np.add.reduceat(forest.entry_weights, forest.leaf_offsets[:-1])
            is_finite = np.isfinite(totals.sum())
        if totals.min() <= 0 or not is_finite:
            raise ValueError("Expected every leaf to have a positive weight, and a finite sum.")
        return forest

    def __getstate__(self) -> dict[str, Any]:
        return self.to_arrays()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(Forest.from_arrays(state).__dict__)


def _counts_from_arrays(
    arrays: Mapping[str, NDArray[Any]], n_entries: int
) -> NDArray[np.uint16] | None:
    if "leaf_counts" not in arrays:
        return None
    counts = _ARRAYS.read(arrays, "leaf_counts")
    if counts.size != n_entries or counts.min() < 1:
        raise ValueError("Expected every row of a leaf to have been drawn at least once.")
    return counts


def _tree_weights_from_arrays(
    arrays: Mapping[str, NDArray[Any]], shape: tuple[int, int]
) -> NDArray[np.float64] | None:
    if "tree_weights" not in arrays:
        return None
    weights = _ARRAYS.read(arrays, "tree_weights")
    if weights.shape != shape or not np.all((weights >= 0) & (weights <= 1)):
        raise ValueError(f"Expected weights of trees in [0, 1] of shape {shape}.")
    return weights


class JoinedForest:
    """Forests on the same training rows, put together one by one.

    Weights of their trees are left out.

    Parameters
    ----------
    n_trees : int
        How many there will be, to make room for them at once.
    """

    _structure: JoinedStructure
    _offsets: JoinedArray
    _rows: JoinedArray
    _counts: JoinedArray
    _outputs: Targets

    def __init__(self, n_trees: int) -> None:
        self._n_trees = n_trees
        self._n_added = 0
        self._feature_gains: NDArray[np.float64] | float = 0.0

    def add(self, forest: Forest) -> None:
        """Take over the trees of a forest, whose arrays are not needed any more."""
        if not self._n_added:
            self._structure = JoinedStructure(self._n_trees)
            self._offsets = JoinedArray(np.int64, self._n_trees)
            self._rows = JoinedArray(np.int32, self._n_trees)
            self._counts = JoinedArray(np.uint16, self._n_trees)
            self._outputs = forest.outputs
        n_trees = forest.structure.n_trees
        self._structure.add(forest.structure)
        # The first offset, 0, is the end of those before.
        self._offsets.add(forest.leaf_offsets[bool(self._rows.size) :] + self._rows.size, n_trees)
        if forest.leaf_counts is not None or self._counts.size:
            # Rows of those before that were drawn once each.
            self._counts.add(
                np.ones(self._rows.size - self._counts.size, np.uint16), self._n_added
            )
            self._counts.add(forest.drawn_counts, n_trees)
        self._rows.add(forest.leaf_rows, n_trees)
        self._n_added += n_trees
        self._feature_gains = self._feature_gains + forest.feature_gains

    def finish(self) -> Forest:
        """Give the forest of all trees; at least one was added."""
        return Forest(
            structure=self._structure.finish(),
            leaf_offsets=self._offsets.finish(),
            leaf_rows=self._rows.finish(),
            leaf_counts=self._counts.finish() if self._counts.size else None,
            outputs=self._outputs,
            tree_weights=None,
            feature_gains=np.asarray(self._feature_gains),
        )
