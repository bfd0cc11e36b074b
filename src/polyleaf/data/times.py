"""Dates and durations: numbers of nanoseconds to a model, and text to its readers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

TimeKind = Literal["date", "duration"]

_NANOSECONDS = {
    "W": 7 * 86_400e9,
    "D": 86_400e9,
    "h": 3_600e9,
    "m": 60e9,
    "s": 1e9,
    "ms": 1e6,
    "us": 1e3,
    "ns": 1.0,
    "ps": 1e-3,
    "fs": 1e-6,
    "as": 1e-9,
}
#: Units of durations that are written, the largest first, with their nanoseconds.
_WRITTEN = {
    "days": 86_400 * 10**9,
    "h": 3_600 * 10**9,
    "min": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
    "ns": 1,
}
#: Dates further from 1970 do not fit into 64 bits: of nanoseconds, and of microseconds.
_FURTHEST_NANOSECONDS, _FURTHEST = 9.2e18, 9.2e21


def time_kind(dtype: np.dtype[Any]) -> TimeKind:
    """Tell dates (datetime64) from durations (timedelta64)."""
    return "date" if dtype.kind == "M" else "duration"


def epoch_nanoseconds(values: NDArray[Any]) -> NDArray[np.float64]:
    """Turn datetime64 or timedelta64 of any unit into nanoseconds; NaT becomes NaN.

    The count is converted before it is scaled: this never overflows, and gives one instant the
    same number whichever unit it came in.
    """
    unit, multiple = np.datetime_data(values.dtype)
    if unit not in _NANOSECONDS:  # months and years differ in length
        values = values.astype(f"{values.dtype.kind}8[s]")
        unit, multiple = "s", 1
    nanoseconds = values.astype(np.int64).astype(np.float64) * (_NANOSECONDS[unit] * multiple)
    nanoseconds[np.isnat(values)] = np.nan
    return nanoseconds


def duration_unit(nanoseconds: float) -> tuple[str, int]:
    """Give the largest unit that a duration has one of, and its nanoseconds."""
    size = abs(nanoseconds)
    return next((unit for unit in _WRITTEN.items() if size >= unit[1]), ("ns", 1))


def time_text(nanoseconds: float, kind: TimeKind, digits: int) -> str:
    """Write a date exactly, without what is zero at its end, or a duration.

    Parameters
    ----------
    nanoseconds : float
        Since 1970 (UTC), or of the duration.
    kind : {"date", "duration"}
    digits : int
        Significant digits of a duration in nanoseconds; no further ones are lost by its unit.

    Examples
    --------
    >>> [time_text(x, "date", 3) for x in (0.0, 1.7415e18, 1.5e9)]
    ['1970-01-01', '2025-03-09 06:00', '1970-01-01 00:00:01.5']
    >>> [time_text(x, "duration", 4) for x in (1.08e13, 2.592e14, 3.019e12, -5e7, 0.0)]
    ['3 h', '3 days', '3019 s', '-50 ms', '0 ns']
    """
    if kind == "duration":
        return _duration_text(nanoseconds, digits)
    if not abs(nanoseconds) < _FURTHEST:
        return f"{nanoseconds:.{digits}g}"
    microseconds = round(nanoseconds / 1e3)
    # One microsecond may be several numbers of nanoseconds, and any of these a threshold.
    is_exact = float(microseconds * 1000) == nanoseconds
    if is_exact or abs(nanoseconds) > _FURTHEST_NANOSECONDS:
        text = str(np.datetime64(microseconds, "us"))
    else:
        text = str(np.datetime64(int(nanoseconds), "ns"))
    text = text.replace("T", " ")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.removesuffix(":00").removesuffix(" 00:00")


def _duration_text(nanoseconds: float, digits: int) -> str:
    """Write a rounded duration in the largest unit in which it has not many digits more."""
    rounded = f"{nanoseconds:.{digits}g}"
    if not np.isfinite(nanoseconds):
        return rounded
    exact = Fraction(rounded)
    for name, length in _WRITTEN.items():
        number = exact / length
        text = f"{float(number):.{min(digits + 1, 15)}g}"
        if (abs(number) >= 1 or name == "ns") and Fraction(text) == number:
            return f"{float(number):.15g} {name}"
    return f"{rounded} ns"
