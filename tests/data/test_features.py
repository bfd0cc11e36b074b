"""X of every kind becomes floats, codes and NaN, and bad X is refused with a helpful message."""

import datetime as dt
import json
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from polyleaf.data import FeatureSchema

NAN = np.nan


def fit(X, categorical_features=None):
    return FeatureSchema.fit(X, categorical_features, estimator_name="TreeRegressor")


def through_json(schema):
    return FeatureSchema.from_json(json.loads(json.dumps(schema.to_json())))


# ---- arrays ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "f2", "f4", "?"])
def test_narrow_dtypes_become_float32_exactly(dtype):
    X = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    schema, encoded = fit(X)
    assert encoded.dtype == np.float32
    assert encoded.flags.c_contiguous
    assert_array_equal(encoded, X.astype(float))
    assert not schema.is_categorical.any()


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f8", "g", ">f8", ">i4"])
def test_wide_dtypes_become_native_float64(dtype):
    X = np.array([[0, 1], [100_003, 7], [5, 9]]).astype(dtype)
    _, encoded = fit(X)
    assert encoded.dtype == np.dtype(np.float64)
    assert encoded.dtype.isnative
    assert_array_equal(encoded, X.astype(float))


def test_c_contiguous_float64_is_not_copied():
    X = np.ones((3, 2))
    assert fit(X)[1] is X


@pytest.mark.parametrize("order", ["F", "strided", "reversed"])
def test_any_memory_order_becomes_c_contiguous(order):
    base = np.arange(24.0).reshape(4, 6)
    X = {"F": np.asfortranarray(base), "strided": base[:, ::2], "reversed": base[::-1, ::-1]}[
        order
    ]
    _, encoded = fit(X)
    assert encoded.flags.c_contiguous
    assert_array_equal(encoded, X)


def test_infinities_are_values_and_nan_is_missing():
    X = np.array([[np.inf, NAN], [-np.inf, 1.0]])
    assert_array_equal(fit(X)[1], X)


def test_masked_entries_are_missing():
    X = np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    assert_array_equal(fit(X)[1], [[1, NAN], [3, 4]])


def test_integers_beyond_float64_precision_are_rounded():
    assert fit(np.array([[2**60 + 1]]))[1][0, 0] == 2.0**60


def test_nested_lists_keep_numbers_numeric_beside_strings():
    schema, encoded = fit([[1, "a"], [2.5, "b"], [None, None]])
    assert_array_equal(encoded, [[1, 0], [2.5, 1], [NAN, NAN]])
    assert schema.categories[0] is None
    assert schema.categories[1].tolist() == ["a", "b"]


def test_object_column_of_numbers_and_none_is_numeric():
    X = np.array([[1, Decimal("1.5")], [None, 2], [2.5, pd.NA]], dtype=object)
    schema, encoded = fit(X)
    assert not schema.is_categorical.any()
    assert_array_equal(encoded, [[1, 1.5], [NAN, 2], [2.5, NAN]])


def test_object_column_of_bools_is_categorical():
    schema, encoded = fit(np.array([[True], [None], [False]], dtype=object))
    assert_array_equal(schema.categories[0], [False, True])
    assert_array_equal(encoded, [[1], [NAN], [0]])


def test_string_array_is_categorical():
    schema, encoded = fit(np.array([["b"], ["a"], ["b"]]))
    assert schema.n_categories.tolist() == [2]
    assert_array_equal(encoded, [[1], [0], [1]])


def test_object_column_without_a_value_has_no_categories_and_takes_anything_at_predict():
    schema, encoded = fit(np.array([[None, 1], [None, 2]], dtype=object))
    assert schema.is_categorical.tolist() == [True, False]
    assert schema.n_categories.tolist() == [0, 0]
    assert_array_equal(encoded[:, 0], [NAN, NAN])
    assert_array_equal(schema.encode([["a", 1]]), [[NAN, 1]])
    assert_array_equal(schema.encode([[3.0, 1]]), [[NAN, 1]])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns", "D", "h"])
def test_dates_of_any_unit_give_the_same_nanoseconds(unit):
    X = np.array([["2020-01-02"], ["NaT"]], dtype=f"M8[{unit}]")
    assert_array_equal(fit(X)[1], [[1577923200e9], [NAN]])


def test_far_dates_do_not_overflow():
    X = np.array([["9999-01-01"], ["0001-01-01"]], dtype="M8[D]")
    encoded = fit(X)[1]
    assert encoded[0, 0] > 2e20
    assert encoded[1, 0] < -6e19


# ---- frames ------------------------------------------------------------------------------------

DAY = dt.datetime(2020, 1, 2)
COLUMNS = {
    "integer": ([3, 1, 2], [3, 1, 2]),
    "nullable": ([3, None, 2], [3, NAN, 2]),
    "float": ([0.5, float("nan"), np.inf], [0.5, NAN, np.inf]),
    "string": (["b", None, "a"], [1, NAN, 0]),
    "bool": ([True, None, False], [1, NAN, 0]),
    "date": ([DAY, None, DAY], [1577923200e9, NAN, 1577923200e9]),
    "duration": ([dt.timedelta(1), None, dt.timedelta(2)], [86400e9, NAN, 2 * 86400e9]),
    "decimal": ([Decimal("1.5"), None, Decimal("2")], [1.5, NAN, 2]),
}
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": lambda data: pl.DataFrame(data, strict=False),
    "pyarrow": lambda data: pa.table({name: pa.array(column) for name, column in data.items()}),
    "pandas with pyarrow": lambda data: pd.DataFrame(
        {
            name: pd.array(pa.array(column).to_pandas(types_mapper=pd.ArrowDtype))
            for name, column in data.items()
        }
    ),
}


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("column", COLUMNS)
def test_frame_column_is_encoded_by_its_type(library, column):
    given_values, expected = COLUMNS[column]
    if library == "pandas" and column == "nullable":
        given_values = pd.array(given_values, dtype="Int64")
    if library == "pandas" and column == "bool":
        given_values = pd.array(given_values, dtype="boolean")
    schema, encoded = fit(FRAMES[library]({column: given_values}))
    assert_array_equal(encoded[:, 0], expected)
    assert schema.names == (column,)
    assert schema.is_categorical.tolist() == [column in ("string", "bool")]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_declared_categories_keep_their_order_and_only_those_that_occur(library):
    values, declared = ["low", "high", None], ["low", "middle", "high"]
    if library == "pandas":
        X = pd.DataFrame({"c": pd.Categorical(values, categories=declared)})
        later = pd.DataFrame({"c": pd.Categorical(["middle"], categories=declared)})
    else:
        X = pl.DataFrame({"c": pl.Series(values, dtype=pl.Enum(declared))})
        later = pl.DataFrame({"c": pl.Series(["middle"], dtype=pl.Enum(declared))})
    schema, encoded = fit(X)
    assert schema.categories[0].tolist() == ["low", "high"]
    assert_array_equal(encoded[:, 0], [0, 1, NAN])
    assert_array_equal(schema.encode(later), [[NAN]])


def test_numeric_categoricals_keep_their_numbers():
    X = pd.DataFrame({"c": pd.Categorical([10, 20, None], categories=[20, 10])})
    schema, encoded = fit(X)
    assert schema.categories[0].tolist() == [20, 10]
    assert schema.categories[0].dtype == np.int64
    assert_array_equal(encoded[:, 0], [1, 0, NAN])
    assert_array_equal(schema.encode(pd.DataFrame({"c": [20]})), [[0]])


def test_polars_and_arrow_categoricals_are_sorted_and_keep_their_nulls():
    frame = pl.DataFrame({"c": pl.Series(["y", None, "x"], dtype=pl.Categorical)})
    for X in (frame, frame.to_arrow()):
        schema, encoded = fit(X)
        assert schema.categories[0].tolist() == ["x", "y"]
        assert_array_equal(encoded[:, 0], [1, NAN, 0])


def test_interval_categories_are_known_by_their_text():
    X = pd.DataFrame({"c": pd.cut([1.0, NAN, 9.0], [0, 5, 10])})
    schema, encoded = fit(X)
    assert schema.levels[0].tolist() == ["(0, 5]", "(5, 10]"]  # intervals of cut are ordered
    assert_array_equal(encoded[:, 0], [0, NAN, 1])
    schema, encoded = fit(X, ["c"])
    assert schema.categories[0].tolist() == ["(0, 5]", "(5, 10]"]
    assert_array_equal(encoded[:, 0], [0, NAN, 1])


def test_float32_frame_stays_float32_and_mixed_frame_is_float64():
    single = pd.DataFrame({"a": np.float32([1, 2]), "b": np.float32([3, 4])})
    assert fit(single)[1].dtype == np.float32
    assert fit(single.assign(c=["x", "y"]))[1].dtype == np.float64


def test_sparse_pandas_columns_are_numeric():
    X = pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 0.0, 1.0]), "b": ["x", "y", "x"]})
    assert_array_equal(fit(X)[1], [[0, 0], [0, 1], [1, 0]])


def test_frame_and_array_of_the_same_numbers_are_encoded_alike():
    X = np.array([[1.5, NAN], [2.5, 4.0]])
    for frame in (pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X, schema=["a", "b"])):
        assert_array_equal(fit(frame)[1], fit(X)[1])


# ---- sparse ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("fmt", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_sparse_of_any_format_becomes_canonical_csr(fmt, kind):
    dense = np.array([[0, 2, 0], [1, 0, 0], [0, 3, 4]], dtype=np.int64)
    X = getattr(sparse, f"{fmt}_{kind}")(dense)
    _, encoded = fit(X)
    assert isinstance(encoded, sparse.csr_array)
    assert encoded.dtype == np.float64
    assert encoded.has_canonical_format
    assert_array_equal(encoded.toarray(), dense)


def test_duplicated_sparse_entries_are_summed_without_changing_the_input():
    data, indices = np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0])
    X = sparse.csr_array((data, indices, np.array([0, 3])), shape=(1, 2))
    assert_array_equal(fit(X)[1].toarray(), [[5, 3]])
    assert data.tolist() == [1.0, 2.0, 5.0]
    assert indices.tolist() == [1, 1, 0]


def test_sparse_indices_out_of_range_are_refused():
    X = sparse.csr_array(np.eye(3))
    X.indices[0] = 99
    with pytest.raises(ValueError):
        fit(X)


def test_stored_nan_is_missing_in_sparse_x():
    X = sparse.csr_array(np.array([[0.0, NAN], [1.0, 0.0]]))
    assert_array_equal(fit(X)[1].toarray(), [[0, NAN], [1, 0]])


def test_implicit_zeros_of_sparse_categories_stay_implicit_with_code_zero():
    X = sparse.csr_array(np.array([[0.0, 7.0], [-3.0, 0.0], [5.0, NAN]]))
    schema, encoded = fit(X, [0, 1])
    assert schema.categories[0].tolist() == [0, -3, 5]
    assert schema.categories[1].tolist() == [0, 7]
    assert encoded.nnz == X.nnz
    assert_array_equal(encoded.toarray(), [[0, 1], [1, 0], [2, NAN]])
    assert_array_equal(schema.encode(X.toarray()), encoded.toarray())
    unseen = sparse.csr_array(np.array([[9.0, 0.0]]))
    assert_array_equal(schema.encode(unseen).toarray(), [[NAN, 0]])


def test_sparse_predict_needs_zero_as_the_first_category():
    schema, _ = fit(np.array([[1.0], [2.0]]), [0])
    with pytest.raises(ValueError, match="0 is not its first category"):
        schema.encode(sparse.csr_array((1, 1)))
    assert_array_equal(schema.encode(sparse.csr_array([[2.0]])).toarray(), [[1]])


def test_sparse_predict_is_refused_for_text_categories():
    schema, _ = fit([["a"], ["b"]])
    with pytest.raises(TypeError, match="sparse matrix cannot hold"):
        schema.encode(sparse.csr_array((2, 1)))


# ---- categorical_features ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "chosen", [["b"], [1], [False, True], np.array([1]), np.array([False, True])]
)
def test_categorical_features_by_name_position_or_mask(chosen):
    X = pd.DataFrame({"a": [1, 2, 3], "b": [30, 10, 30]})
    schema, encoded = fit(X, chosen)
    assert schema.is_categorical.tolist() == [False, True]
    assert schema.categories[1].tolist() == [10, 30]
    assert_array_equal(encoded, [[1, 1], [2, 0], [3, 1]])
    assert X["b"].tolist() == [30, 10, 30]


def test_categorical_features_do_not_change_the_users_array():
    X = np.array([[5.0], [-0.0], [NAN], [0.0]])
    schema, encoded = fit(X, [0])
    assert_array_equal(X[:, 0], [5, 0, NAN, 0])
    assert_array_equal(encoded[:, 0], [1, 0, NAN, 0])
    assert schema.categories[0].tolist() == [0, 5]


def test_no_categorical_features_is_an_empty_list_too():
    assert not fit(np.ones((2, 2)), [])[0].is_categorical.any()


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (["hieght"], "Did you mean 'height'"),
        ([2], "position 2"),
        ([-1], "position -1"),
        ([True], "mask of 1"),
        ("height", "list of column names"),
        (["height", 1], "among them"),
        ([1.0], "among them"),
        ([[0]], "must be None"),
    ],
)
def test_bad_categorical_features_are_refused(chosen, message):
    X = pd.DataFrame({"height": [1.0, 2.0], "width": [1.0, 2.0]})
    with pytest.raises(ValueError, match=message):
        fit(X, chosen)


def test_names_in_categorical_features_need_named_columns():
    with pytest.raises(ValueError, match="no string column names"):
        fit(np.ones((2, 2)), ["a"])


def test_infinity_is_no_category():
    with pytest.raises(ValueError, match="Column 0 of X is categorical but holds infinity"):
        fit(np.array([[np.inf], [1.0]]), [0])


# ---- prediction time ---------------------------------------------------------------------------


def test_unseen_categories_and_nones_are_missing_at_predict():
    schema, _ = fit(pd.DataFrame({"c": ["a", "b"], "x": [1.0, 2.0]}))
    later = pd.DataFrame({"c": ["b", "zzz", None], "x": [1.0, None, 3.0]})
    assert_array_equal(schema.encode(later), [[1, 1], [NAN, NAN], [NAN, 3]])


def test_another_library_may_predict():
    data = {"c": ["a", "b"], "x": [1.0, 2.0], "t": [True, False]}
    schema, encoded = fit(pd.DataFrame(data))
    assert_array_equal(schema.encode(pl.DataFrame(data)), encoded)


def test_text_for_a_numeric_column_is_refused_at_predict():
    schema, _ = fit(pd.DataFrame({"x": [1.0, 2.0]}))
    with pytest.raises(TypeError, match=r"Column 'x' of X was numeric in fit.*'oops'"):
        schema.encode(pd.DataFrame({"x": ["oops"]}))


def test_numbers_for_a_text_category_and_the_reverse_are_refused_at_predict():
    text, _ = fit(pd.DataFrame({"c": ["a", "b"]}))
    with pytest.raises(TypeError, match="categories such as 'a', 'b', but now holds numbers"):
        text.encode(pd.DataFrame({"c": [1.0]}))
    numbers, _ = fit(pd.DataFrame({"c": [1, 2]}), ["c"])
    with pytest.raises(TypeError, match="categories such as 1, 2, but now holds strings"):
        numbers.encode(pd.DataFrame({"c": ["a"]}))


def test_a_column_of_nothing_but_missing_values_is_fine_at_predict():
    schema, _ = fit(pd.DataFrame({"c": ["a", "b"], "x": [1, 2]}))
    later = pd.DataFrame({"c": [NAN, NAN], "x": [None, None]})
    assert np.isnan(schema.encode(later)).all()


def test_wrong_number_of_features_is_refused_at_predict():
    schema, _ = fit(np.ones((2, 4)))
    message = "X has 3 features, but TreeRegressor is expecting 4 features as input"
    with pytest.raises(ValueError, match=message):
        schema.encode(np.ones((2, 3)), estimator_name="TreeRegressor")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["b", "a"], "same order as they were in fit"),
        (["a", "z"], "unseen at fit time:\n- z\n"),
        (["a"], "yet now missing:\n- b\n"),
    ],
)
def test_wrong_names_are_refused_at_predict(columns, message):
    schema, _ = fit(pd.DataFrame({"a": [1.0], "b": [2.0]}))
    with pytest.raises(ValueError, match=message):
        schema.encode(pd.DataFrame([[1.0] * len(columns)], columns=columns))


def test_names_on_one_side_only_give_a_warning():
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    named, _ = fit(frame)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but"):
        named.encode(frame.to_numpy())
    unnamed, _ = fit(frame.to_numpy())
    with pytest.warns(UserWarning, match="X has feature names, but"):
        unnamed.encode(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named.encode(frame)


def test_columns_named_by_numbers_have_no_names():
    assert fit(pd.DataFrame(np.ones((2, 2))))[0].names is None


def test_one_row_and_constant_columns_are_fine():
    _, encoded = fit([[1.0, "a", None]])
    assert_array_equal(encoded, [[1, 0, NAN]])
