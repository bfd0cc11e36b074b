"""Numbers as people read them: short, and never rounded to nothing."""

from __future__ import annotations

import numpy as np

_LARGEST_WRITTEN_OUT = 1e9
_SMALLEST_WRITTEN_OUT = 1e-4


def format_number(value: float, decimals: int, *, sign: bool = False) -> str:
    """Write a number with a few decimals, or significant digits where those would be zeros.

    Parameters
    ----------
    value : float
    decimals : int
        Digits after the point; significant digits of a number between -1 and 1.
    sign : bool
        Whether a number that is not negative gets a plus.

    Examples
    --------
    >>> [format_number(x, 3) for x in (12.34567, 0.0123456, 4.0, 1.2e-7, float("nan"))]
    ['12.346', '0.0123', '4', '1.2e-07', 'unknown']
    >>> format_number(0.5, 2, sign=True)
    '+0.5'
    """
    if np.isnan(value):
        return "unknown"
    size = abs(value)
    is_written_out = _SMALLEST_WRITTEN_OUT <= size < _LARGEST_WRITTEN_OUT
    if value != 0 and not is_written_out:
        text = f"{value:.{max(decimals, 1)}g}"
    elif size >= 1:
        text = f"{value:.{decimals}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        text = np.format_float_positional(
            value, precision=max(decimals, 1), unique=False, fractional=False, trim="-"
        )
    return f"+{text}" if sign and value >= 0 else text
