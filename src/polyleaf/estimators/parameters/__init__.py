"""Every parameter of every estimator, declared once: what it accepts and what it means.

An estimator names its parameters with `@documented(...)`; the decorator writes their entries into
its docstring, and `check_parameters` holds their values against the declarations.

A new parameter goes into the file of its family, and its name into the order below.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from inspect import Parameter as Argument
from inspect import cleandoc, signature
from textwrap import indent
from typing import Any, TypeVar

from polyleaf._spelling import did_you_mean
from polyleaf.estimators.parameters import _boosting, _graphs, _rules, _shared, _trees
from polyleaf.estimators.parameters._checks import Parameter, is_int, is_real
from polyleaf.estimators.parameters._graphs import GRAPH_AGGREGATION

__all__ = [
    "GRAPH_AGGREGATION",
    "PARAMETERS",
    "InvalidParameterError",
    "Parameter",
    "check_parameters",
    "declaration_of",
    "defaults",
    "documented",
    "is_int",
    "is_real",
]

T = TypeVar("T", bound=type)

_FAMILIES = (_shared, _trees, _boosting, _rules, _graphs)
_DECLARED = {name: each for family in _FAMILIES for name, each in family.PARAMETERS.items()}

#: The order in which constructors name them.
_ORDER = [
    "n_estimators",
    "n_rules",
    "graph",
    "loss",
    "huber_delta",
    "learning_rate",
    "head",
    "head_size",
    "step",
    "label_bins",
    "max_conditions",
    "min_coverage",
    "projection",
    "projection_scope",
    "aggregation",
    "completion",
    "kernel",
    "degree",
    "gamma",
    "coef0",
    "intercept_scaling",
    "C",
    "margin_loss",
    "tol",
    "max_iter",
    "leaf_fit",
    "leaf_values",
    "max_depth",
    "max_leaf_nodes",
    "min_samples_split",
    "min_samples_leaf",
    "min_impurity_decrease",
    "max_features",
    "splitter",
    "max_bins",
    "categorical_features",
    "bootstrap",
    "max_samples",
    "l2_regularization",
    "l1_regularization",
    "subsample",
    "monotonic_cst",
    "estimator",
    "normalize_outputs",
    "pruning",
    "pruning_level",
    "class_weight",
    "calibration_folds",
    "oob_score",
    "early_stopping",
    "validation_fraction",
    "n_iter_no_change",
    "eval_metric",
    "decoding",
    "warm_start",
    "random_state",
    "n_jobs",
    "verbose",
]

PARAMETERS: dict[str, Parameter] = {name: _DECLARED[name] for name in _ORDER}


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
    for name in _names_of(cls):
        value = getattr(estimator, name)
        parameter = declaration_of(cls, name)
        if not parameter.accepts(value):
            raise InvalidParameterError(
                f"{name} of {type(estimator).__name__} must be {parameter.expected}; "
                f"got {value!r}.{did_you_mean(value, parameter.names)}"
            )


@lru_cache(maxsize=64)
def _names_of(cls: Any) -> tuple[str, ...]:
    """Give the names of the constructor's parameters, which take long to find."""
    return tuple(cls._get_param_names())


def declaration_of(cls: Any, name: str) -> Parameter:
    """Find what a parameter means to an estimator class.

    A class may give a name that it shares with others a meaning of its own, in
    ``_own_declarations``.
    """
    own: dict[str, Parameter] = getattr(cls, "_own_declarations", {})
    return own.get(name, PARAMETERS[name])


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


def defaults(**changed: Any) -> Callable[[T], T]:
    """Give a class its base's constructor with other defaults.

    Parameters
    ----------
    **changed : object
        New defaults of parameters of the base's constructor.
    """

    def change(cls: T) -> T:
        base: Any = cls.__mro__[1].__init__  # type: ignore[misc]
        inherited = signature(base)

        def construct(self: Any, **parameters: Any) -> None:
            base(self, **{**changed, **parameters})

        construct.__signature__ = inherited.replace(  # type: ignore[attr-defined]
            parameters=[
                argument.replace(default=changed.get(name, argument.default))
                for name, argument in inherited.parameters.items()
            ]
        )
        cls.__init__ = construct  # type: ignore[misc]
        return cls

    return change
