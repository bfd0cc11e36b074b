"""Sparse X is taken as it is where its lists are in order."""

import numpy as np
import pytest
from scipy import sparse

from polyleaf import _core
from polyleaf.data import FeatureSchema


def test_a_canonical_csr_array_is_taken_as_it_is_and_no_other():
    X = sparse.random_array((20, 6), density=0.3, format="csr", rng=np.random.default_rng(0))
    before = X.copy()
    assert FeatureSchema.fit(X)[1] is X
    begin, end = next((b, e) for b, e in zip(X.indptr, X.indptr[1:]) if e - b > 1)
    mixed = X.copy()
    for array in (mixed.data, mixed.indices):
        array[begin:end] = array[begin:end][::-1].copy()
    for other in (mixed, sparse.csr_matrix(X), X.tocsc(), X.astype(np.longdouble)):
        encoded = FeatureSchema.fit(other)[1]
        assert encoded is not other
        assert np.array_equal(encoded.toarray(), X.toarray())
    assert (before != X).nnz == 0


@pytest.mark.parametrize(
    ("indptr", "indices", "is_canonical"),
    [
        ([0, 2, 2, 4], [0, 2, 1, 2], True),
        ([0, 0, 0, 0], [], True),
        ([0, 2, 2, 4], [2, 0, 1, 2], False),
        ([0, 2, 2, 4], [0, 0, 1, 2], False),
        ([0, 2, 2, 4], [0, 2, 1, 3], False),
        ([0, 2, 2, 4], [-1, 2, 1, 2], False),
        ([0, 2, 1, 4], [0, 2, 1, 2], False),
        ([1, 2, 2, 4], [0, 2, 1, 2], False),
        ([0, 2, 2, 3], [0, 2, 1, 2], False),
    ],
)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_canonical_lists_rise_within_rows_and_are_in_range(indptr, indices, is_canonical, dtype):
    indptr, indices = np.array(indptr, dtype), np.array(indices, dtype)
    assert _core.is_canonical(indptr, indices, 3) == is_canonical


def test_long_indices_are_checked_before_they_are_shortened():
    X = sparse.csr_array(np.eye(3))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    encoded = FeatureSchema.fit(X)[1]
    assert encoded.indices.dtype == encoded.indptr.dtype == np.int32
    assert np.array_equal(encoded.toarray(), np.eye(3))
    X.indices[1] += 2**32
    with pytest.raises(ValueError, match="must lie within its shape"):
        FeatureSchema.fit(X)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float16])
def test_canonical_numbers_of_other_types_are_converted(dtype):
    X = sparse.csr_array(np.eye(3, dtype=dtype) if dtype != np.float16 else np.eye(3))
    X.data = X.data.astype(dtype)
    encoded = FeatureSchema.fit(X)[1]
    assert encoded.dtype in (np.float32, np.float64)
    assert np.array_equal(encoded.toarray(), np.eye(3))
    assert X.data.dtype == dtype


def test_flags_that_were_set_by_hand_are_not_trusted():
    X = sparse.csr_array(([1.0, 2.0, 3.0], [2, 0, 0], [0, 3, 3]), shape=(2, 3))
    X.has_sorted_indices = X.has_canonical_format = True
    assert FeatureSchema.fit(X)[1].toarray().tolist() == [[5.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    assert X.indices.tolist() == [2, 0, 0]
    X.indices[0] = 3
    with pytest.raises(ValueError, match="must lie within its shape"):
        FeatureSchema.fit(X)


def test_index_arrays_of_another_shape_or_type_are_told_so_or_taken():
    X = sparse.csr_array(np.eye(3))
    X.indices = X.indices.tolist()
    assert np.array_equal(FeatureSchema.fit(X)[1].toarray(), np.eye(3))
    X.indptr = X.indptr[:, None]
    with pytest.raises(ValueError, match="must lie within its shape and fit each other"):
        FeatureSchema.fit(X)
