"""Boosting for numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.boosting.base import BoostingEstimator
from polyleaf.boosting.checks import Callback
from polyleaf.data import Targets, ingest_regression_targets
from polyleaf.estimator.parameters import documented
from polyleaf.estimator.scores import ScoresNumbers


@documented
class BoostingRegressor(ScoresNumbers, BoostingEstimator):
    """Gradient boosting of trees for any number of targets.

    Every round grows one tree on the gradients of all targets, or on a few random combinations of
    them, and gives its leaves values in all targets: the cost of a round hardly grows with the
    number of targets.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_, n_outputs_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.
    output_names_ : ndarray of shape (n_outputs_,)
    n_estimators_, best_iteration_ : int
        Number of rounds that are kept.
    projection_ : Projection or None
        The view of the outputs that was used; None: all of them.
    history_ : dict of str to ndarray of shape (n_rounds,)
        Mean loss after every round: "train_loss", "validation_loss" if there are validation
        rows, "validation_score" if there is an `eval_metric` (larger is better).
    feature_importances_ : ndarray of shape (n_features_in_,)
    output_map_ : ndarray of shape (n_outputs_, n_outputs_)
        Which targets share structure.

    See Also
    --------
    BoostingClassifier : for classes and labels.
    RandomForestRegressor : trees that do not build on each other.

    Examples
    --------
    >>> from polyleaf import BoostingRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> X, Y = make_correlated_targets(n_samples=400, random_state=0)
    >>> model = BoostingRegressor(n_estimators=50, random_state=0).fit(X[:300], Y[:300])
    >>> model.predict(X[300:]).shape
    (100, 10)
    >>> bool(model.score(X[300:], Y[300:]) > 0.5)
    True
    """

    def __init__(
        self,
        *,
        n_estimators: int = 400,
        loss: Any = "squared_error",
        learning_rate: float = 0.1,
        projection: Any = "auto",
        leaf_fit: str = "relabel",
        leaf_values: str = "auto",
        max_depth: int | None = 6,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        l2_regularization: float = 1.0,
        subsample: float = 1.0,
        monotonic_cst: Any = None,
        estimator: Any = None,
        normalize_outputs: bool = True,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        eval_metric: str | Callable[..., float] | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eval_set: tuple[Any, ...] | None = None,
        callbacks: Callback | Sequence[Callback] = (),
    ) -> BoostingRegressor:
        """Boost the model.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
            NaN and None are missing values.
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
            NaN is a target that was not observed.
        sample_weight : array-like of shape (n,) or (n, d), optional
        eval_set : tuple (X, y) or (X, y, sample_weight), optional
            Validation rows, for `history_` and early stopping.
        callbacks : callable or sequence of callable
            Called after every round with a progress that has `n_estimators`, `train_loss`,
            `validation_loss` and `validation_score`; one that returns True ends the fit.

        Returns
        -------
        BoostingRegressor
            Itself.
        """
        data = self._read_features(X)
        targets = self._ingest_targets(y, data.n_rows)
        weights = self._read_weights(sample_weight, targets)
        self._warn_unobserved(targets, "Their predictions are NaN.", weights)
        self._fit(data, targets, weights, eval_set, callbacks)
        return self

    def _ingest_targets(self, y: Any, n_rows: int) -> Targets:
        return ingest_regression_targets(y, n_rows, estimator_name=type(self).__name__)

    def _values(self, raw: NDArray[np.float32]) -> NDArray[np.float64]:
        """Predictions in the units of Y, of shape (n, d) or (n, d, n_quantiles)."""
        predicted = self._loss.predictions(raw, self._targets.channel_offsets)
        values = predicted * self._scale + self._shift
        if self._loss.value_shape:
            shape = self._targets.n_outputs, *self._loss.value_shape
            values = values.reshape(len(values), *shape)
        return values

    def _shaped(self, raw: NDArray[np.float32]) -> NDArray[np.float64]:
        values = self._values(raw)
        return values[:, 0] if self._targets.is_1d else values

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict all targets.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,) or (n, d)
            One-dimensional if Y was. With several quantiles as the loss, (n, n_quantiles) or
            (n, d, n_quantiles).
        """
        return self._shaped(self._raw(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict by the first round, the first two rounds, and so on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Yields
        ------
        ndarray of shape (n,) or (n, d)
        """
        for raw in self._staged_raw(X):
            yield self._shaped(raw)

    def _truth(self, targets: Targets) -> Any:
        values: Any = targets.values
        if not isinstance(values, np.ndarray):
            values = values.toarray()
        if targets.observed is not None:
            values = np.where(targets.observed, values, np.nan)
        return values[:, 0] if targets.schema.is_1d else values

    def _shown(self, raw: NDArray[np.float32], needs: str) -> Any:
        return self._shaped(raw)
