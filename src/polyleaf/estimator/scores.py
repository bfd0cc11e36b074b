"""The scores of scikit-learn's mixins, for outputs that are many, sparse or partly unobserved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from polyleaf import metrics
from polyleaf.data import (
    Targets,
    TargetSchema,
    align_targets,
    codes_of,
    ingest_class_targets,
    ingest_regression_targets,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


class _Fitted:
    if TYPE_CHECKING:  # other bases have them
        _targets: TargetSchema

        def predict(self, X: Any) -> Any:
            """Predict all outputs."""


class ScoresNumbers(RegressorMixin, _Fitted):
    """A regressor that is scored by the outputs that were observed."""

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
        targets = ingest_regression_targets(
            y, predicted.shape[0], estimator_name=type(self).__name__
        )
        targets = align_targets(_dimensions_of(self._targets, targets), self._targets, "y")
        return float(
            metrics.macro_r2_score(_truth(targets), predicted, sample_weight=sample_weight)
        )


class ScoresClasses(ClassifierMixin, _Fitted):
    """A classifier that is scored by the outputs that were observed."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the share of rows in which all outputs that were observed are predicted rightly.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
            NaN and None are not observed; a row without any observed output does not count.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
            From 0 to 1, the best.
        """
        predicted = self.predict(X)
        targets = ingest_class_targets(y, predicted.shape[0], estimator_name=type(self).__name__)
        is_vector = targets.schema.is_1d and self._targets.n_outputs == 1
        if self._targets.kind == "multilabel" and not is_vector:
            truth = _truth(align_targets(targets, self._targets, "y"))
        else:  # each entry is the label 'wrong', which nobody predicts
            truth = _wrong_classes(targets, self._targets, predicted)
            predicted = np.zeros(truth.shape)
        return metrics.multilabel_accuracy_score(truth, predicted, sample_weight=sample_weight)


def _dimensions_of(schema: TargetSchema, targets: Targets) -> Targets:
    """Take one column for a one-dimensional y, and the other way round."""
    found = targets.schema
    if schema.n_outputs != 1 or found.n_outputs != 1:
        return targets
    return replace(targets, schema=replace(found, is_1d=schema.is_1d))


def _truth(targets: Targets) -> Any:
    """Give the values of all outputs, NaN where they are not observed."""
    if targets.observed is None:
        return targets.values
    return np.where(targets.observed, targets.dense_values(), np.nan)


def _wrong_classes(
    targets: Targets, schema: TargetSchema, predicted: NDArray[Any]
) -> NDArray[np.float64]:
    """Tell which classes differ, NaN where they are not observed; of shape (n_rows, n_outputs)."""
    found = targets.schema
    if found.n_outputs != schema.n_outputs:
        raise ValueError(
            f"y must have {schema.n_outputs} outputs, like the training y; got {found.n_outputs}."
        )
    wrong = np.full((predicted.shape[0], schema.n_outputs), np.nan)
    columns = predicted.reshape(wrong.shape)
    for j in range(schema.n_outputs):
        codes, classes = codes_of(targets, j)
        rows = np.flatnonzero(codes >= 0)
        wrong[rows, j] = classes.astype(object)[codes[rows]] != columns[rows, j]
    return wrong
