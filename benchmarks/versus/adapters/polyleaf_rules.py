"""polyleaf's rules: binned thresholds as by default, and exact ones."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case


def make_binned(case: Case) -> Any:
    """Make a learner with at most 255 bins per feature."""
    return _make(case, max_bins=255)


def make_exact(case: Case) -> Any:
    """Make a learner that may cut between any two values."""
    return _make(case, max_bins=None)


def _make(case: Case, max_bins: int | None) -> Any:
    from polyleaf import RuleClassifier

    options = case.options
    return RuleClassifier(
        n_rules=options["n_rules"],
        loss=options["loss"],
        head=options["head"],
        learning_rate=options["learning_rate"],
        l2_regularization=options["l2"],
        max_features="log2+1",
        max_bins=max_bins,
        set_probabilities="chain_rule",  # mlrl-boomer's; the choice by a hold-out is more work
        random_state=0,
        n_jobs=case.threads,
    )


def predict_dense(model: Any, X: Any) -> Any:
    """Predict a dense label matrix."""
    return model.predict(X).toarray()


METHODS = (
    Method(
        "polyleaf-rules",
        "rules",
        module="polyleaf",
        make=make_binned,
        predict=predict_dense,
        is_ours=True,
    ),
    Method(
        "polyleaf-rules-exact",
        "rules",
        module="polyleaf",
        make=make_exact,
        predict=predict_dense,
        is_ours=True,
        by_default=False,
    ),
)
