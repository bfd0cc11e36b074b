"""The estimators that users construct, and how they are saved and loaded."""

from ramify.estimators.boosting_classifier import BoostingClassifier
from ramify.estimators.boosting_regressor import BoostingRegressor
from ramify.estimators.forest_classifiers import (
    BaggedTreesClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from ramify.estimators.forest_regressors import (
    BaggedTreesRegressor,
    ExtraTreesRegressor,
    RandomForestRegressor,
)
from ramify.estimators.graph import GraphClassifier
from ramify.estimators.graph_ensemble import GraphEnsembleClassifier
from ramify.estimators.persistence import load, save
from ramify.estimators.rule_classifier import RuleClassifier
from ramify.estimators.rule_regressor import RuleRegressor
from ramify.estimators.tree import TreeClassifier, TreeRegressor
from ramify.estimators.tuned_decoder import TunedDecoder

__all__ = [
    "BaggedTreesClassifier",
    "BaggedTreesRegressor",
    "BoostingClassifier",
    "BoostingRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GraphClassifier",
    "GraphEnsembleClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RuleClassifier",
    "RuleRegressor",
    "TreeClassifier",
    "TreeRegressor",
    "TunedDecoder",
    "load",
    "save",
]
