"""Look things up by name, with errors that list the choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar

Value = TypeVar("Value")


def pick(kind: str, known: Mapping[str, Value], names: Sequence[str]) -> dict[str, Value]:
    """Return the named members of `known`, in the order of `names`.

    Parameters
    ----------
    kind : str
        What the names stand for, for the error message.
    known : mapping of str to anything
    names : sequence of str

    Raises
    ------
    ValueError
        If a name is not known.
    """
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            choices = ", ".join(repr(choice) for choice in known)
            raise ValueError(f"{kind} must be one of {choices}; got {name!r}.{hint}")
    return {name: known[name] for name in names}
