"""Methods of other libraries, where they are installed: one function per rival.

All work on one thread and choose their learning rate; trees are boosted for `ROUNDS` rounds.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from polyleaf.experiments._baselines import (
    AllTargets,
    OneModelPerLabel,
    OneModelPerTarget,
    check_observed,
)
from polyleaf.experiments._encoding import dense, encoded
from polyleaf.experiments._methods import Method
from polyleaf.experiments._problem import Problem

ROUNDS = 100


def _xgboost(problem: Problem, random_state: int) -> Any:
    import xgboost

    kind = xgboost.XGBRegressor if problem.task == "regression" else xgboost.XGBClassifier
    model = kind(n_estimators=ROUNDS, tree_method="hist", n_jobs=1, random_state=random_state)
    return encoded(problem.X, _all_outputs(problem, model))


def _lightgbm(problem: Problem, random_state: int) -> Any:
    import lightgbm

    options: dict[str, Any] = {
        "n_estimators": ROUNDS,
        "random_state": random_state,
        "n_jobs": 1,
        "verbose": -1,
    }
    model: Any
    if problem.task == "regression":
        model = OneModelPerTarget(lightgbm.LGBMRegressor(**options))
    else:
        model = OneModelPerLabel(lightgbm.LGBMClassifier(**options))
    return encoded(problem.X, model)


def _catboost(problem: Problem, random_state: int) -> Any:
    import catboost

    options: dict[str, Any] = {
        "iterations": ROUNDS,
        "random_seed": random_state,
        "thread_count": 1,
        "allow_writing_files": False,
        "verbose": False,
    }
    if problem.task == "regression":
        model = catboost.CatBoostRegressor(loss_function="MultiRMSE", **options)
    else:
        model = catboost.CatBoostClassifier(loss_function="MultiLogloss", **options)
    return encoded(problem.X, _all_outputs(problem, model))


def _boomer(problem: Problem, random_state: int) -> Any:
    from mlrl.boosting.learners import BoomerClassifier, BoomerRegressor

    kind = BoomerRegressor if problem.task == "regression" else BoomerClassifier
    threads = {
        "parallel_rule_refinement": "false",
        "parallel_statistic_update": "false",
        # Its version 0.12 corrupts memory when it predicts labels on one thread.
        "parallel_prediction": "true{num_preferred_threads=2}",
    }
    # Rules: its default number, 1000. Its seeds start from 1.
    model = kind(random_state=random_state + 1, **threads)
    return encoded(problem.X, _all_outputs(problem, model))


def _all_outputs(problem: Problem, model: Any) -> Any:
    return AllTargets(model) if problem.task == "regression" else AllLabels(model)


class AllLabels(ClassifierMixin, BaseEstimator):
    """Another library's classifier on all labels at once; a label that is constant needs none."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> AllLabels:
        """Train on the labels that vary; those that are not observed are refused by name."""
        labels = dense(y).astype(np.float64)
        check_observed(labels, self.estimator)
        self.constant_ = labels[0].copy()
        self.varying_ = np.flatnonzero((labels != labels[0]).any(axis=0))
        self.estimator_ = None
        if self.varying_.size:
            varying = labels[:, self.varying_].astype(int)
            varying = varying[:, 0] if varying.shape[1] == 1 else varying
            self.estimator_ = clone(self.estimator).fit(X, varying)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Predict label sets, of shape (n, d)."""
        return self._filled(X, "predict").astype(np.int64)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each label, of shape (n, d)."""
        return self._filled(X, "predict_proba")

    def _filled(self, X: Any, method: str) -> NDArray[np.float64]:
        values = np.tile(self.constant_, (np.shape(X)[0], 1))
        if self.estimator_ is not None:
            given = dense(getattr(self.estimator_, method)(X)).astype(np.float64)
            given = given.reshape(len(values), -1)
            # A single label is a binary problem to most, with a column for each class.
            values[:, self.varying_] = given[:, -self.varying_.size :]
        return values


_RATES = (0.1, 0.3)
_CANDIDATES = (
    (
        "xgboost",
        Method(
            "XGBoost",
            _xgboost,
            space={
                "model__estimator__learning_rate": _RATES,
                "model__estimator__multi_strategy": ("one_output_per_tree", "multi_output_tree"),
            },
            group="rival",
        ),
    ),
    (
        "lightgbm",
        Method(
            "LightGBM", _lightgbm, space={"model__estimator__learning_rate": _RATES}, group="rival"
        ),
    ),
    (
        "catboost",
        Method(
            "CatBoost", _catboost, space={"model__estimator__learning_rate": _RATES}, group="rival"
        ),
    ),
    (
        "mlrl",
        Method(
            "Boomer", _boomer, space={"model__estimator__shrinkage": (0.1, 0.3)}, group="rival"
        ),
    ),
)

#: The rivals whose package is installed.
RIVALS: tuple[Method, ...] = tuple(
    method for package, method in _CANDIDATES if importlib.util.find_spec(package) is not None
)
