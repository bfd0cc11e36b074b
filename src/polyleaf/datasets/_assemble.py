"""Split the table of an ARFF file into features and outputs of fitting types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.optional import require
from polyleaf.datasets._arff import ArffTable
from polyleaf.datasets._dataset import Dataset, Outputs
from polyleaf.datasets._encoders import TextEncoder
from polyleaf.datasets._files import DataFormatError, dataset_name

if TYPE_CHECKING:
    import pandas as pd

    from polyleaf.datasets._dataset import Features


def to_dataset(table: ArffTable, output_idx: Sequence[int]) -> Dataset:
    """Make a data set of a table, given the columns that are outputs."""
    Y = _outputs(table, output_idx)
    return with_outputs(table, output_idx, Y, [table.attributes[i].name for i in output_idx])


def with_outputs(
    table: ArffTable, output_idx: Sequence[int], Y: Outputs, output_names: list[str]
) -> Dataset:
    """Make a data set of given outputs and all columns that are not in `output_idx`."""
    outputs = set(output_idx)
    feature_idx = [idx for idx in range(len(table.attributes)) if idx not in outputs]
    if not feature_idx:
        raise DataFormatError(
            "expected at least one feature, but every attribute is an output", path=table.path
        )
    names = [table.attributes[idx].name for idx in feature_idx]
    return Dataset(
        _features(table, feature_idx),
        Y,
        names,
        output_names,
        dataset_name(table.path),
        table.n_skipped,
    )


def _features(table: ArffTable, columns: Sequence[int]) -> Features:
    if all(table.attributes[idx].is_number for idx in columns):
        return _numbers(table, columns)
    return _frame(table, columns)


def _outputs(table: ArffTable, columns: Sequence[int]) -> Outputs:
    attributes = [table.attributes[idx] for idx in columns]
    if not attributes:
        raise DataFormatError("expected at least one output, got none", path=table.path)
    for attribute in attributes:
        if attribute.kind not in ("numeric", "nominal"):
            raise DataFormatError(
                f"expected numeric or nominal outputs, but {attribute.name!r} is a "
                f"{attribute.kind} attribute; choose other targets",
                path=table.path,
            )
    if all(attribute.is_number for attribute in attributes):
        return _number_outputs(
            _numbers(table, columns), all(attribute.is_binary for attribute in attributes)
        )
    for attribute in attributes:
        if attribute.kind == "numeric":
            raise DataFormatError(
                f"expected outputs of one kind, but {attribute.name!r} is numeric and others "
                "are nominal; read them one kind at a time with targets=",
                path=table.path,
            )
    return _level_outputs(table, columns)


def _number_outputs(values: NDArray[np.float64] | sparse.csr_array, is_label: bool) -> Outputs:
    """Labels as int8, other numbers as float64; dense where some are unknown."""
    data = values.data if isinstance(values, sparse.csr_array) else values
    if np.isnan(np.asarray(data)).any():
        return values.toarray() if isinstance(values, sparse.csr_array) else values
    return values.astype(np.int8) if is_label else values


def _level_outputs(table: ArffTable, columns: Sequence[int]) -> NDArray[Any]:
    """Return the levels themselves; NaN, and object dtype, where some are unknown."""
    outputs = np.empty((table.values.shape[0], len(columns)), dtype=object)
    for position, column in enumerate(_dense_columns(table, columns)):
        levels = np.array([*table.attributes[columns[position]].levels, np.nan], dtype=object)
        outputs[:, position] = levels[_level_codes(column)]
    has_unknown = any(np.isnan(column).any() for column in _dense_columns(table, columns))
    return outputs if has_unknown else outputs.astype(str)


def _numbers(table: ArffTable, columns: Sequence[int]) -> NDArray[np.float64] | sparse.csr_array:
    """Return columns as numbers: what they are, or what their levels 0 and 1 say."""
    codes = table.values[:, np.asarray(columns, dtype=np.intp)]
    # Levels {1,0}: the code 0, which a sparse row omits, means the number 1.
    flipped = np.array(
        [table.attributes[idx].kind == "nominal" and table.attributes[idx].levels[0] == "1"
         for idx in columns],
        dtype=np.float64,
    )  # fmt: skip
    if not flipped.any():
        return codes if isinstance(codes, sparse.csr_array) else np.ascontiguousarray(codes)
    if not isinstance(codes, sparse.csr_array):
        return np.ascontiguousarray(flipped + codes * (1.0 - 2.0 * flipped))
    ones = sparse.csr_array(np.ones((codes.shape[0], 1)))
    numbers = codes @ sparse.diags_array(1.0 - 2.0 * flipped)
    numbers = sparse.csr_array(numbers + ones @ sparse.csr_array(flipped[np.newaxis]))
    numbers.eliminate_zeros()
    return numbers


def _dense_columns(table: ArffTable, columns: Sequence[int]) -> Iterator[NDArray[np.float64]]:
    """Yield columns one by one, so that a sparse table is never densified as a whole."""
    if isinstance(table.values, sparse.csr_array):
        by_column = table.values.tocsc()
        for idx in columns:
            yield by_column[:, [idx]].toarray().ravel()
    else:
        for idx in columns:
            yield table.values[:, idx]


def _level_codes(column: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return codes as indices, -1 where missing."""
    return np.where(np.isnan(column), -1, column).astype(np.intp)


def _frame(table: ArffTable, columns: Sequence[int]) -> pd.DataFrame:
    """Return columns as a DataFrame with nominal columns as categories."""
    pandas = require("pandas", f"reading the nominal features of {table.path}")
    data = {}
    for idx, column in zip(columns, _dense_columns(table, columns), strict=True):
        attribute, encoder = table.attributes[idx], table.encoders[idx]
        if attribute.is_binary:
            data[attribute.name] = 1.0 - column if attribute.levels[0] == "1" else column
        elif attribute.kind == "nominal":
            data[attribute.name] = pandas.Categorical.from_codes(
                _level_codes(column), list(attribute.levels)
            )
        elif isinstance(encoder, TextEncoder):
            texts = np.array([*encoder.texts, None], dtype=object)
            data[attribute.name] = texts[_level_codes(column)]
        else:
            data[attribute.name] = column
    frame: pd.DataFrame = pandas.DataFrame(data)
    return frame
