"""LightGBM, one model per target."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case


def make(case: Case) -> Any:
    """Boost one model per target, each with all threads."""
    from lightgbm import LGBMRegressor
    from sklearn.multioutput import MultiOutputRegressor

    return MultiOutputRegressor(
        LGBMRegressor(
            n_estimators=case.options["n_estimators"],
            learning_rate=case.options["learning_rate"],
            max_depth=case.options["max_depth"],
            num_leaves=2 ** case.options["max_depth"],
            max_bin=255,
            random_state=0,
            n_jobs=case.threads,
            verbosity=-1,
        )
    )


METHODS = (Method("lightgbm", "boosting", module="lightgbm", make=make),)
