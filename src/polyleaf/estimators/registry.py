"""The estimators by name: all that a model file may hold and the contract tests run over."""

from __future__ import annotations

from typing import Any

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
from polyleaf.estimators.rule_classifier import RuleClassifier
from polyleaf.estimators.rule_regressor import RuleRegressor
from polyleaf.estimators.tree import TreeClassifier, TreeRegressor
from polyleaf.estimators.tuned_decoder import TunedDecoder

ESTIMATORS: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        TreeRegressor,
        TreeClassifier,
        RandomForestRegressor,
        RandomForestClassifier,
        ExtraTreesRegressor,
        ExtraTreesClassifier,
        BaggedTreesRegressor,
        BaggedTreesClassifier,
        GraphClassifier,
        GraphEnsembleClassifier,
        BoostingRegressor,
        BoostingClassifier,
        RuleRegressor,
        RuleClassifier,
    )
}

#: Estimators around another one; model files hold them if that is an estimator of polyleaf.
META_ESTIMATORS: dict[str, Any] = {cls.__name__: cls for cls in (TunedDecoder,)}
