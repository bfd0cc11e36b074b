"""One tree for all outputs (Breskvar et al. 2018), or for a projection (Joly et al. 2014)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polyleaf.data import split_probabilities
from polyleaf.estimator.classifier import Classifier
from polyleaf.estimator.parameters import documented
from polyleaf.estimator.published import Variants
from polyleaf.estimator.regressor import Regressor
from polyleaf.trees import papers
from polyleaf.trees.single_tree import SingleTree


@documented
class TreeRegressor(SingleTree, Regressor):
    """A regression tree for any number of targets.

    The tree splits all targets at once: splits are chosen by how much they reduce the
    summed variance of the normalised targets (predictive clustering tree). A leaf predicts the
    mean of every target over its training rows. Missing features need no imputation, and targets
    that are not observed (NaN in Y) are left out.

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
    polyleaf.inspection.tree_text, polyleaf.inspection.plot_tree : to read a tree.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import TreeRegressor
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> Y = np.column_stack([X[:, 0] > 3, 10 * (X[:, 0] > 5)]).astype(float)
    >>> Y[0, 1] = np.nan  # not observed
    >>> tree = TreeRegressor().fit(X, Y)
    >>> tree.predict([[0.0], [4.0], [7.0]])
    array([[ 0.,  0.],
           [ 1.,  0.],
           [ 1., 10.]])
    """

    _published: ClassVar[Variants] = papers.REGRESSION_TREES

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
        category_penalty: float = 1.25,
        normalize_outputs: bool = True,
        pruning: str | None = None,
        pruning_level: str | float = "cv",
        random_state: Any = None,
        n_jobs: int | None = None,
        sums: str = "auto",
    ) -> None:
        self._keep_parameters(locals())

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
        leaves = self._leaves_of(X)
        values = self._trees.leaves.predict(leaves)
        return values[:, 0] if self._targets.is_1d else values


@documented
class TreeClassifier(SingleTree, Classifier):
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
    >>> from polyleaf import TreeClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [1, 1]])  # two labels
    >>> tree = TreeClassifier().fit(X, Y)
    >>> tree.predict([[0.5], [2.0]])
    array([[1, 0],
           [0, 1]])
    >>> tree.predict_proba([[3.0]])
    array([[1., 1.]])
    """

    _published: ClassVar[Variants] = papers.CLASSIFICATION_TREES

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
        category_penalty: float = 1.25,
        pruning: str | None = None,
        pruning_level: str | float = "cv",
        class_weight: Any = None,
        decoding: Any = "auto",
        hierarchy: Any = None,
        on_violation: str = "close",
        random_state: Any = None,
        n_jobs: int | None = None,
        sums: str = "auto",
    ) -> None:
        self._keep_parameters(locals())

    def _probabilities(self, leaves: NDArray[np.int32]) -> Any:
        values = self._trees.leaves.predict(leaves)
        if isinstance(values, np.ndarray):
            return np.nan_to_num(values, copy=False)
        np.minimum(values.data, 1.0, out=values.data)  # shares are sums, which round
        return values

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
        leaves = self._leaves_of(X)
        hit, place = np.unique(leaves, return_inverse=True)
        return self._decode_channels(self._probabilities(hit))[place]

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
        leaves = self._leaves_of(X)
        return split_probabilities(self._targets, self._probabilities(leaves))
