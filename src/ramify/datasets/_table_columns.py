"""Turn the columns of a table into features (numbers and categories) and outputs."""

from __future__ import annotations

import warnings
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ramify.datasets._files import DataFormatError, DataFormatWarning, FilePath
from ramify.datasets._optional import require

if TYPE_CHECKING:
    import pandas as pd

    from ramify.datasets._dataset import Outputs

#: A column with at least this share of numbers was probably meant to hold nothing else.
_MOSTLY = 0.9


def as_features(frame: pd.DataFrame, path: FilePath) -> Any:
    """Give an array of numbers, or a frame with ``category`` columns where there are texts."""
    columns = {str(name): _feature(frame[name], path) for name in frame.columns}
    if all(isinstance(column, np.ndarray) for column in columns.values()):
        return np.column_stack(list(columns.values())) if columns else np.empty((len(frame), 0))
    return require("pandas", f"reading {path}").DataFrame(columns)


def as_outputs(frame: pd.DataFrame, path: FilePath) -> Outputs:
    """Give labels as int8 where all are 0 or 1, numbers as float64, others as strings."""
    names = [str(name) for name in frame.columns]
    columns = [_output(frame[name], path) for name in frame.columns]
    texts = [name for name, column in zip(names, columns) if column.dtype.kind == "O"]
    if 0 < len(texts) < len(names):
        raise DataFormatError(
            f"expected outputs of one kind, but {texts[:5]} are texts and others are numbers; "
            "read them one kind at a time",
            path=path,
        )
    values = np.column_stack(columns)
    if texts:
        return values if frame.isna().to_numpy().any() else values.astype(str)
    return values.astype(np.int8) if np.isin(values, (0.0, 1.0)).all() else values


def _feature(column: pd.Series[Any], path: FilePath) -> Any:
    """Give numbers, dates and durations (in nanoseconds) as an array, texts as categories."""
    numbers = _numbers(column)
    if numbers is not None:
        return numbers
    kind = column.dtype.kind
    if kind in "mM":
        pandas = require("pandas", f"reading {path}")
        first = pandas.Timestamp(0, tz=getattr(column.dtype, "tz", None)) if kind == "M" else None
        elapsed = column if first is None else column - first
        return (elapsed / pandas.Timedelta(1, "ns")).to_numpy(dtype=np.float64)
    _check_texts(column, path)
    return column.reset_index(drop=True).astype("category")


def _output(column: pd.Series[Any], path: FilePath) -> NDArray[Any]:
    """Give numbers, or texts as objects with NaN where there is none."""
    numbers = _numbers(column)
    if numbers is not None:
        return numbers
    if column.dtype.kind in "mM":
        raise DataFormatError(
            f"expected numbers or texts in the output {column.name!r}, got dates or durations; "
            "convert them to numbers",
            path=path,
        )
    _check_texts(column, path)
    values = column.to_numpy(dtype=object)
    return np.where(column.isna().to_numpy(), np.nan, values)


def _numbers(column: pd.Series[Any]) -> NDArray[np.float64] | None:
    if column.dtype.kind in "biuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if column.dtype == object and any(isinstance(value, Decimal) for value in column):
        return np.asarray(column.astype("float64").to_numpy(), dtype=np.float64)
    return None


def _check_texts(column: pd.Series[Any], path: FilePath) -> None:
    """Refuse what is no category, and warn of a number that is misspelt."""
    if column.dtype == "category":
        return
    known = [value for value in column if isinstance(value, str | bool)]
    others = [value for value in column.dropna() if not isinstance(value, str | bool)]
    if others:
        raise DataFormatError(
            f"expected numbers, texts or dates in the column {column.name!r}, got "
            f"{others[0]!r:.40} of the type {type(others[0]).__name__!r}; exclude or convert it",
            path=path,
        )
    stray = [value for value in known if isinstance(value, str) and not _is_number(value)]
    if stray and len(stray) <= (1.0 - _MOSTLY) * len(known):
        warnings.warn(
            f"{path}: {len(known) - len(stray)} values of the column {column.name!r} are numbers "
            f"and {len(stray)} are not, such as {stray[0]!r:.40}, so each value is a category of "
            "its own. If it should hold numbers, correct the others, or leave those cells empty.",
            DataFormatWarning,
            stacklevel=5,
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
