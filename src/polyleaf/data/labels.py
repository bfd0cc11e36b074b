"""Read the outputs of a classifier's Y, each with its own classes, in the user's own types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from polyleaf.data.columns import is_missing
from polyleaf.data.tables import (
    TAG_LISTS,
    duplicated_names,
    is_frame,
    is_series,
    one_dimensional,
    read_array,
)

_LABEL_TYPES = (str, bool, np.bool_, int, np.integer, float, np.floating)


@dataclass(frozen=True)
class LabelOutput:
    """One output of a classification problem.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The distinct observed values, ascending, in the user's dtype.
    codes : ndarray of shape (n_rows,), int64
        Position of each row's class, 0 where unobserved.
    observed : ndarray of shape (n_rows,), bool
    """

    classes: NDArray[Any]
    codes: NDArray[np.int64]
    observed: NDArray[np.bool_]

    @property
    def is_zero_one(self) -> bool:
        """Whether every observed value is 0, 1, False or True."""
        return all(
            not isinstance(value, str) and value in (0, 1) for value in self.classes.tolist()
        )


@dataclass(frozen=True)
class LabelTable:
    """All outputs of Y, whether Y had one dimension, and its column names."""

    outputs: tuple[LabelOutput, ...]
    n_rows: int
    is_1d: bool
    names: tuple[str, ...] | None


def read_labels(Y: Any) -> LabelTable:
    """Read dense class labels of any supported kind.

    Parameters
    ----------
    Y : array-like, Series or data frame, of shape (n_rows,) or (n_rows, n_outputs)

    Returns
    -------
    LabelTable
    """
    if is_series(Y):
        series = nw.from_native(Y, series_only=True)
        return LabelTable(
            (read_label_series(series, "y"),), len(series), True, series_name(series)
        )
    if is_frame(Y):
        names, columns = frame_columns(Y)
        outputs = tuple(
            read_label_series(c, f"Output {name!r} of y") for name, c in zip(names, columns)
        )
        return LabelTable(outputs, len(columns[0]) if columns else len(Y), False, names)
    array = read_array(Y, "y")
    if array.ndim == 1:
        return LabelTable((read_label_values(array, "y"),), array.size, True, None)
    if array.ndim != 2:
        raise one_dimensional(Y, "y", array)
    outputs = tuple(
        read_label_values(np.ascontiguousarray(array[:, j]), f"Output {j} of y")
        for j in range(array.shape[1])
    )
    return LabelTable(outputs, array.shape[0], False, None)


def series_name(series: nw.Series[Any]) -> tuple[str, ...] | None:
    """Give the name of a Series as a string, None if it has none."""
    return None if series.name is None or series.name == "" else (str(series.name),)


def frame_columns(Y: Any) -> tuple[tuple[str, ...], list[nw.Series[Any]]]:
    """Give the columns of a Y frame and their names as strings."""
    try:
        frame = nw.from_native(Y, eager_only=True)
        names = tuple(str(name) for name in frame.columns)
    except DuplicateError as error:
        raise duplicated_names(str(error), "y") from error
    if len(set(names)) != len(names):
        raise duplicated_names(f"Got {list(names)}", "y")
    return names, list(frame.iter_columns())


def read_label_series(series: nw.Series[Any], where: str) -> LabelOutput:
    """Find the classes of a column of a frame."""
    observed = ~np.asarray(series.is_null().to_list(), dtype=bool)
    known = series.drop_nulls()
    if isinstance(series.dtype, nw.Categorical | nw.Enum):
        values: NDArray[Any] = np.array(known.to_list(), dtype=object)
        if all(type(value) in (int, float, bool) for value in values):
            values = np.array(known.to_list())
    elif isinstance(series.dtype, nw.Decimal):
        values = known.cast(nw.Float64).to_numpy()
    else:
        values = known.to_numpy()
    known_output = read_label_values(values, where)
    codes = np.zeros(observed.size, dtype=np.int64)
    codes[observed] = known_output.codes
    observed[observed] = known_output.observed
    return LabelOutput(known_output.classes, codes, observed)


def read_label_values(values: NDArray[Any], where: str) -> LabelOutput:
    """Find the classes of a one-dimensional array."""
    if values.dtype.kind in "Mm":
        raise _unusable_label(values[0] if values.size else values.dtype, where)
    if values.dtype.kind == "T":  # NumPy's variable-width strings may hold missing values
        values = values.astype(object)
    if values.dtype.kind == "f":
        observed = ~np.isnan(values)
        _check_discrete(values[observed], where)
        if values.dtype.itemsize not in (2, 4, 8):
            values = values.astype(np.float64)  # a long double has no portable form
    elif values.dtype.kind == "O":
        missing = np.fromiter(map(is_missing, values), dtype=bool, count=values.size)
        observed = ~missing
        _check_objects(values[observed], where)
    else:
        observed = np.ones(values.size, dtype=bool)
    codes = np.zeros(values.size, dtype=np.int64)
    try:
        classes, codes[observed] = np.unique(values[observed], return_inverse=True)
    except TypeError as error:
        raise _unsortable(values[observed], where) from error
    classes = classes.astype(classes.dtype.newbyteorder("="))
    return LabelOutput(classes, codes, observed)


def _check_discrete(values: NDArray[Any], where: str) -> None:
    if np.isinf(values).any():
        raise ValueError(
            "Input y contains infinity or a value too large for dtype('float64'). "
            f"{where} must hold finite class labels."
        )
    fractional = values[values != np.floor(values)]
    if fractional.size:
        raise ValueError(
            f"Unknown label type: continuous. {where} holds {fractional[0]}, which is no class "
            "label. Use a regressor for real-valued outputs, BoostingMixed for a y of both kinds, "
            "or turn the values into integers or strings first."
        )


def _check_objects(values: NDArray[Any], where: str) -> None:
    for kind in sorted(set(map(type, values)), key=lambda kind: kind.__name__):
        if not issubclass(kind, _LABEL_TYPES):
            raise _unusable_label(next(v for v in values if type(v) is kind), where)
    numbers = [value for value in values if isinstance(value, float | np.floating)]
    _check_discrete(np.array(numbers, dtype=np.float64), where)


def _unusable_label(value: object, where: str) -> Exception:
    if isinstance(value, complex | np.complexfloating):
        return ValueError(f"Complex data not supported: {where} holds {value!r}.")
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        return TypeError(
            f"Unknown label type: {where} holds {value!r:.60} of type {type(value).__name__!r}, "
            f"but class labels must be strings, bools or numbers.{TAG_LISTS}"
        )
    return TypeError(
        f"Unknown label type: {where} holds {value!r} of type {type(value).__name__!r}, but class "
        "labels must be strings, bools or numbers. Convert them, e.g. with str()."
    )


def _unsortable(values: NDArray[Any], where: str) -> TypeError:
    first = values[0]
    other = next(value for value in values if isinstance(value, str) != isinstance(first, str))
    return TypeError(
        f"{where} mixes labels that have no common order: {first!r} ({type(first).__name__}) and "
        f"{other!r} ({type(other).__name__}). Make the labels of one output all strings or all "
        "numbers."
    )
