"""Single trees, and how trees are grown: the ground of forests and boosting."""

from polyleaf.trees.estimators import TreeClassifier, TreeRegressor
from polyleaf.trees.mixed import TreeMixed

__all__ = ["TreeClassifier", "TreeMixed", "TreeRegressor"]
