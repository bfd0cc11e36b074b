"""Dates and durations: numbers of nanoseconds to a model, and text to its readers."""

from __future__ import annotations

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
#: Units of durations that are written, the largest first.
_WRITTEN = {"days": "D", "h": "h", "min": "m", "s": "s", "ms": "ms", "us": "us", "ns": "ns"}
#: Dates further from 1970 have no calendar; about 290,000 years.
_FURTHEST = 9.2e21


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


def time_text(nanoseconds: float, kind: TimeKind, digits: int) -> str:
    """Write a date to the microsecond, without what is zero at its end, or a duration.

    Parameters
    ----------
    nanoseconds : float
        Since 1970 (UTC), or of the duration.
    kind : {"date", "duration"}
    digits : int
        Significant digits of a duration.

    Examples
    --------
    >>> [time_text(x, "date", 3) for x in (0.0, 1.7415e18, 1.5e9)]
    ['1970-01-01', '2025-03-09 06:00', '1970-01-01 00:00:01.5']
    >>> [time_text(x, "duration", 3) for x in (1.08e13, 2.592e14, -5e7, 0.0)]
    ['3 h', '3 days', '-50 ms', '0 ns']
    """
    size = abs(nanoseconds)
    if kind == "duration":
        units = ((name, _NANOSECONDS[unit]) for name, unit in _WRITTEN.items())
        name, length = next((pair for pair in units if size >= pair[1]), ("ns", 1.0))
        return f"{nanoseconds / length:.{digits}g} {name}"
    if not size < _FURTHEST:
        return f"{nanoseconds:.{digits}g}"
    text = str(np.datetime64(round(nanoseconds / 1e3), "us")).replace("T", " ")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.removesuffix(":00").removesuffix(" 00:00")
