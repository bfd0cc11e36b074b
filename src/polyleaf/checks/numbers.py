"""Single numbers and values that users give: refused by type before they are computed with.

Whatever is no number may be a matrix with broken indices, which crashes the interpreter as soon as
it is compared or printed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from numbers import Integral, Real
from typing import Any


def expect_count(name: str, value: Any, least: int = 1) -> int:
    """Give a whole number, or raise a ValueError.

    Examples
    --------
    >>> expect_count("n_rows", 3)
    3
    >>> expect_count("n_rows", [3])
    Traceback (most recent call last):
        ...
    ValueError: n_rows must be an integer, 1 or more; got a list.
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ValueError(f"{name} must be an integer, {least} or more; got {described(value)}.")
    if value < least:
        raise ValueError(f"{name} must be an integer, {least} or more; got {value!r}.")
    return int(value)


def expect_number(
    name: str, value: Any, low: float, high: float, what: str, *, below: bool = False
) -> float:
    """Give a number in [low, high], or below `high`, or raise a ValueError that says `what`.

    Examples
    --------
    >>> expect_number("noise", 0.7, 0.0, 0.5, "from 0 to 0.5")
    Traceback (most recent call last):
        ...
    ValueError: noise must be from 0 to 0.5; got 0.7.
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ValueError(f"{name} must be {what}; got {described(value)}.")
    number = float(value)
    if not (low <= number < high if below else low <= number <= high):
        raise ValueError(f"{name} must be {what}; got {value!r}.")
    return number


def is_one_of(value: Any, choices: Collection[str | None]) -> bool:
    """Tell whether a value is among some texts, or None; whatever else is not even compared.

    Examples
    --------
    >>> is_one_of("micro", ("macro", "micro", None)), is_one_of(["micro"], ("macro", "micro"))
    (True, False)
    """
    return (value is None or isinstance(value, str)) and value in choices


def expect_list(name: str, value: Any, of: str) -> list[Any]:
    """Give the entries of a list or array, or raise a TypeError that says of what it must be.

    Examples
    --------
    >>> expect_list("features", (0, "age"), "names or numbers of features")
    [0, 'age']
    >>> expect_list("features", 1.5, "names or numbers of features")
    Traceback (most recent call last):
        ...
    TypeError: features must be a list of names or numbers of features; got 1.5.
    """
    is_other = isinstance(value, str | bytes | Mapping) or hasattr(value, "tocsr")
    if not is_other:
        with suppress(TypeError):  # arrays without dimensions can only be told by trying
            return list(value)
    raise TypeError(f"{name} must be a list of {of}; got {described(value)}.")


def expect_kind(name: str, value: Any, kind: type, made_by: str) -> None:
    """Raise a TypeError if a value is not what some function makes.

    Examples
    --------
    >>> expect_kind("found", [1.0], dict, "shap_values")
    Traceback (most recent call last):
        ...
    TypeError: found must be what shap_values gives; got a list.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be what {made_by} gives; got {described(value)}.")


def described(value: Any) -> str:
    """Tell what was given, without looking into it."""
    if value is None or isinstance(value, str | bool | int | float | complex):
        return repr(value)[:80]
    kind = type(value).__name__
    return f"an {kind}" if kind[0].lower() in "aeiou" else f"a {kind}"


def shown(value: Any, most: int | None = None) -> str:
    """Write a value as Python does, at most so many signs; of a matrix tell only what it is.

    Examples
    --------
    >>> from scipy import sparse
    >>> shown("gausian"), shown(sparse.csr_array((2, 3))), shown(list(range(100)), 12)
    ("'gausian'", 'a csr_array', '[0, 1, 2, 3,')
    """
    return described(value) if hasattr(value, "tocsr") else repr(value)[:most]
