"""The columns of a Y of mixed kinds, and frames of predictions like it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.optional import require

TargetType = Literal["number", "count", "class", "label"]

#: A damaged model file must not make us allocate more than a gigabyte.
_MAX_CLASS_BYTES = 2**30
#: How types of columns are spelt.
_DTYPE = re.compile(r"[A-Za-z]+[0-9]*(\[[A-Za-z0-9_]+\])?")


@dataclass(frozen=True, eq=False)
class OutputColumn:
    """One column of Y.

    Attributes
    ----------
    kind : {"number", "count", "class", "label"}
    dtype : str
        Type of the column, as its library spells it.
    classes : ndarray of shape (n_classes,), or None
        Of classes and labels, ascending.
    categories : ndarray or None
        All categories of a categorical column, in their order.
    is_ordered : bool
        Whether that order has a meaning.
    """

    kind: TargetType
    dtype: str
    classes: NDArray[Any] | None = None
    categories: NDArray[Any] | None = None
    is_ordered: bool = False

    @property
    def is_discrete(self) -> bool:
        """Whether it holds classes or labels."""
        return self.classes is not None

    def to_json(self) -> dict[str, Any]:
        """Describe the column by JSON types."""
        return {
            "kind": self.kind,
            "dtype": self.dtype,
            "classes": None if self.classes is None else classes_to_json(self.classes),
            "categories": None if self.categories is None else classes_to_json(self.categories),
            "is_ordered": self.is_ordered,
        }

    @classmethod
    def from_json(cls, stored: Any) -> OutputColumn:
        """Undo `to_json`; a ValueError if it is not of that form."""
        keys = {"kind", "dtype", "classes", "categories", "is_ordered"}
        if not isinstance(stored, Mapping) or set(stored) != keys:
            raise damaged(f"an output column with the keys {sorted(keys)}", stored)
        kind, dtype = stored["kind"], stored["dtype"]
        if kind not in get_args(TargetType) or type(stored["is_ordered"]) is not bool:
            raise damaged(f"a kind among {get_args(TargetType)}", kind)
        if type(dtype) is not str or len(dtype) > 64 or not _DTYPE.fullmatch(dtype):
            raise damaged("the name of a type", dtype)
        classes, categories = (
            None if stored[name] is None else classes_from_json(stored[name])
            for name in ("classes", "categories")
        )
        if (classes is not None) != (kind in ("class", "label")):
            raise damaged("classes for what is no number", kind)
        if classes is not None and (classes.size == 0 or (kind == "label" and classes.size != 2)):
            raise damaged("at least one class, and 2 for labels", classes.tolist())
        return cls(kind, dtype, classes, categories, stored["is_ordered"])


@dataclass(frozen=True, eq=False)
class OutputFrame:
    """All columns of Y, and the library of its frame.

    Attributes
    ----------
    library : str
        "pandas" if Y was no frame.
    columns : tuple of OutputColumn
    """

    library: str
    columns: tuple[OutputColumn, ...]

    @property
    def kinds(self) -> tuple[TargetType, ...]:
        """The kind of every column."""
        return tuple(column.kind for column in self.columns)

    def to_json(self) -> dict[str, Any]:
        """Describe the frame by JSON types."""
        return {"library": self.library, "columns": [c.to_json() for c in self.columns]}

    @classmethod
    def from_json(cls, stored: Any, n_outputs: int) -> OutputFrame:
        """Undo `to_json`; a ValueError if it is not of that form."""
        if not isinstance(stored, Mapping) or set(stored) != {"library", "columns"}:
            raise damaged("a frame with the keys ['columns', 'library']", stored)
        library, columns = stored["library"], stored["columns"]
        if not isinstance(library, str) or library not in ("pandas", "polars", "pyarrow", "modin"):
            raise damaged("a library of frames", library)
        if not isinstance(columns, list) or len(columns) != n_outputs:
            raise damaged(f"{n_outputs} columns", columns)
        return cls(library, tuple(OutputColumn.from_json(column) for column in columns))

    def build(self, names: Sequence[str], columns: Sequence[NDArray[Any]], index: Any) -> Any:
        """Make a frame of the library of Y.

        Parameters
        ----------
        names : sequence of str
        columns : sequence of ndarray of shape (n_rows,)
            Numbers, or classes; None where a class is not known.
        index : pandas.Index or None
            That of the frame, if it is one of pandas.
        """
        if self.library == "pandas":
            pandas = require("pandas", "predictions of mixed kinds as a data frame")
            series = {
                name: _pandas_column(pandas, values, column)
                for name, values, column in zip(names, columns, self.columns)
            }
            frame = pandas.DataFrame(series)
            if index is not None and len(index) == len(frame):
                frame.index = index
            return frame
        native = require(
            "modin.pandas" if self.library == "modin" else self.library,
            f"predictions as a data frame of {self.library}, like the Y of fit",
        )
        series = {
            name: _narwhals_column(native, name, values, column)
            for name, values, column in zip(names, columns, self.columns)
        }
        return nw.from_dict(series, backend=native).to_native()


def column_of_series(series: nw.Series[Any], kind: TargetType) -> OutputColumn:
    """Describe a column of a frame; its classes are still to be found."""
    native = series.to_native()
    is_pandas = series.implementation.is_pandas()
    dtype = str(native.dtype) if is_pandas else type(series.dtype).__name__
    categories, is_ordered = None, False
    if isinstance(series.dtype, nw.Categorical | nw.Enum):
        if is_pandas:
            dtype, is_ordered = "category", bool(native.dtype.ordered)
            categories = _plain_array(native.dtype.categories.tolist())
        elif isinstance(series.dtype, nw.Enum):
            categories = _plain_array(list(series.dtype.categories))
    return OutputColumn(kind, _simple(dtype), None, categories, is_ordered)


def column_of_array(values: NDArray[Any], kind: TargetType) -> OutputColumn:
    """Describe a column of an array; its classes are still to be found."""
    dtype = "object" if values.dtype.kind in "USTO" else str(values.dtype)
    return OutputColumn(kind, _simple(dtype))


def _simple(dtype: str) -> str:
    """Take types that are spelt in other ways for objects."""
    return dtype if _DTYPE.fullmatch(dtype) else "object"


def _plain_array(values: list[Any]) -> NDArray[Any] | None:
    """Give categories as an array that files can hold; None if they are of another type."""
    if any(type(value) not in (str, bool, int, float) for value in values):
        return None
    if len({type(value) for value in values}) == 1 and type(values[0]) is not str:
        return np.array(values)
    return np.array(values, dtype=object)


def _float_type(column: OutputColumn) -> str:
    """Type of a column of numbers: its own if that has fractions."""
    return column.dtype if column.dtype.lower() in ("float32", "float64") else "float64"


def _pandas_column(pandas: Any, values: NDArray[Any], column: OutputColumn) -> Any:
    if not column.is_discrete:
        return pandas.Series(values, dtype=_float_type(column))
    if column.dtype == "category":
        categories = column.categories if column.categories is not None else column.classes
        assert categories is not None
        return pandas.Categorical(
            values.tolist(), categories=categories.tolist(), ordered=column.is_ordered
        )
    dtype = column.dtype
    if values.dtype.kind == "O" and any(value is None for value in values):
        is_bool = dtype in ("bool", "boolean")
        if is_bool or dtype.lower().lstrip("u").startswith("int"):
            dtype = "boolean" if is_bool else "Int64"
    # Objects: not every string is one that pandas' own type of strings can hold.
    series = pandas.Series(values, dtype=object if values.dtype.kind in "OU" else None)
    try:
        return series.astype(dtype)
    except (TypeError, ValueError):
        return series


def _narwhals_column(native: Any, name: str, values: NDArray[Any], column: OutputColumn) -> Any:
    if not column.is_discrete:
        dtype: Any = getattr(nw, _float_type(column).capitalize(), nw.Float64)
        return nw.new_series(name, values.tolist(), dtype, backend=native)
    listed = values.tolist()
    if column.dtype == "Enum" and column.categories is not None:
        return nw.new_series(name, listed, nw.Enum(column.categories.tolist()), backend=native)
    series = nw.new_series(name, listed, backend=native)
    dtype = getattr(nw, column.dtype, None)
    if dtype is None:
        return series
    try:
        return series.cast(dtype)
    except Exception:  # a type that these values cannot have: libraries raise their own errors
        return series


# Classes in model files --------------------------------------------------------------------------


def damaged(expected: str, got: object) -> ValueError:
    """Make the error of a description that a model file cannot hold."""
    return ValueError(f"Expected {expected}; got {got!r:.80}. The model file is damaged.")


def classes_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    """Describe classes by JSON types."""
    dtype = classes.dtype.str if classes.dtype.kind != "O" else "object"
    return {"dtype": dtype, "values": classes.tolist()}


def classes_from_json(stored: Any) -> NDArray[Any]:
    """Undo `classes_to_json`; a ValueError if it is not of that form."""
    if not isinstance(stored, Mapping) or set(stored) != {"dtype", "values"}:
        raise damaged("classes with the keys ['dtype', 'values']", stored)
    values = stored["values"]
    if not isinstance(values, list) or any(
        type(value) not in (str, bool, int, float) for value in values
    ):
        raise damaged("class labels that are strings, booleans or numbers", values)
    try:
        dtype = np.dtype(str(stored["dtype"]))
        is_huge = dtype.itemsize * len(values) > _MAX_CLASS_BYTES
        if dtype.kind not in "biufUO" or is_huge:
            raise damaged("a class dtype of bool, integer, float, str or object", dtype)
        classes: NDArray[Any] = np.array(values, dtype=dtype)
        kept = classes.tolist() == values and len(set(values)) == len(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise damaged("class labels that fit their dtype", stored) from error
    if not kept:
        raise damaged("distinct class labels that fit their dtype", stored)
    return classes
