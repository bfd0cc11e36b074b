"""CatBoost with the loss of several targets or labels; its trees are symmetric."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.label_models import VaryingLabels, predicted_probabilities
from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case


def make(case: Case) -> Any:
    """Boost trees with a vector of all targets per leaf."""
    from catboost import CatBoostRegressor

    return CatBoostRegressor(loss_function="MultiRMSE", **_settings(case))


def make_labels(case: Case) -> Any:
    """Boost trees with a vector of all labels per leaf."""
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(loss_function="MultiLogloss", **_settings(case))
    return VaryingLabels(model, predicted_probabilities)


def _settings(case: Case) -> dict[str, Any]:
    return {
        "iterations": case.options["n_estimators"],
        "learning_rate": case.options["learning_rate"],
        "depth": case.options["max_depth"],
        "border_count": 254,
        "random_seed": 0,
        "thread_count": case.threads,
        "allow_writing_files": False,
        "verbose": False,
    }


METHODS = (
    Method("catboost", "boosting", module="catboost", make=make),
    Method("catboost-labels", "label-boosting", module="catboost", make=make_labels),
)
