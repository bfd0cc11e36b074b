"""The estimators by name: all that a model file may hold and the contract tests run over."""

from __future__ import annotations

from typing import Any

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
from ramify.estimators.rule_classifier import RuleClassifier
from ramify.estimators.rule_regressor import RuleRegressor
from ramify.estimators.tree import TreeClassifier, TreeRegressor
from ramify.estimators.tuned_decoder import TunedDecoder

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

#: Estimators around another one; model files hold them if that is an estimator of ramify.
META_ESTIMATORS: dict[str, Any] = {cls.__name__: cls for cls in (TunedDecoder,)}
