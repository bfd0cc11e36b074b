"""What all forests have in common: fitting, predictions, and the rows behind a prediction."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polyleaf import projections
from polyleaf.checks.numbers import shown
from polyleaf.data import TargetSchema, TrainingData
from polyleaf.estimator.parameters import Parameter
from polyleaf.forests.described_tree import described_tree
from polyleaf.forests.fitted import FittedForest
from polyleaf.forests.growing import Grow
from polyleaf.forests.model import Forest
from polyleaf.forests.row_weights import channel_row_weights, row_weights
from polyleaf.forests.training import forest_settings, train_forest
from polyleaf.trees.additive import AdditiveTrees
from polyleaf.trees.members import Members
from polyleaf.trees.parameters import TREE_PARAMETERS
from polyleaf.trees.single_tree import FittedTree, SingleTree
from polyleaf.trees.tree_model import TreeModel


class ForestEstimator(TreeModel):
    """Base of all forests."""

    _declared: ClassVar[dict[str, Parameter]] = TREE_PARAMETERS
    _fitted_type = FittedForest
    _fitted: FittedForest
    #: Extra trees cut at random.
    _random_cuts = False
    #: What a tree of the forest is as an estimator of its own.
    _member_type: type[SingleTree]

    def _resolved(self, targets: TargetSchema) -> Self:
        """Give the forest with the parameters that its outputs decide."""
        return self

    def _train(self, data: TrainingData, grow: Grow | None = None) -> FittedForest:
        resolved = self._resolved(data.targets.schema)
        if resolved is not self:
            return resolved._train(data, grow)
        old = self._fitted if self.warm_start and hasattr(self, "_fitted") else None
        settings = forest_settings(self, data.encoded.shape)
        entropy = self._rng().integers(2**32, size=4).tolist() if old is None else old.entropy
        return train_forest(self, data, settings, entropy, old, self._n_threads(), grow)

    @property
    def _forest(self) -> Forest:
        return self._fitted.forest

    @property
    def projection_(self) -> projections.Projection | None:
        """The view that was used."""
        check_is_fitted(self)
        return self._fitted.projection

    @property
    def tree_outputs_(self) -> NDArray[np.bool_]:
        """Which outputs each tree saw in the choice of its splits, of shape (n_trees, d).

        With a view of all outputs, or a dense combination of them, that is all that vary.
        """
        check_is_fitted(self)
        first = self._targets.channel_offsets[:-1]
        return np.logical_or.reduceat(self._fitted.seen, first, axis=1)

    @property
    def max_features_(self) -> int | None:
        """The number of features that were tried at each node."""
        check_is_fitted(self)
        return self._fitted.max_features

    @property
    def auto_results_(self) -> list[dict[str, Any]]:
        """What ``projection='auto'`` tried; only with it."""
        return self._if_there("auto_results", "projection='auto'")  # type: ignore[no-any-return]

    @property
    def oob_score_(self) -> float:
        """Score of the out-of-bag predictions; only with ``oob_score``."""
        return float(self._if_there("oob_score", "oob_score"))

    def _if_there(self, name: str, cause: str) -> Any:
        check_is_fitted(self)
        found = getattr(self._fitted, name)
        if found is None:
            raise AttributeError(f"This {type(self).__name__} was fitted without {cause}.")
        return found

    # Prediction --------------------------------------------------------------------------------

    def _predict_channels(self, X: Any) -> Any:
        encoded = self._encode(X)
        return self._forest.predict(encoded, self._n_threads())

    def _staged_channels(self, X: Any) -> Iterator[Any]:
        """Predict by the first estimator, the first two, and so on."""
        leaves = self._leaves_of(X)
        forest, n_threads = self._forest, self._n_threads()
        n_channels = forest.outputs.n_channels
        weights = forest.tree_weights
        if weights is None:
            weights = np.ones((forest.n_trees, 1))
        sums: Any = 0.0
        totals = np.zeros(weights.shape[1])
        # What no tree so far was to predict, all predict that have seen a row of it.
        plain: Any = 0.0
        is_able = forest.root_weights > 0
        n_able = np.zeros(n_channels)
        for t in range(forest.n_trees):
            alone = forest.predict_leaves(
                leaves[:, t : t + 1], np.ones((1, n_channels)), slice(t, t + 1), n_threads
            )
            scaled = (
                alone * weights[t]
                if isinstance(alone, np.ndarray)
                else alone.multiply(weights[t]).tocsr()
            )
            sums, totals = sums + scaled, totals + weights[t]
            plain, n_able = plain + alone, n_able + is_able[t]
            if (t + 1) % self._fitted.trees_per_estimator:
                continue
            covered = np.where(totals > 0, totals, 1.0)
            if isinstance(alone, np.ndarray):
                average = np.where(n_able > 0, plain / np.maximum(n_able, 1), np.nan)
                yield np.where(totals > 0, sums / covered, average)
            else:
                yield (
                    sums.multiply(1.0 / covered).tocsr()
                    + plain.multiply((totals <= 0) / (t + 1)).tocsr()
                )

    def _leaves_of(self, X: Any) -> NDArray[np.int32]:
        """Find the leaf of every row in every tree, counted over all trees."""
        encoded = self._encode(X)
        return self._forest.leaves_of(encoded, self._n_threads())

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Find the leaf of every row in every tree.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n, n_trees), int32
            Nodes of each tree, numbered in preorder.
        """
        encoded = self._encode(X)
        return self._forest.nodes_of(encoded, self._n_threads())

    def predict_weights(self, X: Any, output: int | str | None = None) -> Any:
        """Tell how much each training row counts in the prediction of each row.

        A forest predicts a weighted average of training outputs: ``predict_weights(X) @ Y`` is
        ``predict(X)`` (or the probabilities) where all outputs share their weights. They do not
        under subspace, mixed or out-of-bag aggregation, with unobserved targets or with weights
        of shape (n, d): then ask for one output.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        output : int or str, optional
            Position or name of an output. By default the weights that all outputs share, or
            would share if all trees and all targets counted for each.

        Returns
        -------
        csr_array of shape (n, n_train)
            Rows add up to 1 (to 0 for an output that was never observed).
        """
        leaves = self._leaves_of(X)
        if output is None:
            return row_weights(self._forest, leaves)
        channel = int(self._targets.channel_offsets[self._output_position(output)])
        return channel_row_weights(self._forest, leaves, channel)

    def _output_position(self, output: int | str) -> int:
        names = list(self.output_names_)
        if isinstance(output, str):
            if output in names:
                return names.index(output)
        elif isinstance(output, numbers.Integral) and -len(names) <= output < len(names):
            return int(output) % len(names)
        raise ValueError(
            f"output must be one of the {len(names)} outputs, by position or by name; got "
            f"{shown(output)}."
        )

    def sample_predictions(self, X: Any, n_draws: int = 1, random_state: Any = None) -> Any:
        """Draw from the joint distribution of the outputs that the forest predicts.

        A draw is the whole output of one training row, chosen by `predict_weights`, so that
        outputs keep their dependence. Unobserved entries of that row stay NaN, or None among
        classes that are no numbers. Where outputs do not share their weights (subspace, mixed
        or out-of-bag aggregation, round robin, unobserved targets), a row is drawn by those that
        all trees together give it, and the mean of many draws is not `predict`.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        n_draws : int, default=1
        random_state : int, RandomState, Generator or None
            None: that of the forest.

        Returns
        -------
        ndarray of shape (n_draws, n, d), or list of n_draws csr_arrays of shape (n, d)
            In the form in which `predict` gives the outputs; a list if Y was sparse.
        """
        if not isinstance(n_draws, numbers.Integral) or n_draws < 1:
            raise ValueError(f"n_draws must be an integer >= 1; got {shown(n_draws)}.")
        weights = self.predict_weights(X)
        rng = self._rng(random_state)
        # One uniform number per draw, searched in the running total of its row's weights.
        totals = np.concatenate([[0.0], np.cumsum(weights.data)])
        start, end = totals[weights.indptr[:-1]], totals[weights.indptr[1:]]
        drawn = start + rng.random((int(n_draws), start.size)) * (end - start)
        at = np.searchsorted(totals, drawn, side="right") - 1
        at = np.clip(at, weights.indptr[:-1], weights.indptr[1:] - 1)
        rows = weights.indices[at]
        return self._training_outputs(rows)

    def _training_outputs(self, rows: NDArray[np.int32]) -> Any:
        """Give the outputs of training rows, of shape (n_draws, n), as `predict` would."""
        raise NotImplementedError

    # Inspection --------------------------------------------------------------------------------

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in what the splits took off the variance, of shape (p,)."""
        check_is_fitted(self)
        gains = self._forest.feature_gains
        total = gains.sum()
        return gains / total if total > 0 else gains.copy()

    @property
    def output_importances_(self) -> NDArray[np.float64]:
        """Importance of each feature for each output, of shape (n_outputs_, p).

        What each feature's splits take off the squared deviations of an output in the leaves'
        training rows, summed over the trees. A row adds up to 1, or to 0 if no split
        helps to predict that output.
        """
        check_is_fitted(self)
        offsets = self._targets.channel_offsets
        gains = np.zeros((self._targets.n_outputs, self.n_features_in_))
        for t in range(self._forest.n_trees):
            by_channel = self._forest.tree(t).channel_gains()
            by_output = np.add.reduceat(by_channel, offsets[:-1], axis=0)
            totals = by_output.sum(axis=1, keepdims=True)
            gains += np.divide(by_output, totals, out=np.zeros_like(by_output), where=totals > 0)
        totals = gains.sum(axis=1, keepdims=True)
        shares: NDArray[np.float64] = np.divide(
            gains, totals, out=np.zeros_like(gains), where=totals > 0
        )
        return shares

    def _additive(self) -> AdditiveTrees:
        """Give the forest as a sum of trees."""
        check_is_fitted(self)
        return self._forest.additive()

    @property
    def estimators_(self) -> Members:
        """The trees, each as an estimator that shares the arrays of the forest."""
        check_is_fitted(self)
        return Members(self._forest.n_trees, self._member)

    def _member(self, t: int) -> SingleTree:
        """Make an estimator of one tree."""
        shared = {
            name: value
            for name, value in self._resolved(self._targets).get_params(deep=False).items()
            if name in self._member_type._get_param_names()
        }
        member = self._member_type(**shared, splitter="random" if self._random_cuts else "best")
        forest = self._forest
        member._fitted = FittedTree(
            self._features,
            self._targets,
            forest.tree(t),
            describe=partial(described_tree, forest, t),
        )
        return member
