"""polyleaf's forests: regressors on dense targets, classifiers on label matrices.

On dense targets every tree sees all outputs and all trees predict all of them, as the rivals' do.
"""

from __future__ import annotations

from typing import Any

from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case


def make_regressor(case: Case) -> Any:
    """Make a forest of multi-target trees on all targets."""
    import polyleaf

    kinds = {"rf": polyleaf.RandomForestRegressor, "et": polyleaf.ExtraTreesRegressor}
    return kinds[case.options["kind"]](
        n_estimators=case.options["n_estimators"],
        max_features=case.options["max_features"],
        projection=None,
        aggregation="total",
        random_state=0,
        n_jobs=case.threads,
    )


def make_classifier(case: Case) -> Any:
    """Make a forest of trees on the label matrix, or on a Gaussian view of it."""
    import polyleaf

    size = case.options["n_components"]
    return polyleaf.RandomForestClassifier(
        n_estimators=case.options["n_estimators"],
        projection=None if size is None else polyleaf.projections.Gaussian(n_components=size),
        random_state=0,
        n_jobs=case.threads,
    )


def probabilities(model: Any, X: Any) -> Any:
    """Predict the probability of every label."""
    return model.predict_proba(X)


METHODS = (
    Method("polyleaf-forest", "forest", module="polyleaf", make=make_regressor, is_ours=True),
    Method(
        "polyleaf-label-forest",
        "labels",
        module="polyleaf",
        make=make_classifier,
        predict=probabilities,
        is_ours=True,
    ),
)
