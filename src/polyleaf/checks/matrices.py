"""The one gate for matrices: what has passed it can be given to compiled code.

SciPy's conversions and products follow the index arrays of a sparse matrix without a look at
them, so that one index out of range reads or writes foreign memory. Here every index is compared
with the shape, once, in time that is linear in the stored entries.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.memory import check_memory

if TYPE_CHECKING:
    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]

_LARGEST_INT32 = np.iinfo(np.int32).max
_LARGEST_INT64 = np.iinfo(np.int64).max


class _UnfitError(Exception):
    """Says what does not fit; the caller knows the name of the matrix."""


class _OtherTypeError(Exception):
    """Says which dtype the values have that are no numbers."""


def is_sparse(matrix: object) -> bool:
    """Whether this is a scipy.sparse matrix or array."""
    return bool(sparse.issparse(matrix))


def read_sparse(matrix: Any, name: str, *, copy: bool = False) -> CSR:
    """Return a sparse matrix of any format as CSR with sorted, unique indices within its shape.

    Parameters
    ----------
    matrix : sparse matrix or array of shape (n, d)
        Of bools, integers or floats. It is never changed.
    name : str
        How error messages call it.
    copy : bool, default=False
        Whether the result must have arrays of its own. Otherwise it shares those of the matrix
        where they can be used as they are, and must not be changed.

    Returns
    -------
    csr_array of shape (n, d)
        Stored zeros stay; entries that are stored several times are added up.

    Raises
    ------
    ValueError
        If the matrix has not two dimensions, or its arrays do not fit its shape or each other.
    TypeError
        If it does not hold real numbers.
    MemoryError
        If it has so many rows that their offsets do not fit into the memory.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> labels = sparse.csr_array(np.eye(3))
    >>> labels.indices[1] = 7
    >>> read_sparse(labels, "Y")
    Traceback (most recent call last):
        ...
    ValueError: The index arrays of the sparse Y must lie within its shape and fit each other; they
    do not (a column index is 7, and must be from 0 to 2). Build the matrix again from its entries.
    """
    shape = tuple(matrix.shape)
    if len(shape) != 2:
        raise ValueError(f"A sparse {name} must be a matrix; got the shape {shape}.")
    if matrix.format != "csr":  # offsets of rows must be made
        purpose = f"The offsets of the {shape[0]} rows of a sparse {name} take"
        check_memory(8 * (shape[0] + 1), purpose, "Leave out rows without entries.")
    try:
        csr: CSR = _READERS.get(matrix.format, _read_other)(matrix)
    except _OtherTypeError as error:
        raise TypeError(f"A sparse {name} must hold real numbers; got {error} values.") from None
    except (
        _UnfitError,
        ValueError,
        IndexError,
        OverflowError,
        AttributeError,
        TypeError,
    ) as error:
        raise ValueError(
            f"The index arrays of the sparse {name} must lie within its shape and fit each other; "
            f"they do not ({error}). Build the matrix again from its entries."
        ) from error
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
        return csr
    return csr.copy() if copy else csr


def read_array(values: Any, name: str) -> NDArray[Any]:
    """Return an array of what is no sparse matrix; masked and missing entries become NaN.

    Parameters
    ----------
    values : array-like, Series or data frame
    name : str
        How error messages call it.

    Returns
    -------
    ndarray of any shape and dtype

    Examples
    --------
    >>> import numpy as np
    >>> read_array(np.ma.masked_array([1.0, 2.0], mask=[False, True]), "y")
    array([ 1., nan])
    """
    if is_sparse(values):
        raise TypeError(f"{name} must be a dense array; got a sparse matrix. Use .toarray().")
    if isinstance(values, np.ma.MaskedArray):
        if not np.ma.is_masked(values):
            return np.asarray(values.data)
        return as_floats(values.data, name, where=~np.ma.getmaskarray(values))
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{name} could not be read as an array: {error}") from error
    if array.dtype != object or not hasattr(values, "to_numpy"):
        return array
    try:  # columns of a frame that may hold nothing
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        return array


def as_floats(
    values: NDArray[Any], name: str, *, where: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Convert an array to float64, without a silent loss of what is no real number.

    Parameters
    ----------
    values : ndarray
    name : str
        How error messages call it.
    where : ndarray of bool, optional
        The entries that count; the others become NaN.

    Returns
    -------
    ndarray of float64
        The array itself if it is one already.

    Examples
    --------
    >>> import numpy as np
    >>> as_floats(np.array([1 + 2j]), "y_true")
    Traceback (most recent call last):
        ...
    ValueError: y_true must hold numbers; got complex128 values.
    """
    if values.dtype.kind not in "biufOU":
        raise ValueError(f"{name} must hold numbers; got {values.dtype} values.")
    try:
        with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite
            if where is None:
                return values.astype(np.float64, copy=False)
            floats = np.full(values.shape, np.nan)
            floats[where] = values[where].astype(np.float64)
            return floats
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must hold numbers; got {values.dtype} values.") from None


def _read_csr(matrix: Any) -> Any:
    arrays = _compressed(matrix, matrix.shape[0], matrix.shape[1], "column")
    return sparse.csr_array(arrays, shape=matrix.shape)


def _read_csc(matrix: Any) -> Any:
    arrays = _compressed(matrix, matrix.shape[1], matrix.shape[0], "row")
    return sparse.csc_array(arrays, shape=matrix.shape).tocsr()


def _read_bsr(matrix: Any) -> Any:
    data = np.asarray(matrix.data)
    if data.ndim != 3 or 0 in data.shape[1:]:
        raise _UnfitError(f"blocks have the shape {data.shape}")
    height, width = data.shape[1:]
    n_rows, n_columns = matrix.shape
    if n_rows % height or n_columns % width:
        raise _UnfitError(f"blocks of {height} by {width} do not divide {n_rows} by {n_columns}")
    arrays = _compressed(matrix, n_rows // height, n_columns // width, "block column")
    return sparse.bsr_array(arrays, shape=matrix.shape).tocsr()


def _read_coo(matrix: Any) -> Any:
    data = _numbers(matrix.data, 1)
    places = [
        _below(_integers(getattr(matrix, axis), axis), n, axis)
        for axis, n in zip(("row", "col"), matrix.shape)
    ]
    if not data.size == places[0].size == places[1].size:
        raise _UnfitError("there are not as many rows, columns and values")
    dtype = _index_dtype(data.size, matrix.shape)
    row, col = (place.astype(dtype, copy=False) for place in places)
    return sparse.coo_array((data, (row, col)), shape=matrix.shape).tocsr()


def _read_lil(matrix: Any) -> Any:
    lists, values = list(matrix.rows), list(matrix.data)
    counts = np.array([len(columns) for columns in lists], dtype=np.int64)
    if len(lists) != matrix.shape[0] or [len(found) for found in values] != counts.tolist():
        raise _UnfitError("there are not as many columns and values")
    total = int(counts.sum())
    columns = np.fromiter(chain.from_iterable(lists), np.int64, total)
    data = _numbers(np.array(list(chain.from_iterable(values)), dtype=matrix.dtype), 1)
    dtype = _index_dtype(total, matrix.shape)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(dtype)
    indices = _below(columns, matrix.shape[1], "column").astype(dtype)
    return sparse.csr_array((data, indices, indptr), shape=matrix.shape)


def _read_dia(matrix: Any) -> Any:
    offsets, data = _integers(matrix.offsets, "offset"), _numbers(matrix.data, 2)
    if data.shape[0] != offsets.size:
        raise _UnfitError("there are not as many offsets and diagonals")
    n_rows, n_columns = matrix.shape
    column = np.arange(min(data.shape[1], n_columns), dtype=np.int64)
    row = column - offsets.astype(np.int64)[:, np.newaxis]
    data = data[:, : column.size]
    is_inside = (row >= 0) & (row < n_rows) & (data != 0)
    columns = np.broadcast_to(column, row.shape)[is_inside]
    return sparse.coo_array((data[is_inside], (row[is_inside], columns)), matrix.shape).tocsr()


def _read_other(matrix: Any) -> Any:
    """Read a dictionary of keys, or a format that is not known here."""
    return _read_coo(matrix.tocoo())


_READERS: dict[str, Callable[[Any], Any]] = {
    "csr": _read_csr,
    "csc": _read_csc,
    "bsr": _read_bsr,
    "coo": _read_coo,
    "lil": _read_lil,
    "dia": _read_dia,
}


def _compressed(
    matrix: Any, n_major: int, n_minor: int, axis: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Check the arrays of a compressed format; return data, indices and offsets."""
    data = _numbers(matrix.data, 3 if matrix.format == "bsr" else 1)
    indices = _integers(matrix.indices, axis)
    indptr = _integers(matrix.indptr, "offset")
    if indptr.size != n_major + 1 or indptr[0] != 0:
        raise _UnfitError(f"expected {n_major + 1} offsets that begin with 0")
    if (indptr[1:] < indptr[:-1]).any():
        raise _UnfitError("offsets descend")
    total = int(indptr[-1])
    if data.shape[0] != indices.size or total > indices.size:
        raise _UnfitError(
            f"{indices.size} indices and {data.shape[0]} values, of which offsets use {total}"
        )
    indices = _below(indices[:total], n_minor, axis)
    dtype = _index_dtype(total, matrix.shape)
    return data[:total], indices.astype(dtype, copy=False), indptr.astype(dtype, copy=False)


def _index_dtype(n_entries: int, shape: tuple[int, ...]) -> Any:
    return np.int32 if max(n_entries, *shape) <= _LARGEST_INT32 else np.int64


def _below(indices: NDArray[Any], end: int, axis: str) -> NDArray[Any]:
    if indices.size:
        low, high = int(indices.min()), int(indices.max())
        if low < 0 or high >= end:
            wrong = low if low < 0 else high
            raise _UnfitError(f"a {axis} index is {wrong}, and must be from 0 to {end - 1}")
    return indices


def _integers(values: Any, what: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise _UnfitError(f"each {what} must be an integer in an array of one dimension")
    if array.dtype.kind == "u" and array.size and array.max() > _LARGEST_INT64:
        raise _UnfitError(f"a {what} index is {array.max()}")
    return np.require(array, array.dtype.newbyteorder("="), ["C", "A"])


def _numbers(values: Any, ndim: int) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise _OtherTypeError(str(array.dtype))
    if array.ndim != ndim:
        raise _UnfitError(f"values have {array.ndim} dimensions")
    # SciPy's compiled functions have no half precision.
    dtype = np.dtype(np.float32) if array.dtype.itemsize == 2 and array.dtype.kind == "f" else None
    return np.require(array, dtype or array.dtype.newbyteorder("="), ["C", "A"])
