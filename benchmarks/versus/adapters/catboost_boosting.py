"""CatBoost with the loss of several targets; its trees are symmetric."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case


def make(case: Case) -> Any:
    """Boost trees with a vector of all targets per leaf."""
    from catboost import CatBoostRegressor

    return CatBoostRegressor(
        iterations=case.options["n_estimators"],
        learning_rate=case.options["learning_rate"],
        depth=case.options["max_depth"],
        border_count=254,
        loss_function="MultiRMSE",
        random_seed=0,
        thread_count=case.threads,
        allow_writing_files=False,
        verbose=False,
    )


METHODS = (Method("catboost", "boosting", module="catboost", make=make),)
