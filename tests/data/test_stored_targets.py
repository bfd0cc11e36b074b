"""Training outputs in a model: weights per channel, equality, and damaged arrays refused."""

import numpy as np
import pytest
from scipy import sparse

from polyleaf.data.targets import Targets

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(7, 3))
OBSERVED = RNG.random((7, 3)) < 0.7
ROW_WEIGHTS = RNG.random(7)
ENTRY_WEIGHTS = RNG.random((7, 3))
KINDS = {
    "dense": Targets.of(VALUES),
    "weighted": Targets.of(VALUES, None, ROW_WEIGHTS),
    "weighted entries": Targets.of(VALUES, None, ENTRY_WEIGHTS),
    "masked": Targets.of(np.where(OBSERVED, VALUES, 0.0), OBSERVED),
    "masked and weighted": Targets.of(np.where(OBSERVED, VALUES, 0.0), OBSERVED, ENTRY_WEIGHTS),
    "sparse": Targets.of(sparse.csr_array(np.where(VALUES > 0, VALUES, 0.0))),
    "sparse and weighted": Targets.of(
        sparse.csr_array(np.where(VALUES > 0, VALUES, 0.0)), None, ROW_WEIGHTS
    ),
}
each_kind = pytest.mark.parametrize("outputs", KINDS.values(), ids=KINDS)


@each_kind
def test_arrays_round_trip(outputs):
    again = Targets.from_arrays(outputs.to_arrays())
    assert again.equals(outputs)
    assert (again.n_rows, again.n_channels) == (7, 3)


@each_kind
def test_kinds_equal_themselves_alone(outputs):
    assert [outputs.equals(other) for other in KINDS.values()].count(True) == 1


def test_one_other_value_weight_or_row_is_noticed():
    assert not KINDS["dense"].equals(Targets.of(VALUES + np.eye(7, 3)))
    assert not KINDS["dense"].equals(Targets.of(VALUES[:-1]))
    assert not KINDS["weighted"].equals(Targets.of(VALUES, None, ROW_WEIGHTS[::-1]))


@each_kind
def test_the_weight_of_a_channel_is_that_of_the_row_where_it_is_observed(outputs):
    for channel in range(3):
        expected = np.ones(7)
        if outputs.weights is not None:
            two_dimensional = np.broadcast_to(outputs.weights.T, (3, 7)).T
            expected = two_dimensional[:, channel].copy()
        if outputs.observed is not None:
            expected[~outputs.observed[:, channel]] = 0.0
        assert np.array_equal(outputs.channel_weights(channel), expected)


def test_channels_share_weights_unless_masked_or_weighted_by_entry():
    share = {name for name, outputs in KINDS.items() if outputs.share_weights}
    assert share == {"dense", "weighted", "sparse", "sparse and weighted"}


def put(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("kind", "name", "change", "message"),
    [
        ("dense", "output_values", put((0, 0), np.nan), "finite"),
        ("dense", "output_values", lambda a: a[:0], "at least one"),
        ("dense", "output_values", lambda a: a[:, :0], "at least one"),
        ("dense", "output_values", lambda a: a.astype(np.float32), "2-dimensional float64"),
        ("weighted", "row_weights", put(0, -1.0), "not negative"),
        ("weighted", "row_weights", put(0, np.inf), "finite"),
        ("weighted", "row_weights", lambda a: a[:-1], r"row_weights of shape \(7,\)"),
        ("weighted entries", "entry_weights", put((0, 0), np.nan), "finite"),
        ("weighted entries", "entry_weights", lambda a: a[:, :2], r"shape \(7, 3\)"),
        ("masked", "output_observed", put((0, 0), 2), "0 or 1"),
        ("masked", "output_observed", lambda a: a[:-1], "0 or 1"),
        ("masked", "output_observed", lambda a: a.astype(np.int8), "uint8"),
        ("sparse", "output_indices", put(0, 3), "output_indices"),
        ("sparse", "output_indices", put(0, -1), "output_indices"),
        ("sparse", "output_indptr", put(0, 1), "output_indptr"),
        ("sparse", "output_indptr", put(3, 100), "output_indptr"),
        ("sparse", "output_data", lambda a: a[:-1], "as many"),
        ("sparse", "output_data", put(0, np.inf), "finite"),
        ("sparse", "output_shape", put(0, 8), "output_indptr"),
        ("sparse", "output_shape", put(1, 2**40), "shape of the training outputs"),
        ("sparse", "output_shape", put(1, 0), "shape of the training outputs"),
    ],
)
def test_damaged_arrays_are_refused_with_a_reason(kind, name, change, message):
    arrays = KINDS[kind].to_arrays()
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match=message):
        Targets.from_arrays(arrays)


def test_sparse_outputs_with_a_mask_are_refused():
    arrays = KINDS["sparse"].to_arrays() | {"output_observed": np.ones((7, 3), np.uint8)}
    with pytest.raises(ValueError, match="0 or 1"):
        Targets.from_arrays(arrays)


@pytest.mark.parametrize("name", ["output_shape", "output_indptr", "output_indices"])
def test_a_missing_array_is_named(name):
    arrays = KINDS["sparse"].to_arrays()
    del arrays[name]
    with pytest.raises(ValueError, match=f"'{name}'"):
        Targets.from_arrays(arrays)
