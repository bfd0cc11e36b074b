"""The training loops: from validated data to fitted models."""

from polyleaf.training.aggregation import weigh_trees
from polyleaf.training.auto import Race
from polyleaf.training.boosting import Booster, BoostingSettings
from polyleaf.training.boosting_factored import FactoredBooster
from polyleaf.training.boosting_loop import (
    BoostingLoop,
    BoostingProgress,
    StoppingRule,
    Validation,
)
from polyleaf.training.boosting_models import ModelBooster
from polyleaf.training.boosting_race import ChosenView, choose_projection
from polyleaf.training.boosting_units import Units
from polyleaf.training.calibration import channel_scores, probabilities
from polyleaf.training.data import TargetRows, TrainingData
from polyleaf.training.forest import ForestGrower, ForestSettings, Member
from polyleaf.training.graph_consensus import ConsensusCompletion
from polyleaf.training.graph_ensemble import (
    Combination,
    GraphTask,
    calibrate,
    fit_members,
    stratified_folds,
)
from polyleaf.training.graph_labels import LabelData
from polyleaf.training.graph_operators import operator_of
from polyleaf.training.graph_solver import MarginProblem
from polyleaf.training.out_of_bag import OutOfBag, predict_out_of_bag
from polyleaf.training.progress import progress_bar
from polyleaf.training.pruning import F_TEST_LEVELS
from polyleaf.training.rule_entry_losses import Huber
from polyleaf.training.rule_finishing import finish_rules
from polyleaf.training.rule_loss_base import LabelLoss, RuleLoss, RuleTargets
from polyleaf.training.rule_losses import LABEL_LOSSES, NUMBER_LOSSES
from polyleaf.training.rules import RuleLearner, RuleSettings
from polyleaf.training.tree import TreeSettings, fit_tree
from polyleaf.training.validation import cross_validated_level

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
