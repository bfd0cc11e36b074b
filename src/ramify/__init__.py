"""ramify: predict many outputs at once, with trees that see random views of the output space."""

from ramify import datasets, decoding, experiments, inspection, metrics, projections
from ramify.estimators import (
    BaggedTreesClassifier,
    BaggedTreesRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    TreeClassifier,
    TreeRegressor,
    TunedDecoder,
    load,
    save,
)
from ramify.ingest import BinnedData

__all__ = [
    "BaggedTreesClassifier",
    "BaggedTreesRegressor",
    "BinnedData",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "TreeClassifier",
    "TreeRegressor",
    "TunedDecoder",
    "datasets",
    "decoding",
    "experiments",
    "inspection",
    "load",
    "metrics",
    "projections",
    "save",
]

__version__ = "0.1.0.dev0"
