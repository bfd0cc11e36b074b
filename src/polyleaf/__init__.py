"""polyleaf: predict many outputs at once, with trees that see random views of the output space."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from polyleaf._registry import ESTIMATORS as _ESTIMATORS
from polyleaf._registry import META_ESTIMATORS as _META_ESTIMATORS

if TYPE_CHECKING:  # found when they are first asked for, so that importing polyleaf is quick
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
    from polyleaf.boosting import BoostingClassifier, BoostingRegressor
    from polyleaf.data import BinnedData
    from polyleaf.files.saving import load, save
    from polyleaf.forests import (
        BaggedTreesClassifier,
        BaggedTreesRegressor,
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from polyleaf.graphs.estimators import GraphClassifier, GraphEnsembleClassifier
    from polyleaf.rules import RuleClassifier, RuleRegressor
    from polyleaf.trees import TreeClassifier, TreeRegressor
    from polyleaf.tuning import TunedDecoder

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

_OTHERS = {"BinnedData": "data", "load": "files.saving", "save": "files.saving"}


def __getattr__(name: str) -> object:
    if name in _ESTIMATORS:
        found = _ESTIMATORS[name]
    elif name in _META_ESTIMATORS:
        found = _META_ESTIMATORS[name]
    elif name in _OTHERS:
        found = getattr(_import_module(f"polyleaf.{_OTHERS[name]}"), name)
    elif name in __all__:
        return _import_module(f"polyleaf.{name}")
    else:
        raise AttributeError(f"module 'polyleaf' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
