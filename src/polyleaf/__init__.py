"""polyleaf: predict many outputs at once, with trees that see random views of the output space."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from polyleaf import decoding, graphs, hierarchy, losses, metrics, projections
from polyleaf._version import __version__ as __version__
from polyleaf.boosting import BoostingClassifier, BoostingMixed, BoostingRegressor
from polyleaf.data import BinnedData
from polyleaf.files.saving import load, read_card, save
from polyleaf.forests import (
    BaggedTreesClassifier,
    BaggedTreesRegressor,
    ExtraTreesClassifier,
    ExtraTreesMixed,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestMixed,
    RandomForestRegressor,
)
from polyleaf.graphs.estimators import GraphClassifier, GraphEnsembleClassifier
from polyleaf.rules import RuleClassifier, RuleRegressor
from polyleaf.trees import TreeClassifier, TreeMixed, TreeRegressor

if TYPE_CHECKING:
    from polyleaf import conformal, datasets, distributed, experiments, export, inspection
    from polyleaf.auto import AutoClassifier, AutoRegressor
    from polyleaf.conformal import ConformalClassifier, ConformalRegressor
    from polyleaf.experiments import evaluate
    from polyleaf.tuning import TunedDecoder, cross_val_proba

__all__ = [
    "AutoClassifier",
    "AutoRegressor",
    "BaggedTreesClassifier",
    "BaggedTreesRegressor",
    "BinnedData",
    "BoostingClassifier",
    "BoostingMixed",
    "BoostingRegressor",
    "ConformalClassifier",
    "ConformalRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesMixed",
    "ExtraTreesRegressor",
    "GraphClassifier",
    "GraphEnsembleClassifier",
    "RandomForestClassifier",
    "RandomForestMixed",
    "RandomForestRegressor",
    "RuleClassifier",
    "RuleRegressor",
    "TreeClassifier",
    "TreeMixed",
    "TreeRegressor",
    "TunedDecoder",
    "conformal",
    "cross_val_proba",
    "datasets",
    "decoding",
    "distributed",
    "evaluate",
    "experiments",
    "export",
    "graphs",
    "hierarchy",
    "inspection",
    "load",
    "losses",
    "metrics",
    "projections",
    "read_card",
    "save",
]

#: Imported when they are first asked for, so that importing polyleaf is quick.
_LATER = {
    "AutoClassifier": "polyleaf.auto",
    "AutoRegressor": "polyleaf.auto",
    "ConformalClassifier": "polyleaf.conformal",
    "ConformalRegressor": "polyleaf.conformal",
    "TunedDecoder": "polyleaf.tuning",
    "conformal": "polyleaf.conformal",
    "cross_val_proba": "polyleaf.tuning",
    "datasets": "polyleaf.datasets",
    "distributed": "polyleaf.distributed",
    "evaluate": "polyleaf.experiments",
    "experiments": "polyleaf.experiments",
    "export": "polyleaf.export",
    "inspection": "polyleaf.inspection",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'polyleaf' has no attribute {name!r}")
    module = _import_module(_LATER[name])
    found: object = module if module.__name__.endswith(f".{name}") else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
