"""Baselines as methods, what the papers compare with, and the table of all methods."""

from __future__ import annotations

from typing import Any

from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, MultiTaskElasticNet, Ridge
from sklearn.svm import SVC, SVR

from polyleaf.experiments._adaboost import AdaBoostMH
from polyleaf.experiments._baselines import (
    AllTargets,
    BestChain,
    LabelPowerset,
    LabelsByRegression,
    OneModelPerLabel,
    OneModelPerTarget,
    RandomLinearCombinations,
)
from polyleaf.experiments._class_baselines import OneModelPerClassOutput
from polyleaf.experiments._encoding import encoded
from polyleaf.experiments._methods import Method, polyleaf_methods
from polyleaf.experiments._problem import Problem
from polyleaf.experiments._rivals import RIVALS

_ALL_TASKS = ("regression", "multilabel", "classes")
_ROUNDS = 50  # of gradient boosting within a baseline


def _per_output(problem: Problem, regressor: Any, classifier: Any, *, scale: bool = False) -> Any:
    if problem.task == "regression":
        return encoded(problem.X, OneModelPerTarget(regressor), scale=scale)
    if problem.task == "classes":
        return encoded(problem.X, OneModelPerClassOutput(classifier), scale=scale)
    return encoded(problem.X, OneModelPerLabel(classifier), scale=scale)


def _mean(problem: Problem, random_state: int) -> Any:
    return _per_output(problem, DummyRegressor(), DummyClassifier(strategy="prior"))


def _single_output(problem: Problem, random_state: int) -> Any:
    return _per_output(
        problem,
        HistGradientBoostingRegressor(max_iter=_ROUNDS, random_state=random_state),
        HistGradientBoostingClassifier(max_iter=_ROUNDS, random_state=random_state),
    )


def _linear(problem: Problem, random_state: int) -> Any:
    return _per_output(problem, Ridge(), LogisticRegression(max_iter=300), scale=True)


def _multi_task(problem: Problem, random_state: int) -> Any:
    wrap: Any = AllTargets if problem.task == "regression" else LabelsByRegression
    return encoded(problem.X, wrap(MultiTaskElasticNet(max_iter=2000)), scale=True)


def _svm(problem: Problem, random_state: int) -> Any:
    return _per_output(problem, SVR(), SVC(), scale=True)


def _powerset(problem: Problem, random_state: int) -> Any:
    return encoded(problem.X, LabelPowerset(LogisticRegression(max_iter=300)), scale=True)


def _chain(problem: Problem, random_state: int) -> Any:
    base = LogisticRegression(max_iter=300)
    return encoded(problem.X, BestChain(base, random_state=random_state), scale=True)


def _combinations(problem: Problem, random_state: int) -> Any:
    base = HistGradientBoostingRegressor(max_iter=_ROUNDS, random_state=random_state)
    n_combinations = max(20, 3 * problem.shape[2])
    model = RandomLinearCombinations(base, n_combinations, random_state=random_state)
    return encoded(problem.X, model)


def _adaboost(problem: Problem, random_state: int) -> Any:
    return encoded(problem.X, AdaBoostMH(random_state=random_state))


_BASELINES = (
    Method("Mean", _mean, _ALL_TASKS, group="baseline"),
    Method(
        "SingleOutput",
        _single_output,
        _ALL_TASKS,
        space={"model__estimator__learning_rate": (0.05, 0.1, 0.3)},
        group="baseline",
    ),
    Method("Linear", _linear, _ALL_TASKS, group="baseline"),
    Method(
        "MultiTask",
        _multi_task,
        space={"model__estimator__alpha": (0.003, 0.03, 0.3)},
        group="baseline",
    ),
    Method("SVM", _svm, space={"model__estimator__C": (0.1, 1.0, 10.0)}, group="baseline"),
    Method("RandomCombinations", _combinations, ("regression",), group="baseline"),
    Method("LabelPowerset", _powerset, ("multilabel",), group="baseline"),
    Method("ClassifierChain", _chain, ("multilabel",), group="baseline"),
    Method(
        "AdaBoostMH",
        _adaboost,
        ("multilabel",),
        {"model__max_leaf_nodes": (10, 100)},
        group="baseline",
    ),
)

#: All methods by name: polyleaf's estimators, baselines, and the rivals that are installed.
METHODS: dict[str, Method] = {
    method.name: method for method in (*polyleaf_methods(), *_BASELINES, *RIVALS)
}
