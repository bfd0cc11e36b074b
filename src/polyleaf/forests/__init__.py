"""Forests: random forests, extra trees and bagged trees on views of the outputs."""

from polyleaf.forests.classifiers import (
    BaggedTreesClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from polyleaf.forests.mixed import ExtraTreesMixed, RandomForestMixed
from polyleaf.forests.regressors import (
    BaggedTreesRegressor,
    ExtraTreesRegressor,
    RandomForestRegressor,
)

__all__ = [
    "BaggedTreesClassifier",
    "BaggedTreesRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesMixed",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestMixed",
    "RandomForestRegressor",
]
