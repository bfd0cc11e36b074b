"""Read one column of a data frame or object array as numbers or as text labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Complex, Real
from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from polyleaf.data.times import TimeKind, epoch_nanoseconds, time_kind

NumberKind = Literal["bool", "int", "float"]
#: By the kind of a NumPy dtype; others are "float".
NUMBER_KINDS: dict[str, NumberKind] = {"b": "bool", "i": "int", "u": "int"}

_NESTED = (nw.List, nw.Array, nw.Struct)


@dataclass(frozen=True)
class NumericColumn:
    """Numbers of one column; NaN is missing.

    Attributes
    ----------
    values : ndarray of shape (n_rows,), float32 or float64
    kind : {"bool", "int", "float"}
        What the numbers were before they became floats.
    is_categorical : bool
        Whether the source's type says that the numbers are names of categories.
    declared : tuple of numbers or None
        Categories in the order that the source's type declares them.
    time : {"date", "duration"} or None
        What the numbers are nanoseconds of.
    is_ordered : bool
        Whether the source's type says that the declared order of the categories has a meaning.
    """

    values: NDArray[Any]
    kind: NumberKind
    is_categorical: bool = False
    declared: tuple[Any, ...] | None = None
    time: TimeKind | None = None
    is_ordered: bool = False


@dataclass(frozen=True)
class LabelColumn:
    """Text labels of one column; None is missing.

    A column without a single observed value and without a numeric type is one of these too: it
    has no categories, so all values at prediction time count as missing.
    """

    values: list[str | None]
    declared: tuple[str, ...] | None = None
    is_ordered: bool = False


Column: TypeAlias = NumericColumn | LabelColumn


def describe_column(name: object, position: int, data_name: str) -> str:
    """Name a column in an error message, by its name if it has one."""
    return f"Column {position if name is None else repr(name)} of {data_name}"


def is_missing(value: object) -> bool:
    """Tell whether an object stands for a missing value: None, NaN, NaT or pandas.NA."""
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, str):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False


def read_times(values: NDArray[Any]) -> NumericColumn:
    """Read a column of datetime64 or timedelta64."""
    return NumericColumn(epoch_nanoseconds(values), "float", time=time_kind(values.dtype))


def read_objects(values: Sequence[object], where: str) -> Column:
    """Read Python objects as numbers (bools, if there is nothing else) or as text.

    Parameters
    ----------
    values : sequence of objects, of length n_rows
    where : str
        Names the column in error messages.

    Raises
    ------
    TypeError
        If the column mixes strings with numbers, or holds something that is neither.
    """
    missing = np.fromiter(map(is_missing, values), dtype=bool, count=len(values))
    present = [value for value, gone in zip(values, missing) if not gone]
    types = set(map(type, present))
    are_text = {kind for kind in types if issubclass(kind, str)}
    are_bool = {kind for kind in types if issubclass(kind, bool | np.bool_)}
    are_number = {kind for kind in types if issubclass(kind, Real | Decimal)} - are_bool
    unusable = types - are_text - are_bool - are_number
    if unusable:
        raise _unusable_value(values, unusable, where)
    if are_text and (are_bool or are_number):
        raise _mixed_column(values, are_text, are_bool | are_number, where)
    if are_text or not present:
        return LabelColumn([None if gone else str(v) for v, gone in zip(values, missing)])
    numbers = np.full(len(values), np.nan)
    numbers[~missing] = _as_floats(present, where)
    if not are_number:
        return NumericColumn(numbers, "bool", is_categorical=True)
    all_ints = all(issubclass(kind, int | np.integer) for kind in are_number)
    return NumericColumn(numbers, "int" if all_ints else "float")


def _as_floats(values: Iterable[Any], where: str) -> list[float]:
    try:
        return [float(value) for value in values]
    except OverflowError as error:
        raise ValueError(
            f"{where} holds an integer too large for a 64-bit float. Divide the column by a "
            "constant, or take its logarithm."
        ) from error


def _first_of(values: Sequence[object], types: set[type]) -> tuple[int, object]:
    return next((row, v) for row, v in enumerate(values) if type(v) in types and not is_missing(v))


def _unusable_value(values: Sequence[object], types: set[type], where: str) -> Exception:
    row, value = _first_of(values, types)
    if isinstance(value, Complex):
        return _complex(where, f"holds {value!r} in row {row}")
    return TypeError(
        f"{where} holds {value!r} of type {type(value).__name__!r} in row {row}, but every "
        "argument must be a string, a bool or a number (dates: a datetime64 column). Convert or "
        "drop the column."
    )


def _complex(where: str, got: str) -> ValueError:
    return ValueError(
        f"Complex data not supported: {where} {got}. Pass the real and imaginary parts as "
        "separate columns."
    )


def _mixed_column(
    values: Sequence[object], text: set[type], numbers: set[type], where: str
) -> TypeError:
    text_row, label = _first_of(values, text)
    number_row, number = _first_of(values, numbers)
    return TypeError(
        f"{where} mixes strings and numbers: {label!r} in row {text_row} and {number!r} in row "
        f"{number_row}. Make it all strings (a categorical feature) or all numbers."
    )


def read_series(series: nw.Series[Any], where: str) -> Column:
    """Read a column of a pandas, polars or pyarrow frame according to its type.

    Numbers, decimals, dates, date-times and durations become floats (the last three in
    nanoseconds), booleans become a categorical column of 0 and 1, strings and categoricals become
    labels.
    """
    dtype = series.dtype
    if isinstance(dtype, nw.Categorical | nw.Enum):
        return _read_categorical(series, where)
    if isinstance(dtype, nw.Boolean):
        return NumericColumn(series.cast(nw.Float64).to_numpy(), "bool", is_categorical=True)
    if dtype.is_float():
        return NumericColumn(series.to_numpy(), "float")
    if dtype.is_integer():
        return NumericColumn(series.cast(nw.Float64).to_numpy(), "int")
    if isinstance(dtype, nw.Decimal):
        return NumericColumn(series.cast(nw.Float64).to_numpy(), "float")
    if isinstance(dtype, nw.Date | nw.Datetime | nw.Duration):
        if isinstance(dtype, nw.Date):
            series = series.cast(nw.Datetime("us"))
        return read_times(series.to_numpy())
    if isinstance(dtype, _NESTED):
        raise TypeError(
            f"{where} has the type {dtype}, which is neither numeric nor categorical. Spread it "
            "over several columns, or drop it."
        )
    return _read_untyped(series, where)


def _read_untyped(series: nw.Series[Any], where: str) -> Column:
    """Read strings, Python objects and types that narwhals has no name for."""
    array = series.to_numpy()
    if array.dtype.kind == "c":
        raise _complex(where, f"has the type {array.dtype}")
    if array.dtype.kind in "iuf" and series.null_count() < len(series):
        return NumericColumn(array.astype(np.float64), NUMBER_KINDS.get(array.dtype.kind, "float"))
    if array.dtype.kind == "b":
        return NumericColumn(array.astype(np.float64), "bool", is_categorical=True)
    return read_objects(_with_nulls(series), where)


def _with_nulls(series: nw.Series[Any]) -> list[object]:
    """List the values with None for nulls, however the back end represents them."""
    nulls = series.is_null().to_list()
    return [None if gone else value for value, gone in zip(series.to_list(), nulls)]


def _read_categorical(series: nw.Series[Any], where: str) -> Column:
    declared = _declared_categories(series)
    values = _with_nulls(series)
    if declared is not None:
        usable = all(isinstance(c, str | bool | np.bool_ | Real) for c in declared)
        if not usable:  # intervals, dates: known by how they print
            # Looked up, because a column with nulls may list 0.0 where its type declares 0.
            text = {category: str(category) for category in declared}
            declared = list(text.values())
            values = [None if value is None else text[value] for value in values]
    column = read_objects(values, where)
    order = None if declared is None else tuple(declared)
    is_ordered = order is not None and _has_order(series)
    if isinstance(column, LabelColumn):
        return LabelColumn(column.values, order, is_ordered)
    kind = column.kind
    if order is not None and all(isinstance(c, int | np.integer) for c in order):
        kind = "bool" if all(isinstance(c, bool | np.bool_) for c in order) else "int"
    return NumericColumn(
        column.values, kind, is_categorical=True, declared=order, is_ordered=is_ordered
    )


def _has_order(series: nw.Series[Any]) -> bool:
    """Tell whether a categorical of pandas is an ordered one."""
    if not series.implementation.is_pandas_like():
        return False
    return bool(getattr(getattr(series.to_native(), "dtype", None), "ordered", False))


def _declared_categories(series: nw.Series[Any]) -> list[Any] | None:
    """Give the categories that the type itself lists.

    polars' and Arrow's dynamic categoricals list theirs in the order of appearance, which says
    nothing, so those count as undeclared.
    """
    dtype = series.dtype
    if isinstance(dtype, nw.Enum):
        return list(dtype.categories)
    native_dtype = getattr(series.to_native(), "dtype", None)
    categories = getattr(native_dtype, "categories", None)
    if series.implementation.is_pandas_like() and categories is not None:
        return list(categories)
    return None
