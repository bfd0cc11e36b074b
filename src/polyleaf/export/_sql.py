"""Pieces of SQL that SQLite, DuckDB and others read alike: names, values, tests and sums."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from polyleaf.checks.numbers import described
from polyleaf.export._sums import CannotExportError

#: Terms of a sum that stand side by side: databases limit how deep an expression is.
_TERMS_PER_SUM = 50
#: Microseconds since 1970 of the years 1 to 9999, whose texts sort like their dates.
_FIRST, _LAST = -62_135_596_800 * 10**6, 253_402_300_800 * 10**6 - 1


def quoted(name: str) -> str:
    """Write the name of a column or a table."""
    return '"' + name.replace('"', '""') + '"'


def sql_source_name(table: str | Sequence[str]) -> str:
    """Quote the name of a table, or its parts."""
    parts = [table] if isinstance(table, str) or not isinstance(table, Sequence) else list(table)
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise ValueError(f"table must be a name or the parts of one; got {described(table)}.")
    return ".".join(map(quoted, parts))


def key_columns(key: str | Sequence[str] | None) -> list[str]:
    """List the columns of a key; raise a ValueError unless they are names."""
    if key is None:
        return []
    names: list[Any] = list(key) if isinstance(key, list | tuple) else [key]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(
            f"key must be None, the name of a column or a list of names; got {described(key)}."
        )
    return names


def column_names(keys: list[str], prefix: Any, outputs: list[str]) -> list[str]:
    """Name the columns of outputs; raise an error if the result had two columns of one name."""
    if not isinstance(prefix, str):
        raise TypeError(f"prefix must be a str; got {described(prefix)}.")
    names = [prefix + name for name in outputs]
    taken: set[str] = set()
    for name in keys:
        if name.casefold() in taken:
            raise ValueError(f"key must name each column once; got {name!r} twice.")
        taken.add(name.casefold())
    both = [name for name in names if name.casefold() in taken]
    if both:
        raise ValueError(
            f"The key and an output are both named {both[0]!r}. Pass a prefix, such as "
            "prefix='predicted_'."
        )
    return names


def sql_sum(terms: list[str]) -> str:
    """Add terms up, in brackets where there are many."""
    while len(terms) > _TERMS_PER_SUM:
        starts = range(0, len(terms), _TERMS_PER_SUM)
        parts = [terms[start : start + _TERMS_PER_SUM] for start in starts]
        terms = ["(" + "\n  + ".join(part) + ")" for part in parts]
    return "\n  + ".join(terms)


def sql_test(feature: str, operator: str, value: Any, is_date: bool = False) -> str:
    """Write a condition; a threshold of a date is nanoseconds since 1970."""
    column = quoted(feature)
    if operator == "is missing":
        return f"{column} IS NULL"
    if operator == "is known":
        return f"{column} IS NOT NULL"
    if operator == "in":
        return f"{column} IN ({', '.join(map(sql_value, value)) or 'NULL'})"
    if operator in ("<=", ">") and math.isinf(value):  # SQL has no such number
        if is_date:
            return f"{column} IS NOT NULL" if (operator == "<=") == (value > 0) else "1 = 0"
        largest = math.copysign(sys.float_info.max, value)
        if value < 0:
            operator = "<" if operator == "<=" else ">="
        return f"{column} {operator} {largest!r}"
    sign = "<>" if operator == "!=" else operator
    return f"{column} {sign} {date_value(feature, value) if is_date else sql_value(value)}"


def sql_value(value: Any) -> str:
    """Write a category or a threshold."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return repr(value)


def date_value(feature: str, nanoseconds: float) -> str:
    """Write a date as text, which databases with dates convert and SQLite compares as text.

    All six digits of the second are written: of two texts, one of which begins with the other,
    the shorter comes first. The offset is for columns with a time zone.

    Examples
    --------
    >>> date_value("day", 1.7415e18)
    "'2025-03-09 06:00:00.000000+00:00'"
    """
    microseconds = math.floor(nanoseconds) // 1000
    if float((microseconds + 1) * 1000) == nanoseconds:  # a float rounds far from 1970
        microseconds += 1
    if not _FIRST <= microseconds <= _LAST:
        raise CannotExportError(
            f"The model splits {feature!r} at a date outside of the years 1 to 9999, which SQL "
            "cannot write. Use to_python, or limit the dates before fit."
        )
    text = str(np.datetime64(microseconds, "us")).replace("T", " ")
    return f"'{text}+00:00'"
