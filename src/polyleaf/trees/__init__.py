"""Single trees, and how trees are grown: the ground of forests and boosting."""

from polyleaf.trees.estimators import TreeClassifier, TreeRegressor

__all__ = ["TreeClassifier", "TreeRegressor"]
