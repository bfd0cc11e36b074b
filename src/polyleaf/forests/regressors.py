"""Forests for numbers: random forests, extra trees and bagged trees of many targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import shown
from polyleaf.data import Targets
from polyleaf.estimator.parameters import documented
from polyleaf.estimator.published import Variants
from polyleaf.estimator.regressor import Regressor
from polyleaf.forests import papers
from polyleaf.forests.base import ForestEstimator
from polyleaf.forests.out_of_bag import OutOfBag, out_of_bag_score
from polyleaf.forests.quantiles import forest_quantiles
from polyleaf.metrics import macro_r2_score
from polyleaf.trees.estimators import TreeRegressor


class ForestRegressor(ForestEstimator, Regressor):
    """Base of the forests for numbers."""

    _member_type = TreeRegressor

    def _shaped(self, values: Any) -> Any:
        return values[..., 0] if self._targets.is_1d else values

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
        return self._shaped(self._predict_channels(X))

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
            yield self._shaped(values)

    def predict_quantiles(
        self, X: Any, quantiles: float | Sequence[float] = (0.1, 0.5, 0.9)
    ) -> Any:
        """Predict quantiles of every target.

        The distribution that a forest predicts has the values of the training rows, weighted as
        `predict_weights` gives; a quantile is the smallest of them whose cumulative weight
        reaches it.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        quantiles : float or sequence of float, default=(0.1, 0.5, 0.9)
            In [0, 1].

        Returns
        -------
        ndarray of shape (n, d, n_quantiles), or list of csr_array of shape (n, d)
            Without the axis of the targets if Y was one-dimensional, and without that of the
            quantiles if one number was given. Of a sparse Y, a matrix per quantile (the matrix
            if one number was given).
        """
        wanted = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if wanted.ndim != 1 or not np.all((wanted >= 0) & (wanted <= 1)):
            raise ValueError(f"quantiles must be numbers from 0 to 1; got {shown(quantiles)}.")
        found = forest_quantiles(self._forest, self._leaves_of(X), wanted, self._n_threads())
        if isinstance(found, list):
            return found[0] if np.ndim(quantiles) == 0 else found
        found = found[:, 0] if self._targets.is_1d else found
        return found[..., 0] if np.ndim(quantiles) == 0 else found

    def _training_outputs(self, rows: NDArray[np.int32]) -> Any:
        outputs = self._forest.outputs
        if outputs.is_sparse:
            return [outputs.values[drawn] for drawn in rows]
        values: Any = outputs.values[rows]
        if outputs.observed is not None:
            values = np.where(outputs.observed[rows], values, np.nan)
        return self._shaped(values)

    def _out_of_bag(self, predicted: OutOfBag, targets: Targets) -> tuple[Any, float]:
        scored = predicted.scorable_rows(targets.observed)
        truth: Any = targets.values[scored]
        guess: Any = predicted.values[scored]
        if targets.is_sparse and callable(self.oob_score):
            truth, guess = truth.toarray(), guess.toarray()
        elif targets.observed is not None:
            truth = np.where(targets.observed[scored], truth, np.nan)
        first = 0 if targets.schema.is_1d else slice(None)
        score = out_of_bag_score(self, macro_r2_score, truth[..., first], guess[..., first])
        return predicted.values[..., first], score

    @property
    def oob_prediction_(self) -> Any:
        """Predictions of the training rows by trees that did not see them; with ``oob_score``."""
        return self._if_there("oob_prediction", "oob_score")


@documented
class RandomForestRegressor(ForestRegressor):
    """A random forest of multi-target trees.

    Every tree is grown on a bootstrap sample of the rows and on a random view of the targets,
    and tries some of the features at each node; its leaves predict all targets. By default a
    tree sees half of the targets (the first one all of them) and a third of the features at each
    node; the weight of trees that did not see a target is chosen out of bag.

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
    estimators_ : sequence of TreeRegressor
        Made when asked for.
    projection_ : Projection or None
    max_features_ : int
        The view and the number of features that were used; of interest with
        ``projection='auto'``, which also leaves a table of what it tried in `auto_results_`.
    oob_score_ : float
    oob_prediction_ : ndarray of shape (n,) or (n, d)
        Predictions of the training rows by the trees that did not see them, NaN where there is
        none; only with ``oob_score``.

    See Also
    --------
    ExtraTreesRegressor, BaggedTreesRegressor : other ways to make trees differ.

    Examples
    --------
    >>> from polyleaf import RandomForestRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> X, Y = make_correlated_targets(n_samples=300, random_state=0)
    >>> forest = RandomForestRegressor(oob_score=True, random_state=0).fit(X, Y)
    >>> forest.predict(X[:2]).shape
    (2, 10)
    """

    _published: ClassVar[Variants] = papers.RANDOM_FOREST_REGRESSORS

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        projection: Any = "subsample",
        projection_scope: str = "tree",
        aggregation: str = "mixed",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = 0.33,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        category_penalty: float = 1.25,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        normalize_outputs: bool = True,
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        sums: str = "auto",
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())


@documented
class ExtraTreesRegressor(ForestRegressor):
    """Extremely randomised multi-target trees.

    Every tree is grown on all rows, on a random view of the targets, with one random cut per
    feature and node, of which the best is taken. By default a tree sees half of the targets (the
    first one all of them) and a third of the features at each node; the weight of trees that did
    not see a target is chosen out of bag, on a few trees with bootstrap samples.

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
    estimators_ : sequence of TreeRegressor
        Made when asked for.
    projection_ : Projection or None
    max_features_ : int
        The view and the number of features that were used; of interest with
        ``projection='auto'``, which also leaves a table of what it tried in `auto_results_`.
    oob_score_ : float
    oob_prediction_ : ndarray of shape (n,) or (n, d)
        Only with ``bootstrap=True`` and ``oob_score``.

    See Also
    --------
    RandomForestRegressor, BaggedTreesRegressor : other ways to make trees differ.

    Examples
    --------
    >>> from polyleaf import ExtraTreesRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> X, Y = make_correlated_targets(n_samples=300, random_state=0)
    >>> forest = ExtraTreesRegressor(n_estimators=50, random_state=0).fit(X, Y)
    >>> forest.predict_quantiles(X[:2], [0.1, 0.9]).shape
    (2, 10, 2)
    """

    _published: ClassVar[Variants] = papers.EXTRA_REGRESSORS

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        projection: Any = "subsample",
        projection_scope: str = "tree",
        aggregation: str = "mixed",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = 0.33,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        category_penalty: float = 1.25,
        bootstrap: bool = False,
        max_samples: int | float | None = None,
        normalize_outputs: bool = True,
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        sums: str = "auto",
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())

    _random_cuts = True


@documented
class BaggedTreesRegressor(ForestRegressor):
    """Bagging of multi-target trees.

    Every tree is grown on a bootstrap sample of the rows and on a random view of the targets,
    and tries all features at each node. By default a tree sees half of the targets (the first
    one all of them); the weight of trees that did not see a target is chosen out of bag.

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
    estimators_ : sequence of TreeRegressor
        Made when asked for.
    projection_ : Projection or None
    max_features_ : int
        The view and the number of features that were used; of interest with
        ``projection='auto'``, which also leaves a table of what it tried in `auto_results_`.
    oob_score_ : float
    oob_prediction_ : ndarray of shape (n,) or (n, d)
        Predictions of the training rows by the trees that did not see them, NaN where there is
        none; only with ``oob_score``.

    See Also
    --------
    RandomForestRegressor, ExtraTreesRegressor : other ways to make trees differ.

    Examples
    --------
    >>> from polyleaf import BaggedTreesRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> X, Y = make_correlated_targets(n_samples=300, random_state=0)
    >>> forest = BaggedTreesRegressor(n_estimators=20, random_state=0).fit(X, Y)
    >>> weights = forest.predict_weights(X[:2], output=3)  # of the training rows
    >>> bool(abs(weights @ Y[:, 3] - forest.predict(X[:2])[:, 3]).max() < 1e-9)
    True
    """

    _published: ClassVar[Variants] = papers.BAGGED_REGRESSORS

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        projection: Any = "subsample",
        projection_scope: str = "tree",
        aggregation: str = "mixed",
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
        normalize_outputs: bool = True,
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        sums: str = "auto",
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())
