"""A baseline for outputs with a class per row: one classifier per output."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import _safe_indexing

from polyleaf.experiments._class_scores import known_classes
from polyleaf.experiments._encoding import feature_rows


class OneModelPerClassOutput(ClassifierMixin, BaseEstimator):
    """One classifier per output, on the rows where it is observed.

    Parameters
    ----------
    estimator : classifier

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from polyleaf.experiments._class_baselines import OneModelPerClassOutput
    >>> X = np.arange(20.0)[:, np.newaxis]
    >>> Y = np.column_stack([np.where(X[:, 0] > 9, "b", "a"), np.repeat("x", 20)])
    >>> OneModelPerClassOutput(LogisticRegression()).fit(X, Y).predict([[19.0]])
    array([['b', 'x']], dtype=object)
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> OneModelPerClassOutput:
        """Train one model per output; one that is constant needs none."""
        X = feature_rows(X)
        Y = np.asarray(y, dtype=object)
        known = known_classes(Y)
        self.estimators_ = []
        for j in range(Y.shape[1]):
            rows = known[:, j]
            values = Y[rows, j].astype(str)
            is_constant = np.unique(values).size < 2
            model = DummyClassifier() if is_constant else clone(self.estimator)
            self.estimators_.append(model.fit(_safe_indexing(X, rows), values))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict a class of each output."""
        X = feature_rows(X)
        columns = [np.asarray(model.predict(X), dtype=object) for model in self.estimators_]
        return np.column_stack(columns)
