"""Calibrate the probability of each label, with little data for rare ones.

The sigmoid calibrator fits, for each label, p = 1 / (1 + exp(-(a x + b))) with x the log-odds of
the given probability or the given score (Platt). A penalty draws a and b of a label to those of
all labels together, so that a label with few positive rows moves little; a is at least 0, so that
no few rows turn the order of a label's probabilities round. The isotonic calibrator
fits a monotone step function per label, and the sigmoid where there are too few rows for it.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from polyleaf.checks.matrices import is_sparse
from polyleaf.decoding._inputs import (
    Floats,
    log_odds_of,
    read_labels,
    read_numbers,
    read_probabilities,
)

_PENALTY = 2.0  # in units of rows of full information
_MOST_STEPS = 50
_POOLED_ENTRIES = 500_000
_BLOCK_ENTRIES = 1 << 22


class LabelCalibrator(BaseEstimator):
    """Calibrated probabilities, label by label.

    Parameters
    ----------
    method : {"sigmoid", "isotonic"}, default="sigmoid"
        The shape of the map from given to calibrated probabilities.
    inputs : {"probability", "score"}, default="probability"
        What is calibrated: probabilities from 0 to 1, or scores of any scale such as those of
        ``decision_function``.
    min_positives : int, default=20
        With ``"isotonic"``, a label with fewer positive or fewer negative rows gets the sigmoid.

    Attributes
    ----------
    slopes_, intercepts_ : ndarray of shape (d,)
        a and b of the sigmoid of each label; a is not negative.
    isotonic_ : dict of int to IsotonicRegression
        The step function of each label that has one.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.decoding import LabelCalibrator
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random((2000, 3))
    >>> Y = rng.random((2000, 3)) < truth
    >>> calibrator = LabelCalibrator().fit(truth**2, Y)  # too low
    >>> calibrator.transform([[0.25, 0.25, 0.25]]).round(1)
    array([[0.5, 0.5, 0.5]])
    """

    def __init__(
        self,
        method: Literal["sigmoid", "isotonic"] = "sigmoid",
        *,
        inputs: Literal["probability", "score"] = "probability",
        min_positives: int = 20,
    ) -> None:
        self.method = method
        self.inputs = inputs
        self.min_positives = min_positives

    def fit(self, probabilities: Any, Y: Any) -> LabelCalibrator:
        """Learn the maps from rows that the model was not trained on.

        Parameters
        ----------
        probabilities : array-like or sparse matrix of shape (n, d)
            Probabilities or scores. What a sparse matrix does not store is 0 and stays 0, so
            that only what it stores is calibrated.
        Y : array-like or sparse matrix of shape (n, d)
            0 and 1; NaN is not observed.

        Returns
        -------
        LabelCalibrator
            Itself.
        """
        self._check_params()
        given = self._read(probabilities)
        present, observed = read_labels(Y)
        if given.shape != present.shape:
            raise ValueError(
                f"probabilities must have the shape of Y, {present.shape}; got {given.shape}."
            )
        n_rows, n_labels = present.shape
        center = self._fit_pooled(given, present, observed)
        self.slopes_, self.intercepts_ = np.empty(n_labels), np.empty(n_labels)
        self.isotonic_: dict[int, IsotonicRegression] = {}
        step = max(1, _BLOCK_ENTRIES // n_rows)
        for start in range(0, n_labels, step):
            span = slice(start, start + step)
            block = _columns(given, span)
            truth = _columns(present, span).astype(np.float64)
            counts = _counted(given, observed, span, block.shape)
            slopes, intercepts = _fit_sigmoids(self._features(block), truth, counts, center)
            self.slopes_[span], self.intercepts_[span] = slopes, intercepts
            if self.method == "isotonic":
                self._fit_isotonic(start, block, truth, counts)
        return self

    def transform(self, probabilities: Any) -> Any:
        """Calibrate.

        Parameters
        ----------
        probabilities : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, d) or csr_array
            Probabilities; sparse if those given were.
        """
        check_is_fitted(self)
        given = self._read(probabilities)
        if given.shape[1] != self.slopes_.size:
            raise ValueError(
                f"probabilities must have {self.slopes_.size} columns, as Y in fit; got "
                f"{given.shape[1]}."
            )
        if not isinstance(given, sparse.csr_array):
            calibrated = expit(self._features(given) * self.slopes_ + self.intercepts_)
            for j, isotonic in self.isotonic_.items():
                calibrated[:, j] = isotonic.predict(given[:, j])
            return calibrated
        columns = given.indices
        data = np.asarray(given.data)
        values = expit(self._features(data) * self.slopes_[columns] + self.intercepts_[columns])
        order = np.argsort(columns, kind="stable")
        bounds = np.searchsorted(columns[order], np.arange(given.shape[1] + 1))
        for j, isotonic in self.isotonic_.items():
            entries = order[bounds[j] : bounds[j + 1]]
            if entries.size:
                values[entries] = isotonic.predict(data[entries])
        return sparse.csr_array((values, columns, given.indptr), shape=given.shape)

    def _check_params(self) -> None:
        if self.method not in ("sigmoid", "isotonic"):
            raise ValueError(f"method must be 'sigmoid' or 'isotonic'; got {self.method!r}.")
        if self.inputs not in ("probability", "score"):
            raise ValueError(f"inputs must be 'probability' or 'score'; got {self.inputs!r}.")

    def _read(self, values: Any) -> Any:
        if self.inputs == "probability":
            return read_probabilities(values)
        scores: Any = read_numbers(values, "scores")
        if scores.ndim != 2 or not np.isfinite(scores.data if is_sparse(scores) else scores).all():
            raise ValueError("scores must be a matrix of finite numbers; got others.")
        return scores

    def _features(self, given: Floats) -> Floats:
        return log_odds_of(given) if self.inputs == "probability" else given

    def _fit_pooled(self, given: Any, present: Any, observed: Any) -> tuple[float, float]:
        """Fit one sigmoid to a sample of the entries of all labels."""
        n_rows, n_labels = given.shape
        step = max(1, (n_rows * n_labels) // _POOLED_ENTRIES)
        rows = slice(None, None, step)
        block = _dense(given[rows])
        counts = np.ones(block.shape) if observed is None else observed[rows].astype(np.float64)
        if is_sparse(given):
            counts = counts * (block != 0)
        truth = _dense(present[rows]).astype(np.float64)
        slopes, intercepts = _fit_sigmoids(
            self._features(block).reshape(-1, 1),
            truth.reshape(-1, 1),
            counts.reshape(-1, 1),
            (1.0, 0.0),
        )
        return float(slopes[0]), float(intercepts[0])

    def _fit_isotonic(self, start: int, block: Floats, truth: Floats, counts: Floats) -> None:
        for j in range(block.shape[1]):
            known = counts[:, j] > 0
            n_positives = truth[known, j].sum()
            if min(n_positives, known.sum() - n_positives) >= self.min_positives:
                isotonic = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
                self.isotonic_[start + j] = isotonic.fit(block[known, j], truth[known, j])


def _fit_sigmoids(
    features: Floats, truth: Floats, counts: Floats, center: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Fit all columns at once by Newton's method with halved steps; no slope is below 0.

    Parameters
    ----------
    features, truth, counts : ndarray of shape (n, m)
        x, y and the weight of each entry.
    center : tuple of float
        The slope and intercept that the penalty draws to.

    Returns
    -------
    slopes, intercepts : ndarray of shape (m,)
    """
    a = np.full(features.shape[1], center[0])
    b = np.full(features.shape[1], center[1])
    loss = _penalised_loss(features, truth, counts, a, b, center)
    for _ in range(_MOST_STEPS):
        p = expit(features * a + b)
        residual = counts * (p - truth)
        curvature = counts * p * (1.0 - p)
        grad_a = (residual * features).sum(axis=0) + _PENALTY * (a - center[0])
        grad_b = residual.sum(axis=0) + _PENALTY * (b - center[1])
        h_aa = (curvature * features**2).sum(axis=0) + _PENALTY
        h_ab = (curvature * features).sum(axis=0)
        h_bb = curvature.sum(axis=0) + _PENALTY
        determinant = h_aa * h_bb - h_ab**2
        step_a = (h_bb * grad_a - h_ab * grad_b) / determinant
        step_b = (h_aa * grad_b - h_ab * grad_a) / determinant
        scale = np.ones_like(a)
        for _ in range(30):
            trial = _penalised_loss(
                features, truth, counts, a - scale * step_a, b - scale * step_b, center
            )
            worse = trial > loss
            if not worse.any():
                break
            scale[worse] /= 2.0
        accepted = np.where(trial <= loss, scale, 0.0)
        a, b = a - accepted * step_a, b - accepted * step_b
        gain = loss - np.minimum(trial, loss)
        loss = np.minimum(trial, loss)
        if (gain <= 1e-9 * (1.0 + loss)).all():
            break
    is_inverted = a < 0.0
    level = _fit_levels(truth[:, is_inverted], counts[:, is_inverted], center[1])
    a[is_inverted], b[is_inverted] = 0.0, level
    return a, b


def _fit_levels(truth: Floats, counts: Floats, center: float) -> Floats:
    """Fit the intercept of each column without a slope, by halving an interval."""
    n_rows, n_positives = counts.sum(axis=0), (counts * truth).sum(axis=0)
    low, high = center - n_rows / _PENALTY, center + n_rows / _PENALTY
    for _ in range(80):
        middle = (low + high) / 2.0
        is_above = n_rows * expit(middle) - n_positives + _PENALTY * (middle - center) > 0.0
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return np.asarray((low + high) / 2.0)


def _penalised_loss(
    features: Floats,
    truth: Floats,
    counts: Floats,
    a: Floats,
    b: Floats,
    center: tuple[float, float],
) -> Floats:
    z = features * a + b
    losses = np.logaddexp(0.0, z) - truth * z
    penalty = (a - center[0]) ** 2 + (b - center[1]) ** 2
    return np.asarray((counts * losses).sum(axis=0) + 0.5 * _PENALTY * penalty)


def _columns(matrix: Any, span: slice) -> Any:
    return _dense(matrix[:, span])


def _counted(given: Any, observed: Any, span: slice, shape: tuple[int, int]) -> Floats:
    """Weigh entries: 0 where not observed, and where a sparse matrix stores nothing."""
    counts = np.ones(shape) if observed is None else observed[:, span].astype(np.float64)
    return counts * (_columns(given, span) != 0) if is_sparse(given) else counts


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if is_sparse(matrix) else matrix
