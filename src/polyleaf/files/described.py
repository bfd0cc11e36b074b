"""Objects as model files describe them: a name and parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polyleaf.checks.numbers import shown


class UnregisteredError(ValueError):
    """A model file names a class that is not registered in this program."""


def registered(name: str, registry: Mapping[str, type], what: str, where: str) -> Any:
    """Give the class that a model file names.

    Parameters
    ----------
    name : str
    registry : mapping of str to type
    what, where : str
        What is named, and where users register theirs, for the message.

    Raises
    ------
    UnregisteredError
        If no class has the name.

    Examples
    --------
    >>> registered("int", {"int": int}, "number", "NUMBERS")
    <class 'int'>
    >>> registered("mine", {"int": int}, "number", "NUMBERS")
    Traceback (most recent call last):
        ...
    polyleaf.files.described.UnregisteredError: the number 'mine' is not registered.
    Register a class of your own in NUMBERS, under this name, before loading.
    Registered are 'int'.
    """
    if name in registry:
        return registry[name]
    raise UnregisteredError(
        f"the {what} {shown(name, 60)} is not registered. Register a class of your own in "
        f"{where}, under this name, before loading. Registered are "
        f"{', '.join(map(repr, registry))}."
    )


def read_description(
    description: Any, what: str, class_named: Callable[[str], Any]
) -> tuple[Any, dict[str, Any]]:
    """Make the object that a description names; its parameters are still to be set.

    Parameters
    ----------
    description : dict
        With exactly the keys "name" and "params", a dict with the parameters of that class, as
        `complete_parameters` takes it. Anything else is a ValueError.
    what : str
        What is described, for messages.
    class_named : callable
        Gives the class of a name, or raises a ValueError.

    Returns
    -------
    described : object
        Of the named class, with its defaults.
    params : dict

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> class Cut(BaseEstimator):
    ...     def __init__(self, at=0.5):
    ...         self.at = at
    >>> read_description({"name": "cut", "params": {"at": 0.2}}, "rule", {"cut": Cut}.get)
    (Cut(), {'at': 0.2})
    >>> read_description({"name": "cut", "params": {}}, "rule", {"cut": Cut}.get)
    Traceback (most recent call last):
        ...
    ValueError: A stored 'cut' rule must have the parameters ['at']; got {}.
    """
    if not isinstance(description, dict) or set(description) != {"name", "params"}:
        raise ValueError(
            f"A stored {what} must be an object with exactly the keys 'name' and 'params'; got "
            f"{description!r:.80}."
        )
    name, params = description["name"], description["params"]
    if not isinstance(name, str):
        raise ValueError(f"A stored {what} must have a string as its name; got {name!r:.80}.")
    described = class_named(name)()
    return described, complete_parameters(described, params, f"A stored {name!r} {what}")


def complete_parameters(described: Any, params: Any, subject: str) -> dict[str, Any]:
    """Check stored parameters, and add those that are younger than the file.

    A class whose constructor got a parameter after format 1 names, in `_before`, the value that
    it behaved like before: ``_before = {"decay": 0.0}``.

    Parameters
    ----------
    described : object
        Of the class, with its defaults.
    params : dict
        What the file holds, or anything else.
    subject : str
        For messages.

    Raises
    ------
    ValueError
        If a parameter is unknown, or missing without a value from before.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> class Cut(BaseEstimator):
    ...     _before = {"width": 0.0}
    ...     def __init__(self, at=0.5, width=1.0):
    ...         self.at, self.width = at, width
    >>> complete_parameters(Cut(), {"at": 0.2}, "A cut")
    {'at': 0.2, 'width': 0.0}
    """
    expected = described.get_params(deep=False)
    before: dict[str, Any] = getattr(described, "_before", {})
    is_fine = isinstance(params, dict) and set(params) <= set(expected) <= {*params, *before}
    if not is_fine:
        raise ValueError(
            f"{subject} must have the parameters {sorted(expected)}; got {params!r:.80}."
        )
    return {name: params.get(name, before.get(name)) for name in expected}
