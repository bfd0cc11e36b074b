"""XGBoost: trees with vector leaves, and one tree per output and round."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case


def make_vector(case: Case) -> Any:
    """Boost trees with a vector of all targets per leaf."""
    return _make(case, "multi_output_tree")


def make_single(case: Case) -> Any:
    """Boost one tree per target and round."""
    return _make(case, "one_output_per_tree")


def _make(case: Case, strategy: str) -> Any:
    from xgboost import XGBRegressor

    return XGBRegressor(
        n_estimators=case.options["n_estimators"],
        learning_rate=case.options["learning_rate"],
        max_depth=case.options["max_depth"],
        max_bin=255,
        tree_method="hist",
        multi_strategy=strategy,
        random_state=0,
        n_jobs=case.threads,
    )


METHODS = (
    Method("xgboost-vector", "boosting", module="xgboost", make=make_vector),
    Method("xgboost-single", "boosting", module="xgboost", make=make_single),
)
