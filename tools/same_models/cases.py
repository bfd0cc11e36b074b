"""The table of cases, and what several parts of it need."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from facts import facts_of, numbers_of
from problems import Problem
from sklearn.decomposition import TruncatedSVD

# Cases ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Case:
    """One model.

    Attributes
    ----------
    name : str
    look : callable
        Fits it; gives what users see, and the numbers that summarise it.
    by_gain : bool
        Whether the tree is grown best-first, so that only its training loss is compared.
    """

    name: str
    look: Callable[[], tuple[dict[str, Any], dict[str, float | None]]]
    by_gain: bool = False


#: What keeps the models of a case small, unless it says otherwise.
SMALL: dict[str, dict[str, Any]] = {
    "Boosting": {"n_estimators": 12, "projection": None, "max_depth": 4},
    "Forest": {"n_estimators": 6},
    "ExtraTrees": {"n_estimators": 6},
    "BaggedTrees": {"n_estimators": 5},
    "Rule": {"n_rules": 15},
    "GraphEnsemble": {"n_estimators": 4, "calibration_folds": None},
    "GraphClassifier": {"calibration_folds": None},
}
REGRESSORS = ("TreeRegressor", "RandomForestRegressor", "ExtraTreesRegressor")
REGRESSORS += ("BaggedTreesRegressor", "BoostingRegressor", "RuleRegressor")
CLASSIFIERS = tuple(name.replace("Regressor", "Classifier") for name in REGRESSORS)


class Table:
    """All cases.

    Parameters
    ----------
    library : module
    n_jobs : int, optional
        Overrides that of all cases.
    """

    def __init__(self, library: Any, n_jobs: int | None) -> None:
        self.library, self.n_jobs = library, n_jobs
        self.cases: list[Case] = []
        self._names: set[str] = set()

    def add(
        self,
        estimator: str,
        problem: Problem,
        note: str = "",
        /,
        *,
        fit: dict[str, Any] | None = None,
        finish: Callable[[Any, Problem], Any] | None = None,
        **parameters: Any,
    ) -> None:
        """Add an estimator on a problem; `finish` makes another model of the fitted one."""
        given = ", ".join(f"{name}={_short(value)}" for name, value in parameters.items())
        name = f"{estimator}({given}) on {problem.name}{note and ': '}{note}"
        if name in self._names and fit is None and finish is None:
            return  # tables of settings may overlap
        assert name not in self._names, name
        self._names.add(name)
        small = [values for part, values in SMALL.items() if part in estimator]
        used = {**(small[0] if small else {}), "random_state": 0, **parameters}
        if self.n_jobs is not None:
            used["n_jobs"] = self.n_jobs

        def look() -> tuple[dict[str, Any], dict[str, float | None]]:
            model = getattr(self.library, estimator)(**used)
            model.fit(problem.X, problem.y, **(fit or {}))
            model = model if finish is None else finish(model, problem)
            seen = facts_of(model, problem)
            return seen, numbers_of(model, problem, seen)

        self.cases.append(Case(name, look, "max_leaf_nodes" in parameters))

    def add_each(self, estimator: str, problem: Problem, *settings: dict[str, Any]) -> None:
        """Add a case for each of some settings."""
        for parameters in settings:
            self.add(estimator, problem, **parameters)

    def add_value(self, name: str, make: Callable[[], Any]) -> None:
        """Add something that is no estimator."""
        self.cases.append(Case(name, lambda: ({"value": make()}, {})))


def _short(value: Any) -> str:
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return " ".join(re.sub(" at 0x[0-9A-Fa-f]+", "", repr(value)).split())


def each(name: str, *values: Any) -> list[dict[str, Any]]:
    """Give settings that differ in one parameter."""
    return [{name: value} for value in values]


def views(library: Any) -> list[Any]:
    """Give all projections, most by name and some with parameters."""
    of = library.projections
    return [
        *(name for name in of.PROJECTIONS if name != "identity"),
        of.Identity(),
        of.Gaussian(1),
        of.Gaussian("sqrt"),
        of.Rademacher(2, density=0.5),
        of.Subsample(0.4, replace=True, first_sees_all=False),
        of.PCA(2),
        of.TopOutputs(2),
        of.Adaptive([of.Gaussian(2), of.Subsample(1)]),
        TruncatedSVD(2, random_state=0),
    ]


def fit_more(n_estimators: int) -> Callable[[Any, Problem], Any]:
    """Fit again, with more members."""

    def finish(model: Any, problem: Problem) -> Any:
        return model.set_params(n_estimators=n_estimators).fit(problem.X, problem.y)

    return finish
