"""polyleaf's boosting: on all targets (Alg. 2), on five combinations (Alg. 4), and adaptive."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.versus.label_models import predicted_probabilities
from benchmarks.versus.methods import Method, call_predict
from benchmarks.versus.tasks import Case


def make(view: str, case: Case) -> Any:
    """Boost trees of numbers."""
    from polyleaf import BoostingRegressor

    return BoostingRegressor(**_settings(view, case))


def make_labels(view: str, case: Case) -> Any:
    """Boost trees of labels."""
    from polyleaf import BoostingClassifier

    return BoostingClassifier(**_settings(view, case))


def _settings(view: str, case: Case) -> dict[str, Any]:
    from polyleaf.projections import Gaussian

    return {
        "n_estimators": case.options["n_estimators"],
        "learning_rate": case.options["learning_rate"],
        "max_depth": case.options["max_depth"],
        "projection": {"all": None, "q5": Gaussian(n_components=5), "auto": "auto"}[view],
        "random_state": 0,
        "n_jobs": case.threads,
    }


#: Suffixes of the names of methods, and what their trees see.
VIEWS = {"": "all", "-q5": "q5", "-auto": "auto"}
METHODS = tuple(
    Method(
        f"{name}{suffix}",
        task,
        module="polyleaf",
        make=partial(maker, view),
        predict=predict,
        is_ours=True,
    )
    for name, task, maker, predict in (
        ("polyleaf-boosting", "boosting", make, call_predict),
        ("polyleaf-label-boosting", "label-boosting", make_labels, predicted_probabilities),
    )
    for suffix, view in VIEWS.items()
)
