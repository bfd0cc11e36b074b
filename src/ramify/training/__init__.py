"""The training loops: from validated data to fitted models."""

from ramify.training.aggregation import weigh_trees
from ramify.training.auto import Race
from ramify.training.boosting import Booster, BoostingSettings
from ramify.training.boosting_factored import FactoredBooster
from ramify.training.boosting_loop import (
    BoostingLoop,
    BoostingProgress,
    StoppingRule,
    Validation,
)
from ramify.training.boosting_models import ModelBooster
from ramify.training.boosting_race import ChosenView, choose_projection
from ramify.training.boosting_units import Units
from ramify.training.calibration import channel_scores, probabilities
from ramify.training.data import TargetRows, TrainingData
from ramify.training.forest import ForestGrower, ForestSettings, Member
from ramify.training.graph_consensus import ConsensusCompletion
from ramify.training.graph_ensemble import (
    Combination,
    GraphTask,
    calibrate,
    fit_members,
    stratified_folds,
)
from ramify.training.graph_labels import LabelData
from ramify.training.graph_operators import operator_of
from ramify.training.graph_solver import MarginProblem
from ramify.training.out_of_bag import OutOfBag, predict_out_of_bag
from ramify.training.progress import progress_bar
from ramify.training.pruning import F_TEST_LEVELS
from ramify.training.rule_entry_losses import Huber
from ramify.training.rule_finishing import finish_rules
from ramify.training.rule_loss_base import LabelLoss, RuleLoss, RuleTargets
from ramify.training.rule_losses import LABEL_LOSSES, NUMBER_LOSSES
from ramify.training.rules import RuleLearner, RuleSettings
from ramify.training.tree import TreeSettings, fit_tree
from ramify.training.validation import cross_validated_level

__all__ = [
    "F_TEST_LEVELS",
    "LABEL_LOSSES",
    "NUMBER_LOSSES",
    "Booster",
    "BoostingLoop",
    "BoostingProgress",
    "BoostingSettings",
    "ChosenView",
    "Combination",
    "ConsensusCompletion",
    "FactoredBooster",
    "ForestGrower",
    "ForestSettings",
    "GraphTask",
    "Huber",
    "LabelData",
    "LabelLoss",
    "MarginProblem",
    "Member",
    "ModelBooster",
    "OutOfBag",
    "Race",
    "RuleLearner",
    "RuleLoss",
    "RuleSettings",
    "RuleTargets",
    "StoppingRule",
    "TargetRows",
    "TrainingData",
    "TreeSettings",
    "Units",
    "Validation",
    "calibrate",
    "channel_scores",
    "choose_projection",
    "cross_validated_level",
    "finish_rules",
    "fit_members",
    "fit_tree",
    "operator_of",
    "predict_out_of_bag",
    "probabilities",
    "progress_bar",
    "stratified_folds",
    "weigh_trees",
]
