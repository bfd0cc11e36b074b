"""Arrays that do not start where their elements may start are refused, never read."""

import numpy as np
import pytest
from core_tree import binned_arrays, make_params
from problems import mixed_problem

from polyleaf import _core

pytestmark = pytest.mark.kernel

MESSAGE = r"arrays must be aligned.*np\.require"


def packed(array):
    """Copy an array to an odd address."""
    room = np.empty(array.nbytes + 1, np.uint8)
    shifted = room[room.ctypes.data % 2 == 0 :][: array.nbytes].view(array.dtype)
    shifted = shifted.reshape(array.shape)
    shifted[...] = array
    assert shifted.flags.aligned == (array.itemsize == 1)
    return shifted


@pytest.fixture(scope="module")
def problem():
    return mixed_problem(60, n_channels=3)


def test_binned_refuses_each_array(problem):
    arguments = binned_arrays(problem.binned)
    names = [
        name
        for name, value in arguments.items()
        if isinstance(value, np.ndarray) and value.size and value.itemsize > 1
    ]
    assert len(names) > 7
    for name in names:
        with pytest.raises(ValueError, match=MESSAGE):
            _core.Binned(**arguments | {name: packed(arguments[name])})


FLOATS = np.ones((60, 3), np.float32)
COLUMNS = {"columns": np.arange(3, dtype=np.int32)}
CHANNELS = {
    "of_gradients": {"values": FLOATS, "row_weights": FLOATS[:, 0].copy()},
    "of_targets": {
        "values": FLOATS.astype(np.float64),
        "shift": np.zeros(3),
        "factor": np.ones(3),
        "entry_weights": FLOATS,
    }
    | COLUMNS,
    "of_scaled_targets": {"values": FLOATS, "row_weights": FLOATS[:, 0].copy()} | COLUMNS,
    "of_labels": {
        "indptr": np.arange(61, dtype=np.int64),
        "indices": np.zeros(60, np.int32),
        "data": np.ones(60, np.float32),
        "row_weights": FLOATS[:, 0].copy(),
    },
}


@pytest.mark.parametrize("kind", CHANNELS)
def test_channels_refuse_each_array(kind):
    arguments, make = CHANNELS[kind], getattr(_core.Channels, kind)
    others = {"n_channels": 3} if kind == "of_labels" else {}
    make(**arguments, **others)
    for name in arguments:
        with pytest.raises(ValueError, match=MESSAGE):
            make(**arguments | {name: packed(arguments[name])}, **others)


def test_arrays_that_are_written_to_are_refused(problem):
    rows, params = problem.all_rows, make_params(problem.binned.n_features)
    with pytest.raises(ValueError, match=MESSAGE):
        _core.grow_tree(problem.core, problem.channels, packed(rows), params)
    grown = _core.grow_tree(problem.core, problem.channels, rows, params)
    for array in (rows.copy(), packed(rows)):
        before = array.copy()
        if array.flags.aligned:
            grown.write_rows(array)
            assert np.array_equal(np.sort(array), rows)
        else:
            with pytest.raises(ValueError, match=MESSAGE):
                grown.write_rows(array)
            assert np.array_equal(array, before)


def test_an_array_without_elements_may_start_anywhere():
    nothing = np.frombuffer(bytearray(9), np.int32, count=0, offset=1)
    counts = np.ones(2, np.int64)
    _core.count_entries(nothing, counts)
    assert not counts.any()
