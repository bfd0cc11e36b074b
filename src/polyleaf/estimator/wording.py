"""Names and numbers as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from polyleaf.checks.matrices import is_sparse
from polyleaf.data import TargetSchema

_LARGEST_WRITTEN_OUT = 1e9
_SMALLEST_WRITTEN_OUT = 1e-4
#: No double has more that mean something.
_MOST_DECIMALS = 20


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
    decimals = min(decimals, _MOST_DECIMALS)
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


def feature_names_of(model: Any, names: Sequence[str] | None = None) -> list[str]:
    """Give the names of the features: those given, those of X's columns, or x0, x1, ..."""
    n_features = int(model.n_features_in_)
    if names is None:
        known = model._features.names
        return [f"x{j}" for j in range(n_features)] if known is None else list(known)
    return _check_names(names, n_features, "feature_names")


def output_names_of(model: Any, names: Sequence[str] | None = None) -> list[str]:
    """Give the names of the outputs: those given, those of Y's columns, or y0, y1, ..."""
    if names is None:
        return [str(name) for name in model.output_names_]
    return _check_names(names, int(model.n_outputs_), "output_names")


def channel_names_of(model: Any, n_channels: int) -> list[str]:
    """Give the names of the channels: outputs, with the class or the quantile if several."""
    schema, outputs = model._targets, output_names_of(model)
    if n_channels != schema.n_channels:  # several quantiles per output
        per_output = n_channels // schema.n_outputs
        return [f"{output}[{i}]" for output in outputs for i in range(per_output)]
    if schema.kind == "mixed":
        return mixed_channel_names(schema, outputs)
    if schema.kind == "multiclass":
        return [str(value) for value in schema.classes[0]]
    if schema.kind == "multiclass-multioutput":
        return [
            f"{output}={value}"
            for output, classes in zip(outputs, schema.classes)
            for value in classes
        ]
    return outputs


def mixed_channel_names(schema: TargetSchema, outputs: Sequence[str]) -> list[str]:
    """Give the names of the channels of mixed kinds: outputs, with the class if there are some."""
    assert schema.frame is not None
    widths = np.diff(schema.channel_offsets)
    names = []
    for output, column, width in zip(outputs, schema.frame.columns, widths):
        if column.kind != "class" or column.classes is None:
            names.append(str(output))
        else:  # of two classes, the second
            names += [f"{output}={value}" for value in column.classes[-width:]]
    return names


def _check_names(names: Sequence[str], n_expected: int, what: str) -> list[str]:
    if is_sparse(names) or not isinstance(names, Iterable):
        raise TypeError(f"{what} must be a list of names; got {type(names).__name__}.")
    given = [str(name) for name in names]
    if len(given) != n_expected:
        raise ValueError(f"{what} must have {n_expected} names; got {len(given)}.")
    return given
