"""polyleaf: predict many outputs at once, with trees that see random views of the output space."""

from polyleaf import (
    datasets,
    decoding,
    experiments,
    graphs,
    inspection,
    losses,
    metrics,
    projections,
)
from polyleaf.estimators import (
    BaggedTreesClassifier,
    BaggedTreesRegressor,
    BoostingClassifier,
    BoostingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GraphClassifier,
    GraphEnsembleClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RuleClassifier,
    RuleRegressor,
    TreeClassifier,
    TreeRegressor,
    TunedDecoder,
    load,
    save,
)
from polyleaf.ingest import BinnedData

__all__ = [
    "BaggedTreesClassifier",
    "BaggedTreesRegressor",
    "BinnedData",
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
    "datasets",
    "decoding",
    "experiments",
    "graphs",
    "inspection",
    "load",
    "losses",
    "metrics",
    "projections",
    "save",
]

__version__ = "0.1.0.dev0"
