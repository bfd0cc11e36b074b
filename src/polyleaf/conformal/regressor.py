"""Regions that hold all outputs of a row together with a promised probability."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from polyleaf import metrics
from polyleaf.checks.matrices import as_floats, is_sparse, read_array
from polyleaf.checks.spelling import check_choice
from polyleaf.conformal.forecasts import (
    Forecast,
    check_model,
    forecast,
    moments_of_training,
    out_of_bag_forecast,
    point_prediction,
    prepared,
)
from polyleaf.conformal.held_out import (
    METHODS,
    HeldOut,
    check_cv,
    names_for,
    train_held_out,
)
from polyleaf.conformal.ranks import check_alpha
from polyleaf.conformal.region import Region
from polyleaf.conformal.regions import Calibration, joint_regions, marginal_intervals
from polyleaf.conformal.reports import RegionReport, region_report
from polyleaf.conformal.wrapped import AroundModels, NameAndMethod
from polyleaf.data import read_numbers
from polyleaf.data.wrapped_inputs import read_rows
from polyleaf.estimator.base import OneState

SCORES = ("max", "mahalanobis", "local", "quantile")


@dataclass(frozen=True, eq=False)
class FittedRegions:
    """What a fit has learnt.

    Attributes
    ----------
    models : list of regressors
    calibration : Calibration
    n_outputs : int
    is_1d : bool
        Whether y had one dimension.
    score, method : str
    alpha : float
        As they were when it was fitted.
    """

    models: list[Any]
    calibration: Calibration
    n_outputs: int
    is_1d: bool
    score: str
    method: str
    alpha: float


class ConformalRegressor(
    OneState, AroundModels, MetaEstimatorMixin, RegressorMixin, BaseEstimator
):
    """A regressor whose regions hold all outputs together with a promised probability.

    Rows that a model was not trained on show how far its predictions are off. Their
    residuals give a region for a new row that holds **all** of its outputs with probability
    1 - alpha, and an interval for each output alone: for any model, data and noise, as long as
    rows are exchangeable.

    Parameters
    ----------
    estimator : regressor
        Any that predicts all outputs, scikit-learn's own too.
    method : {"split", "cross", "oob", "prefit"}, default="split"
        Which rows are not trained on. ``"split"``: one of `cv` folds; the promise is exact.
        ``"cross"``: each fold once, by the model of the others (CV+): all rows train and
        calibrate; at least 1 - 2 alpha is proven, about 1 - alpha is usual. ``"oob"``: the rows
        that trees of a forest have not drawn; nothing is proven for few rows, and the promise is
        usually kept with some to spare. ``"prefit"``: the estimator is fitted already, and `fit`
        gets other rows, which all calibrate; exact.
    score : {"max", "mahalanobis", "local", "quantile"}, default="max"
        What is compared. ``"max"``: the largest residual of a row, each in units of its output;
        regions are boxes. ``"mahalanobis"``: the distance under one covariance of residuals;
        ellipsoids. ``"local"``: the distance under a covariance for each row, that of the training
        rows which a forest weighs for it; ellipsoids. ``"quantile"``: how far outside the
        quantiles of boosting (which then learns them) or of a forest; boxes that are wide where
        the noise is.
    alpha : float, default=0.1
        The share of rows that a region may miss. Methods take another one.
    cv : int or splitter, default=5
        Number of random folds, or an object with `split`. ``"split"`` calibrates on the first.
    random_state : int, RandomState or None, default=None
        Draws the folds.

    Attributes
    ----------
    estimators_ : list of regressors
        One, or with ``"cross"`` one per fold.
    n_calibration_ : int
        Number of calibration rows.
    n_outputs_, n_features_in_ : int
    output_names_ : ndarray of shape (n_outputs_,)
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.

    See Also
    --------
    ConformalClassifier : label sets with a promise.
    RandomForestRegressor.predict_quantiles : quantiles, without a promise.

    Notes
    -----
    Unobserved outputs (NaN) are left out if the estimator takes them. A region is calibrated
    on the rows whose outputs are all observed, an interval on those that have its output; that
    is right if gaps do not depend on the residuals. Where too few rows are complete, boxes are
    made of the intervals of each output at alpha / d.

    Scales and covariances of ``"split"`` come from the rows that the model was trained on (of a
    forest with bootstrap, from its out-of-bag predictions), so that the promise is met exactly:
    regions hold a new row with probability k / (n + 1), k = ceil((1 - alpha)(n + 1)), for n
    calibration rows, or with more if residuals tie: the edge of a region is inside. Other methods
    take them from the calibration rows themselves, each row measured by the others: never less
    than promised, and a little more, of the order of 1 / n; see the module
    `polyleaf.conformal.radii`.

    References
    ----------
    Vovk, Gammerman and Shafer (2005), Algorithmic learning in a random world. Barber, Candes,
    Ramdas and Tibshirani (2021), Predictive inference with the jackknife+. Sesia and Candes
    (2020), A comparison of some conformal quantile regression methods.

    Examples
    --------
    >>> from polyleaf import ConformalRegressor, RandomForestRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> X, Y = make_correlated_targets(900, n_targets=3, random_state=0)
    >>> forest = RandomForestRegressor(n_estimators=50, random_state=0)
    >>> model = ConformalRegressor(forest, score="local", random_state=0).fit(X[:600], Y[:600])
    >>> region = model.predict_region(X[600:])
    >>> region
    Region(300 ellipsoids over 3 outputs, alpha=0.1)
    >>> bool(0.85 < region.contains(Y[600:]).mean() < 0.95)
    True
    >>> model.predict_interval(X[600:]).shape
    (300, 3, 2)

    One output becomes known, and the region of the others shrinks:

    >>> import numpy as np
    >>> given = np.column_stack([Y[600:, 0], np.full((300, 2), np.nan)])
    >>> model.predict_region(X[600:], given=given).known[0]
    array([ True, False, False])
    """

    _fitted: FittedRegions

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "split",
        score: str = "max",
        alpha: float = 0.1,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.score = score
        self.alpha = alpha
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        self._take_input_tags(tags)
        return tags

    def fit(self, X: Any, y: Any, *, output_names: Any = None) -> ConformalRegressor:
        """Train, and calibrate on rows that were not trained on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        y : array-like or frame of shape (n,) or (n, d)
            Numbers; NaN is not observed, if the estimator takes it.
        output_names : sequence of str, of length d, optional
            Names of the outputs, if y has none and the estimator takes names.

        Returns
        -------
        ConformalRegressor
            Itself.
        """
        alpha = self._check()
        _refuse_sparse(y)
        X = read_rows(X)
        n_rows = len(X) if isinstance(X, (list, tuple)) else int(X.shape[0])
        targets = read_numbers(y, n_rows, estimator_name=type(self).__name__)
        values = np.asarray(targets.with_gaps(), dtype=np.float64)
        named = names_for(self.estimator, output_names, values.shape[1])
        is_1d = targets.schema.is_1d
        is_frame = nw.dependencies.is_into_dataframe(y) or nw.dependencies.is_into_series(y)
        trained_on = y if is_frame else values[:, 0] if is_1d else values
        held_out = train_held_out(
            self, lambda: prepared(self.estimator, self.score, alpha), X, trained_on, named
        )
        calibration = self._calibrate(held_out, X, values, alpha)
        # All at once: an error above leaves an earlier fit as it was.
        self.__dict__.update(
            _fitted=FittedRegions(
                held_out.models,
                calibration,
                values.shape[1],
                is_1d,
                self.score,
                self.method,
                alpha,
            ),
            _fit_facts=(time.time(), n_rows),
            _card=None,
        )
        return self

    def _check(self) -> float:
        """Look at the parameters before anything is trained."""
        check_choice("method", self.method, METHODS)
        check_choice("score", self.score, SCORES)
        check_cv(self.cv)
        check_model(self.estimator, self.score, self.method)
        return check_alpha(self.alpha)

    def _calibrate(
        self, held_out: HeldOut, X: Any, values: NDArray[np.float64], alpha: float
    ) -> Calibration:
        """Measure the residuals of the rows that each model was not trained on."""
        residuals, folds = [], []
        correlations: list[Any] = []
        for k, (model, rows) in enumerate(zip(held_out.models, held_out.rows, strict=True)):
            if self.method == "oob":
                found = out_of_bag_forecast(model, X, self.score, alpha)
            else:
                part = X if self.method == "prefit" else _safe_indexing(X, rows)
                found = forecast(model, part, self.score, alpha)
            if found.center.shape[1] != values.shape[1]:
                raise ValueError(
                    f"The estimator must predict the {values.shape[1]} outputs of y; "
                    f"{type(model).__name__} predicts {found.center.shape[1]}."
                )
            residuals.append(found.residuals(values[rows]))
            folds.append(np.full(rows.size, k, np.int64))
            correlations.append(found.correlation)
        local = None if correlations[0] is None else np.concatenate(correlations)
        moments = None
        if self.method == "split" and self.score != "local":
            model, train = held_out.models[0], held_out.train[0]
            seen = _safe_indexing(X, train)
            moments = moments_of_training(model, seen, values[train], self.score, alpha)
        kept = ~np.isnan(np.concatenate(residuals)).all(axis=1)
        return Calibration(
            np.concatenate(residuals)[kept],
            np.concatenate(folds)[kept],
            None if local is None else local[kept],
            moments,
        )

    @property
    def n_calibration_(self) -> int:
        """Number of calibration rows with any observed output."""
        return int(self._fit_or_raise().calibration.residuals.shape[0])

    # Predictions -------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict all outputs; by the mean of the models of all folds if there are several.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,) or (n, d), float64
            One-dimensional if y was.
        """
        check_is_fitted(self)
        X = read_rows(X)
        values = np.mean([point_prediction(model, X) for model in self._fitted.models], axis=0)
        return np.asarray(values[:, 0] if self._fitted.is_1d else values)

    def predict_interval(self, X: Any, alpha: float | None = None) -> NDArray[np.float64]:
        """Predict an interval for each output, which holds it with probability 1 - alpha.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        alpha : float, optional
            None: that of the constructor.

        Returns
        -------
        ndarray of shape (n, d, 2), float64
            Lower and upper ends. Each interval keeps its promise by itself; all of them together
            do not: that is what `predict_region` is for.
        """
        check_is_fitted(self)
        alpha = check_alpha(self.alpha if alpha is None else alpha)
        return marginal_intervals(self._forecasts(X), self._fitted.calibration, alpha)

    def predict_region(self, X: Any, *, alpha: float | None = None, given: Any = None) -> Region:
        """Predict a region for each row, which holds all outputs with probability 1 - alpha.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        alpha : float, optional
            None: that of the constructor.
        given : array-like or frame of shape (n, d), optional
            Outputs that are known by now; NaN elsewhere. Centers of the others move to what
            the known residuals say, and regions are calibrated again on the residuals of the
            calibration rows; they hold the outputs that are not known.

        Returns
        -------
        Region
        """
        check_is_fitted(self)
        alpha = check_alpha(self.alpha if alpha is None else alpha)
        forecasts = self._forecasts(X)
        known = None if given is None else _read_given(given, forecasts[0].center.shape)
        return self._regions(forecasts, alpha, known)

    def _regions(self, forecasts: list[Forecast], alpha: float, known: Any) -> Region:
        return joint_regions(
            forecasts,
            self._fitted.calibration,
            self._fitted.score,
            alpha,
            known,
            tuple(self.output_names_.tolist()),
        )

    def _forecasts(self, X: Any) -> list[Forecast]:
        X = read_rows(X)
        fitted = self._fitted
        return [forecast(model, X, fitted.score, fitted.alpha) for model in fitted.models]

    # Scores ------------------------------------------------------------------------------------

    def evaluate(self, X: Any, y: Any, *, alpha: float | None = None) -> RegionReport:
        """Count how often regions and intervals hold rows that were not trained on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        y : array-like or frame of shape (n,) or (n, d)
            NaN is not observed.
        alpha : float, optional
            None: that of the constructor.

        Returns
        -------
        RegionReport
            Coverage and volume of regions, of intervals, and of Bonferroni's boxes beside them.
        """
        check_is_fitted(self)
        alpha = check_alpha(self.alpha if alpha is None else alpha)
        forecasts, calibration = self._forecasts(X), self._fitted.calibration
        values = self._read_truth(y, forecasts[0].center.shape)
        region = self._regions(forecasts, alpha, None)
        n_outputs = self._fitted.n_outputs
        return region_report(
            region,
            marginal_intervals(forecasts, calibration, alpha),
            marginal_intervals(forecasts, calibration, alpha / n_outputs),
            values,
        )

    def _read_truth(self, y: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
        _refuse_sparse(y)
        name = type(self).__name__
        values = np.asarray(read_numbers(y, shape[0], estimator_name=name).with_gaps())
        if values.shape != shape:
            raise ValueError(f"y must have {shape[1]} outputs; got {values.shape[1]}.")
        return values.astype(np.float64)

    def _score_rows(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the coefficient of determination of `predict`, averaged over the outputs.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        y : array-like or frame of shape (n,) or (n, d)
            NaN is not observed and does not count.
        sample_weight : array-like of shape (n,) or (n, d), optional

        Returns
        -------
        float
            At most 1.
        """
        predicted = self.predict(X)
        values = self._read_truth(y, (predicted.shape[0], self._fitted.n_outputs))
        predicted = predicted.reshape(values.shape)
        return float(metrics.macro_r2_score(values, predicted, sample_weight=sample_weight))

    #: The parameter, and the method that scikit-learn calls.
    score: Any = NameAndMethod("score", _score_rows)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the parameters.

        Parameters
        ----------
        deep : bool, default=True
            Those of the estimator, too.
        """
        given: dict[str, Any] = super().get_params(deep)
        return given | {"score": vars(self)["score"]}

    # Model files -------------------------------------------------------------------------------

    def _to_file(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        from polyleaf.conformal.storage import regressor_to_file

        return regressor_to_file(self)

    @classmethod
    def _from_file(cls, arrays: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> Any:
        from polyleaf.conformal.storage import regressor_from_file

        return regressor_from_file(arrays, metadata)


def _refuse_sparse(y: Any) -> None:
    if is_sparse(y):
        raise TypeError("y must be dense, as regions of it are; got a sparse matrix.")


def _read_given(given: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Read known outputs.

    Raises
    ------
    ValueError
        If they have another shape, or are infinite.
    """
    values = as_floats(read_array(given, "given"), "given")
    if values.ndim == 1 and shape[1] == 1:
        values = values[:, np.newaxis]
    if values.shape != shape:
        raise ValueError(
            f"given must have a row per row of X and a column per output, of shape {shape}, with "
            f"NaN where an output is not known; got {values.shape}."
        )
    if np.isinf(values).any():
        raise ValueError("given must hold finite numbers, and NaN where not known; got infinity.")
    return values
