"""The parameter `hierarchy` of classifiers: what it may be, and how model files hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polyleaf.files.parameters import Stored, parameter_to_json
from polyleaf.hierarchy import Hierarchy


def is_hierarchy(value: Any) -> bool:
    """Whether a value can be the parameter `hierarchy`; `fit` reads it with the outputs of y."""
    if value is None or isinstance(value, Hierarchy) or _is_graph(value):
        return True
    return hasattr(value, "__len__") and not isinstance(value, str | bytes | Mapping | set)


def _is_graph(value: Any) -> bool:
    return hasattr(value, "edges") and hasattr(value, "nodes")


def _to_json(name: str, value: Any) -> Any:
    if isinstance(value, Hierarchy):
        return value.to_json()
    if _is_graph(value):
        value = [tuple(edge[:2]) for edge in value.edges]
    elif hasattr(value, "to_numpy"):
        value = value.to_numpy()
    return parameter_to_json(name, value)


def _from_json(stored: Any) -> Any:
    return Hierarchy.from_json(stored) if isinstance(stored, dict) else stored


#: Hierarchies, and lists of numbers, names and pairs.
STORED_HIERARCHY = Stored(_to_json, _from_json)
