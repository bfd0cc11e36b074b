"""Leaves as dense vectors and as training rows predict the same, and refuse damaged arrays."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from polyleaf.data.targets import Targets
from polyleaf.trees.leaves import DenseLeaves, RowLeaves


@pytest.fixture
def row_leaves():
    rng = np.random.default_rng(0)
    targets = sparse.csr_array((rng.random((10, 6)) < 0.3).astype(np.float64))
    return RowLeaves(
        leaf_offsets=np.array([0, 3, 4, 9], np.int64),
        leaf_rows=np.array([9, 0, 4, 2, 1, 3, 5, 6, 8], np.int32),  # row 7 is in none
        leaf_row_weights=rng.uniform(0.5, 2.0, 9),
        outputs=Targets.of(targets),
    )


def as_dense(leaves):
    """Average the rows of each leaf, the plain way."""
    Y = leaves.outputs.values.toarray()
    parts = np.split(leaves.leaf_rows, leaves.leaf_offsets[1:-1])
    weights = np.split(leaves.leaf_row_weights, leaves.leaf_offsets[1:-1])
    means = [np.average(Y[part], axis=0, weights=w) for part, w in zip(parts, weights)]
    return DenseLeaves(np.array(means), np.array([[w.sum()] for w in weights]))


def test_row_leaves_predict_the_weighted_mean_of_their_rows(row_leaves):
    dense = as_dense(row_leaves)
    at = np.array([2, 0, 0, 1, 2])
    predicted = row_leaves.predict(at)
    assert isinstance(predicted, sparse.csr_array)
    np.testing.assert_allclose(predicted.toarray(), dense.predict(at))
    assert (row_leaves.n_leaves, row_leaves.n_channels) == (dense.n_leaves, dense.n_channels)


def test_leaf_sums_agree_between_the_kinds(row_leaves):
    for ours, theirs in zip(row_leaves.leaf_sums(1, 5), as_dense(row_leaves).leaf_sums(1, 5)):
        np.testing.assert_allclose(ours, theirs)


def test_leaf_sums_take_unobserved_channels_as_nothing():
    leaves = DenseLeaves(np.array([[1.0, np.nan]]), np.array([[2.0, 0.0]]))
    weights, sums = leaves.leaf_sums(0, 2)
    assert weights.tolist() == [[2.0, 0.0]]
    assert sums.tolist() == [[2.0, 0.0]]


def test_row_leaves_survive_pickle_after_a_prediction(row_leaves):
    at = np.array([0, 1, 2])
    before = row_leaves.predict(at).toarray()
    again = pickle.loads(pickle.dumps(row_leaves))
    assert np.array_equal(again.predict(at).toarray(), before)


@pytest.mark.parametrize("kind", ["dense", "rows"])
def test_arrays_round_trip(kind, row_leaves):
    leaves = row_leaves if kind == "rows" else as_dense(row_leaves)
    again = type(leaves).from_arrays(leaves.to_arrays(), 3)
    at = np.array([0, 1, 2])
    before, after = leaves.predict(at), again.predict(at)
    assert abs(before - after).max() == 0


def put(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("leaf_offsets", put(1, 12), "leaf_offsets to rise"),
        ("leaf_offsets", put(1, 0), "leaf_offsets to rise"),
        ("leaf_offsets", lambda a: a[:-1], "leaf_offsets to rise"),
        ("leaf_rows", put(0, 10), r"leaf_rows to lie in \[0, 10\)"),
        ("leaf_rows", put(0, -1), "leaf_rows"),
        ("leaf_rows", lambda a: a.astype(np.int64), "1-dimensional int32"),
        ("leaf_row_weights", put(8, 0.0), "positive"),
        ("leaf_row_weights", put(8, np.nan), "positive"),
        ("leaf_row_weights", lambda a: a[:-1], "positive"),
        ("output_indices", put(0, 6), "output_indices"),
        ("output_indptr", put(1, 50), "output_indptr"),
        ("output_data", put(0, np.inf), "finite"),
        ("output_data", lambda a: a[:-1], "as many"),
        ("output_shape", put(1, 0), "shape of the training outputs"),
        ("output_shape", lambda a: a[:1], "shape of the training outputs"),
    ],
)
def test_damaged_row_leaves_are_refused_with_a_reason(row_leaves, name, change, message):
    arrays = row_leaves.to_arrays()
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match=message):
        RowLeaves.from_arrays(arrays, 3)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("leaf_values", lambda a: a[:-1], "3 leaves"),
        ("leaf_values", put((0, 0), np.inf), "finite"),
        ("leaf_values", lambda a: a[:, :0], "shape"),
        ("leaf_values", lambda a: a.astype(np.float32), "2-dimensional float64"),
        ("leaf_weights", lambda a: a[:-1], "leaf weights of shape"),
        ("leaf_weights", put((0, 0), -1.0), "not negative"),
        ("leaf_weights", put((0, 0), np.nan), "not negative"),
    ],
)
def test_damaged_dense_leaves_are_refused_with_a_reason(row_leaves, name, change, message):
    arrays = as_dense(row_leaves).to_arrays()
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match=message):
        DenseLeaves.from_arrays(arrays, 3)
