"""What a model says of rows: where their outputs lie, how far they spread, how they correlate.

Residuals are measured in spreads. The spread is 1 for the scores ``"max"`` and ``"mahalanobis"``,
half the distance of two quantiles for ``"quantile"`` (the scaled form of conformalized quantile
regression, Sesia and Candes 2020), and the standard deviation of the training rows that a forest
weighs for ``"local"``, which has their correlations, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from polyleaf import losses
from polyleaf.boosting import BoostingRegressor
from polyleaf.checks.numbers import shown
from polyleaf.conformal.radii import training_moments
from polyleaf.forests.out_of_bag import is_out_of_bag, predict_out_of_bag
from polyleaf.forests.quantiles import forest_quantiles, weighted_row_quantiles
from polyleaf.forests.regressors import ForestRegressor
from polyleaf.forests.row_weights import row_weights

Floats = NDArray[np.float64]

#: A spread is at least this share of a training output's standard deviation, or of its size.
_LEAST_SPREAD, _LEAST_RELATIVE = 1e-3, 1e-6
#: Residuals in quantiles' spreads count up to this many times their median when they are scaled.
_MOST_USUAL = 4.0
#: ... and at least this.
_TINY = 1e-150


@dataclass(frozen=True, eq=False)
class Forecast:
    """Where the outputs of rows lie.

    Attributes
    ----------
    center, spread : ndarray of shape (n, d), float64
        Spreads are positive.
    correlation : ndarray of shape (n, d, d), float64, or None
        Of the outputs of each row; only for ``"local"``.
    """

    center: Floats
    spread: Floats
    correlation: Floats | None = None

    def residuals(self, values: Floats) -> Floats:
        """Measure outputs from the center, in spreads: (n, d), NaN where not observed."""
        return (values - self.center) / self.spread

    def rows(self, rows: NDArray[np.intp] | slice) -> Forecast:
        """Give the forecast of some rows."""
        correlation = None if self.correlation is None else self.correlation[rows]
        return Forecast(self.center[rows], self.spread[rows], correlation)


def quantile_levels(alpha: float) -> tuple[float, float, float]:
    """Give the quantiles that are predicted where a region may miss a share alpha."""
    return 0.5 * alpha, 0.5, 1.0 - 0.5 * alpha


def prepared(estimator: Any, score: str, alpha: float) -> Any:
    """Give the copy of an estimator that is trained: boosting learns quantiles for "quantile"."""
    model = clone(estimator)
    is_boosting = score == "quantile" and isinstance(model, BoostingRegressor)
    if is_boosting and not (isinstance(model.loss, losses.Quantile) and model.loss.value_shape):
        model.set_params(loss=losses.Quantile(list(quantile_levels(alpha))))
    return model


def check_model(model: Any, score: str, method: str) -> None:
    """Raise a TypeError or ValueError if an estimator cannot give what is asked of it."""
    name = type(model).__name__
    if isinstance(model, type) or not hasattr(model, "fit") or not hasattr(model, "predict"):
        raise TypeError(
            f"estimator must be a regressor with fit and predict; got {shown(model, 60)}."
        )
    if score == "local" and not isinstance(model, ForestRegressor):
        raise TypeError(
            "score='local' needs a forest of polyleaf, whose training rows have weights: "
            f"RandomForestRegressor, ExtraTreesRegressor or BaggedTreesRegressor; got {name}. "
            "Use score='mahalanobis', which has one covariance for all rows."
        )
    if method == "oob":
        if not isinstance(model, ForestRegressor):
            raise TypeError(
                "method='oob' needs a forest of polyleaf, RandomForestRegressor, "
                f"ExtraTreesRegressor or BaggedTreesRegressor; got {name}. Use method='cross'."
            )
        if not model.bootstrap:
            raise ValueError(
                f"method='oob' needs rows that trees have not seen; {name} has bootstrap=False. "
                "Set bootstrap=True, or use method='cross'."
            )


def point_prediction(model: Any, X: Any) -> Floats:
    """Predict a number per output: (n, d); of several quantiles the middle."""
    values = np.asarray(model.predict(X), dtype=np.float64)
    if values.ndim == 3:
        middle = (values.shape[2] - 1) // 2, values.shape[2] // 2
        values = 0.5 * (values[:, :, middle[0]] + values[:, :, middle[1]])
    return values[:, np.newaxis] if values.ndim == 1 else values


def forecast(model: Any, X: Any, score: str, alpha: float) -> Forecast:
    """Ask a fitted model about rows.

    Parameters
    ----------
    model : regressor
    X : array-like, frame or sparse matrix of shape (n, p)
    score : {"max", "mahalanobis", "local", "quantile"}
    alpha : float
        Which quantiles a forest is asked for.
    """
    if score == "quantile":
        return _between(*_quantiles(model, X, alpha))
    center = point_prediction(model, X)
    if score != "local":
        return Forecast(center, np.ones(center.shape))
    leaves = model._leaves_of(X)
    return _local(model, center, leaves, slice(None))


def out_of_bag_forecast(model: ForestRegressor, X: Any, score: str, alpha: float) -> Forecast:
    """Ask of each training row the trees that have not seen it.

    Rows that all trees have seen have a center of NaN.

    Parameters
    ----------
    model : ForestRegressor
    X : array-like, frame or sparse matrix of shape (n_train, p)
        The rows that it was fitted to.
    score : {"max", "mahalanobis", "local", "quantile"}
    alpha : float
    """
    forest, n_threads = model._forest, model._n_threads()
    encoded = model._encode(X)
    if score == "quantile":
        return _between(*_outside_quantiles(model, X, alpha))
    center = np.asarray(predict_out_of_bag(forest, encoded, n_threads).values)
    if score != "local":
        return Forecast(center, np.ones(center.shape))
    return _local(model, center, model._leaves_of(X), None)


def moments_of_training(
    model: Any, X: Any, values: Floats, score: str, alpha: float
) -> Floats | None:
    """Give the mean products of residuals on the rows that a model was trained on, (d, d).

    None if squares of such numbers have no float.

    A forest with bootstrap is asked out of bag, since it knows its rows too well. Scales of other
    models may be too small for all outputs alike, which does no harm: they are only compared.

    Parameters
    ----------
    model : regressor
    X : array-like, frame or sparse matrix of shape (n_train, p)
    values : ndarray of shape (n_train, d)
        NaN where not observed.
    score : {"max", "mahalanobis", "quantile"}
    alpha : float
    """
    if isinstance(model, ForestRegressor) and model.bootstrap:
        found = out_of_bag_forecast(model, X, score, alpha)
    else:
        found = forecast(model, X, score, alpha)
    deviations = _column_std(values) / np.median(found.spread, axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        residuals = found.residuals(values)
        if score == "quantile":  # a few spreads are nearly zero, and would give all of the scale
            most = _MOST_USUAL * _column_median(np.abs(residuals))
            residuals = np.clip(residuals, -most, most)
        moments = training_moments(residuals, deviations)
    return moments if np.isfinite(moments).all() else None


def _quantiles(model: Any, X: Any, alpha: float) -> tuple[Floats, Floats]:
    """Give the lowest and the highest quantile, each of shape (n, d)."""
    if isinstance(model, ForestRegressor):
        low, _, high = quantile_levels(alpha)
        wanted = np.array([low, high])
        values = np.asarray(
            forest_quantiles(model._forest, model._leaves_of(X), wanted, model._n_threads())
        )
    else:
        values = np.asarray(model.predict(X), dtype=np.float64)
        if values.ndim != 3:
            values = values[:, np.newaxis] if values.ndim == 2 and _is_1d(model) else values
    if values.ndim != 3 or values.shape[2] < 2:
        raise TypeError(
            "score='quantile' needs a forest of polyleaf, BoostingRegressor, or a regressor whose "
            "predict gives quantiles, of shape (n, d, n_quantiles); got "
            f"{type(model).__name__}, whose predictions have the shape {values.shape}."
        )
    return values.min(axis=2), values.max(axis=2)


def _is_1d(model: Any) -> bool:
    targets = getattr(model, "_targets", None)
    return bool(getattr(targets, "is_1d", False))


def _between(low: Floats, high: Floats) -> Forecast:
    """Make a forecast of two quantiles, which may have crossed."""
    low, high = np.minimum(low, high), np.maximum(low, high)
    least = _LEAST_RELATIVE * 0.5 * (np.abs(low) + np.abs(high)) + _TINY
    spread = np.where(np.isnan(low), 1.0, np.maximum(0.5 * (high - low), least))
    return Forecast(0.5 * (low + high), spread)


def _outside_weights(model: Any, rows: slice, leaves: NDArray[np.int32]) -> Any:
    """Weigh training rows for out-of-bag predictions of some: csr, rows add up to 1."""
    forest = model._forest
    outside = is_out_of_bag(forest)[rows]
    nothing = np.int32(forest.structure.n_leaves)
    weights = row_weights(forest, np.where(outside, leaves, nothing))
    totals = np.maximum(outside.mean(axis=1), 1e-300)
    weights.data /= np.repeat(totals, np.diff(weights.indptr))
    return weights


def _outside_quantiles(model: Any, X: Any, alpha: float) -> tuple[Floats, Floats]:
    """Give two quantiles of each training row by the trees that have not seen it; NaN without."""
    outputs, weights = (
        model._forest.outputs,
        _outside_weights(model, slice(None), model._leaves_of(X)),
    )
    levels = np.array(quantile_levels(alpha))[[0, 2]]
    columns = []
    for j in range(outputs.n_channels):
        own = weights
        if outputs.observed is not None:
            own = weights.copy()
            own.data = own.data * outputs.observed[own.indices, j]
        column = np.ascontiguousarray(outputs.values[:, j : j + 1], dtype=np.float64)
        found = weighted_row_quantiles(own, column, levels, model._n_threads())
        found[own.sum(axis=1) <= 0.0] = np.nan
        columns.append(found)
    both = np.concatenate(columns, axis=1)
    return both[:, :, 0], both[:, :, 1]


def _local(model: Any, center: Floats, leaves: NDArray[np.int32], rows: slice | None) -> Forecast:
    """Add spreads and correlations by the weights of training rows; out of bag if rows is None."""
    forest = model._forest
    values = forest.outputs.values
    if forest.outputs.is_sparse:
        raise TypeError("score='local' needs a forest of dense outputs; this one has sparse ones.")
    values = np.asarray(values, dtype=np.float64)
    observed = forest.outputs.observed
    known = values if observed is None else np.where(observed, values, np.nan)
    spread, correlation = np.ones(center.shape), np.zeros((*center.shape, center.shape[1]))
    least = _LEAST_SPREAD * np.nan_to_num(_column_std(known)) + _TINY
    step = max(1, 2**22 // max(1, leaves.shape[1]))
    for start in range(0, leaves.shape[0], step):
        block = slice(start, start + step)
        if rows is None:
            weights = _outside_weights(model, block, leaves[block])
        else:
            weights = row_weights(forest, leaves[block])
        for i in range(weights.shape[0]):
            part = slice(weights.indptr[i], weights.indptr[i + 1])
            at = start + i
            spread[at], correlation[at] = _weighted_moments(
                known[weights.indices[part]], weights.data[part], least
            )
    return Forecast(center, spread, correlation)


def _column_median(values: Floats) -> Floats:
    """Give the median of the observed entries of each column; 0 without any."""
    columns = (column[~np.isnan(column)] for column in values.T)
    return np.array([np.median(column) if column.size else 0.0 for column in columns])


def _column_std(values: Floats) -> Floats:
    """Give the standard deviation of the observed entries of each column; NaN without any."""
    n_seen = np.maximum((~np.isnan(values)).sum(axis=0), 1)
    mean = np.nansum(values, axis=0) / n_seen
    return np.asarray(np.sqrt(np.nansum((values - mean) ** 2, axis=0) / n_seen))


def _weighted_moments(values: Floats, weights: Floats, least: Floats) -> tuple[Floats, Floats]:
    """Give standard deviations (d,) and correlations (d, d) of weighted rows.

    Few rows say little about correlations: these are shrunk by d / (d + m), where m is the number
    of equal weights that would be as uneven.

    Parameters
    ----------
    values : ndarray of shape (n_rows, d)
        NaN where not observed.
    weights : ndarray of shape (n_rows,)
    least : ndarray of shape (d,)
        The smallest deviations.
    """
    n_outputs = values.shape[1]
    if not weights.size:
        return np.ones(n_outputs), np.eye(n_outputs)
    seen = ~np.isnan(values)
    if seen.all():
        totals = np.full(n_outputs, weights.sum())
        differences = values - weights @ values / totals
    else:
        totals = np.maximum(weights @ seen, _TINY)
        differences = values - weights @ np.where(seen, values, 0.0) / totals
        differences[~seen] = 0.0
    products = (differences * weights[:, np.newaxis]).T @ differences
    variances = np.einsum("jj->j", products)
    spread = np.maximum(np.sqrt(variances / totals), least)
    scale = np.sqrt(variances) + _TINY
    share = n_outputs / (n_outputs + weights.sum() ** 2 / (weights @ weights))
    correlation = (1.0 - share) * (products / np.outer(scale, scale))
    np.einsum("jj->j", correlation)[:] = 1.0
    return spread, correlation
