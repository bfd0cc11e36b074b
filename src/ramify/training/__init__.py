"""The training loops: from validated data to fitted models."""

from ramify.training.data import TrainingData
from ramify.training.pruning import F_TEST_LEVELS
from ramify.training.tree import TreeSettings, fit_tree
from ramify.training.validation import cross_validated_level

__all__ = [
    "F_TEST_LEVELS",
    "TrainingData",
    "TreeSettings",
    "cross_validated_level",
    "fit_tree",
]
