"""What the regression tree and the classification tree have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from polyleaf import projections
from polyleaf.data import BinnedData, Targets
from polyleaf.data.training import TrainingData
from polyleaf.estimator.base import MultiOutputEstimator
from polyleaf.estimator.parameters import Parameter
from polyleaf.trees.growing import fit_tree
from polyleaf.trees.leaves import RowLeaves
from polyleaf.trees.model import Trees
from polyleaf.trees.parameters import TREE_PARAMETERS
from polyleaf.trees.pruning_level import cross_validated_level
from polyleaf.trees.settings import tree_settings


class SingleTree(MultiOutputEstimator):
    """What the regression and the classification tree have in common."""

    _declared: ClassVar[dict[str, Parameter]] = TREE_PARAMETERS

    def _fit(
        self, data: BinnedData, targets: Targets, weights: NDArray[np.float64] | None
    ) -> None:
        rng = self._rng()
        n_threads = self._n_threads()
        training = TrainingData(
            features=data.binned(self.max_bins, n_threads),
            encoded=data.encoded,
            n_categories=data.schema.n_categories,
            targets=targets,
            weights=weights,
        )
        settings = tree_settings(
            self, data.shape, self.splitter == "random", projections.resolve(self.projection)
        )
        level = None
        if self.pruning == "f_test":
            level = self.pruning_level
            if level == "cv":
                level = cross_validated_level(training, settings, rng, n_threads)
            settings = replace(settings, f_test_level=float(level))
        trees = fit_tree(training, settings, rng, n_threads=n_threads)
        self._remember(data.schema, targets.schema)
        self._remember_tree(trees, level)

    def _remember_tree(
        self,
        trees: Trees,
        pruning_level: float | None = None,
        describe: Callable[[], Trees] | None = None,
    ) -> None:
        """Keep a tree. describe: makes it with the statistics of its nodes, if it has none."""
        self._trees = trees
        self._describe = describe
        if pruning_level is not None:
            self.pruning_level_ = float(pruning_level)
        elif hasattr(self, "pruning_level_"):
            del self.pruning_level_

    @property
    def _described_trees(self) -> Trees:
        """The tree with the statistics of its nodes."""
        if self._describe is not None:
            self._trees, self._describe = self._describe(), None
        return self._trees

    def __getstate__(self) -> Any:
        if hasattr(self, "_trees"):
            _ = self._described_trees  # a pickle does not keep the forest
        return super().__getstate__()

    def _leaves_of(self, X: Any) -> NDArray[np.int32]:
        """Find the leaf of every row, counted among the leaves."""
        nodes = self.apply(X)
        return self._trees.structure.leaf_index[nodes]

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in what the splits took off the variance, of shape (p,)."""
        check_is_fitted(self)
        return self._described_trees.structure.feature_importances()

    @property
    def output_importances_(self) -> NDArray[np.float64]:
        """Importance of each feature for each output, of shape (n_outputs_, p).

        A row adds up to 1, or to 0 if no split tells anything about that output. The classes of a
        multi-class output are taken together.
        """
        check_is_fitted(self)
        gains = self._trees.channel_gains()
        by_output = np.add.reduceat(gains, self._targets.channel_offsets[:-1], axis=0)
        totals = by_output.sum(axis=1, keepdims=True)
        shares: NDArray[np.float64] = np.divide(
            by_output, totals, out=np.zeros_like(by_output), where=totals > 0
        )
        return shares

    def get_depth(self) -> int:
        """Depth of the deepest leaf; 0 if the tree is a single leaf."""
        check_is_fitted(self)
        return int(self._trees.structure.depth.max())

    def get_n_leaves(self) -> int:
        """Count the leaves."""
        check_is_fitted(self)
        return self._trees.structure.n_leaves

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Find the leaf of every row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,), int32
            Nodes, numbered in preorder.
        """
        encoded = self._encode(X)
        return self._trees.apply(encoded, self._n_threads())[:, 0]

    def decision_path(self, X: Any) -> Any:
        """Tell which nodes each row passes.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        csr_array of shape (n, n_nodes), int64
            1 where the row passes the node.
        """
        leaves = self.apply(X)
        structure = self._trees.structure
        depth, parent = structure.depth, structure.parent
        indptr = np.concatenate([[0], np.cumsum(depth[leaves] + 1)]).astype(np.int64)
        indices = np.empty(indptr[-1], dtype=np.int64)
        at, node = indptr[1:] - 1, leaves.astype(np.int64)
        alive = np.arange(leaves.size)
        while alive.size:
            indices[at[alive]] = node[alive]
            at[alive] -= 1
            node[alive] = parent[node[alive]]
            alive = alive[node[alive] >= 0]
        return sparse.csr_array(
            (np.ones(indices.size, dtype=np.int64), indices, indptr),
            shape=(leaves.size, structure.n_nodes),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_trees")

    # Model files -------------------------------------------------------------------------------

    def _to_file(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        metadata = self._metadata()
        metadata["leaves"] = self._trees.leaves.kind
        metadata["pruning_level_"] = getattr(self, "pruning_level_", None)
        return self._described_trees.to_arrays(), metadata

    @classmethod
    def _from_file(cls, arrays: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> Any:
        trees = Trees.from_arrays(arrays, metadata["leaves"])
        estimator = cls._from_metadata(
            metadata, trees.structure.n_features, trees.leaves.n_channels
        )
        if not np.array_equal(trees.structure.n_categories, estimator._features.n_categories):
            raise ValueError("the trees and the features disagree about categories.")
        leaves = trees.leaves
        is_sparse = isinstance(leaves, RowLeaves) and leaves.outputs.is_sparse
        if is_sparse != estimator._targets.is_sparse:
            raise ValueError("the leaves and the outputs disagree about whether y was sparse.")
        level = metadata["pruning_level_"]
        if level is not None and not 0 < float(level) <= 1:
            raise ValueError(f"Expected a pruning level in (0, 1]; got {level}.")
        estimator._remember_tree(trees, level)
        return estimator
