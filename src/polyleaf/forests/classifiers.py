"""Forests for classes and labels: random forests, extra trees and bagged trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.data import Targets, decode_classes, split_probabilities
from polyleaf.estimator.classifier import Classifier, decode_channels
from polyleaf.estimator.parameters import documented
from polyleaf.estimator.published import Variants
from polyleaf.forests import papers
from polyleaf.forests.base import ForestEstimator
from polyleaf.forests.out_of_bag import OutOfBag, out_of_bag_score
from polyleaf.trees.estimators import TreeClassifier


class ForestClassifier(ForestEstimator, Classifier):
    """Base of the forests for classes and labels."""

    _member_type = TreeClassifier

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
        channels = _known(self._predict_channels(X))
        return self._decode_channels(channels)

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
        channels = _known(self._predict_channels(X))
        return split_probabilities(self._targets, channels)

    def _likeliest(self, X: Any, k: int) -> Any:
        if self._targets.hierarchy is not None:
            return super()._likeliest(X, k)
        encoded = self._encode(X)
        return _known(self._forest.predict_topk(encoded, k, self._n_threads()))

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict by the first tree, the first two trees, and so on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Yields
        ------
        ndarray of shape (n,) or (n, d), or csr_array of shape (n, d)
        """
        for values in self._staged_channels(X):
            yield self._decode_channels(_known(values))

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Predict probabilities by the first tree, the first two trees, and so on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Yields
        ------
        ndarray, csr_array or list
            In the shape of `predict_proba`.
        """
        for values in self._staged_channels(X):
            yield split_probabilities(self._targets, _known(values))

    def _training_outputs(self, rows: NDArray[np.int32]) -> Any:
        outputs = self._forest.outputs
        values: Any = outputs.values
        draws: Any = [decode_classes(self._targets, values[drawn]) for drawn in rows]
        if outputs.is_sparse:
            return draws
        draws = np.array(draws)
        if outputs.observed is None:
            return draws
        known = outputs.observed[:, self._targets.channel_offsets[:-1]][rows]
        known = known[..., 0] if draws.ndim == 2 else known
        if draws.dtype.kind in "biuf":
            return np.where(known, draws, np.nan)
        return np.where(known, draws.astype(object), None)

    def _out_of_bag(self, predicted: OutOfBag, targets: Targets) -> tuple[Any, float]:
        schema = targets.schema
        rows = np.flatnonzero(predicted.scorable_rows(targets.observed))
        guess = decode_channels(self.decoding, schema, _known(predicted.values[rows]))
        truth = decode_classes(schema, targets.values[rows])
        observed = None
        if targets.observed is not None:
            observed = targets.observed[rows][:, schema.channel_offsets[:-1]]
        score = out_of_bag_score(self, partial(_accuracy, observed), truth, guess)
        return split_probabilities(schema, predicted.values), score

    @property
    def oob_decision_function_(self) -> Any:
        """Probabilities of training rows by trees that did not see them; with ``oob_score``."""
        return self._if_there("oob_prediction", "oob_score")


def _accuracy(observed: NDArray[np.bool_] | None, truth: Any, guess: Any) -> float:
    """Share of rows whose observed outputs are all right."""
    wrong = truth != guess
    if isinstance(wrong, np.ndarray):
        wrong = wrong.reshape(len(wrong), -1)
        if observed is not None:
            wrong = wrong & observed
        return float(1.0 - wrong.any(axis=1).mean())
    return float(1.0 - np.mean(np.diff(sparse.csr_array(wrong).indptr) > 0))


def _known(values: Any) -> Any:
    """Take what was never observed as improbable, and what rounding put beyond 1 as certain."""
    if isinstance(values, np.ndarray):
        return np.clip(np.nan_to_num(values, copy=False), 0.0, 1.0, out=values)
    np.minimum(values.data, 1.0, out=values.data)
    return values


@documented
class RandomForestClassifier(ForestClassifier):
    """A random forest for one or many class outputs or labels.

    Every tree is grown on a bootstrap sample of the rows, tries the square root of the number of
    features at each node, and predicts all outputs. With a `projection`, a tree's splits are
    chosen on a random view of the outputs: much quicker where there are many labels, and about
    as accurate.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray, or list of ndarray
    n_features_in_, n_outputs_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.
    output_names_ : ndarray of shape (n_outputs_,)
    feature_importances_ : ndarray of shape (n_features_in_,)
    output_importances_ : ndarray of shape (n_outputs_, n_features_in_)
    estimators_ : sequence of TreeClassifier
        Made when asked for.
    projection_ : Projection or None
    max_features_ : int
        The view and the number of features that were used; of interest with
        ``projection='auto'``, which also leaves a table of what it tried in `auto_results_`.
    oob_score_ : float
    oob_decision_function_ : ndarray, csr_array or list
        Probabilities of the training rows by the trees that did not see them; only with
        ``oob_score``.

    See Also
    --------
    ExtraTreesClassifier, BaggedTreesClassifier : other ways to make trees differ.

    Examples
    --------
    >>> from polyleaf import RandomForestClassifier, projections
    >>> from polyleaf.datasets import make_multilabel
    >>> X, Y = make_multilabel(n_samples=300, n_labels=20, random_state=0)
    >>> view = projections.Gaussian(n_components="log")
    >>> forest = RandomForestClassifier(projection=view, random_state=0).fit(X, Y)
    >>> forest.predict_proba(X[:2]).shape
    (2, 20)
    >>> forest.predict_topk(X[:2], k=3).nnz
    6
    """

    _published: ClassVar[Variants] = papers.RANDOM_FOREST_CLASSIFIERS

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        projection: Any = None,
        projection_scope: str = "tree",
        aggregation: str = "total",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = "sqrt",
        max_bins: int | None = 255,
        categorical_features: Any = None,
        category_penalty: float = 1.25,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        class_weight: Any = None,
        oob_score: bool | Callable[..., float] = False,
        decoding: Any = "auto",
        hierarchy: Any = None,
        on_violation: str = "close",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        sums: str = "auto",
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())


@documented
class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomised trees for one or many class outputs or labels.

    Every tree is grown on all rows, with one random cut for each of the features that it tries
    at a node, of which the best is taken; it predicts all outputs.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray, or list of ndarray
    n_features_in_, n_outputs_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.
    output_names_ : ndarray of shape (n_outputs_,)
    feature_importances_ : ndarray of shape (n_features_in_,)
    output_importances_ : ndarray of shape (n_outputs_, n_features_in_)
    estimators_ : sequence of TreeClassifier
        Made when asked for.
    projection_ : Projection or None
    max_features_ : int
        The view and the number of features that were used; of interest with
        ``projection='auto'``, which also leaves a table of what it tried in `auto_results_`.
    oob_score_ : float
    oob_decision_function_ : ndarray, csr_array or list
        Only with ``bootstrap=True`` and ``oob_score``.

    See Also
    --------
    RandomForestClassifier, BaggedTreesClassifier : other ways to make trees differ.

    Examples
    --------
    >>> from polyleaf import ExtraTreesClassifier
    >>> from polyleaf.datasets import make_multilabel
    >>> X, Y = make_multilabel(n_samples=300, random_state=0)
    >>> forest = ExtraTreesClassifier(n_estimators=50, random_state=0).fit(X, Y)
    >>> forest.predict(X[:2]).shape == Y[:2].shape
    True
    """

    _published: ClassVar[Variants] = papers.EXTRA_CLASSIFIERS

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        projection: Any = None,
        projection_scope: str = "tree",
        aggregation: str = "total",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = "sqrt",
        max_bins: int | None = 255,
        categorical_features: Any = None,
        category_penalty: float = 1.25,
        bootstrap: bool = False,
        max_samples: int | float | None = None,
        class_weight: Any = None,
        oob_score: bool | Callable[..., float] = False,
        decoding: Any = "auto",
        hierarchy: Any = None,
        on_violation: str = "close",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        sums: str = "auto",
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())

    _random_cuts = True


@documented
class BaggedTreesClassifier(ForestClassifier):
    """Bagging of trees for one or many class outputs or labels.

    Every tree is grown on a bootstrap sample of the rows, tries all features at each node, and
    predicts all outputs.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray, or list of ndarray
    n_features_in_, n_outputs_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.
    output_names_ : ndarray of shape (n_outputs_,)
    feature_importances_ : ndarray of shape (n_features_in_,)
    output_importances_ : ndarray of shape (n_outputs_, n_features_in_)
    estimators_ : sequence of TreeClassifier
        Made when asked for.
    projection_ : Projection or None
    max_features_ : int
        The view and the number of features that were used; of interest with
        ``projection='auto'``, which also leaves a table of what it tried in `auto_results_`.
    oob_score_ : float
    oob_decision_function_ : ndarray, csr_array or list
        Probabilities of the training rows by the trees that did not see them; only with
        ``oob_score``.

    See Also
    --------
    RandomForestClassifier, ExtraTreesClassifier : other ways to make trees differ.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import BaggedTreesClassifier
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> y = np.array(["low"] * 4 + ["high"] * 4)
    >>> forest = BaggedTreesClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> forest.predict([[0.0], [7.0]])
    array(['low', 'high'], dtype='<U4')
    """

    _published: ClassVar[Variants] = papers.BAGGED_CLASSIFIERS

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        projection: Any = None,
        projection_scope: str = "tree",
        aggregation: str = "total",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        category_penalty: float = 1.25,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        class_weight: Any = None,
        oob_score: bool | Callable[..., float] = False,
        decoding: Any = "auto",
        hierarchy: Any = None,
        on_violation: str = "close",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        sums: str = "auto",
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())
