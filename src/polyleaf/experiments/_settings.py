"""Set parameters of an estimator by their bare names, wherever in a pipeline they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import Parameter, signature
from typing import Any

from polyleaf.checks.spelling import did_you_mean


class UnknownSettingError(ValueError):
    """An estimator has no parameter of that name."""


def set_by_name(model: Any, settings: Mapping[str, Any]) -> Any:
    """Set parameters by full or bare names.

    Parameters
    ----------
    model : estimator
    settings : mapping of str to object
        ``alpha`` stands for ``model__estimator__alpha`` of a pipeline: the innermost parameter of
        that name.

    Returns
    -------
    estimator
        The same one.
    """
    if not settings:
        return model
    if not hasattr(model, "get_params"):
        return model.set_params(**settings)
    names = {name: full_name(model, name) for name in settings}
    return model.set_params(**{names[name]: value for name, value in settings.items()})


def full_name(model: Any, name: str) -> str:
    """Return the full name of a parameter; raise an UnknownSettingError if there is none."""
    is_pipeline = hasattr(model, "steps")
    if name in model.get_params() and not (is_pipeline and "__" not in name):
        return name
    full = list(_full_names(model))
    if name in full and "__" in name:
        return name
    inside = [f for f in full if f.rpartition("__")[2] == name]
    if inside:
        return max(inside, key=lambda f: f.count("__"))
    listed = [f for f in full if ("__" in f) == is_pipeline]
    known = sorted({f.rpartition("__")[2] for f in listed} - {"estimator"})
    hint = did_you_mean(name, known)
    raise UnknownSettingError(
        f"there is no setting {name!r}.{hint} It can be one of {', '.join(known)}."
    )


def _full_names(model: Any) -> Iterator[str]:
    """Yield the names of all parameters, also those that an estimator lists once they are set."""
    parts = {"": model} | {
        f"{name}__": value
        for name, value in model.get_params().items()
        if hasattr(value, "get_params") and not isinstance(value, type)
    }
    for prefix, part in parts.items():
        if prefix.startswith("encode__"):
            continue  # by their full names alone
        own = dict.fromkeys(part.get_params(deep=False)) | dict.fromkeys(_arguments(part))
        yield from (prefix + name for name in own if "__" not in name)


def _arguments(part: Any) -> list[str]:
    return [
        name
        for name, argument in signature(type(part)).parameters.items()
        if argument.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    ]
