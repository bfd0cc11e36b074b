"""Turn the columns of a table into features (numbers and categories) and outputs."""

from __future__ import annotations

import math
import sys
import warnings
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.optional import require
from polyleaf.datasets._files import DataFormatError, DataFormatWarning, FilePath

if TYPE_CHECKING:
    import pandas as pd

    from polyleaf.datasets._dataset import Outputs

#: A column with at least this share of numbers was probably meant to hold nothing else.
_MOSTLY = 0.9
#: Of the units of dates and durations that pandas and Parquet have.
_NANOSECONDS = {"D": 86400e9, "s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}


def as_features(frame: pd.DataFrame, path: FilePath) -> Any:
    """Give an array of numbers, or a frame with ``category`` columns where there are texts."""
    if frame.shape[1] and all(isinstance(t, np.dtype) and t.kind in "biuf" for t in frame.dtypes):
        return np.ascontiguousarray(frame.to_numpy(dtype=np.float64))
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
    numbers = _numbers(column, path)
    if numbers is not None:
        return numbers
    times = _times(column)
    if times is not None:
        return _nanoseconds(times)
    _check_texts(column, path)
    return column.reset_index(drop=True).astype("category")


def _output(column: pd.Series[Any], path: FilePath) -> NDArray[Any]:
    """Give numbers, or texts as objects with NaN where there is none."""
    numbers = _numbers(column, path)
    if numbers is not None:
        return numbers
    if _times(column) is not None:
        raise DataFormatError(
            f"expected numbers or texts in the output {column.name!r}, got dates or durations; "
            "convert them to numbers",
            path=path,
        )
    _check_texts(column, path)
    values = column.to_numpy(dtype=object)
    return np.where(column.isna().to_numpy(), np.nan, values)


def _numbers(column: pd.Series[Any], path: FilePath) -> NDArray[np.float64] | None:
    if column.dtype.kind in "biuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    # Booleans with gaps, decimals, and integers that are longer than 64 bits.
    if _are_all(column, bool | int | float | Decimal):
        try:
            return np.asarray(column.astype("float64").to_numpy(), dtype=np.float64)
        except OverflowError:
            raise _out_of_range(column, path) from None
    return None


def _out_of_range(column: pd.Series[Any], path: FilePath) -> DataFormatError:
    """Return the error for a column with an integer that float64 cannot hold."""
    row = next(i for i, value in enumerate(column) if abs(value) > sys.float_info.max)
    # Without str: Python does not print integers of more than 4,300 digits.
    n_digits = math.ceil((int(column.iloc[row]).bit_length() - 1) * math.log10(2))
    return DataFormatError(
        f"expected numbers within the range of float64 in the column {column.name!r}, got one of "
        f"about {n_digits} digits in row {row + 1} below the header; exclude or convert it",
        path=path,
    )


def _times(column: pd.Series[Any]) -> NDArray[Any] | None:
    """Give dates (in UTC, where they have a zone) and durations in a unit that holds them."""
    if column.dtype.kind in "mM":
        has_zone = getattr(column.dtype, "tz", None) is not None
        return np.asarray((column.dt.tz_convert(None) if has_zone else column).to_numpy())
    # What Parquet calls a date has no time of day.
    if _are_all(column, date) and not any(isinstance(value, datetime) for value in column):
        return column.where(column.notna(), None).to_numpy(dtype="datetime64[D]")
    return None


def _nanoseconds(times: NDArray[Any]) -> NDArray[np.float64]:
    """Count from 1970 on, without the limits of dates in nanoseconds (1677 and 2262)."""
    counts = np.where(np.isnat(times), np.nan, times.astype(np.int64))
    unit, n_units = np.datetime_data(times.dtype)
    return np.asarray(counts * n_units * _NANOSECONDS[unit])


def _are_all(column: pd.Series[Any], kind: Any) -> bool:
    """Whether a column of objects holds something, and nothing of another type."""
    if column.dtype != object:
        return False
    known = column.dropna()
    return len(known) > 0 and all(isinstance(value, kind) for value in known)


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
    endless = [value for value in known if isinstance(value, str) and _is_endless(value)]
    if endless and not stray:
        raise DataFormatError(
            f"expected numbers within the range of float64 in the column {column.name!r}, got "
            f"{endless[0]!r:.20}... of {len(endless[0])} digits; exclude or convert it",
            path=path,
        )
    if stray and len(stray) <= (1.0 - _MOSTLY) * len(known):
        warnings.warn(
            f"{path}: {len(known) - len(stray)} values of the column {column.name!r} are numbers "
            f"and {len(stray)} are not, such as {stray[0]!r:.40}, so each value is a category of "
            "its own. If it should hold numbers, correct the others, or leave those cells empty.",
            DataFormatWarning,
            stacklevel=5,
        )


def _is_endless(text: str) -> bool:
    """Whether a text is an integer that float64 cannot hold."""
    return len(text) > sys.float_info.max_10_exp and text.strip().lstrip("+-").isdecimal()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
