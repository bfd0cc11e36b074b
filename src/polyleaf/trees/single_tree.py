"""What the regression tree and the classification tree have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from polyleaf import projections
from polyleaf.data import FeatureSchema, TargetSchema, TrainingData
from polyleaf.estimator.base import schemas_from_file
from polyleaf.estimator.parameters import Parameter
from polyleaf.trees.additive import AdditiveTrees
from polyleaf.trees.growing import fit_tree, tree_settings
from polyleaf.trees.leaves import RowLeaves
from polyleaf.trees.model import Trees
from polyleaf.trees.parameters import TREE_PARAMETERS
from polyleaf.trees.pruning_level import cross_validated_level
from polyleaf.trees.tree_model import TreeModel


@dataclass(frozen=True, eq=False)
class FittedTree:
    """A fitted tree.

    Attributes
    ----------
    features : FeatureSchema
    targets : TargetSchema
    trees : Trees
        One tree.
    pruning_level : float or None
        The level of the F-test that was used.
    describe : callable or None
        Makes the tree with the statistics of its nodes, where `trees` has none: a tree of a
        forest.
    """

    features: FeatureSchema
    targets: TargetSchema
    trees: Trees
    pruning_level: float | None = None
    describe: Callable[[], Trees] | None = None

    @cached_property
    def described(self) -> Trees:
        """The tree with the statistics of its nodes."""
        return self.trees if self.describe is None else self.describe()

    def __reduce__(self) -> Any:  # a pickle does not keep the forest
        return FittedTree, (self.features, self.targets, self.described, self.pruning_level)

    def to_file(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Give the arrays of the tree, the kind of its leaves and the level of pruning."""
        metadata = {"leaves": self.trees.leaves.kind, "pruning_level_": self.pruning_level}
        return self.described.to_arrays(), metadata

    @classmethod
    def from_file(
        cls, arrays: dict[str, NDArray[Any]], metadata: dict[str, Any], estimator: Any
    ) -> FittedTree:
        """Rebuild and check a tree from a model file."""
        trees = Trees.from_arrays(arrays, metadata["leaves"])
        features, targets = schemas_from_file(
            metadata, trees.structure.n_features, trees.leaves.n_channels
        )
        if not np.array_equal(trees.structure.n_categories, features.n_categories):
            raise ValueError("the trees and the features disagree about categories.")
        leaves = trees.leaves
        is_sparse = isinstance(leaves, RowLeaves) and leaves.outputs.is_sparse
        if is_sparse != targets.is_sparse:
            raise ValueError("the leaves and the outputs disagree about whether y was sparse.")
        level = metadata["pruning_level_"]
        if level is not None and not 0 < float(level) <= 1:
            raise ValueError(f"Expected a pruning level in (0, 1]; got {level}.")
        return cls(features, targets, trees, level)


class SingleTree(TreeModel):
    """What the regression and the classification tree have in common."""

    _declared: ClassVar[dict[str, Parameter]] = TREE_PARAMETERS
    _fitted_type = FittedTree
    _fitted: FittedTree

    def _train(self, data: TrainingData) -> FittedTree:
        rng = self._rng()
        n_threads = self._n_threads()
        view = projections.resolve(self.projection)
        settings = tree_settings(self, data.encoded.shape, self.splitter == "random", view)
        level = None
        if self.pruning == "f_test":
            level = self.pruning_level
            if level == "cv":
                level = cross_validated_level(data, settings, rng, n_threads)
            level = float(level)
            settings = replace(settings, f_test_level=level)
        trees = fit_tree(data, settings, rng, n_threads=n_threads)
        return FittedTree(data.schema, data.targets.schema, trees, level)

    @property
    def _trees(self) -> Trees:
        return self._fitted.trees

    def _additive(self) -> AdditiveTrees:
        """Give the model as a sum of one tree."""
        check_is_fitted(self)
        return self._fitted.described.additive()

    @property
    def pruning_level_(self) -> float:
        """Level of the F-test that was used; only with ``pruning='f_test'``."""
        check_is_fitted(self)
        level = self._fitted.pruning_level
        if level is None:
            raise AttributeError("This tree was not pruned, and has no pruning_level_.")
        return level

    def _leaves_of(self, X: Any) -> NDArray[np.int32]:
        """Find the leaf of every row, counted among the leaves."""
        nodes = self.apply(X)
        return self._trees.structure.leaf_index[nodes]

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in what the splits took off the variance, of shape (p,)."""
        check_is_fitted(self)
        return self._fitted.described.structure.feature_importances()

    @property
    def output_importances_(self) -> NDArray[np.float64]:
        """Importance of each feature for each output, of shape (n_outputs_, p).

        A row adds up to 1, or to 0 if no split helps to predict that output. The classes of a
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
