"""LightGBM, one model per target or label."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.label_models import VaryingLabels, positive_probabilities
from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case


def make(case: Case) -> Any:
    """Boost one model per target, each with all threads."""
    from lightgbm import LGBMRegressor
    from sklearn.multioutput import MultiOutputRegressor

    return MultiOutputRegressor(LGBMRegressor(**_settings(case)))


def make_labels(case: Case) -> Any:
    """Boost one model per label, each with all threads."""
    from lightgbm import LGBMClassifier
    from sklearn.multioutput import MultiOutputClassifier

    model = MultiOutputClassifier(LGBMClassifier(**_settings(case)))
    return VaryingLabels(model, positive_probabilities)


def _settings(case: Case) -> dict[str, Any]:
    return {
        "n_estimators": case.options["n_estimators"],
        "learning_rate": case.options["learning_rate"],
        "max_depth": case.options["max_depth"],
        "num_leaves": 2 ** case.options["max_depth"],
        "max_bin": 255,
        "random_state": 0,
        "n_jobs": case.threads,
        "verbosity": -1,
    }


METHODS = (
    Method("lightgbm", "boosting", module="lightgbm", make=make),
    Method("lightgbm-labels", "label-boosting", module="lightgbm", make=make_labels),
)
