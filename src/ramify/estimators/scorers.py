"""Scikit-learn's scorers by name, for predictions that are there already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from ramify.ingest import Targets


class _Predicted(BaseEstimator):
    """A model that knows what it is to predict."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:
        """Give the values or labels."""
        return self.values


class _PredictedValues(RegressorMixin, _Predicted):
    """A regressor."""


class _PredictedClasses(ClassifierMixin, _Predicted):
    """A classifier."""

    def __init__(self, values: Any, probabilities: Any, classes: Any) -> None:
        self.values, self.probabilities, self.classes_ = values, probabilities, classes

    def predict_proba(self, X: Any) -> Any:
        """Give the probabilities."""
        return self.probabilities


def scorer_named(
    name: str, estimator: Any, targets: Targets, truth: Any, given: dict[str, Any]
) -> Callable[[NDArray[np.float32]], float]:
    """Make the function from raw predictions of some rows to a score; larger is better.

    Parameters
    ----------
    name : str
        One of `sklearn.metrics.get_scorer_names()`.
    estimator : BoostingEstimator
        Which makes values, labels and probabilities of raw predictions.
    targets : Targets
        Those of the rows.
    truth : array-like
        The same for a metric.
    given : dict
        With "sample_weight", or empty.
    """
    scorer = get_scorer(name)
    schema = targets.schema
    rows = np.arange(targets.values.shape[0])
    if schema.is_1d and targets.observed is not None:
        rows = np.flatnonzero(targets.observed[:, 0])
    kept = {key: value[rows] for key, value in given.items()}
    index = rows[:, None]

    def score(raw: NDArray[np.float32]) -> float:
        if schema.kind == "regression":
            model: Any = _PredictedValues(estimator._shown(raw[rows], "values"))
        else:
            labels = estimator._shown(raw[rows], "labels")
            probabilities = estimator._shown(raw[rows], "probabilities")
            model = _PredictedClasses(labels, probabilities, schema.classes_)
        return float(scorer(model, index, truth[rows], **kept))

    return score
