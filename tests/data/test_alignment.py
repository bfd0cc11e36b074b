"""Targets of other rows, brought into the channels of the training rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from polyleaf.data import align_targets, read_classes, read_numbers


def read(y):
    return read_classes(y, y.shape[0], estimator_name="Test")


def test_classes_take_the_places_they_had_in_training():
    training = read(np.array(["a", "b", "c", "b"]))
    found = align_targets(read(np.array(["c", "b"])), training.schema)
    assert np.array_equal(found.values, [[0, 0, 1], [0, 1, 0]])
    alone = align_targets(read(np.array(["b", "b"])), training.schema)
    assert np.array_equal(alone.values, [[0, 1, 0], [0, 1, 0]])
    with pytest.raises(ValueError, match=r"targets holds the classes \['d'\]"):
        align_targets(read(np.array(["d", "b"])), training.schema, "targets")


def test_a_sparse_y_of_zeros_and_ones_may_be_classes():
    training = read(np.array([[0, 1], [1, 2]]))
    found = align_targets(read(sparse.csr_array(np.array([[0, 1], [1, 1]]))), training.schema)
    assert np.array_equal(found.values, [[1, 0, 1, 0], [0, 1, 1, 0]])


@pytest.mark.parametrize("read", [read, lambda y: read_numbers(y, 2, estimator_name="T")])
def test_outputs_are_compared_by_name_and_order(read):
    Y = pd.DataFrame({"p": [0, 1], "q": [1, 1]})
    schema = read(Y).schema
    assert np.array_equal(align_targets(read(Y), schema).values, Y)
    assert np.array_equal(align_targets(read(Y.to_numpy()), schema).values, Y)
    with pytest.raises(ValueError, match=r"y of eval_set must have the outputs .* is 'q', where"):
        align_targets(read(Y[["q", "p"]]), schema)
    for name in ("other", None):
        align_targets(read(Y["p"].rename(name)), read(Y["p"]).schema)  # one output, any name
