"""What takes part in the race, in which order, and how much work each asks for.

Work is counted in millions of additions, roughly: it depends on the shape of the data alone, so
that a budget gives the same model on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polyleaf import projections
from polyleaf.auto.baselines import BaselineClassifier, BaselineRegressor
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
class Shape:
    """What the work of a candidate depends on.

    Attributes
    ----------
    n_rows : int
    row_values : float
        Values of X in a row.
    n_features, n_channels : int
    """

    n_rows: int
    row_values: float
    n_features: int
    n_channels: int

    @classmethod
    def of(cls, problem: Problem) -> Shape:
        """Give the shape of a problem."""
        return cls(
            problem.n_rows,
            problem.row_values,
            problem.schema.n_features,
            problem.targets.n_channels,
        )


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
    """

    name: str
    make: Callable[[int, int | None], Any]
    work: Callable[[Shape], float]
    budget: str = "small"
    fits: Callable[[Problem], bool] = lambda problem: True


def candidates_for(problem: Problem, budget: str) -> list[Candidate]:
    """Give the candidates of a budget that fit a problem, the most promising ones first."""
    is_regression = problem.targets.schema.kind == "regression"
    all_of_them = _REGRESSORS if is_regression else _CLASSIFIERS
    reach = _STEPS.index(budget)
    return [c for c in all_of_them if _STEPS.index(c.budget) <= reach and c.fits(problem)]


def budget_of(problem: Problem, budget: str) -> float:
    """Give the work that a budget allows."""
    factor, least = BUDGETS[budget]
    return max(least, factor * _boosting_work(Shape.of(problem)))


# Work -------------------------------------------------------------------------------------------


def _forest_work(share: float, n_trees: int = 100) -> Callable[[Shape], float]:
    def work(shape: Shape) -> float:
        levels = np.log2(shape.n_rows + 2.0)
        per_row = 30.0 + share * shape.row_values * (2.0 + 0.3 * shape.n_channels**0.7)
        return float(1e-6 * n_trees * levels * shape.n_rows * per_row)

    return work


def _boosting_work(shape: Shape, n_rounds: int = 400) -> float:
    per_row = 30.0 + shape.row_values * (2.0 + 0.5 * shape.n_channels**0.7)
    return float(1e-6 * n_rounds * 6.0 * (shape.n_rows + 200.0) * per_row)


def _rules_work(shape: Shape) -> float:
    per_row = 50.0 + 3.0 * np.log2(shape.row_values + 2.0) * (1.0 + shape.n_channels**0.8)
    return float(1e-6 * 500.0 * (shape.n_rows + 100.0) * per_row)


def _squares_work(shape: Shape) -> float:
    small = min(shape.n_rows, shape.n_features)
    large = max(shape.n_rows, shape.n_features)
    return float(1e-9 * (small**2 * (large + 10.0 * small) + 15 * small * shape.n_rows))


def _logistic_work(shape: Shape) -> float:
    return float(1e-6 * 60.0 * shape.n_channels * (shape.n_rows * shape.row_values + 20_000))


def _kernel_work(shape: Shape) -> float:
    some = min(shape.n_rows, 400)
    return float(1e-9 * (80.0 * some**3 + 10.0 * shape.n_rows**3))


def _neighbours_work(shape: Shape) -> float:
    return float(1e-6 * shape.n_rows**2 * (3.0 + 0.1 * shape.row_values))


def _graphs_work(shape: Shape) -> float:
    return float(1e-6 * 400.0 * shape.n_rows * shape.n_channels * (20 + shape.row_values))


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


def _slow_boosting(shape: Shape) -> float:
    return 2.0 * _boosting_work(shape)


_SLOW = {"n_estimators": 800, "learning_rate": 0.04, "max_depth": 4, "subsample": 0.7}
_REGRESSORS = [
    Candidate("extra_trees", _of(ExtraTreesRegressor), _forest_work(0.1)),
    Candidate("random_forest", _of(RandomForestRegressor), _forest_work(0.33)),
    Candidate("boosting", _of(BoostingRegressor), _boosting_work),
    Candidate("ridge", _baseline(BaselineRegressor), _squares_work, "small", _has_few_columns),
    Candidate("rules", _of(RuleRegressor), _rules_work),
    Candidate(
        "kernel_ridge",
        _baseline(BaselineRegressor, model="kernel"),
        _kernel_work,
        "medium",
        _has_few_rows,
    ),
    Candidate("bagged_trees", _of(BaggedTreesRegressor), _forest_work(1.0), "medium"),
    Candidate(
        "neighbours",
        _baseline(BaselineRegressor, model="neighbours"),
        _neighbours_work,
        "medium",
        _has_neighbours,
    ),
    Candidate("slow_boosting", _of(BoostingRegressor, **_SLOW), _slow_boosting, "large"),
    Candidate(
        "slow_rules",
        _of(RuleRegressor, n_rules=2000, learning_rate=0.1),
        lambda shape: 4.0 * _rules_work(shape),
        "large",
    ),
    Candidate(
        "boosting_by_output",
        _of(BoostingRegressor, projection=projections.RoundRobin()),
        _slow_boosting,
        "large",
    ),
]
_CLASSIFIERS = [
    Candidate("extra_trees", _of(ExtraTreesClassifier), _forest_work(0.1)),
    Candidate("random_forest", _of(RandomForestClassifier), _forest_work(0.1)),
    Candidate("boosting", _of(BoostingClassifier), _boosting_work),
    Candidate("logistic", _baseline(BaselineClassifier, model="logistic"), _logistic_work),
    Candidate("rules", _of(RuleClassifier), _rules_work),
    Candidate(
        "kernel_ridge",
        _baseline(BaselineClassifier, model="kernel"),
        _kernel_work,
        "medium",
        _has_few_rows,
    ),
    Candidate(
        "strict_logistic",
        _baseline(BaselineClassifier, model="logistic", strength=0.1),
        _logistic_work,
        "medium",
    ),
    Candidate("bagged_trees", _of(BaggedTreesClassifier), _forest_work(1.0), "medium"),
    Candidate(
        "neighbours",
        _baseline(BaselineClassifier, model="neighbours"),
        _neighbours_work,
        "medium",
        _has_neighbours,
    ),
    Candidate("graphs", _of(GraphEnsembleClassifier), _graphs_work, "large", _suits_graphs),
    Candidate("slow_boosting", _of(BoostingClassifier, **_SLOW), _slow_boosting, "large"),
]
