"""Objects as model files describe them: a name and parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def read_description(
    description: Any, what: str, class_named: Callable[[str], Any]
) -> tuple[Any, dict[str, Any]]:
    """Make the object that a description names; its parameters are still to be set.

    Parameters
    ----------
    description : dict
        With exactly the keys "name" and "params", a dict with exactly the parameters of that
        class. Anything else is a ValueError.
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
    ValueError: A stored 'cut' rule must have exactly the parameters ['at']; got {}.
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
    expected = described.get_params(deep=False)
    if not isinstance(params, dict) or set(params) != set(expected):
        raise ValueError(
            f"A stored {name!r} {what} must have exactly the parameters {sorted(expected)}; got "
            f"{params!r:.80}."
        )
    return described, params
