"""Sample weights and class weights become weights of rows or channels."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.utils.class_weight import compute_sample_weight

from polyleaf.data import (
    class_weights,
    combine_weights,
    read_classes,
    read_numbers,
    read_sample_weight,
)

NAN = np.nan


def classes(Y):
    return read_classes(Y, len(Y), estimator_name="TreeClassifier")


def schema_of(Y):
    return read_numbers(Y, len(Y), estimator_name="TreeRegressor").schema


TWO_OUTPUTS = schema_of(np.ones((3, 2)))
ONE_OUTPUT = schema_of(np.ones(3))


@pytest.mark.parametrize(
    "weight",
    [
        [1, 2, 0],
        np.float32([1, 2, 0]),
        pd.Series([1, 2, 0]),
        pl.Series([1, 2, 0]),
        np.array([1, 2, 0], object),
    ],
)
def test_weights_per_row(weight):
    weights = read_sample_weight(weight, 3, TWO_OUTPUTS)
    assert weights.dtype == np.float64
    assert_array_equal(weights, [1, 2, 0])


@pytest.mark.parametrize("weight", [None, np.ones(3), np.ones((3, 2)), [1, 1, 1]])
def test_absent_weights_and_ones_are_none(weight):
    assert read_sample_weight(weight, 3, TWO_OUTPUTS) is None


def test_weights_per_output():
    weight = np.arange(6).reshape(3, 2)
    assert_array_equal(read_sample_weight(weight, 3, TWO_OUTPUTS), weight)
    frame = pd.DataFrame(weight, columns=["a", "b"])
    assert_array_equal(read_sample_weight(frame, 3, TWO_OUTPUTS), weight)


def test_weights_per_output_are_repeated_over_its_channels():
    schema = classes(np.array([[0, 5], [1, 6], [2, 5]])).schema
    weights = read_sample_weight([[1, 2], [3, 4], [5, 6]], 3, schema)
    assert_array_equal(weights, [[1, 1, 1, 2, 2], [3, 3, 3, 4, 4], [5, 5, 5, 6, 6]])


def test_a_column_of_weights_for_one_output_is_a_weight_per_row():
    assert read_sample_weight([[1], [2], [3]], 3, ONE_OUTPUT).shape == (3,)


def test_the_users_weights_are_not_shared():
    given = np.array([1.0, 2.0, 3.0])
    weights = read_sample_weight(given, 3, ONE_OUTPUT)
    assert not np.shares_memory(given, weights)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(4), r"shape \(3,\).*or \(3, 2\).*got \(4,\)"),
        (np.ones((3, 3)), r"got \(3, 3\)"),
        (np.ones((3, 1)), r"got \(3, 1\)"),
        (2.0, r"got \(\)"),
        ([1, -1, 1], "not be negative; got -1"),
        ([1, NAN, 1], "must be finite; got nan"),
        ([1, None, 1], "must be finite; got nan"),
        ([1, np.inf, 1], "must be finite; got inf"),
        ([0, 0, 0], "all weights are zero"),
        (["a", "b", "c"], "must hold numbers"),
        (np.zeros(3, "M8[s]"), "must hold numbers"),
        (np.array([1j, 1, 1]), "Complex"),
    ],
)
def test_bad_sample_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        read_sample_weight(weight, 3, TWO_OUTPUTS)


def test_sparse_sample_weights_are_refused():
    with pytest.raises(TypeError, match="must be dense"):
        read_sample_weight(sparse.csr_array((3, 2)), 3, TWO_OUTPUTS)


@pytest.mark.parametrize(
    "class_weight",
    ["balanced", {"a": 3.0}, {"a": 2, "b": 0.5, "c": 0}, {"a": 1, "b": 2, "c": 3, "z": 9}],
)
def test_class_weights_of_one_output_are_scikit_learns(class_weight):
    y = np.array(["a", "b", "a", "c", "a", "b"])
    assert_allclose(
        class_weights(class_weight, classes(y)), compute_sample_weight(class_weight, y)
    )


def test_no_class_weight_is_none():
    assert class_weights(None, classes([0, 1])) is None


def test_rows_without_a_class_do_not_count_in_balanced_weights():
    targets = classes(np.array([0, 0, 0, 1, NAN]))
    assert_allclose(class_weights("balanced", targets), [4 / 6, 4 / 6, 4 / 6, 2, 1])


def test_balanced_weights_are_per_label():
    targets = classes(np.array([[1, 0, 0], [1, 0, NAN], [1, 0, 1], [0, 0, 1]]))
    weights = class_weights("balanced", targets)
    assert_allclose(weights[:, 0], [2 / 3, 2 / 3, 2 / 3, 2])
    assert_allclose(weights[:, 1], 1)
    assert_allclose(weights[:, 2], [1.5, 1, 0.75, 0.75])


def test_one_dict_serves_all_labels_and_a_list_has_one_each():
    targets = classes(np.array([[1, 0], [0, 1]]))
    assert_array_equal(class_weights({1: 5}, targets), [[5, 1], [1, 5]])
    assert_array_equal(class_weights([{1: 5}, {0: 2, 1: 3}], targets), [[5, 2], [1, 3]])


def test_class_weights_cover_the_channels_of_each_output():
    targets = classes(np.array([["a", "x"], ["b", "y"], ["c", "x"]]))
    weights = class_weights([{"a": 2}, {"y": 7}], targets)
    assert_array_equal(weights, [[2, 2, 2, 1, 1], [1, 1, 1, 7, 7], [1, 1, 1, 1, 1]])


ONE = classes(["a", "b"])
MANY = classes(np.array([["a", "x"], ["b", "y"]]))


@pytest.mark.parametrize(
    ("class_weight", "targets", "message"),
    [
        ("auto", ONE, "'balanced'.*got 'auto'"),
        (3.0, ONE, "got 3.0"),
        ({"z": 1.0}, ONE, r"gives weights to \['z'\].*\['a', 'b'\]"),
        ({"a": -1.0}, ONE, "negative"),
        ({"a": NAN}, ONE, "finite"),
        ({"a": "x"}, ONE, "map classes to numbers"),
        ([{"a": 1.0}], ONE, "one-dimensional y; got a list"),
        ({"a": 1.0}, MANY, "list of 2 dicts.*got a single dict"),
        ([{"a": 1.0}], MANY, "list of 2 dicts.*got 1"),
        ([{"a": 1.0}, {"z": 1.0}], MANY, "output 1 of y"),
        ([1, 2], MANY, "list of dicts"),
    ],
)
def test_bad_class_weights_are_refused(class_weight, targets, message):
    with pytest.raises(ValueError, match=message):
        class_weights(class_weight, targets)


def test_class_weights_of_sparse_labels_are_refused_with_their_size():
    Y = sparse.csr_array(np.eye(3))
    targets = read_classes(Y, 3, estimator_name="TreeClassifier")
    with pytest.raises(ValueError, match="3 x 3"):
        class_weights("balanced", targets)


def test_class_weights_of_a_regression_are_refused():
    targets = read_numbers([1.0], 1, estimator_name="TreeRegressor")
    with pytest.raises(ValueError, match="got a regression"):
        class_weights("balanced", targets)


def test_weights_are_multiplied_row_by_row():
    rows, cells = np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0]])
    assert combine_weights(None, None) is None
    assert_array_equal(combine_weights(rows, None), rows)
    assert_array_equal(combine_weights(None, cells), cells)
    assert_array_equal(combine_weights(rows, rows), [1, 4])
    assert_array_equal(combine_weights(rows, cells), [[1, 2], [6, 8]])
    assert_array_equal(combine_weights(cells, rows), [[1, 2], [6, 8]])
    assert_array_equal(combine_weights(cells, cells), cells**2)
