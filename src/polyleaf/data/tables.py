"""Read rows and columns in any form (array, list, frame, sparse) into one of three tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.checks import matrices
from polyleaf.data.columns import Column, describe_column, read_objects, read_series, read_times

if TYPE_CHECKING:
    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]


@dataclass(frozen=True)
class DenseTable:
    """Numbers of one dtype (bool, integer or float); NaN is missing."""

    values: NDArray[Any]
    names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class SparseTable:
    """Float numbers in canonical CSR form; a stored NaN is missing."""

    values: CSR
    source_dtype: np.dtype[Any]
    names: None = None


@dataclass(frozen=True)
class ColumnTable:
    """Columns that have a type each."""

    columns: tuple[Column, ...]
    n_rows: int
    names: tuple[str, ...] | None = None


Table: TypeAlias = DenseTable | SparseTable | ColumnTable


def is_frame(data: object) -> bool:
    """Tell whether an object is an eager data frame that narwhals knows."""
    if type(data).__name__ == "LazyFrame":
        raise TypeError("Expected a data frame in memory, got a LazyFrame. Call .collect() first.")
    return bool(nw.dependencies.is_into_dataframe(data))


def is_series(data: object) -> bool:
    """Tell whether an object is a column of a data frame that narwhals knows."""
    return bool(nw.dependencies.is_into_series(data))


def table_shape(table: Table) -> tuple[int, int]:
    """Give (n_rows, n_columns) of a table."""
    if isinstance(table, ColumnTable):
        return table.n_rows, len(table.columns)
    n_rows, n_columns = table.values.shape
    return n_rows, n_columns


def read_table(data: Any, data_name: str = "X") -> Table:
    """Read two-dimensional data of any supported kind.

    Parameters
    ----------
    data : array-like, scipy.sparse matrix or array, or data frame, of shape (n_rows, n_columns)
    data_name : str
        How error messages call the data.

    Returns
    -------
    DenseTable, SparseTable or ColumnTable
    """
    if type(data) is np.ndarray and data.ndim == 2 and data.dtype.kind in "biuf":
        return DenseTable(data)  # without asking what else it could be: one row is in a hurry
    if sparse.issparse(data):
        matrix: Any = data
        return SparseTable(read_sparse(matrix, data_name), matrix.dtype)
    if is_frame(data):
        return read_frame(data, data_name)
    if is_series(data):
        raise one_dimensional(data, data_name)
    array = read_array(data, data_name)
    if array.ndim != 2:
        raise one_dimensional(data, data_name, array)
    if array.dtype.kind not in "biuf":
        return _split_columns(array, data_name)
    return DenseTable(array)


#: What to do with lists of tags, for the end of a message.
TAG_LISTS = (
    " If y lists the tags of each row, make it a label matrix: "
    "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y)."
)


def read_array(data: Any, data_name: str) -> NDArray[Any]:
    """Convert an array-like to an array without turning its numbers into strings.

    Returns
    -------
    ndarray of any shape; dtype bool, integer, float, datetime, timedelta, str or object
    """
    if isinstance(data, np.ma.MaskedArray):
        data = _with_none_where_masked(data)
    try:
        array = np.asarray(data)
        if array.dtype.kind in "US" and not isinstance(data, np.ndarray):
            array = np.array(data, dtype=object)
    except ValueError as error:
        raise ValueError(
            f"{data_name} could not be read as an array: {str(error).rstrip('.')}. Give every row "
            f"the same number of values.{TAG_LISTS if data_name == 'y' else ''}"
        ) from error
    if array.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {data_name} has the dtype {array.dtype}. Pass the real "
            "and imaginary parts as separate columns."
        )
    if array.dtype.kind in "SV":
        raise TypeError(
            f"{data_name} must hold numbers, bools, strings or None; got an array of dtype "
            f"{array.dtype}. Decode bytes with .astype(str); pass structured data as a data frame."
        )
    if array.ndim == 0 and array.dtype.kind == "O":
        raise TypeError(
            f"{data_name} must be an array, a list, a data frame or a scipy.sparse matrix; got "
            f"{type(data).__name__}."
        )
    return array


def _with_none_where_masked(data: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    if not np.ma.is_masked(data):
        return np.asarray(data.data)
    objects = np.asarray(data.data, dtype=object).copy()
    objects[np.ma.getmaskarray(data)] = None
    return objects


def one_dimensional(data: Any, data_name: str, array: NDArray[Any] | None = None) -> ValueError:
    """Build the error for data that are not two-dimensional."""
    shape = np.shape(data) if array is None else array.shape
    if len(shape) > 2:
        return ValueError(
            f"Found array with dim {len(shape)} (shape={shape}) for {data_name}, while dim <= 2 "
            "is required. Flatten all but the first axis, e.g. with .reshape(len(X), -1)."
        )
    got = "1D array" if len(shape) == 1 else "scalar array"
    return ValueError(
        f"Expected 2D array, got {got} instead (shape={shape}) for {data_name}. Reshape your data "
        "with array.reshape(-1, 1) if it has a single feature, or with array.reshape(1, -1) if it "
        "is a single row."
    )


def read_frame(frame: Any, data_name: str) -> DenseTable | ColumnTable:
    """Read a data frame: as one array if all columns have one float or integer type."""
    try:
        frame = nw.from_native(frame, eager_only=True)
        columns = list(frame.columns)
    except DuplicateError as error:
        raise duplicated_names(str(error), data_name) from error
    names = column_names(columns, data_name)
    dtypes = set(frame.schema.values())
    if len(dtypes) == 1 and (dtype := dtypes.pop()).is_numeric():
        array = frame.to_numpy()
        if array.dtype.kind in ("f" if dtype.is_float() else "iu"):
            return DenseTable(array, names)
    read = tuple(
        read_series(series, describe_column(name, position, data_name))
        for position, (name, series) in enumerate(zip(columns, frame.iter_columns()))
    )
    return ColumnTable(read, frame.shape[0], names)


def duplicated_names(found: str, data_name: str) -> ValueError:
    """Build the error for a frame whose columns share a name."""
    found = " ".join(found.split())
    return ValueError(
        f"The column names of {data_name} must be unique. {found}. Rename or drop the duplicated "
        "columns."
    )


def column_names(columns: list[Any], data_name: str) -> tuple[str, ...] | None:
    """Give the names if all are strings, None if none is.

    Raises
    ------
    TypeError
        If some names are strings and some are not, as in scikit-learn.
    """
    types = sorted({type(name).__name__ for name in columns})
    if "str" not in types:
        return None
    if len(types) > 1:
        raise TypeError(
            "Feature names are only supported if all input features have string names, but "
            f"{data_name} has names of the types {types}. Convert them, e.g. with X.columns = "
            "X.columns.astype(str)."
        )
    return tuple(columns)


def _split_columns(array: NDArray[Any], data_name: str) -> ColumnTable:
    """Give each column of an object, string or time array its own type."""
    n_rows, n_columns = array.shape
    if array.dtype.kind in "mM":
        return ColumnTable(tuple(read_times(array[:, j]) for j in range(n_columns)), n_rows)
    columns = tuple(
        read_objects(array[:, j].tolist(), describe_column(None, j, data_name))
        for j in range(n_columns)
    )
    return ColumnTable(columns, n_rows)


def read_sparse(matrix: Any, data_name: str, *, as_it_is: bool = True) -> CSR:
    """Convert a sparse matrix of any format to CSR with sorted, unique indices.

    Parameters
    ----------
    matrix : sparse matrix or array
        It is never changed; its buffers are shared where they are usable as they are.
    data_name : str
        How error messages call it.
    as_it_is : bool
        Whether the matrix itself may be the answer, so that it must not be changed then.

    Returns
    -------
    csr_array of float32 or float64
    """
    if matrix.ndim != 2:
        raise one_dimensional(matrix, data_name)
    if matrix.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {data_name} has the dtype {matrix.dtype}. Pass the real "
            "and imaginary parts side by side."
        )
    if matrix.dtype.kind not in "biuf":
        raise TypeError(
            f"A sparse {data_name} must hold numbers; got the dtype {matrix.dtype}. Convert it "
            "with .astype(float)."
        )
    if _is_canonical(matrix):
        is_float = matrix.dtype in (np.float32, np.float64)
        is_usual = is_float and matrix.indices.dtype == np.int32
        if as_it_is and is_usual and type(matrix) is sparse.csr_array:
            return cast("CSR", matrix)
        small = max(matrix.data.size, *matrix.shape) <= np.iinfo(np.int32).max
        dtype = np.int32 if small else np.int64
        indices = matrix.indices.astype(dtype, copy=False)
        indptr = matrix.indptr.astype(dtype, copy=False)
        return sparse.csr_array((to_float(matrix.data), indices, indptr), shape=matrix.shape)
    csr = matrices.read_sparse(matrix, data_name)
    csr.data = to_float(csr.data)  # only the buffers are the caller's
    return csr


def _is_canonical(matrix: Any) -> bool:
    """Tell a CSR matrix with sorted, unique indices, all of them in range."""
    if matrix.format != "csr":
        return False
    arrays = (matrix.data, matrix.indices, matrix.indptr)
    if not all(isinstance(array, np.ndarray) and array.ndim == 1 for array in arrays):
        return False
    if not all(array.flags.c_contiguous and array.flags.aligned for array in arrays):
        return False
    if matrix.indices.dtype not in (np.int32, np.int64):
        return False
    if matrix.indptr.dtype != matrix.indices.dtype:
        return False
    n_rows, n_columns = matrix.shape
    is_whole = matrix.data.shape == matrix.indices.shape and matrix.indptr.size == n_rows + 1
    return is_whole and _core.is_canonical(matrix.indptr, matrix.indices, n_columns)


def to_float(values: NDArray[Any]) -> NDArray[Any]:
    """Convert numbers to C-contiguous float32 where that is exact, else to float64.

    float64 arrays that are C-contiguous already are returned as they are.
    """
    exact_in_float32 = values.dtype.itemsize <= 2 or values.dtype == np.float32
    dtype = np.float32 if exact_in_float32 else np.float64
    with np.errstate(over="ignore"):  # long doubles beyond float64 become infinite
        return np.require(values, dtype=dtype, requirements=["C", "A"])
