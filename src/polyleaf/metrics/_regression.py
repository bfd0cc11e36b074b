"""Metrics of multi-target regression; a target that is not observed (NaN) does not count.

With target j, observed rows i, weights w and the mean m_j over training rows (Breskvar et al.
2018, eq. 5)::

    r2_j    = 1 - sum_i w (y - y')^2 / sum_i w (y - mean_i y)^2
    RMSE_j  = sqrt(sum_i w (y - y')^2 / sum_i w)
    MAE_j   = sum_i w |y - y'| / sum_i w
    MAPE_j  = sum_i w |y - y'| / max(|y|, eps) / sum_i w
    RRMSE_j = sqrt(sum_i w (y - y')^2 / sum_i w (y - m_j)^2)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy import sparse

from polyleaf.checks.matrices import as_floats, is_sparse, read_array, read_sparse
from polyleaf.checks.numbers import shown
from polyleaf.metrics._inputs import Floats, check_same_shape, read_entry_weights, read_targets

#: Entries of sparse matrices that are made dense at a time.
_BLOCK_ENTRIES = 2**22
#: Training errors up to this share of the error on new rows are rounding.
_ROUNDING_SHARE = 1e-9

Multioutput = Literal["uniform_average", "raw_values"]


def macro_r2_score(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    multioutput: Multioutput = "uniform_average",
) -> Any:
    """Coefficient of determination of each target, or its plain average (macro-r2).

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n,) or (n, d)
        NaN is not observed and does not count.
    y_pred : array-like or sparse matrix of shape (n,) or (n, d)
        Finite wherever y_true is observed.
    sample_weight : array-like of shape (n,) or (n, d), optional
    multioutput : {"uniform_average", "raw_values"}, default="uniform_average"
        The average over targets, or one score per target.

    Returns
    -------
    float or ndarray of shape (d,)
        At most 1. A target that is constant in y_true scores 1 if it is predicted without error
        and 0 otherwise, as in scikit-learn. A target with fewer than two observed values has the
        score NaN and is left out of the average.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.metrics import macro_r2_score
    >>> Y = np.array([[1.0, 10.0], [2.0, np.nan], [3.0, 30.0]])
    >>> P = np.array([[1.0, 10.0], [2.0, 99.0], [2.0, 30.0]])
    >>> macro_r2_score(Y, P)
    0.75
    >>> macro_r2_score(Y, P, multioutput="raw_values")
    array([0.5, 1. ])
    """
    parts = _column_blocks(y_true, y_pred, sample_weight)
    return _combine(np.concatenate([_r2_scores(*part) for part in parts]), multioutput)


def _column_blocks(y_true: Any, y_pred: Any, sample_weight: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield some targets at a time, made dense, if there are sparse matrices; else all."""
    if not (is_sparse(y_true) or is_sparse(y_pred)):
        yield y_true, y_pred, sample_weight
        return
    true, pred = _by_column(y_true, "y_true"), _by_column(y_pred, "y_pred")
    check_same_shape(true.shape, pred.shape, "y_pred")
    n_rows, n_targets = true.shape
    if sample_weight is not None:
        sample_weight = read_array(sample_weight, "sample_weight")
    has_columns = sample_weight is not None and sample_weight.ndim == 2
    step = max(1, _BLOCK_ENTRIES // max(1, n_rows))
    for start in range(0, n_targets, step):
        at = slice(start, start + step)
        weights = sample_weight[:, at] if has_columns else sample_weight
        yield true[:, at].toarray(), pred[:, at].toarray(), weights


def _by_column(y: Any, name: str) -> sparse.csc_array:
    if is_sparse(y):
        return read_sparse(y, name).tocsc()
    return sparse.csc_array(read_targets(y, name))


def _r2_scores(y_true: Any, y_pred: Any, sample_weight: Any) -> Floats:
    """Score each target; NaN if it has fewer than two observed values."""
    true, pred, weights = _read(y_true, y_pred, sample_weight)
    totals = weights.sum(axis=0)
    means = (weights * true).sum(axis=0) / np.where(totals > 0, totals, 1.0)
    error = (weights * (true - pred) ** 2).sum(axis=0)
    spread = (weights * (true - means) ** 2).sum(axis=0)
    is_constant = _is_constant(true, weights)
    scores = 1.0 - error / np.where(is_constant, 1.0, spread)
    scores = np.asarray(np.where(is_constant, (error == 0).astype(np.float64), scores))
    scores[(weights > 0).sum(axis=0) < 2] = np.nan
    return scores


def root_mean_squared_error(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    multioutput: Multioutput = "uniform_average",
) -> Any:
    """Root of the mean squared error of each target (RMSE), or the plain average over targets.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n,) or (n, d)
        NaN is not observed and does not count.
    y_pred : array-like or sparse matrix of shape (n,) or (n, d)
        Finite wherever y_true is observed.
    sample_weight : array-like of shape (n,) or (n, d), optional
    multioutput : {"uniform_average", "raw_values"}, default="uniform_average"
        The average over targets, or one error per target.

    Returns
    -------
    float or ndarray of shape (d,)
        In the units of the targets; 0 is best. A target without an observed value has the error
        NaN and is left out of the average.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.metrics import root_mean_squared_error
    >>> Y = np.array([[1.0, 10.0], [2.0, np.nan]])
    >>> root_mean_squared_error(Y, [[1.0, 13.0], [4.0, 0.0]], multioutput="raw_values").round(3)
    array([1.414, 3.   ])
    """
    return _combine(np.sqrt(_mean_errors(_squares, y_true, y_pred, sample_weight)), multioutput)


def mean_absolute_error(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    multioutput: Multioutput = "uniform_average",
) -> Any:
    """Mean absolute error of each target (MAE), or the plain average over targets.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n,) or (n, d)
        NaN is not observed and does not count.
    y_pred : array-like or sparse matrix of shape (n,) or (n, d)
        Finite wherever y_true is observed.
    sample_weight : array-like of shape (n,) or (n, d), optional
    multioutput : {"uniform_average", "raw_values"}, default="uniform_average"
        The average over targets, or one error per target.

    Returns
    -------
    float or ndarray of shape (d,)
        In the units of the targets; 0 is best. A target without an observed value has the error
        NaN and is left out of the average.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.metrics import mean_absolute_error
    >>> mean_absolute_error([[1.0, 10.0], [2.0, np.nan]], [[1.0, 13.0], [4.0, 0.0]])
    2.0
    """
    return _combine(_mean_errors(_absolutes, y_true, y_pred, sample_weight), multioutput)


def mean_absolute_percentage_error(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    multioutput: Multioutput = "uniform_average",
) -> Any:
    """Mean absolute error as a share of the true value (MAPE), or the average over targets.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n,) or (n, d)
        NaN is not observed and does not count. A true value of 0 makes the error enormous
        unless it is predicted exactly, as in scikit-learn: use another metric for such targets.
    y_pred : array-like or sparse matrix of shape (n,) or (n, d)
        Finite wherever y_true is observed.
    sample_weight : array-like of shape (n,) or (n, d), optional
    multioutput : {"uniform_average", "raw_values"}, default="uniform_average"
        The average over targets, or one error per target.

    Returns
    -------
    float or ndarray of shape (d,)
        A share, not per cent: 0.1 is ten per cent; 0 is best. A target without an observed value
        has the error NaN and is left out of the average.

    Examples
    --------
    >>> from polyleaf.metrics import mean_absolute_percentage_error
    >>> mean_absolute_percentage_error([[2.0], [10.0]], [[1.0], [10.0]])
    0.25
    """
    return _combine(_mean_errors(_shares, y_true, y_pred, sample_weight), multioutput)


def _squares(true: Floats, pred: Floats) -> Floats:
    return (true - pred) ** 2


def _absolutes(true: Floats, pred: Floats) -> Floats:
    return np.abs(true - pred)


def _shares(true: Floats, pred: Floats) -> Floats:
    return np.abs(true - pred) / np.maximum(np.abs(true), np.finfo(np.float64).eps)


def _mean_errors(
    error: Callable[[Floats, Floats], Floats], y_true: Any, y_pred: Any, sample_weight: Any
) -> Floats:
    """Return the weighted mean of the errors of each target; NaN without an observed value."""
    means = []
    for part in _column_blocks(y_true, y_pred, sample_weight):
        true, pred, weights = _read(*part)
        totals = weights.sum(axis=0)
        sums = (weights * error(true, pred)).sum(axis=0)
        means.append(np.divide(sums, totals, out=np.full(sums.shape, np.nan), where=totals > 0))
    return np.concatenate(means)


def relative_root_mean_squared_error(
    y_true: Any,
    y_pred: Any,
    *,
    train_mean: Any,
    sample_weight: Any = None,
    multioutput: Multioutput = "uniform_average",
) -> Any:
    """RRMSE of each target, or its average over targets (aRRMSE).

    The error is measured in units of the error of a model that always predicts the mean of the
    training rows: 0 is perfect, 1 is no better than the mean.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n,) or (n, d)
        NaN is not observed and does not count.
    y_pred : array-like or sparse matrix of shape (n,) or (n, d)
        Finite wherever y_true is observed.
    train_mean : float or array-like of shape (d,)
        The mean of each target over the rows the model was trained on, such as
        ``np.nanmean(Y_train, axis=0)``.
    sample_weight : array-like of shape (n,) or (n, d), optional
    multioutput : {"uniform_average", "raw_values"}, default="uniform_average"
        The average over targets, or one error per target.

    Returns
    -------
    float or ndarray of shape (d,)
        A target that equals its training mean in every row has the error 0 if it is predicted
        exactly and infinity otherwise. A target without an observed value, or without a training
        mean (NaN), has the error NaN and is left out of the average.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.metrics import relative_root_mean_squared_error
    >>> Y_train = np.array([[0.0, 1.0], [2.0, 3.0]])
    >>> Y = np.array([[0.0, 1.0], [3.0, 5.0]])
    >>> relative_root_mean_squared_error(
    ...     Y, [[0.0, 1.0], [3.0, 2.0]], train_mean=Y_train.mean(axis=0), multioutput="raw_values")
    array([0.        , 0.9486833])
    """
    shape = np.shape(y_true)
    n_targets = shape[1] if len(shape) > 1 else 1
    baseline = as_floats(read_array(train_mean, "train_mean"), "train_mean")
    if baseline.shape not in ((), (n_targets,)) or np.isinf(baseline).any():
        raise ValueError(
            f"train_mean must hold one finite number for each of the {n_targets} targets; "
            f"got {shown(train_mean)}."
        )
    baseline = np.broadcast_to(baseline, (n_targets,))
    ratios: list[Floats] = []
    for part in _column_blocks(y_true, y_pred, sample_weight):
        start = sum(map(len, ratios))
        ratios.append(_error_ratios(*_read(*part), baseline[start:]))
    return _combine(np.sqrt(np.concatenate(ratios)), multioutput)


def _error_ratios(true: Floats, pred: Floats, weights: Floats, baseline: Floats) -> Floats:
    """Return the squared error of each target by that of its baseline."""
    baseline = baseline[: true.shape[1]]
    error = (weights * (true - pred) ** 2).sum(axis=0)
    baseline_error = (weights * (true - baseline) ** 2).sum(axis=0)
    ratios = np.where(error == 0, 0.0, np.inf)
    np.divide(error, baseline_error, out=ratios, where=baseline_error != 0)
    ratios[weights.sum(axis=0) == 0] = np.nan
    return ratios


def overfitting_score(train_error: float, test_error: float) -> float:
    """How much larger the error is on new rows than on the training rows (Breskvar et al. 2018).

    Parameters
    ----------
    train_error, test_error : float
        The same error, such as aRRMSE, on the rows of training and on others; 0 or more.

    Returns
    -------
    float
        ``(test_error - train_error) / train_error``; 0 means no overfitting. NaN where the
        training error is 0, or at most 1e-9 of the other one: that is rounding, the model has
        memorised its rows, and the ratio says nothing.

    Examples
    --------
    >>> from polyleaf.metrics import overfitting_score
    >>> overfitting_score(train_error=0.5, test_error=0.75)
    0.5
    """
    are_numbers = isinstance(train_error, Real) and isinstance(test_error, Real)
    if not are_numbers or not (train_error >= 0 and test_error >= 0):
        raise ValueError(
            f"train_error and test_error must be errors, 0 or more; got {shown(train_error)} and "
            f"{shown(test_error)}."
        )
    if train_error <= _ROUNDING_SHARE * test_error:
        return float("nan")
    return float((test_error - train_error) / train_error)


def _read(y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[Floats, Floats, Floats]:
    """Return both matrices with 0 for what is not observed, and (n, d) weights with 0 there."""
    true, pred = read_targets(y_true, "y_true"), read_targets(y_pred, "y_pred")
    check_same_shape(true.shape, pred.shape, "y_pred")
    observed = ~np.isnan(true)
    if np.isnan(pred[observed]).any():
        columns = np.flatnonzero((np.isnan(pred) & observed).any(axis=0))
        raise ValueError(
            f"y_pred must be a number wherever y_true is observed; got NaN in column {columns[0]} "
            f"(of {columns.size} such columns). Leave out targets that the model did not learn."
        )
    weights = np.where(observed, read_entry_weights(sample_weight, true.shape), 0.0)
    return np.where(observed, true, 0.0), np.where(observed, pred, 0.0), weights


def _is_constant(true: Floats, weights: Floats) -> Any:
    """Whether the values of positive weight are all the same: exact, where a sum is not."""
    counted = weights > 0
    low = np.where(counted, true, np.inf).min(axis=0)
    high = np.where(counted, true, -np.inf).max(axis=0)
    return low >= high


def _combine(scores: Floats, multioutput: Multioutput) -> Any:
    if multioutput == "raw_values":
        return scores
    if multioutput != "uniform_average":
        raise ValueError(
            f"multioutput must be 'uniform_average' or 'raw_values'; got {shown(multioutput)}."
        )
    defined = scores[~np.isnan(scores)]
    return float(defined.mean()) if defined.size else float("nan")
