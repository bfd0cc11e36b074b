"""Read Y as channels: numbers to regress on, with a mask of what was observed."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.numbers import shown
from polyleaf.data.columns import LabelColumn, describe_column, read_objects, read_series
from polyleaf.data.labels import LabelTable, frame_columns, read_labels, series_name
from polyleaf.data.tables import is_frame, is_series, one_dimensional, read_array, read_sparse
from polyleaf.data.targets import Targets, TargetSchema, TaskKind

if TYPE_CHECKING:
    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]

_ZERO_ONE = np.array([0, 1], dtype=np.int64)


def read_numbers(Y: Any, n_rows: int, *, estimator_name: str) -> Targets:
    """Read the Y of a regressor.

    Parameters
    ----------
    Y : array-like, Series, data frame or scipy.sparse, of shape (n_rows,) or (n_rows, n_outputs)
        NaN and None are unobserved (not in a sparse Y, whose implicit zeros are observed zeros).
    n_rows : int
        Number of rows of X.
    estimator_name : str
        Who asks, for error messages.

    Returns
    -------
    Targets
        With one channel per output.
    """
    check_given(Y, estimator_name)
    if sparse.issparse(Y):
        matrix = _read_sparse_targets(Y, n_rows)
        schema = TargetSchema.build("regression", matrix.shape[1], is_sparse=True)
        return Targets(schema, matrix)
    values, is_1d, names = _read_numbers(Y, estimator_name)
    check_shape(values.shape, n_rows)
    schema = TargetSchema.build("regression", values.shape[1], is_1d=is_1d, output_names=names)
    with np.errstate(over="ignore", invalid="ignore"):
        is_plain = np.isfinite(values.sum())  # a finite sum needs no masks to be looked at
    if is_plain:
        return Targets(schema, np.ascontiguousarray(values))
    if np.isinf(values).any():
        raise infinite()
    return masked(schema, values, ~np.isnan(values))


def read_classes(Y: Any, n_rows: int, *, estimator_name: str) -> Targets:
    """Read the Y of a classifier and find out which task it is.

    Parameters
    ----------
    Y : array-like, Series, data frame or scipy.sparse, of shape (n_rows,) or (n_rows, n_outputs)
        One dimension: binary or multi-class. Two dimensions of 0 and 1 (or booleans), or sparse:
        multi-label. Two dimensions with other values: multi-class multi-output. NaN and None are
        unobserved (not in a sparse Y, whose implicit zeros are observed zeros).
    n_rows : int
        Number of rows of X.
    estimator_name : str
        Who asks, for error messages.

    Returns
    -------
    Targets
        With one channel per label of a multi-label problem, one channel for class 1 of a binary
        one, and one channel per class (one-hot) of each multi-class output.
    """
    check_given(Y, estimator_name)
    if sparse.issparse(Y):
        return _sparse_labels(_read_sparse_targets(Y, n_rows))
    if not (is_series(Y) or is_frame(Y)):
        Y = read_array(Y, "y")
        if Y.ndim == 2 and Y.dtype.kind in "biuf" and Y.size and _is_zero_one(Y):
            check_shape(Y.shape, n_rows)
            schema = TargetSchema.build("multilabel", Y.shape[1], (_ZERO_ONE,))
            values = Y.astype(np.float64)
            return masked(schema, values, ~np.isnan(values))
    table = read_labels(Y)
    check_shape((table.n_rows, len(table.outputs)), n_rows)
    if not any(output.observed.any() for output in table.outputs):
        raise nothing_observed()
    if table.is_1d:
        return _single_output(table)
    if all(output.is_zero_one for output in table.outputs):
        return _multilabel(table)
    return _multiclass_multioutput(table)


def name_outputs(targets: Targets, output_names: Any) -> Targets:
    """Give the same targets with names for the outputs of a Y that has none.

    Parameters
    ----------
    targets : Targets
    output_names : sequence of str, of length n_outputs

    Raises
    ------
    ValueError
        If they cannot be the names of these outputs, or are others than those of Y.
    """
    schema = targets.schema
    names, known = check_output_names(output_names, schema.n_outputs), schema.output_names
    if known is not None and known != names:
        at = next(j for j, pair in enumerate(zip(known, names)) if pair[0] != pair[1])
        raise ValueError(
            f"output_names must be the names that y has already; output {at} is {known[at]!r} in "
            f"y and {names[at]!r} in output_names. Leave output_names out, or rename the columns "
            "of y."
        )
    return replace(targets, schema=replace(schema, output_names=names))


def check_output_names(output_names: Any, n_outputs: int) -> tuple[str, ...]:
    """Read a name for each output.

    Parameters
    ----------
    output_names : sequence of str, of length n_outputs
        Distinct. Other values, such as the numbers of labels, become text; one name alone is
        that of the only output.
    n_outputs : int
    """
    if isinstance(output_names, str):
        output_names = [output_names]
    names = None
    if not hasattr(output_names, "tocsr"):  # rows of a broken matrix cannot even be looked at
        with suppress(TypeError):
            names = tuple(str(name) for name in output_names)
    if names is None:
        raise TypeError(
            f"output_names must be a sequence of strings; got {shown(output_names, 80)}."
        )
    if len(names) != n_outputs:
        raise ValueError(
            f"output_names must have a name for each of the {n_outputs} outputs of y; got "
            f"{len(names)}."
        )
    if len(set(names)) != len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ValueError(f"output_names must be distinct; got {shown(twice)} more than once.")
    return names


def _is_zero_one(Y: NDArray[Any]) -> bool:
    """Tell in a few passes, without sorting d columns, whether Y is a label matrix."""
    return bool(((Y == 0) | (Y == 1) | (Y != Y)).all())


def _sparse_labels(matrix: CSR) -> Targets:
    is_one = matrix.data == 1
    if not (is_one | (matrix.data == 0)).all():
        wrong = matrix.data[~np.isin(matrix.data, _ZERO_ONE)][0]
        raise ValueError(
            f"A sparse Y of a classifier must hold only 0 and 1 (one column per label); got "
            f"{wrong}. Use a dense Y for several classes per output, or a regressor."
        )
    if not is_one.all():
        matrix.eliminate_zeros()
    schema = TargetSchema.build("multilabel", matrix.shape[1], (_ZERO_ONE,), is_sparse=True)
    return Targets(schema, matrix)


def _single_output(table: LabelTable) -> Targets:
    output = table.outputs[0]
    kind: TaskKind = "binary" if output.classes.size == 2 else "multiclass"
    schema = TargetSchema.build(kind, 1, (output.classes,), is_1d=True, output_names=table.names)
    if kind == "binary":
        values = output.codes.astype(np.float64)[:, None]
    else:
        values = one_hot_of(output.codes, output.classes.size)
    return masked(schema, values, np.repeat(output.observed[:, None], values.shape[1], axis=1))


def _multilabel(table: LabelTable) -> Targets:
    n_outputs = len(table.outputs)
    values = np.empty((table.n_rows, n_outputs))
    observed = np.empty((table.n_rows, n_outputs), dtype=np.bool_)
    for j, output in enumerate(table.outputs):
        zero_one = output.classes.astype(np.float64)
        values[:, j] = zero_one[output.codes] if zero_one.size else 0.0
        observed[:, j] = output.observed
    schema = TargetSchema.build("multilabel", n_outputs, (_ZERO_ONE,), output_names=table.names)
    return masked(schema, values, observed)


def _multiclass_multioutput(table: LabelTable) -> Targets:
    for j, output in enumerate(table.outputs):
        if output.classes.size == 0:
            name = j if table.names is None else repr(table.names[j])
            raise ValueError(
                f"Output {name} of y has no observed value, so it has no class to predict. Drop "
                "it from y."
            )
    classes = tuple(output.classes for output in table.outputs)
    schema = TargetSchema.build(
        "multiclass-multioutput", len(classes), classes, output_names=table.names
    )
    values = np.empty((table.n_rows, schema.n_channels))
    observed = np.empty((table.n_rows, schema.n_channels), dtype=np.bool_)
    for j, output in enumerate(table.outputs):
        group = slice(schema.channel_offsets[j], schema.channel_offsets[j + 1])
        values[:, group] = one_hot_of(output.codes, output.classes.size)
        observed[:, group] = output.observed[:, None]
    return masked(schema, values, observed)


def one_hot_of(codes: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
    """Give a column per class, 1 for that of the row."""
    one_hot = np.zeros((codes.size, n_classes))
    one_hot[np.arange(codes.size), codes] = 1.0
    return one_hot


def masked(
    schema: TargetSchema, values: NDArray[np.float64], observed: NDArray[np.bool_]
) -> Targets:
    """Make targets of values and a mask; a ValueError if nothing was observed."""
    if observed.all():
        return Targets(schema, np.ascontiguousarray(values))
    if not observed.any():
        raise nothing_observed()
    filled = np.where(observed, values, 0.0)
    return Targets(schema, np.ascontiguousarray(filled), np.ascontiguousarray(observed))


def check_given(Y: Any, estimator_name: str) -> None:
    """Raise a ValueError if there is no Y."""
    if Y is None:
        raise ValueError(
            f"{estimator_name} requires y to be passed, but the target y is None. Call fit(X, y)."
        )


def check_shape(shape: tuple[int, ...], n_rows: int) -> None:
    """Raise a ValueError if Y has other rows than X, or no outputs."""
    if shape[0] != n_rows:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"[{n_rows}, {shape[0]}]. X and y must have one row per example each."
        )
    if shape[1] == 0:
        raise ValueError(f"y must have at least one output; got the shape {shape}.")


def _read_sparse_targets(Y: Any, n_rows: int) -> CSR:
    matrix = read_sparse(Y, "y", as_it_is=False)
    check_shape(matrix.shape, n_rows)
    if np.isnan(matrix.data).any():
        raise ValueError(
            "A sparse y must not hold NaN: its implicit entries are observed zeros. Use a dense y "
            "with NaN for unobserved entries."
        )
    if np.isinf(matrix.data).any():
        raise infinite()
    # The buffers may be those of the caller.
    matrix.data = matrix.data.astype(np.float64)
    matrix.indices, matrix.indptr = matrix.indices.copy(), matrix.indptr.copy()
    return matrix


def _read_numbers(
    Y: Any, estimator_name: str
) -> tuple[NDArray[np.float64], bool, tuple[str, ...] | None]:
    """Give Y as (n_rows, n_outputs) float64, whether it had one dimension, and its names."""
    if is_series(Y):
        series = nw.from_native(Y, series_only=True)
        values = series_numbers(series, "y", estimator_name)[:, None]
        return values, True, series_name(series)
    if is_frame(Y):
        names, columns = frame_columns(Y)
        values = np.empty((len(columns[0]) if columns else len(Y), len(columns)))
        for j, (name, column) in enumerate(zip(names, columns)):
            where = describe_column(name, j, "y")
            values[:, j] = series_numbers(column, where, estimator_name)
        return values, False, names
    array = read_array(Y, "y")
    if array.ndim not in (1, 2):
        raise one_dimensional(Y, "y", array)
    if array.dtype.kind in "mM":
        raise _not_numbers("y", f"the dtype {array.dtype}", estimator_name)
    is_1d = array.ndim == 1
    columns_first = array[:, None] if is_1d else array
    if array.dtype.kind in "biuf":
        # The core reads it where it lies, which must not be in the middle of a packed buffer.
        return np.require(columns_first, np.float64, ["C", "A"]), is_1d, None
    values = np.empty(columns_first.shape)
    for j in range(columns_first.shape[1]):
        where = "y" if is_1d else describe_column(None, j, "y")
        values[:, j] = object_numbers(columns_first[:, j].tolist(), where, estimator_name)
    return values, is_1d, None


def series_numbers(series: nw.Series[Any], where: str, estimator_name: str) -> NDArray[np.float64]:
    """Read a column of a frame as numbers, NaN where they are not observed."""
    if series.dtype.is_temporal():
        raise _not_numbers(where, f"the type {series.dtype}", estimator_name)
    column = read_series(series, where)
    if isinstance(column, LabelColumn):
        return _without_labels(column, where, estimator_name)
    return column.values.astype(np.float64)


def object_numbers(values: list[Any], where: str, estimator_name: str) -> NDArray[np.float64]:
    """Read Python objects as numbers, NaN where they are not observed."""
    column = read_objects(values, where)
    if isinstance(column, LabelColumn):
        return _without_labels(column, where, estimator_name)
    return column.values.astype(np.float64)


def _without_labels(column: LabelColumn, where: str, estimator_name: str) -> NDArray[np.float64]:
    label = next((value for value in column.values if value is not None), None)
    if label is not None:
        raise _not_numbers(where, f"strings such as {label!r}", estimator_name)
    return np.full(len(column.values), np.nan)


def _not_numbers(where: str, got: str, estimator_name: str) -> ValueError:
    return ValueError(
        f"{estimator_name} needs numbers to regress on, but {where} holds {got}. Convert them to "
        "numbers, or use a classifier for class labels, or BoostingMixed for a y of both kinds."
    )


def infinite() -> ValueError:
    """Make the error of a Y with an infinite number."""
    return ValueError(
        "Input y contains infinity or a value too large for dtype('float64'). Replace it by a "
        "finite number, or by NaN if it was not observed."
    )


class NothingObservedError(ValueError):
    """A Y, or a part of it, has no observed value."""


def nothing_observed() -> NothingObservedError:
    """Make the error of a Y without an observed value."""
    return NothingObservedError(
        "Input y contains NaN only: not a single entry was observed, so there is nothing to "
        "learn. Pass a y with at least one observed value."
    )
