"""Estimators of numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import RegressorMixin

from polyleaf import metrics
from polyleaf.data import Targets, TargetSchema, align_targets, read_numbers
from polyleaf.estimator.base import Estimator

if TYPE_CHECKING:
    from polyleaf.data.training import Task


class Regressor(RegressorMixin, Estimator):
    """An estimator whose outputs are numbers."""

    _task: ClassVar[Task] = "regression"

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the coefficient of determination, averaged over the outputs (macro-r2).

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
            NaN is not observed and does not count.
        sample_weight : array-like of shape (n,) or (n, d), optional

        Returns
        -------
        float
            At most 1. An output with fewer than two observed values is left out.
        """
        predicted = self.predict(X)
        targets = read_numbers(y, predicted.shape[0], estimator_name=type(self).__name__)
        targets = align_targets(_dimensions_of(self._targets, targets), self._targets, "y")
        truth = targets.with_gaps()
        return float(metrics.macro_r2_score(truth, predicted, sample_weight=sample_weight))


def _dimensions_of(schema: TargetSchema, targets: Targets) -> Targets:
    """Take one column for a one-dimensional y, and the other way round."""
    found = targets.schema
    if schema.n_outputs != 1 or found.n_outputs != 1:
        return targets
    return replace(targets, schema=replace(found, is_1d=schema.is_1d))
