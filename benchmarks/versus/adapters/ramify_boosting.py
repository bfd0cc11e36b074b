"""ramify's boosting: on all targets (Alg. 2), on five combinations (Alg. 4), and adaptive."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case


def make_all(case: Case) -> Any:
    """Boost trees that are grown on all targets."""
    return _make(case, None)


def make_five(case: Case) -> Any:
    """Boost trees that are grown on five Gaussian combinations."""
    from ramify.projections import Gaussian

    return _make(case, Gaussian(n_components=5))


def make_auto(case: Case) -> Any:
    """Boost trees on views that are chosen from round to round."""
    return _make(case, "auto")


def _make(case: Case, projection: Any) -> Any:
    from ramify import BoostingRegressor

    return BoostingRegressor(
        n_estimators=case.options["n_estimators"],
        learning_rate=case.options["learning_rate"],
        max_depth=case.options["max_depth"],
        projection=projection,
        random_state=0,
        n_jobs=case.threads,
    )


METHODS = (
    Method("ramify-boosting", "boosting", module="ramify", make=make_all, is_ours=True),
    Method("ramify-boosting-q5", "boosting", module="ramify", make=make_five, is_ours=True),
    Method("ramify-boosting-auto", "boosting", module="ramify", make=make_auto, is_ours=True),
)
