"""What the gate lets pass is a matrix that compiled code can take; everything else is an error.

Some of the matrices here would end the interpreter where nobody looks at them.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from polyleaf.checks.matrices import as_floats, read_array, read_sparse

DENSE = np.array([[0.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 4.0]])
FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMATS)
def test_a_valid_matrix_of_any_format_keeps_its_values(form, kind):
    make = sparse.csr_array if kind == "array" else sparse.csr_matrix
    matrix = make(DENSE).asformat(form)
    read = read_sparse(matrix, "X")
    assert type(read) is sparse.csr_array
    assert read.has_canonical_format
    np.testing.assert_array_equal(read.toarray(), DENSE)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", ">f8", "g"])
def test_numbers_of_any_type_keep_their_values(form, dtype):
    if dtype in ("f2", ">f8"):  # SciPy does not make such matrices, but lets them be made
        matrix = sparse.csr_array(DENSE).asformat(form)
        if form not in ("lil", "dok"):
            matrix.data = matrix.data.astype(dtype)
    else:
        matrix = sparse.csr_array(DENSE.astype(dtype)).asformat(form)
    np.testing.assert_array_equal(read_sparse(matrix, "X").toarray(), DENSE.astype(dtype))


def test_a_canonical_matrix_shares_its_arrays_and_a_copy_does_not():
    matrix = sparse.csr_array(DENSE)
    assert np.shares_memory(read_sparse(matrix, "X").data, matrix.data)
    assert not np.shares_memory(read_sparse(matrix, "X", copy=True).data, matrix.data)


def test_flags_that_lie_about_the_order_are_not_believed():
    data, indices, indptr = np.array([1.0, 2.0, 4.0]), np.array([3, 0, 0]), np.array([0, 3])
    matrix = sparse.csr_array((data, indices, indptr), shape=(1, 4))
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    read = read_sparse(matrix, "X")
    assert read.indices.tolist() == [0, 3]
    assert read.data.tolist() == [6.0, 1.0]
    assert matrix.indices.tolist() == [3, 0, 0]  # what was given stays


def test_arrays_in_any_memory_layout_are_read():
    matrix = sparse.csr_array(DENSE)
    buffer = np.zeros(8 * matrix.nnz + 1, dtype=np.uint8)
    misaligned = buffer[1:].view(np.float64)
    misaligned[:] = matrix.data
    matrix.data = misaligned
    matrix.indices = np.repeat(matrix.indices, 2)[::2]
    matrix.indptr = matrix.indptr.astype(">i8")
    read = read_sparse(matrix, "X")
    assert read.data.flags.aligned
    assert read.indices.flags.c_contiguous
    np.testing.assert_array_equal(read.toarray(), DENSE)


def compressed(form, **changes):
    matrix = sparse.csr_array(np.eye(4)).asformat(form)
    for name, value in changes.items():
        setattr(matrix, name, value)
    return matrix


def indexed(form, name, place, value):
    matrix = sparse.csr_array(np.eye(4)).asformat(form)
    getattr(matrix, name)[place] = value
    return matrix


def coordinates(row, col):
    matrix = sparse.coo_array(np.eye(4))
    matrix.coords = (np.array(row), np.array(col))
    return matrix


def listed(row, columns):
    matrix = sparse.lil_array(np.eye(4))
    matrix.rows[row] = columns
    return matrix


INVALID = {
    "index too large": lambda: indexed("csr", "indices", 3, 10**6),
    "index off by one": lambda: indexed("csr", "indices", 3, 4),
    "negative index": lambda: indexed("csr", "indices", 3, -1),
    "row too large": lambda: indexed("csc", "indices", 0, 10**6),
    "block column too large": lambda: indexed("bsr", "indices", 0, 10**6),
    "offsets beyond the end": lambda: indexed("csr", "indptr", -1, 10**6),
    "offsets that descend": lambda: indexed("csr", "indptr", 2, 4),
    "offsets that begin late": lambda: indexed("csr", "indptr", 0, 1),
    "negative offset": lambda: indexed("csr", "indptr", 1, -5),
    "too few offsets": lambda: compressed("csr", indptr=np.array([0, 4])),
    "no offsets": lambda: compressed("csr", indptr=np.array([], dtype=np.int32)),
    "too few indices": lambda: compressed("csr", indices=np.array([0])),
    "too few values": lambda: compressed("csr", data=np.array([1.0])),
    "indices of floats": lambda: compressed("csr", indices=np.array([0.0, 1, 2, 3])),
    "indices of objects": lambda: compressed("csr", indices=np.array([0, 1, 2, 3], object)),
    "indices of no array": lambda: compressed("csr", indices=None),
    "huge unsigned index": lambda: compressed("csr", indices=np.full(4, 2**64 - 1, np.uint64)),
    "indices of two dimensions": lambda: compressed("csr", indices=np.zeros((2, 2), int)),
    "values of two dimensions": lambda: compressed("csr", data=np.zeros((2, 2))),
    "blocks of no shape": lambda: compressed("bsr", data=np.zeros((4, 0, 0))),
    "blocks that do not divide": lambda: compressed("bsr", data=np.zeros((4, 3, 3))),
    "coordinate too large": lambda: coordinates([0, 1, 2, 10**6], [0, 1, 2, 3]),
    "negative coordinate": lambda: coordinates([0, 1, 2, 3], [0, 1, 2, -1]),
    "too few coordinates": lambda: coordinates([0], [0, 1, 2, 3]),
    "list with a column too large": lambda: listed(1, [10**6]),
    "list without its values": lambda: listed(1, [0, 1, 2]),
    "list with a text": lambda: listed(1, ["a"]),
    "list that is a number": lambda: listed(1, 3),
    "fewer offsets than diagonals": lambda: compressed("dia", offsets=np.array([])),
    "a narrower shape": lambda: compressed("csr", _shape=(4, 2)),
    "a taller shape": lambda: compressed("csr", _shape=(9, 4)),
}


@pytest.mark.parametrize("fault", INVALID)
def test_arrays_that_do_not_fit_the_shape_are_refused(fault):
    with pytest.raises(ValueError, match="sparse Y must lie within its shape"):
        read_sparse(INVALID[fault](), "Y")


def test_dictionaries_of_keys_outside_the_shape_are_refused():
    matrix = sparse.dok_array((3, 3))
    matrix[1, 1] = 1.0
    matrix._shape = (1, 1)
    with pytest.raises(ValueError, match="must lie within its shape"):
        read_sparse(matrix, "Y")


@pytest.mark.parametrize("dtype", [complex, object, "M8[s]", "U1"])
def test_what_holds_no_numbers_is_refused(dtype):
    matrix = sparse.csr_array(np.eye(3))
    matrix.data = matrix.data.astype(dtype)
    with pytest.raises(TypeError, match="A sparse Y must hold real numbers"):
        read_sparse(matrix, "Y")


def test_other_numbers_of_dimensions_are_refused():
    with pytest.raises(ValueError, match="must be a matrix"):
        read_sparse(sparse.coo_array(np.ones(3)), "Y")


def test_rows_that_no_memory_holds_are_refused_at_once():
    empty = np.array([], dtype=np.int64)
    matrix = sparse.coo_array((empty, (empty, empty)), shape=(2**55, 3))
    with pytest.raises(MemoryError, match=f"{2**55} rows of a sparse X take"):
        read_sparse(matrix, "X")


def test_masked_and_missing_entries_become_nan():
    masked = np.ma.masked_array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(read_array(masked, "y"), [[1.0, np.nan], [3.0, 4.0]])
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64")})
    np.testing.assert_array_equal(read_array(frame, "y"), [[1.0], [np.nan]])


def test_what_is_no_array_is_an_error_that_names_it():
    with pytest.raises(ValueError, match="y_true could not be read as an array"):
        read_array([[1, 2], [3]], "y_true")
    with pytest.raises(TypeError, match="y_true must be a dense array"):
        read_array(sparse.csr_array(DENSE), "y_true")


@pytest.mark.parametrize(
    "values",
    [
        np.array([1j]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.array([b"1"]),
        np.array([10**400], dtype=object),
        np.array([{}], dtype=object),
        np.array(["a"]),
        np.zeros(1, dtype="V4"),
    ],
)
def test_only_real_numbers_become_floats(values):
    with pytest.raises(ValueError, match="y must hold numbers"):
        as_floats(values, "y")
