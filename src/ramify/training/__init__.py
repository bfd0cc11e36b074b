"""The training loops: from validated data to fitted models."""

from ramify.training.aggregation import weigh_trees
from ramify.training.auto import Race
from ramify.training.boosting import Booster, BoostingSettings
from ramify.training.boosting_loop import (
    BoostingLoop,
    BoostingProgress,
    StoppingRule,
    Validation,
)
from ramify.training.boosting_models import ModelBooster
from ramify.training.boosting_units import Units
from ramify.training.data import TrainingData
from ramify.training.forest import ForestGrower, ForestSettings, Member
from ramify.training.out_of_bag import OutOfBag, predict_out_of_bag
from ramify.training.progress import progress_bar
from ramify.training.pruning import F_TEST_LEVELS
from ramify.training.tree import TreeSettings, fit_tree
from ramify.training.validation import cross_validated_level

__all__ = [
    "F_TEST_LEVELS",
    "Booster",
    "BoostingLoop",
    "BoostingProgress",
    "BoostingSettings",
    "ForestGrower",
    "ForestSettings",
    "Member",
    "ModelBooster",
    "OutOfBag",
    "Race",
    "StoppingRule",
    "TrainingData",
    "TreeSettings",
    "Units",
    "Validation",
    "cross_validated_level",
    "fit_tree",
    "predict_out_of_bag",
    "progress_bar",
    "weigh_trees",
]
