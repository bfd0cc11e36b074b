"""Read a Y whose columns are numbers, counts, classes and labels.

A Y of one kind is read as a regressor or a classifier reads it, so that models of it are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.data.columns import is_missing
from polyleaf.data.labels import (
    LabelOutput,
    frame_columns,
    read_label_series,
    read_label_values,
    series_name,
)
from polyleaf.data.output_frame import (
    OutputColumn,
    OutputFrame,
    TargetType,
    column_of_array,
    column_of_series,
)
from polyleaf.data.read_targets import (
    check_given,
    check_output_names,
    check_shape,
    infinite,
    masked,
    nothing_observed,
    object_numbers,
    one_hot_of,
    read_classes,
    read_numbers,
    series_numbers,
)
from polyleaf.data.tables import is_frame, is_series, one_dimensional, read_array
from polyleaf.data.targets import Targets, TargetSchema

#: A column as it was given.
Given: TypeAlias = "nw.Series[Any] | NDArray[Any]"

TARGET_TYPES: tuple[TargetType, ...] = get_args(TargetType)


@dataclass(frozen=True, eq=False)
class _Columns:
    """The columns of Y as they were given, their names, its dimensions and its library."""

    given: list[Given]
    names: tuple[str, ...] | None
    n_rows: int
    is_1d: bool
    library: str


def read_mixed(
    Y: Any,
    n_rows: int,
    *,
    target_types: Any = None,
    output_names: Any = None,
    estimator_name: str,
) -> Targets:
    """Read the Y of a model of mixed kinds.

    Parameters
    ----------
    Y : array-like, Series or data frame, of shape (n_rows,) or (n_rows, n_outputs)
        NaN and None are unobserved.
    n_rows : int
        Number of rows of X.
    target_types : mapping of str to {"number", "count", "class", "label"}, or sequence, optional
        Kinds of (some) columns, by name; or of all, in their order. Others are found by their
        types: floats are numbers, booleans labels, strings and categories classes; integers are
        labels if they are 0 and 1, counts if none is negative, else numbers.
    output_names : sequence of str, optional
        Names of the outputs of a Y that has none.
    estimator_name : str
        Who asks, for error messages.

    Returns
    -------
    Targets
        With a schema that has a frame. Of kind "mixed" if there are several; a channel per
        number, count, label and output of two classes, and one per class of other outputs.
    """
    check_given(Y, estimator_name)
    columns = _split(Y, estimator_name)
    n_outputs = len(columns.given)
    check_shape((columns.n_rows, n_outputs), n_rows)
    names = columns.names
    if names is None:
        names = tuple(f"y{j}" for j in range(n_outputs))
        if output_names is not None:
            names = check_output_names(output_names, n_outputs)
    kinds = _kinds(columns.given, names, target_types)
    described = [_described(given, kind) for given, kind in zip(columns.given, kinds)]
    if not any(kind in ("class", "label") for kind in kinds):
        _check_counts(columns.given, kinds, names, estimator_name)
        targets = read_numbers(Y, n_rows, estimator_name=estimator_name)
    elif len(set(kinds)) == 1:
        if kinds[0] == "label":
            for given, name in zip(columns.given, names):
                _labels_of(given, name)
        targets = read_classes(Y, n_rows, estimator_name=estimator_name)
        described = _with_classes(described, targets.schema)
    else:
        return _assemble(columns, described, names, estimator_name)
    frame = OutputFrame(columns.library, tuple(described))
    return replace(targets, schema=replace(targets.schema, frame=frame))


def read_like(
    Y: Any, n_rows: int, schema: TargetSchema, *, what: str, estimator_name: str
) -> list[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """Read the columns of another Y by the kinds of the training Y.

    Parameters
    ----------
    Y : array-like, Series or data frame, of shape (n_rows,) or (n_rows, n_outputs)
    n_rows : int
    schema : TargetSchema
        Of the training rows, with a frame.
    what : str
        What Y is, for error messages.
    estimator_name : str

    Returns
    -------
    list of tuple (values, observed), of length n_outputs
        Numbers, or places among the training classes (-1: none of them), and a mask; both of
        shape (n_rows,).
    """
    check_given(Y, estimator_name)
    columns = _split(Y, estimator_name)
    check_shape((columns.n_rows, len(columns.given)), n_rows)
    assert schema.frame is not None
    if len(columns.given) != schema.n_outputs:
        raise ValueError(
            f"{what} must have {schema.n_outputs} outputs, like the training y; got "
            f"{len(columns.given)}."
        )
    expected = names_of(schema)
    if columns.names is not None and not columns.is_1d and schema.output_names is not None:
        for j, (name, other) in enumerate(zip(columns.names, expected)):
            if name != other:
                raise ValueError(
                    f"{what} must have the outputs of the training y in their order; output {j} "
                    f"is {name!r}, where training had {other!r}."
                )
    return [
        _read_column(given, column, name, estimator_name)
        for given, column, name in zip(columns.given, schema.frame.columns, expected)
    ]


def align_mixed(
    Y: Any, n_rows: int, schema: TargetSchema, *, what: str, estimator_name: str
) -> Targets:
    """Read another Y as channels of the training Y; see `read_like`.

    Raises
    ------
    ValueError
        Also if a class is none of the training Y.
    """
    columns = read_like(Y, n_rows, schema, what=what, estimator_name=estimator_name)
    for (values, observed), name in zip(columns, names_of(schema)):
        if (values[observed] < 0).any() and _is_discrete(schema, name):
            raise ValueError(
                f"{what} holds classes in {name!r} that the training y does not have."
            )
    return _channels(schema, columns)


def names_of(schema: TargetSchema) -> tuple[str, ...]:
    """Give the names of the outputs: those of Y's columns, or y0, y1, ..."""
    return schema.output_names or tuple(f"y{j}" for j in range(schema.n_outputs))


def _is_discrete(schema: TargetSchema, name: str) -> bool:
    assert schema.frame is not None
    return schema.frame.columns[names_of(schema).index(name)].is_discrete


# Columns ----------------------------------------------------------------------------------------


def _split(Y: Any, estimator_name: str) -> _Columns:
    """Give the columns of Y as they are."""
    if sparse.issparse(Y):
        raise TypeError(
            f"{estimator_name} predicts a frame with a column per output and needs a dense y; got "
            "a sparse matrix. Use a regressor or classifier, which take one, or y.toarray()."
        )
    if is_series(Y):
        series = nw.from_native(Y, series_only=True)
        library = _library(series.implementation)
        return _Columns([series], series_name(series), len(series), True, library)
    if is_frame(Y):
        names, listed = frame_columns(Y)
        library = _library(nw.from_native(Y, eager_only=True).implementation)
        return _Columns(list(listed), names, len(listed[0]) if listed else len(Y), False, library)
    array = read_array(Y, "y")
    if array.ndim not in (1, 2):
        raise one_dimensional(Y, "y", array)
    is_1d = array.ndim == 1
    table = array[:, None] if is_1d else array
    given: list[Given] = [np.ascontiguousarray(table[:, j]) for j in range(table.shape[1])]
    return _Columns(given, None, array.shape[0], is_1d, "pandas")


def _library(implementation: Any) -> str:
    found = str(implementation.value)
    return found if found in ("pandas", "polars", "pyarrow", "modin") else "pandas"


def _kinds(given: list[Given], names: tuple[str, ...], target_types: Any) -> list[TargetType]:
    chosen = _chosen(names, target_types)
    return [chosen.get(name) or _found_kind(column) for column, name in zip(given, names)]


def _chosen(names: tuple[str, ...], target_types: Any) -> dict[str, TargetType]:
    """Read the kinds that were given."""
    if target_types is None:
        return {}
    if isinstance(target_types, str):
        target_types = [target_types] * len(names)
    if not isinstance(target_types, Mapping):
        try:
            listed = list(target_types)
        except TypeError as error:
            raise TypeError(
                "target_types must be a dict from names of outputs to kinds; got "
                f"{shown(target_types, 80)}."
            ) from error
        if len(listed) != len(names):
            raise ValueError(
                f"target_types must have a kind for each of the {len(names)} outputs of y, or be "
                f"a dict; got {len(listed)}."
            )
        target_types = dict(zip(names, listed))
    for name, kind in target_types.items():
        if name not in names:
            raise ValueError(
                f"target_types names the output {name!r:.80}, but y has {list(names)[:10]}."
                f"{did_you_mean(name, names)}"
            )
        if not isinstance(kind, str) or kind not in TARGET_TYPES:
            raise ValueError(
                f"target_types must be one of {', '.join(map(repr, TARGET_TYPES))} for every "
                f"output; got {shown(kind, 80)} for {name!r}.{did_you_mean(kind, TARGET_TYPES)}"
            )
    return cast("dict[str, TargetType]", dict(target_types))


def _found_kind(column: Given) -> TargetType:
    """Find the kind of a column by its type."""
    if isinstance(column, np.ndarray):
        return _kind_of_values(column)
    dtype = column.dtype
    if isinstance(dtype, nw.Boolean):
        return "label"
    if isinstance(dtype, nw.String | nw.Categorical | nw.Enum):
        return "class"
    if dtype.is_integer():
        return _kind_of_values(column.drop_nulls().to_numpy())
    if dtype.is_numeric():
        return "number"
    return _kind_of_values(np.array([*column.to_list(), None], dtype=object)[:-1])


def _kind_of_values(values: NDArray[Any]) -> TargetType:
    if values.dtype.kind == "b":
        return "label"
    if values.dtype.kind in "iu":
        if ((values == 0) | (values == 1)).all() and values.size:
            return "label"
        return "count" if not (values < 0).any() else "number"
    if values.dtype.kind in "USTO":
        known = [value for value in values.tolist() if not is_missing(value)]
        if any(isinstance(value, str) for value in known):
            return "class"
        if known and all(isinstance(value, bool | np.bool_) for value in known):
            return "label"
        if known and all(isinstance(value, int | np.integer) for value in known):
            return _kind_of_values(np.array(known))
    return "number"


def _described(given: Given, kind: TargetType) -> OutputColumn:
    if not isinstance(given, np.ndarray):
        return column_of_series(given, kind)
    return column_of_array(given, kind)


# Values -----------------------------------------------------------------------------------------


def _where(name: str) -> str:
    return f"Output {name!r} of y"


def _numbers_of(given: Given, name: str, estimator_name: str) -> NDArray[np.float64]:
    if not isinstance(given, np.ndarray):
        values = series_numbers(given, _where(name), estimator_name)
    elif given.dtype.kind in "biuf":
        values = given.astype(np.float64)
    else:
        values = object_numbers(given.tolist(), _where(name), estimator_name)
    if np.isinf(values).any():
        raise infinite()
    return values


def _counts_of(given: Given, name: str, estimator_name: str) -> NDArray[np.float64]:
    values = _numbers_of(given, name, estimator_name)
    wrong = values[(values < 0) | (values != np.floor(values)) & ~np.isnan(values)]
    if wrong.size:
        raise ValueError(
            f"{_where(name)} is a count and must hold whole numbers from 0 on; got {wrong[0]:g}. "
            f"Use target_types={{{name!r}: 'number'}}."
        )
    return values


def _check_counts(
    given: list[Given], kinds: list[TargetType], names: tuple[str, ...], estimator_name: str
) -> None:
    for column, kind, name in zip(given, kinds, names):
        if kind == "count":
            _counts_of(column, name, estimator_name)


def _classes_of(given: Given, name: str) -> LabelOutput:
    if isinstance(given, np.ndarray):
        return read_label_values(given, _where(name))
    return read_label_series(given, _where(name))


def _labels_of(given: Given, name: str) -> LabelOutput:
    found = _classes_of(given, name)
    if not found.is_zero_one:
        wrong = next(value for value in found.classes.tolist() if value not in (0, 1))
        raise ValueError(
            f"{_where(name)} is a label and must hold 0 and 1, or False and True; got "
            f"{shown(wrong)}. "
            f"Use target_types={{{name!r}: 'class'}}."
        )
    return found


def _read_column(
    given: Given, column: OutputColumn, name: str, estimator_name: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Give numbers or places of classes, and a mask."""
    if column.kind == "number" or column.kind == "count":
        read = _numbers_of if column.kind == "number" else _counts_of
        values = read(given, name, estimator_name)
        observed = ~np.isnan(values)
        return np.where(observed, values, 0.0), observed
    read_discrete = _labels_of if column.kind == "label" else _classes_of
    found = read_discrete(given, name)
    assert column.classes is not None
    known = {value: place for place, value in enumerate(column.classes.tolist())}
    places = np.array([known.get(value, -1) for value in found.classes.tolist()] or [0])
    codes: NDArray[np.float64] = np.where(found.observed, places[found.codes], 0).astype(float)
    return codes, found.observed


def _with_classes(described: list[OutputColumn], schema: TargetSchema) -> list[OutputColumn]:
    """Give the columns of a classifier's Y their classes."""
    if schema.kind == "multilabel":
        return [replace(column, classes=np.array([0, 1])) for column in described]
    return [replace(column, classes=classes) for column, classes in zip(described, schema.classes)]


def _assemble(
    columns: _Columns, described: list[OutputColumn], names: tuple[str, ...], estimator_name: str
) -> Targets:
    """Put columns of several kinds together."""
    full = []
    for given, column, name in zip(columns.given, described, names):
        if column.kind == "label":
            full.append(replace(column, classes=np.array([0, 1])))
        elif column.kind == "class":
            classes = _classes_of(given, name).classes
            if classes.size == 0:
                raise ValueError(
                    f"{_where(name)} has no observed value, so it has no class to predict. Drop "
                    "it from y."
                )
            full.append(replace(column, classes=classes))
        else:
            full.append(column)
    frame = OutputFrame(columns.library, tuple(full))
    schema = TargetSchema.build("mixed", len(full), output_names=columns.names, frame=frame)
    read = [
        _read_column(given, column, name, estimator_name)
        for given, column, name in zip(columns.given, full, names)
    ]
    if not any(observed.any() for _, observed in read):
        raise nothing_observed()
    return _channels(schema, read)


def _channels(
    schema: TargetSchema, columns: list[tuple[NDArray[np.float64], NDArray[np.bool_]]]
) -> Targets:
    """Make channels of numbers and of places of classes."""
    assert schema.frame is not None
    n_rows = columns[0][0].size
    values = np.empty((n_rows, schema.n_channels))
    observed = np.empty(values.shape, dtype=np.bool_)
    offsets = schema.channel_offsets
    for j, ((read, mask), column) in enumerate(zip(columns, schema.frame.columns)):
        group = slice(offsets[j], offsets[j + 1])
        width = int(offsets[j + 1] - offsets[j])
        if column.classes is None or (width == 1 and column.classes.size == 2):
            values[:, group] = read[:, None]
        else:
            values[:, group] = one_hot_of(np.maximum(read, 0).astype(np.int64), width)
        observed[:, group] = mask[:, None]
    return masked(schema, values, observed)
