"""The estimators that users construct, and how they are saved and loaded."""

from ramify.estimators.persistence import load, save
from ramify.estimators.tree import TreeClassifier, TreeRegressor

__all__ = ["TreeClassifier", "TreeRegressor", "load", "save"]
