"""scikit-learn's multi-output tree, which has exact splits and one thread whatever is asked."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case


def make(case: Case) -> Any:
    """Make a tree; its conversion of X to float32 is part of its fit."""
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(max_depth=case.options["max_depth"], random_state=0)


METHODS = (
    Method("sklearn-tree", "tree", module="sklearn", distribution="scikit-learn", make=make),
)
