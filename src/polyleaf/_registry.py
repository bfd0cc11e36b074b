"""The estimators by name, and the rooms they live in; a room is imported when it is first needed.

A new family is a folder and a line here: then model files may hold its estimators, and the
contract tests run over them; `polyleaf/__init__.py` makes them public.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

_FAMILIES = {
    "trees": ("TreeRegressor", "TreeClassifier", "TreeMixed"),
    "forests": (
        "RandomForestRegressor",
        "RandomForestClassifier",
        "ExtraTreesRegressor",
        "ExtraTreesClassifier",
        "BaggedTreesRegressor",
        "BaggedTreesClassifier",
        "RandomForestMixed",
        "ExtraTreesMixed",
    ),
    "graphs.estimators": ("GraphClassifier", "GraphEnsembleClassifier"),
    "boosting": ("BoostingRegressor", "BoostingClassifier", "BoostingMixed"),
    "rules": ("RuleRegressor", "RuleClassifier"),
}
#: Estimators around another one.
_AROUND_OTHERS = {
    "tuning": ("TunedDecoder",),
    "auto": ("AutoRegressor", "AutoClassifier"),
    "conformal": ("ConformalRegressor", "ConformalClassifier"),
}


class LazyClasses(Mapping[str, Any]):
    """Classes by name, imported when they are asked for.

    Parameters
    ----------
    rooms : mapping of str to tuple of str
        Names of classes by the room that holds them.

    Examples
    --------
    >>> ESTIMATORS["TreeRegressor"].__module__.startswith("polyleaf.trees")
    True
    >>> "TreeSurgeon" in ESTIMATORS
    False
    """

    def __init__(self, rooms: Mapping[str, tuple[str, ...]]) -> None:
        self._rooms = {name: room for room, names in rooms.items() for name in names}

    def __getitem__(self, name: str) -> Any:
        return getattr(import_module(f"polyleaf.{self._rooms[name]}"), name)

    def __contains__(self, name: object) -> bool:
        return name in self._rooms

    def __iter__(self) -> Iterator[str]:
        return iter(self._rooms)

    def __len__(self) -> int:
        return len(self._rooms)


#: All that a model file may hold and the contract tests run over.
ESTIMATORS = LazyClasses(_FAMILIES)
#: Model files hold these if the estimators inside are polyleaf's.
META_ESTIMATORS = LazyClasses(_AROUND_OTHERS)
