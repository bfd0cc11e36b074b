"""The estimators that users construct, and how they are saved and loaded."""

from polyleaf.estimators.boosting_classifier import BoostingClassifier
from polyleaf.estimators.boosting_regressor import BoostingRegressor
from polyleaf.estimators.forest_classifiers import (
    BaggedTreesClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from polyleaf.estimators.forest_regressors import (
    BaggedTreesRegressor,
    ExtraTreesRegressor,
    RandomForestRegressor,
)
from polyleaf.estimators.graph import GraphClassifier
from polyleaf.estimators.graph_ensemble import GraphEnsembleClassifier
from polyleaf.estimators.persistence import load, save
from polyleaf.estimators.rule_classifier import RuleClassifier
from polyleaf.estimators.rule_regressor import RuleRegressor
from polyleaf.estimators.tree import TreeClassifier, TreeRegressor
from polyleaf.estimators.tuned_decoder import TunedDecoder

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
