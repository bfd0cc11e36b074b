"""XGBoost: trees with vector leaves, and one tree per output and round."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.versus.label_models import VaryingLabels, predicted_probabilities
from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case


def make(strategy: str, case: Case) -> Any:
    """Boost trees of numbers."""
    from xgboost import XGBRegressor

    return XGBRegressor(**_settings(strategy, case))


def make_labels(strategy: str, case: Case) -> Any:
    """Boost trees of labels."""
    from xgboost import XGBClassifier

    return VaryingLabels(XGBClassifier(**_settings(strategy, case)), predicted_probabilities)


def _settings(strategy: str, case: Case) -> dict[str, Any]:
    return {
        "n_estimators": case.options["n_estimators"],
        "learning_rate": case.options["learning_rate"],
        "max_depth": case.options["max_depth"],
        "max_bin": 255,
        "tree_method": "hist",
        "multi_strategy": strategy,
        "random_state": 0,
        "n_jobs": case.threads,
    }


METHODS = tuple(
    Method(f"xgboost-{name}{suffix}", task, module="xgboost", make=partial(maker, strategy))
    for suffix, task, maker in (
        ("", "boosting", make),
        ("-labels", "label-boosting", make_labels),
    )
    for name, strategy in (("vector", "multi_output_tree"), ("single", "one_output_per_tree"))
)
