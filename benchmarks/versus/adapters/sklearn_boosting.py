"""scikit-learn's histogram boosting, one model per target; threads are OpenMP's."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case


def make(case: Case) -> Any:
    """Boost one model per target."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.multioutput import MultiOutputRegressor

    depth = case.options["max_depth"]
    return MultiOutputRegressor(
        HistGradientBoostingRegressor(
            max_iter=case.options["n_estimators"],
            learning_rate=case.options["learning_rate"],
            max_depth=depth,
            max_leaf_nodes=2**depth,
            early_stopping=False,
            random_state=0,
        )
    )


METHODS = (
    Method(
        "sklearn-hist-boosting",
        "boosting",
        module="sklearn",
        distribution="scikit-learn",
        make=make,
    ),
)
