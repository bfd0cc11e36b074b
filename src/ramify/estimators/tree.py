"""One multi-output tree: the predictive clustering tree of paper 004, or a tree grown on a
projection of its outputs (paper 001, section 3.1).
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ramify import projections
from ramify.estimators.base import MultiOutputEstimator
from ramify.estimators.parameters import documented
from ramify.ingest import (
    BinnedData,
    Targets,
    class_weights,
    combine_weights,
    decode_classes,
    ingest_class_targets,
    ingest_regression_targets,
    split_probabilities,
)
from ramify.model import Trees
from ramify.training import TrainingData, TreeSettings, cross_validated_level, fit_tree


class _Tree(MultiOutputEstimator):
    """What the regression and the classification tree have in common."""

    _normalizes = False

    def _fit(
        self, data: BinnedData, targets: Targets, weights: NDArray[np.float64] | None
    ) -> None:
        rng = self._rng()
        n_threads = self._n_threads()
        training = TrainingData(
            features=data.binned(self.max_bins, n_threads),
            n_categories=data.schema.n_categories,
            targets=targets,
            weights=weights,
        )
        settings = self._settings(data)
        if self.pruning == "f_test":
            level = self.pruning_level
            if level == "cv":
                level = cross_validated_level(training, data.encoded, settings, rng, n_threads)
            self.pruning_level_ = float(level)
            settings = self._settings(data, f_test_level=self.pruning_level_)
        elif hasattr(self, "pruning_level_"):
            del self.pruning_level_
        self._trees: Trees = fit_tree(training, settings, rng, n_threads=n_threads)
        self._remember(data.schema, targets.schema)

    def _settings(self, data: BinnedData, f_test_level: float | None = None) -> TreeSettings:
        n_rows, n_features = data.shape
        return TreeSettings(
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_split=max(2, _count(self.min_samples_split, n_rows)),
            min_samples_leaf=_count(self.min_samples_leaf, n_rows),
            min_impurity_decrease=float(self.min_impurity_decrease),
            max_features=_n_features(self.max_features, n_features),
            random_cuts=self.splitter == "random",
            exact=self.max_bins is None,
            projection=projections.resolve(self.projection),
            normalize_outputs=self._normalizes and bool(self.normalize_outputs),
            f_test_level=f_test_level,
        )

    def _raw_predict(self, X: Any) -> Any:
        encoded = self._encode(X)
        return self._trees.predict(encoded, self._n_threads())

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in what the splits took off the variance, of shape (p,)."""
        check_is_fitted(self)
        return self._trees.structure.feature_importances()

    @property
    def output_importances_(self) -> NDArray[np.float64]:
        """Importance of each feature for each output, of shape (n_outputs_, p).

        A row adds up to 1, or to 0 if no split tells anything about that output. The classes of a
        multi-class output are taken together.
        """
        check_is_fitted(self)
        importances = self._trees.output_importances()
        offsets = self._targets.channel_offsets[:-1]
        summed = np.add.reduceat(importances, offsets, axis=0)
        totals = summed.sum(axis=1, keepdims=True)
        return np.divide(summed, totals, out=np.zeros_like(summed), where=totals > 0)

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
        return self._trees.to_arrays(), metadata

    @classmethod
    def _from_file(cls, arrays: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> Any:
        estimator = cls._from_metadata(metadata)
        trees = Trees.from_arrays(arrays, metadata["leaves"])
        if not np.array_equal(trees.structure.n_categories, estimator._features.n_categories):
            raise ValueError("the trees and the features disagree about categories.")
        if trees.leaves.n_channels != estimator._targets.n_channels:
            raise ValueError("the leaves and the targets disagree about the number of outputs.")
        if metadata["pruning_level_"] is not None:
            estimator.pruning_level_ = float(metadata["pruning_level_"])
        estimator._trees = trees
        return estimator


@documented
class TreeRegressor(RegressorMixin, _Tree):
    """A regression tree for any number of targets.

    The tree splits all targets at once: a split is chosen for the variance it takes off their
    sum, each target normalised (predictive clustering tree). A leaf predicts the mean of every
    target over its training rows. Missing features need no imputation, and targets that are not
    observed (NaN in Y) are learnt around.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_, n_outputs_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.
    output_names_ : ndarray of shape (n_outputs_,)
    feature_importances_ : ndarray of shape (n_features_in_,)
    output_importances_ : ndarray of shape (n_outputs_, n_features_in_)
    pruning_level_ : float
        Level of the F-test that was used; only with ``pruning='f_test'``.

    See Also
    --------
    TreeClassifier : for classes and labels.
    ramify.inspection.tree_text, ramify.inspection.plot_tree : to read a tree.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify import TreeRegressor
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> Y = np.column_stack([X[:, 0] > 3, 10 * (X[:, 0] > 5)]).astype(float)
    >>> Y[0, 1] = np.nan  # not observed
    >>> tree = TreeRegressor().fit(X, Y)
    >>> tree.predict([[0.0], [4.0], [7.0]])
    array([[ 0.,  0.],
           [ 1.,  0.],
           [ 1., 10.]])
    """

    _normalizes = True

    def __init__(
        self,
        *,
        projection: Any = None,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = None,
        splitter: str = "best",
        max_bins: int | None = 255,
        categorical_features: Any = None,
        normalize_outputs: bool = True,
        pruning: str | None = None,
        pruning_level: str | float = "cv",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.projection = projection
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_features = max_features
        self.splitter = splitter
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.normalize_outputs = normalize_outputs
        self.pruning = pruning
        self.pruning_level = pruning_level
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TreeRegressor:
        """Grow the tree.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
            NaN and None are missing values.
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
            NaN is a target that was not observed.
        sample_weight : array-like of shape (n,) or (n, d), optional

        Returns
        -------
        TreeRegressor
            Itself.
        """
        data, _ = self._read_features(X)
        targets = ingest_regression_targets(y, data.n_rows, estimator_name=type(self).__name__)
        self._warn_unobserved(targets, "Their predictions are NaN.")
        self._fit(data, targets, self._read_weights(sample_weight, targets))
        return self

    def predict(self, X: Any) -> Any:
        """Predict all targets.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,) or (n, d), or csr_array of shape (n, d)
            As Y was given: one- or two-dimensional, dense or sparse.
        """
        values = self._raw_predict(X)
        return values[:, 0] if self._targets.is_1d else values


@documented
class TreeClassifier(ClassifierMixin, _Tree):
    """A classification tree for one or many class outputs or labels.

    What Y holds decides the task: one column with two values (binary) or more (multi-class);
    a matrix of 0/1 (multi-label, sparse matrices welcome); or several columns of classes
    (multi-class multi-output). The tree splits all outputs at once.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray, or list of ndarray for multi-class multi-output problems
    n_features_in_, n_outputs_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.
    output_names_ : ndarray of shape (n_outputs_,)
    feature_importances_ : ndarray of shape (n_features_in_,)
    output_importances_ : ndarray of shape (n_outputs_, n_features_in_)
    pruning_level_ : float
        Level of the F-test that was used; only with ``pruning='f_test'``.

    See Also
    --------
    TreeRegressor : for numbers.

    Notes
    -----
    With a sparse Y the leaves hold training rows, not vectors of all labels: the model contains
    the training labels, and `predict_proba` returns a sparse matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify import TreeClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [1, 1]])  # two labels
    >>> tree = TreeClassifier().fit(X, Y)
    >>> tree.predict([[0.5], [2.0]])
    array([[1, 0],
           [0, 1]])
    >>> tree.predict_proba([[3.0]])
    array([[1., 1.]])
    """

    def __init__(
        self,
        *,
        projection: Any = None,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = None,
        splitter: str = "best",
        max_bins: int | None = 255,
        categorical_features: Any = None,
        pruning: str | None = None,
        pruning_level: str | float = "cv",
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.projection = projection
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_features = max_features
        self.splitter = splitter
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.pruning = pruning
        self.pruning_level = pruning_level
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TreeClassifier:
        """Grow the tree.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
            NaN and None are missing values.
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
            Classes or labels; NaN and None are not observed.
        sample_weight : array-like of shape (n,) or (n, d), optional

        Returns
        -------
        TreeClassifier
            Itself.
        """
        data, _ = self._read_features(X)
        targets = ingest_class_targets(y, data.n_rows, estimator_name=type(self).__name__)
        self._warn_unobserved(targets, "They are predicted as 0, with probability 0.")
        weights = combine_weights(
            self._read_weights(sample_weight, targets),
            class_weights(self.class_weight, targets),
        )
        self._fit(data, targets, weights)
        return self

    @property
    def classes_(self) -> Any:
        """Classes of the output, or a list of the classes of each output."""
        check_is_fitted(self)
        return self._targets.classes_

    def _probabilities(self, X: Any) -> Any:
        values = self._raw_predict(X)
        return np.nan_to_num(values, copy=False) if isinstance(values, np.ndarray) else values

    def predict(self, X: Any) -> Any:
        """Predict classes or labels.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,) or (n, d), or csr_array of shape (n, d)
            The likeliest class; 0 or 1 for labels, sparse if Y was.
        """
        return decode_classes(self._checked_targets(), self._probabilities(X))

    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n, 2), (n, c) or (n, d), csr_array of shape (n, d), or list
            Of the two classes (binary), of each class (multi-class), of label = 1 (multi-label,
            sparse if Y was), or one array of shape (n, c_j) per output.
        """
        return split_probabilities(self._checked_targets(), self._probabilities(X))

    def predict_log_proba(self, X: Any) -> Any:
        """Predict logarithms of probabilities, in the shape of `predict_proba`; dense."""
        probabilities = self.predict_proba(X)
        if sparse.issparse(probabilities):
            probabilities = probabilities.toarray()
        with np.errstate(divide="ignore"):
            if isinstance(probabilities, list):
                return [np.log(p) for p in probabilities]
            return np.log(probabilities)

    def _checked_targets(self) -> Any:
        check_is_fitted(self)
        return self._targets


def _count(value: int | float, n_rows: int) -> int:
    return int(value) if isinstance(value, Integral) else int(np.ceil(value * n_rows))


def _n_features(max_features: int | float | str | None, n_features: int) -> int:
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(1, int(float(max_features) * n_features))
