"""What a parameter of an estimator declares: its values, its meaning, and how files hold it.

Every family declares its parameters once, in its module `parameters`; its estimators have them as
`_declared`. `documented` writes them into the docstring, `check_parameters` checks values by them,
and model files write and read values by them.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from inspect import Parameter as Argument
from inspect import cleandoc, signature
from textwrap import indent
from typing import Any, TypeVar

import numpy as np
from sklearn.metrics import get_scorer_names

from polyleaf import losses, projections
from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.files.parameters import PLAIN, Stored, parameter_to_json
from polyleaf.hierarchy import Hierarchy
from polyleaf.metrics import METRICS, Metric

T = TypeVar("T", bound=type)


@dataclass(frozen=True)
class Added:
    """A parameter that files of older releases lack.

    Attributes
    ----------
    version : str
        The first release that has it.
    before : object
        The value that models of older releases behave like.
    """

    version: str
    before: Any


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes
    ----------
    type : str
        As it stands in the docstring, without the default.
    doc : str
        What it does.
    accepts : callable
        Whether a value is of the right kind and range.
    expected : str
        The range in words, for the error message.
    names : tuple of str
        The strings among the values it may have.
    stored : Stored
        How model files hold it.
    added : Added or None
        None: it is as old as the file format.
    """

    type: str
    doc: str
    accepts: Callable[[Any], bool]
    expected: str
    names: tuple[str, ...] = ()
    stored: Stored = PLAIN
    added: Added | None = None

    def meaning(self, doc: str) -> Parameter:
        """Give the same parameter with another meaning."""
        return replace(self, doc=doc)


class InvalidParameterError(ValueError, TypeError):
    """A constructor parameter has a value that it cannot have."""


def check_parameters(estimator: Any) -> None:
    """Hold an estimator's parameters against their declarations.

    Raises
    ------
    InvalidParameterError
        Naming the parameter, what it may be and what it is.
    """
    cls: Any = type(estimator)
    for name in parameter_names(cls):
        value = getattr(estimator, name)
        parameter = declaration_of(cls, name)
        if not parameter.accepts(value):
            raise InvalidParameterError(
                f"{name} of {type(estimator).__name__} must be {parameter.expected}; "
                f"got {shown(value)}.{did_you_mean(value, parameter.names)}"
            )


@lru_cache(maxsize=64)
def parameter_names(cls: Any) -> tuple[str, ...]:
    """Give the names of the constructor's parameters, which take long to find."""
    return tuple(cls._get_param_names())


def declaration_of(cls: Any, name: str) -> Parameter:
    """Find what a parameter means to an estimator class."""
    declared: dict[str, Parameter] = cls._declared
    return declared[name]


def parameters_to_json(estimator: Any) -> dict[str, Any]:
    """Give the parameters of an estimator as a model file holds them."""
    cls: Any = type(estimator)
    return {
        name: declaration_of(cls, name).stored.write(name, getattr(estimator, name))
        for name in parameter_names(cls)
    }


def parameters_from_json(cls: Any, stored: Any) -> dict[str, Any]:
    """Undo `parameters_to_json`.

    A parameter that did not exist when the file was written has the value that models of that
    release behave like.

    Raises
    ------
    ValueError
        If a parameter is missing, or nobody knows it.
    """
    names = parameter_names(cls)
    if not isinstance(stored, dict) or not set(stored) <= set(names):
        raise ValueError(f"Expected the parameters {', '.join(names)}.")
    given = {}
    for name in names:
        parameter = declaration_of(cls, name)
        if name in stored:
            given[name] = parameter.stored.read(stored[name])
        elif parameter.added is not None:
            given[name] = parameter.added.before
        else:
            raise ValueError(f"the parameter {name} is missing.")
    return given


def documented(cls: T) -> T:
    """Write the parameters of the constructor into the class docstring at ``{parameters}``."""
    entries = []
    for name, argument in signature(cls).parameters.items():
        if argument.kind is Argument.VAR_KEYWORD:
            raise TypeError(f"{cls.__name__} must name its parameters")
        parameter = declaration_of(cls, name)
        entries.append(
            f"{name} : {parameter.type}, default={argument.default!r}\n"
            + indent(parameter.doc, "    ")
        )
    # Python up to 3.12 leaves a docstring indented as it stands in the source.
    cls.__doc__ = cleandoc(cls.__doc__ or "").replace("{parameters}", "\n".join(entries))
    return cls


# Kinds of values -------------------------------------------------------------------------------


def is_int(value: Any, low: int, high: int | None = None) -> bool:
    """Tell an integer within limits."""
    return (
        isinstance(value, numbers.Integral)
        and not isinstance(value, (bool, np.bool_))
        and int(value) >= low
        and (high is None or int(value) <= high)
    )


def is_real(value: Any, low: float, high: float = np.inf) -> bool:
    """Tell a finite number within limits."""
    return (
        isinstance(value, numbers.Real)
        and not isinstance(value, (bool, np.bool_))
        and low <= float(value) <= high
        and math.isfinite(value)
    )


def is_bool(value: Any) -> bool:
    """Tell a truth value."""
    return isinstance(value, (bool, np.bool_))


def count_or_fraction(value: Any, low: int) -> bool:
    """Tell a number of things or a share of them."""
    if isinstance(value, numbers.Integral):
        return is_int(value, low)
    return is_real(value, 0.0, 1.0) and float(value) > 0.0


def is_max_features(value: Any) -> bool:
    """Tell a number of features to try."""
    if value is None or (isinstance(value, str) and value in ("sqrt", "log2", "log2+1")):
        return True
    return not isinstance(value, str) and count_or_fraction(value, 1)


def is_random_state(value: Any) -> bool:
    """Tell a source of chance."""
    return (
        value is None
        or isinstance(value, (np.random.RandomState, np.random.Generator))
        or is_int(value, 0, 2**32 - 1)
    )


def is_dicts_or_none(value: Any) -> bool:
    """Tell weights of classes."""
    return value is None or isinstance(value, (dict, list, tuple))


def is_projection(value: Any) -> bool:
    """Tell a view of the outputs."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return True  # forests and boosting choose; a single tree refuses it by itself
    projections.resolve(value)  # raises with a message of its own
    return True


def is_one_of(*choices: str) -> Callable[[Any], bool]:
    """Make a check for one of some names."""
    return lambda value: isinstance(value, str) and value in choices


def is_loss(value: Any) -> bool:
    """Tell a loss."""
    is_known = isinstance(value, str) and (value == "auto" or value in losses.LOSSES)
    if not is_known:
        losses.resolve(value)  # raises with a message of its own
    return True


def is_monotonic(value: Any) -> bool:
    """Tell directions of features."""
    if value is None:
        return True
    signs = value.values() if isinstance(value, dict) else value
    # Sparse matrices have rows, which some kinds cannot even give.
    if isinstance(signs, str) or not hasattr(signs, "__iter__") or hasattr(signs, "tocsr"):
        return False
    return all(isinstance(s, numbers.Integral) and s in (-1, 0, 1) for s in signs)


def is_eval_metric(value: Any) -> bool:
    """Tell a measure."""
    if isinstance(value, str):
        return value in METRICS or value in get_scorer_names()
    return value is None or isinstance(value, Metric) or callable(value)


def is_hierarchy(value: Any) -> bool:
    """Tell an order of labels; `fit` reads it with the outputs of y."""
    if value is None or isinstance(value, Hierarchy) or _is_graph(value):
        return True
    return hasattr(value, "__len__") and not isinstance(value, str | bytes | Mapping | set)


def _is_graph(value: Any) -> bool:
    return hasattr(value, "edges") and hasattr(value, "nodes")


def _hierarchy_to_json(name: str, value: Any) -> Any:
    if isinstance(value, Hierarchy):
        return value.to_json()
    if _is_graph(value):
        value = [tuple(edge[:2]) for edge in value.edges]
    elif hasattr(value, "to_numpy"):
        value = value.to_numpy()
    return parameter_to_json(name, value)


def _hierarchy_from_json(stored: Any) -> Any:
    return Hierarchy.from_json(stored) if isinstance(stored, dict) else stored


#: Hierarchies, and lists of numbers, names and pairs.
STORED_HIERARCHY = Stored(_hierarchy_to_json, _hierarchy_from_json)


# Numbers of rows and features ------------------------------------------------------------------


def count(value: int | float, n_rows: int) -> int:
    """Give a number of rows: as it is, or as a fraction of all, rounded up."""
    return int(value) if isinstance(value, numbers.Integral) else int(np.ceil(value * n_rows))


def feature_count(max_features: int | float | str | None, n_features: int) -> int:
    """Give a number of features, of which there are `n_features`."""
    if max_features is None:
        return n_features
    if max_features == "log2+1":
        return int(np.log2(n_features - 1) + 1) if n_features > 1 else 1
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, numbers.Integral):
        return min(int(max_features), n_features)
    return max(1, int(float(max_features) * n_features))
