"""Y of every kind becomes channels with a mask, and channels become labels again."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from polyleaf.data import (
    TargetSchema,
    decode_classes,
    read_classes,
    read_numbers,
    split_probabilities,
)

NAN = np.nan


def classes(Y, n_rows=None):
    n_rows = Y.shape[0] if n_rows is None and hasattr(Y, "shape") else n_rows or len(Y)
    return read_classes(Y, n_rows, estimator_name="TreeClassifier")


def regression(Y, n_rows=None):
    n_rows = Y.shape[0] if n_rows is None and hasattr(Y, "shape") else n_rows or len(Y)
    return read_numbers(Y, n_rows, estimator_name="TreeRegressor")


def through_json(schema):
    return TargetSchema.from_json(json.loads(json.dumps(schema.to_json())))


# ---- regression --------------------------------------------------------------------------------


def test_one_dimensional_regression_has_one_channel():
    targets = regression([1, 2, 3])
    assert targets.schema.kind == "regression"
    assert targets.schema.is_1d
    assert targets.observed is None
    assert_array_equal(targets.values, [[1.0], [2.0], [3.0]])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", "i8", "?", "u1", "g"])
def test_regression_values_are_c_ordered_float64(dtype, order):
    Y = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype, order=order)
    targets = regression(Y)
    assert targets.values.dtype == np.float64
    assert targets.values.flags.c_contiguous
    assert targets.schema.channel_offsets.tolist() == [0, 1, 2]
    assert_array_equal(targets.values, Y.astype(float))


@pytest.mark.parametrize(
    "Y",
    [
        np.array([[1.0, NAN], [NAN, 4.0], [5.0, 6.0]]),
        [[1, None], [None, 4], [5, 6]],
        pd.DataFrame({"a": pd.array([1, None, 5], dtype="Int64"), "b": [NAN, 4.0, 6.0]}),
        pl.DataFrame({"a": [1, None, 5], "b": [None, 4.0, 6.0]}),
    ],
)
def test_missing_regression_targets_are_zero_and_masked(Y):
    targets = regression(Y, 3)
    assert_array_equal(targets.values, [[1, 0], [0, 4], [5, 6]])
    assert_array_equal(targets.observed, [[True, False], [False, True], [True, True]])


def test_missing_values_are_kept_in_a_one_dimensional_regression():
    targets = regression(np.array([1.0, NAN]))
    assert_array_equal(targets.observed, [[True], [False]])


def test_an_output_without_any_observation_is_kept():
    targets = regression(np.array([[1.0, NAN], [2.0, NAN]]))
    assert_array_equal(targets.observed, [[True, False], [True, False]])


def test_more_outputs_than_rows_constant_outputs_and_one_row_are_fine():
    targets = regression(np.ones((1, 5)))
    assert targets.values.shape == (1, 5)


@pytest.mark.parametrize("library", [pd, pl])
def test_output_names_come_from_frames_and_series(library):
    frame = library.DataFrame({"a": [1.0], "b": [2.0]})
    assert regression(frame).schema.output_names == ("a", "b")
    assert regression(frame["b"]).schema.output_names == ("b",)
    assert regression(library.Series([1.0])).schema.output_names is None


def test_output_names_that_are_no_strings_are_converted():
    assert regression(pd.DataFrame(np.ones((2, 2)))).schema.output_names == ("0", "1")


def test_sparse_regression_targets_stay_sparse():
    Y = sparse.csc_matrix(np.array([[0.0, 2.5], [-1.0, 0.0]]))
    targets = regression(Y)
    assert isinstance(targets.values, sparse.csr_array)
    assert targets.schema.is_sparse
    assert targets.observed is None
    assert_array_equal(targets.values.toarray(), Y.toarray())


@pytest.mark.parametrize("ingest", [regression, classes])
@pytest.mark.parametrize("Y", [np.array([1.0, np.inf]), np.array([[1.0, -np.inf], [0.0, 1.0]])])
def test_infinity_is_refused(ingest, Y):
    with pytest.raises(ValueError, match="Input y contains infinity or a value too large"):
        ingest(Y)


@pytest.mark.parametrize(
    "Y",
    [
        ["a", "b"],
        np.array([["a", 1], ["b", 2]], dtype=object),
        pd.DataFrame({"x": ["a", "b"]}),
        np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
        pl.Series("t", [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]),
    ],
)
def test_what_is_no_number_is_refused_in_a_regression(Y):
    with pytest.raises(ValueError, match=r"needs numbers to regress on.*use a classifier"):
        regression(Y, 2)


# ---- classification: the table of tasks --------------------------------------------------------


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, -1, 3, -1]),
        np.array(["no", "yes", "no", "no"]),
        np.array(["no", "yes", "no", "no"], dtype=object),
        np.array([True, False, True, True]),
        np.array([2**62, 2**62 + 1, 2**62, 2**62]),
        np.array([1.0, 2.0, 2.0, 1.0]),
        pd.Series(["b", "a", "a", "b"], dtype="category"),
        pl.Series(["b", "a", "a", "b"]),
    ],
)
def test_two_values_are_binary_with_the_users_own_classes(y):
    targets = classes(y)
    expected = np.unique(np.asarray(y))
    assert targets.schema.kind == "binary"
    assert targets.schema.n_channels == 1
    assert_array_equal(targets.schema.classes_, expected)
    assert_array_equal(targets.values[:, 0], np.asarray(y) == expected[1])
    if isinstance(y, np.ndarray):
        assert targets.schema.classes_.dtype == y.dtype
    probabilities = targets.values
    assert_array_equal(decode_classes(targets.schema, probabilities), np.asarray(y))
    assert_array_equal(
        split_probabilities(targets.schema, probabilities)[:, 1], probabilities[:, 0]
    )


def test_binary_ties_go_to_the_first_class():
    schema = classes([0, 1]).schema
    assert decode_classes(schema, np.array([[0.5], [0.51]])).tolist() == [0, 1]
    assert_array_equal(split_probabilities(schema, np.array([[0.25]])), [[0.75, 0.25]])


def test_more_values_are_multiclass_with_one_hot_channels():
    targets = classes(["b", "a", "c", "a"])
    assert targets.schema.kind == "multiclass"
    assert targets.schema.channel_offsets.tolist() == [0, 3]
    assert_array_equal(targets.values, [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]])
    assert decode_classes(targets.schema, targets.values).tolist() == ["b", "a", "c", "a"]
    assert split_probabilities(targets.schema, targets.values).shape == (4, 3)


def test_one_class_is_one_channel_of_ones():
    targets = classes([7, 7, 7])
    assert targets.schema.kind == "multiclass"
    assert_array_equal(targets.values, np.ones((3, 1)))
    assert_array_equal(decode_classes(targets.schema, targets.values), [7, 7, 7])


@pytest.mark.parametrize(
    "y",
    [
        [1.0, NAN, 0.0],
        [1, None, 0],
        pd.Series([1, None, 0], dtype="Int64"),
        pl.Series([1, None, 0]),
        pl.Series([1.0, NAN, 0.0]),
    ],
)
def test_rows_without_a_class_are_masked(y):
    targets = classes(y)
    assert targets.schema.kind == "binary"
    assert_array_equal(targets.observed, [[True], [False], [True]])
    assert_array_equal(targets.values, [[1], [0], [0]])


def test_rows_without_a_class_are_masked_in_all_channels():
    targets = classes(["a", None, "b", "c"])
    assert_array_equal(targets.observed, [[True] * 3, [False] * 3, [True] * 3, [True] * 3])
    assert_array_equal(targets.values[1], [0, 0, 0])


@pytest.mark.parametrize(
    "Y",
    [
        np.array([[0, 1, 0], [1, 1, 0]]),
        np.array([[False, True, False], [True, True, False]]),
        np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]),
        [[0, True, 0], [1, 1.0, False]],
        pd.DataFrame({"a": [0, 1], "b": [True, True], "c": [0.0, 0.0]}),
        pl.DataFrame({"a": [0, 1], "b": [True, True], "c": [0.0, 0.0]}),
    ],
)
def test_zeros_and_ones_in_two_dimensions_are_multilabel(Y):
    targets = classes(Y)
    assert targets.schema.kind == "multilabel"
    assert targets.schema.n_channels == 3
    assert targets.observed is None
    assert targets.schema.classes_.tolist() == [0, 1]
    assert_array_equal(targets.values, [[0, 1, 0], [1, 1, 0]])
    decoded = decode_classes(targets.schema, np.array([[0.2, 0.5, 0.51]]))
    assert_array_equal(decoded, [[0, 0, 1]])
    assert decoded.dtype == np.int64


@pytest.mark.parametrize(
    "Y",
    [
        np.array([[0, NAN], [1, NAN]]),
        np.array([[False, None], [True, None]], dtype=object),
        pd.DataFrame(
            {"a": pd.array([0, 1], dtype="Int8"), "b": pd.array([None, None], "boolean")}
        ),
        pl.DataFrame({"a": [0, 1], "b": [None, None]}),
    ],
)
def test_missing_labels_are_masked_even_if_all_of_a_label_are(Y):
    targets = classes(Y)
    assert targets.schema.kind == "multilabel"
    assert_array_equal(targets.values, [[0, 0], [1, 0]])
    assert_array_equal(targets.observed, [[True, False], [True, False]])


def test_a_single_label_column_is_multilabel():
    targets = classes(np.array([[0], [1]]))
    assert targets.schema.kind == "multilabel"
    assert not targets.schema.is_1d


def test_labels_without_a_positive_are_fine():
    assert_array_equal(classes(np.zeros((3, 4), int)).values, np.zeros((3, 4)))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32])
def test_sparse_labels_stay_sparse(dtype):
    Y = sparse.csc_array(np.array([[0, 1, 0], [1, 0, 0]], dtype=dtype))
    targets = classes(Y)
    assert targets.schema.kind == "multilabel"
    assert isinstance(targets.values, sparse.csr_array)
    assert targets.values.dtype == np.float64
    assert_array_equal(targets.values.toarray(), Y.toarray())
    for probabilities in (targets.values, targets.values.toarray()):
        decoded = decode_classes(targets.schema, probabilities)
        assert sparse.issparse(decoded)
        assert_array_equal(decoded.toarray(), Y.toarray())


def test_explicit_zeros_of_sparse_labels_are_dropped_without_touching_the_input():
    Y = sparse.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert classes(Y).values.nnz == 1
    assert Y.nnz == 2


def test_sparse_labels_must_be_zero_or_one():
    with pytest.raises(ValueError, match=r"only 0 and 1.*got 2"):
        classes(sparse.csr_array([[0, 2]]))


@pytest.mark.parametrize("ingest", [regression, classes])
def test_nan_in_sparse_y_is_refused(ingest):
    with pytest.raises(ValueError, match="Use a dense y"):
        ingest(sparse.csr_array([[NAN, 1.0]]))


def test_other_values_in_two_dimensions_are_multiclass_multioutput():
    Y = np.array([[0, 5], [2, 5], [1, 6]])
    targets = classes(Y)
    schema = targets.schema
    assert schema.kind == "multiclass-multioutput"
    assert schema.channel_offsets.tolist() == [0, 3, 5]
    assert [c.tolist() for c in schema.classes_] == [[0, 1, 2], [5, 6]]
    assert_array_equal(targets.values, [[1, 0, 0, 1, 0], [0, 0, 1, 1, 0], [0, 1, 0, 0, 1]])
    decoded = decode_classes(schema, targets.values)
    assert_array_equal(decoded, Y)
    assert decoded.dtype == Y.dtype
    assert [p.shape for p in split_probabilities(schema, targets.values)] == [(3, 3), (3, 2)]


def test_frame_outputs_have_classes_of_their_own_types():
    Y = pd.DataFrame(
        {"colour": ["red", None, "blue"], "size": [1, 2, 1], "on": [True, False, True]}
    )
    targets = classes(Y)
    assert targets.schema.kind == "multiclass-multioutput"
    assert targets.schema.output_names == ("colour", "size", "on")
    assert [c.tolist() for c in targets.schema.classes_] == [
        ["blue", "red"],
        [1, 2],
        [False, True],
    ]
    assert_array_equal(targets.observed[1], [False, False, True, True, True, True])
    decoded = decode_classes(targets.schema, targets.values)
    assert decoded.dtype == object
    assert decoded[0].tolist() == ["red", 1, True]


def test_outputs_of_one_class_are_fine_in_multiclass_multioutput():
    targets = classes(np.array([["a", "x"], ["b", "x"]]))
    assert targets.schema.channel_offsets.tolist() == [0, 2, 3]
    assert_array_equal(targets.values[:, 2], [1, 1])


# ---- refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize("Y", [np.array([0.5, 1.5]), np.array([[0.5, 1.0], [1.0, 2.0]])])
def test_continuous_y_is_refused_by_a_classifier(Y):
    with pytest.raises(ValueError, match=r"Unknown label type: continuous.*Use a regressor"):
        classes(Y)


@pytest.mark.parametrize("ingest", [regression, classes])
@pytest.mark.parametrize(
    ("Y", "n_rows", "message"),
    [
        (None, 2, "requires y to be passed, but the target y is None"),
        (np.ones(4), 5, r"inconsistent numbers of samples: \[5, 4\]"),
        (sparse.csr_array((4, 2)), 5, r"inconsistent numbers of samples: \[5, 4\]"),
        (np.ones((2, 0)), 2, "at least one output"),
        (pd.DataFrame(index=range(2)), 2, "at least one output"),
        (sparse.csr_array((2, 0)), 2, "at least one output"),
        (np.ones((2, 2, 2)), 2, "dim 3"),
        (np.array([NAN, NAN]), 2, "not a single entry was observed"),
        (np.full((2, 2), NAN), 2, "not a single entry was observed"),
        ([None, None], 2, "not a single entry was observed"),
        (np.array([1j, 2]), 2, "Complex data not supported"),
        (np.array([1j, 2], dtype=object), 2, "Complex data not supported"),
        (
            pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]),
            2,
            "column names of y must be unique",
        ),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["1", 1]), 2, "column names of y must be unique"),
    ],
)
def test_unusable_y_is_refused(ingest, Y, n_rows, message):
    with pytest.raises(ValueError, match=message):
        ingest(Y, n_rows)


def test_labels_without_a_common_order_are_refused():
    with pytest.raises(TypeError, match=r"mixes labels.*1 \(int\) and 'a' \(str\)"):
        classes([1, "a", 2])


@pytest.mark.parametrize(
    "y",
    [np.array([{}, 1], dtype=object), [dt.date(2020, 1, 1)] * 2, np.array(["2020"] * 2, "M8[D]")],
)
def test_labels_that_are_no_values_are_refused(y):
    with pytest.raises(TypeError, match=r"Unknown label type.*strings, bools or numbers"):
        classes(y)


def test_an_output_without_a_class_is_refused_in_multiclass_multioutput():
    with pytest.raises(ValueError, match="Output 'b' of y has no observed value"):
        classes(pd.DataFrame({"a": ["x", "y", "z"], "b": [None, None, None]}))


def test_decoding_checks_the_number_of_channels():
    schema = classes([0, 1]).schema
    with pytest.raises(ValueError, match=r"shape \(n_rows, 1\).*got \(3, 2\)"):
        decode_classes(schema, np.ones((3, 2)))
    with pytest.raises(ValueError, match="no classes to decode"):
        decode_classes(regression([1.0]).schema, np.ones((1, 1)))
    with pytest.raises(AttributeError, match="regression"):
        regression([1.0]).schema.classes_  # noqa: B018


# ---- the stored form ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "Y",
    [
        np.array(["a", "bcd"]),
        np.array(["a", "b", "c"], dtype=object),
        np.array([2**62, 1, 5]),
        np.array([True, False]),
        np.array([[0, 1], [1, 1]]),
        sparse.csr_array([[0, 1], [1, 1]]),
        pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}),
        np.array([1, "x"], dtype=object)[:1],
        np.array([1.0, 2.0], dtype="g"),
        np.array([1, 2], dtype=">i2"),
    ],
)
def test_schema_survives_json(Y):
    schema = classes(Y).schema
    again = through_json(schema)
    for name in ("kind", "n_outputs", "is_1d", "is_sparse", "output_names"):
        assert getattr(again, name) == getattr(schema, name)
    assert_array_equal(again.channel_offsets, schema.channel_offsets)
    assert again.channel_offsets.dtype == np.int32
    for before, after in zip(schema.classes, again.classes, strict=True):
        assert before.dtype == after.dtype
        assert before.tolist() == after.tolist()


GOOD = classes(np.array([["a", "x"], ["b", "x"]])).schema.to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "pickle"},
        {"kind": "binary"},
        {"kind": "regression"},
        {"n_outputs": 3},
        {"n_outputs": -1},
        {"n_outputs": 10**15},
        {"n_outputs": True},
        {"is_1d": True},
        {"is_sparse": 1},
        {"output_names": ["a"]},
        {"output_names": "ab"},
        {"classes": None},
        {"classes": [{"dtype": "<U1", "values": ["a", "b"]}]},
        {"classes": [{"dtype": "<U1", "values": []}] * 2},
        {"classes": [{"dtype": "<U1", "values": ["a", "a"]}] * 2},
        {"classes": [{"dtype": "<U1", "values": ["abc"]}] * 2},
        {"classes": [{"dtype": "<U400000000", "values": ["a"]}] * 2},
        {"classes": [{"dtype": ["f", "4"], "values": [1.0]}] * 2},
        {"classes": [{"dtype": "V8", "values": ["a"]}] * 2},
        {"classes": [{"dtype": "nonsense", "values": ["a"]}] * 2},
        {"classes": [{"dtype": "|i1", "values": [300]}] * 2},
        {"classes": [{"dtype": "object", "values": [[1]]}] * 2},
        {"classes": [{"dtype": "i4"}] * 2},
        {"extra": 0},
    ],
)
def test_damaged_schema_is_refused(change):
    through_json(TargetSchema.from_json(GOOD))
    with pytest.raises(ValueError, match="damaged"):
        TargetSchema.from_json({**GOOD, **change})
