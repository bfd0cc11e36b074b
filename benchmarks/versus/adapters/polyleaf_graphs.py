"""polyleaf's graph ensemble, on rows of length 1 and without calibration."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case


def make(case: Case) -> Any:
    """Make an ensemble of the setting's size; of one member, a single graph."""
    from polyleaf import GraphClassifier, GraphEnsembleClassifier

    common = {
        "kernel": "cosine",
        "C": case.options["C"],
        "calibration_folds": None,
        "random_state": 0,
        "n_jobs": case.threads,
    }
    n_members = case.options["n_estimators"]
    if n_members == 1:
        return GraphClassifier(**common)
    return GraphEnsembleClassifier(n_estimators=n_members, **common)


METHODS = (Method("polyleaf-graphs", "graphs", module="polyleaf", make=make, is_ours=True),)
