"""What takes part in the race, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyleaf import projections
from polyleaf.auto.baselines import BaselineClassifier, BaselineRegressor
from polyleaf.auto.settling import Settled, settled_boosting, settled_kernel, settled_rules
from polyleaf.auto.work import (
    Shape,
    boosting_work,
    forest_work,
    graphs_work,
    kernel_work,
    logistic_work,
    neighbours_work,
    rules_work,
    single_trees_work,
    squares_work,
)
from polyleaf.boosting import BoostingClassifier, BoostingRegressor
from polyleaf.forests import (
    BaggedTreesClassifier,
    BaggedTreesRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from polyleaf.graphs.estimators import GraphEnsembleClassifier
from polyleaf.rules import RuleClassifier, RuleRegressor

if TYPE_CHECKING:
    from polyleaf.auto.problem import Problem
    from polyleaf.data import BinnedData, Targets

#: Budgets as multiples of the work of default boosting on all rows, and the least work of each.
BUDGETS = {"small": (3.0, 1500.0), "medium": (10.0, 8000.0), "large": (60.0, 60000.0)}
#: Candidates of a budget: those of smaller budgets, too.
_STEPS = ("small", "medium", "large")
#: Kernels hold rows against rows.
_MOST_KERNEL_ROWS = 3000
_MOST_NEIGHBOUR_ROWS = 20_000
#: Decompositions of columns, or of rows where there are fewer.
_MOST_COLUMNS = 3000
#: Graphs find the best labelling of few labels.
_MOST_GRAPH_LABELS, _MOST_GRAPH_ROWS = 14, 1500


@dataclass(frozen=True)
class Candidate:
    """One model that takes part.

    Attributes
    ----------
    name : str
    make : callable (seed, n_jobs) -> estimator
    work : callable (Shape) -> float
        Of one fit on all rows, in millions of additions.
    budget : {"small", "medium", "large"}
        The smallest budget in which it takes part.
    fits : callable (Problem) -> bool
        Whether it can be trained on such data.
    way : {"refit", "bag", "out-of-bag"}
        How the member comes about: trained again on all rows; the mean of what was trained on the
        folds; or trained on all rows at once, its own bootstrap samples in place of the folds.
    settle : callable (model, rows, truth) -> Settled, or None
        Tells what the model of the first fold has chosen for those of the others.
    is_stopped : bool
        Whether the rows that were held out tell when to stop.
    """

    name: str
    make: Callable[[int, int | None], Any]
    work: Callable[[Shape], float]
    budget: str = "small"
    fits: Callable[[Problem], bool] = lambda problem: True
    way: str = "refit"
    settle: Callable[[Any, BinnedData, Targets], Settled] | None = None
    is_stopped: bool = False


def candidates_for(problem: Problem, budget: str) -> list[Candidate]:
    """Give the candidates of a budget that fit a problem, the most promising ones first."""
    is_regression = problem.targets.schema.kind == "regression"
    all_of_them = _REGRESSORS if is_regression else _CLASSIFIERS
    reach = _STEPS.index(budget)
    return [c for c in all_of_them if _STEPS.index(c.budget) <= reach and c.fits(problem)]


def budget_of(problem: Problem, budget: str) -> float:
    """Give the work that a budget allows."""
    factor, least = BUDGETS[budget]
    return max(least, factor * boosting_work(Shape.of(problem)))


# Who can be trained on what ---------------------------------------------------------------------


def _has_few_columns(problem: Problem) -> bool:
    return min(problem.n_rows, problem.schema.n_features) <= _MOST_COLUMNS


def _has_few_rows(problem: Problem) -> bool:
    return problem.n_rows <= _MOST_KERNEL_ROWS


def _has_neighbours(problem: Problem) -> bool:
    return problem.n_rows <= _MOST_NEIGHBOUR_ROWS


def _suits_graphs(problem: Problem) -> bool:
    encoded = problem.binned.encoded
    return (
        problem.targets.schema.kind == "multilabel"
        and 2 <= problem.targets.n_channels <= _MOST_GRAPH_LABELS
        and problem.n_rows <= _MOST_GRAPH_ROWS
        and not problem.schema.has_categories
        and isinstance(encoded, np.ndarray)
        and bool((np.abs(encoded) < 1e100).all())  # false for NaN, too
    )


def _of(cls: Any, **settings: Any) -> Callable[[int, int | None], Any]:
    return lambda seed, n_jobs: cls(random_state=seed, n_jobs=n_jobs, **settings)


def _baseline(cls: Any, **settings: Any) -> Callable[[int, int | None], Any]:
    return lambda seed, n_jobs: cls(**settings)


def _boosted(
    name: str, cls: Any, work: Callable[[Shape], float], budget: str, **settings: Any
) -> Candidate:
    make = _of(cls, **_STOPPED | settings)
    settle = settled_boosting
    return Candidate(name, make, work, budget, way="bag", settle=settle, is_stopped=True)


def _slow_boosting(shape: Shape) -> float:
    return 2.0 * boosting_work(shape)


#: Rounds of boosting end where the first held-out fold has not got better for so many.
_STOPPED = {"n_estimators": 1000, "early_stopping": True, "n_iter_no_change": 25}
_SLOW = {"learning_rate": 0.04, "max_depth": 4, "subsample": 0.7}
_REGRESSORS = [
    Candidate("extra_trees", _of(ExtraTreesRegressor), forest_work(0.1)),
    Candidate("random_forest", _of(RandomForestRegressor), forest_work(0.33), way="out-of-bag"),
    _boosted("boosting", BoostingRegressor, boosting_work, "small"),
    Candidate("ridge", _baseline(BaselineRegressor), squares_work, "small", _has_few_columns),
    Candidate("rules", _of(RuleRegressor), rules_work, way="bag", settle=settled_rules),
    Candidate(
        "kernel_ridge",
        _baseline(BaselineRegressor, model="kernel"),
        kernel_work,
        "medium",
        _has_few_rows,
        settle=settled_kernel,
    ),
    Candidate(
        "bagged_trees",
        _of(BaggedTreesRegressor),
        forest_work(1.0),
        "medium",
        way="out-of-bag",
    ),
    Candidate(
        "neighbours",
        _baseline(BaselineRegressor, model="neighbours"),
        neighbours_work,
        "medium",
        _has_neighbours,
    ),
    _boosted("slow_boosting", BoostingRegressor, _slow_boosting, "large", **_SLOW),
    Candidate(
        "slow_rules",
        _of(RuleRegressor, n_rules=2000, learning_rate=0.1),
        partial(rules_work, n_rules=2000),
        "large",
        way="bag",
        settle=settled_rules,
    ),
    _boosted(
        "boosting_by_output",
        BoostingRegressor,
        partial(single_trees_work, n_rounds=200),
        "large",
        projection=projections.RoundRobin(),
    ),
]
_CLASSIFIERS = [
    Candidate("extra_trees", _of(ExtraTreesClassifier), forest_work(0.1)),
    Candidate("random_forest", _of(RandomForestClassifier), forest_work(0.1), way="out-of-bag"),
    _boosted("boosting", BoostingClassifier, boosting_work, "small"),
    Candidate("logistic", _baseline(BaselineClassifier, model="logistic"), logistic_work),
    Candidate("rules", _of(RuleClassifier), rules_work, way="bag"),
    Candidate(
        "kernel_ridge",
        _baseline(BaselineClassifier, model="kernel"),
        kernel_work,
        "medium",
        _has_few_rows,
        settle=settled_kernel,
    ),
    Candidate(
        "strict_logistic",
        _baseline(BaselineClassifier, model="logistic", strength=0.1),
        logistic_work,
        "medium",
    ),
    Candidate(
        "bagged_trees",
        _of(BaggedTreesClassifier),
        forest_work(1.0),
        "medium",
        way="out-of-bag",
    ),
    Candidate(
        "neighbours",
        _baseline(BaselineClassifier, model="neighbours"),
        neighbours_work,
        "medium",
        _has_neighbours,
    ),
    Candidate("graphs", _of(GraphEnsembleClassifier), graphs_work, "large", _suits_graphs),
    _boosted("slow_boosting", BoostingClassifier, _slow_boosting, "large", **_SLOW),
]
