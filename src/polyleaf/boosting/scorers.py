"""Scikit-learn's scorers by name, for predictions that are there already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, log_loss, make_scorer

from polyleaf.data import Targets, TargetSchema


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


class _PredictedLabels(_PredictedClasses):
    """A classifier of several labels, whose probabilities also rank."""

    def decision_function(self, X: Any) -> Any:
        """Give the probabilities."""
        return self.probabilities


def is_scorer(metric: Any) -> bool:
    """Tell a scorer of scikit-learn, which takes a model, from a metric."""
    return type(metric).__module__.startswith("sklearn.metrics")


def scorer_function(
    metric: Any, estimator: Any, targets: Targets, truth: Any, given: dict[str, Any]
) -> Callable[[NDArray[np.float32]], float]:
    """Make the function from raw predictions of some rows to a score; larger is better.

    Parameters
    ----------
    metric : str or scorer
        One of `sklearn.metrics.get_scorer_names()`, or what `make_scorer` makes.
    estimator : BoostingEstimator
        Which makes values, labels and probabilities of raw predictions.
    targets : Targets
        Those of the rows.
    truth : array-like
        The same for a metric.
    given : dict
        With "sample_weight", or empty.
    """
    scorer, schema = get_scorer(metric), targets.schema
    if not schema.is_1d and targets.observed is not None and not targets.observed.all():
        raise ValueError(
            f"eval_metric={metric!r} is a scorer of scikit-learn, which cannot leave single "
            "outputs out; some validation targets are not observed. Use one of "
            "polyleaf.metrics.METRICS, a callable, or None for the loss itself."
        )
    rows = np.arange(targets.values.shape[0])
    if schema.is_1d and targets.observed is not None:
        rows = np.flatnonzero(targets.observed[:, 0])
    if metric == "neg_log_loss" and schema.kind in ("binary", "multiclass"):
        # Validation rows need not have all classes.
        scorer = make_scorer(
            log_loss,
            response_method="predict_proba",
            greater_is_better=False,
            labels=schema.classes_,
        )
    kept = {key: value[rows] for key, value in given.items()}
    index = rows[:, None]

    def score(raw: NDArray[np.float32]) -> float:
        if schema.kind == "regression":
            model: Any = _PredictedValues(estimator._shown(raw[rows], "values"))
        else:
            labels = estimator._shown(raw[rows], "labels")
            probabilities = estimator._shown(raw[rows], "probabilities")
            cls = _PredictedLabels if schema.kind == "multilabel" else _PredictedClasses
            model = cls(labels, probabilities, schema.classes_)
        try:
            return float(scorer(model, index, truth[rows], **kept))
        except ValueError as error:
            raise _lacking(metric, schema, truth[rows]) or error from error

    return score


def _lacking(metric: Any, schema: TargetSchema, truth: Any) -> ValueError | None:
    """Say that validation rows lack a class, if they do: some scorers cannot do without."""
    if schema.kind not in ("binary", "multiclass"):
        return None
    absent = np.setdiff1d(schema.classes_, truth)
    if absent.size == 0:
        return None
    return ValueError(
        f"eval_metric={metric!r} needs rows of all classes; the validation rows have none of "
        f"{absent[0]!r}. Give an eval_set with all of them, use another metric, or None for the "
        "loss itself."
    )
