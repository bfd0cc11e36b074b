"""Calibrate the probability of each label, with little data for rare ones.

The sigmoid calibrator fits, for each label, p = 1 / (1 + exp(-(a x + b))) with x the log-odds of
the given probability or the given score (Platt). A penalty draws a and b of a label to those of
all labels together, so that a label with few positive rows moves little; a is at least 0, so that
no few rows turn the order of a label's probabilities round. The isotonic calibrator
fits a monotone step function per label, and the sigmoid where there are too few rows for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from polyleaf.checks.matrices import is_sparse
from polyleaf.checks.numbers import expect_count, is_one_of, shown
from polyleaf.decoding._inputs import (
    Floats,
    log_odds_of,
    read_labels,
    read_numbers,
    read_probabilities,
)
from polyleaf.decoding._isotonic import fit_isotonic
from polyleaf.decoding._label_entries import Entries, entries_by_label
from polyleaf.decoding._sigmoids import fit_sigmoids

_POOLED_ENTRIES = 500_000


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
        n_labels = present.shape[1]
        center = self._fit_pooled(given, present, observed)
        self.slopes_, self.intercepts_ = np.empty(n_labels), np.empty(n_labels)
        self.isotonic_: dict[int, IsotonicRegression] = {}
        for span, entries in entries_by_label(given, present, observed):
            if self.method == "isotonic":
                fitted = fit_isotonic(entries, self._are_frequent(entries))
                self.isotonic_.update((span.start + j, step) for j, step in fitted.items())
            entries = replace(entries, inputs=self._features(entries.inputs))
            self.slopes_[span], self.intercepts_[span] = fit_sigmoids(entries, center)
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
                calibrated[:, j] = _steps(isotonic, given[:, j])
            return calibrated
        columns = given.indices
        data = np.asarray(given.data)
        values = expit(self._features(data) * self.slopes_[columns] + self.intercepts_[columns])
        order = np.argsort(columns, kind="stable")
        bounds = np.searchsorted(columns[order], np.arange(given.shape[1] + 1))
        for j, isotonic in self.isotonic_.items():
            entries = order[bounds[j] : bounds[j + 1]]
            if entries.size:
                values[entries] = _steps(isotonic, data[entries])
        return sparse.csr_array((values, columns, given.indptr), shape=given.shape)

    def _check_params(self) -> None:
        if not is_one_of(self.method, ("sigmoid", "isotonic")):
            raise ValueError(f"method must be 'sigmoid' or 'isotonic'; got {shown(self.method)}.")
        if not is_one_of(self.inputs, ("probability", "score")):
            raise ValueError(f"inputs must be 'probability' or 'score'; got {shown(self.inputs)}.")

        expect_count("min_positives", self.min_positives, 0)

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
        block, truth = _dense(given[rows]), np.asarray(_dense(present[rows]), dtype=np.bool_)
        counted = np.ones(block.shape, np.bool_) if observed is None else observed[rows]
        if is_sparse(given):
            counted = counted & (block != 0)
        inputs = self._features(block[counted])
        positives = truth[counted].astype(np.float64)
        offsets = np.array([0, inputs.size])
        entries = Entries(inputs, np.ones(inputs.size), positives, offsets)
        slopes, intercepts = fit_sigmoids(entries, (1.0, 0.0))
        return float(slopes[0]), float(intercepts[0])

    def _are_frequent(self, entries: Entries) -> Any:
        """Whether labels have enough positive and enough negative rows for a step function."""
        sums = [np.append(0.0, np.cumsum(v)) for v in (entries.counts, entries.positives)]
        n_rows, n_positives = (v[entries.offsets[1:]] - v[entries.offsets[:-1]] for v in sums)
        fewest = np.minimum(n_positives, n_rows - n_positives)
        return (fewest >= self.min_positives) & (n_rows > 0)


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if is_sparse(matrix) else matrix


def _steps(isotonic: IsotonicRegression, inputs: Floats) -> Floats:
    """Predict as `isotonic` does, which looks at its arguments for longer than it computes."""
    return np.asarray(np.interp(inputs, isotonic.X_thresholds_, isotonic.y_thresholds_))
