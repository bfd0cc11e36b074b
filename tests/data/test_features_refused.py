"""Bad X and damaged schemas are refused with a message that helps; nothing else is raised."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from polyleaf.data import FeatureSchema

NAN = np.nan


def fit(X, categorical_features=None):
    return FeatureSchema.fit(X, categorical_features, estimator_name="TreeRegressor")


def through_json(schema):
    return FeatureSchema.from_json(json.loads(json.dumps(schema.to_json())))


# ---- refused in fit ----------------------------------------------------------------------------


DAMAGED_INDICES = {
    "too large": lambda m: m.indices.__setitem__(0, 10**7),
    "negative": lambda m: m.indices.__setitem__(0, -(10**7)),
    "falling": lambda m: m.indptr.__setitem__(1, 10**7),
    "too few numbers": lambda m: setattr(m, "data", m.data[:1]),
}


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.bsr_array])
@pytest.mark.parametrize("damage", DAMAGED_INDICES)
def test_index_arrays_that_lead_out_of_bounds_are_refused(form, damage):
    X = form(np.eye(4))
    DAMAGED_INDICES[damage](X)
    with pytest.raises(ValueError, match="index arrays of the sparse X must lie within its shape"):
        fit(X)


@pytest.mark.parametrize("row", [10**7, -(10**7)])
def test_coordinates_out_of_bounds_are_refused(row):
    X = sparse.coo_array(np.eye(4))
    X.row[0] = row
    with pytest.raises(ValueError, match="index arrays of the sparse X must lie within its shape"):
        fit(X)


@pytest.mark.parametrize("X", [np.ones(3), pd.Series([1.0, 2.0]), [1.0, 2.0]])
def test_one_dimensional_x_is_refused(X):
    with pytest.raises(ValueError, match=r"Expected 2D array, got 1D array.*Reshape your data"):
        fit(X)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.ones((2, 2, 2)), ValueError, "dim 3"),
        (5.0, ValueError, "got scalar array"),
        (None, TypeError, "got NoneType"),
        ({"a": [1]}, TypeError, "got dict"),
        ([[1, 2], [3]], ValueError, "same number of values"),
        (np.empty((0, 3)), ValueError, r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while"),
        (np.empty((3, 0)), ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1"),
        (pd.DataFrame(index=range(3)), ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (sparse.csr_array((0, 3)), ValueError, r"0 sample\(s\)"),
        (np.ones((2, 2)) * 1j, ValueError, "Complex data not supported"),
        (np.array([[1j], [None]], dtype=object), ValueError, "Complex data not supported"),
        (pd.DataFrame({"a": [1j]}), ValueError, "Complex data not supported"),
        (sparse.csr_array([[1j]]), ValueError, "Complex data not supported"),
        (np.array([[b"a"]]), TypeError, "Decode bytes"),
        (np.zeros((2, 2), dtype=[("a", float)]), TypeError, "data frame"),
        (pl.LazyFrame({"a": [1]}), TypeError, "collect"),
        (pl.DataFrame({"a": [[1], [2]]}), TypeError, "Column 'a' of X has the type List"),
        (np.array([[10**400]], dtype=object), ValueError, "too large for a 64-bit float"),
    ],
)
def test_unusable_x_is_refused(X, error, message):
    with pytest.raises(error, match=message):
        fit(X)


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_duplicated_column_names_are_refused(library):
    if library == "pandas":
        X = pd.DataFrame(np.ones((2, 2)), columns=["a", "a"])
    else:
        X = pa.table([[1], [2]], names=["a", "a"])
    with pytest.raises(ValueError, match=r"column names of X must be unique.*'a' 2 times"):
        fit(X)


def test_names_of_mixed_types_are_refused():
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        fit(pd.DataFrame(np.ones((2, 2)), columns=["a", 1]))


@pytest.mark.parametrize("as_frame", [True, False])
def test_mixed_object_column_is_refused_with_both_examples(as_frame):
    values = [None, 3.5, "red", 4]
    X = pd.DataFrame({"c": pd.Series(values, dtype=object)}) if as_frame else [[v] for v in values]
    column = "Column 'c'" if as_frame else "Column 0"
    with pytest.raises(TypeError, match=f"{column} of X mixes.*'red' in row 2 and 3.5 in row 1"):
        fit(X)


def test_objects_that_are_no_values_are_refused():
    message = "argument must be .* string.* number"  # what scikit-learn's checks look for
    with pytest.raises(TypeError, match=message):
        fit(np.array([[1.0], [{"a": 1}]], dtype=object))


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=2),
    st.complex_numbers(),
    st.lists(st.integers(), max_size=2),
    st.just(pd.NaT),
    st.dates(),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(anything, max_size=3), max_size=3), st.booleans())
def test_hostile_lists_are_encoded_or_refused_with_a_python_error(rows, as_objects):
    X = rows
    if as_objects and rows:
        X = np.empty((len(rows), 1), dtype=object)
        X[:, 0] = [row[0] if row else None for row in rows]
    try:
        schema, encoded = fit(X)
    except (ValueError, TypeError):
        return
    assert encoded.shape == (len(rows), schema.n_features)
    assert_array_equal(through_json(schema).encode(X), encoded)


# ---- the stored form ---------------------------------------------------------------------------


def test_schema_survives_json():
    X = pd.DataFrame(
        {"s": ["a", "b"], "b": [True, False], "i": [3, 4], "f": [0.5, 2.5], "n": [1, 2]}
    )
    schema, encoded = fit(X, ["i", "f"])
    again = through_json(schema)
    assert again.names == schema.names
    assert_array_equal(again.encode(X), encoded)
    for before, after in zip(schema.categories, again.categories):
        assert (before is None) == (after is None)
        if before is not None:
            assert before.dtype == after.dtype
            assert before.tolist() == after.tolist()


GOOD = {
    "n_features": 2,
    "names": ["a", "b"],
    "categories": {"1": {"kind": "str", "values": ["x", "y"]}},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_features": 0}, "integer from 1"),
        ({"n_features": 10**15}, "integer from 1"),
        ({"n_features": True}, "integer from 1"),
        ({"n_features": "2"}, "integer from 1"),
        ({"names": ["a"]}, "2 distinct names"),
        ({"names": ["a", "a"]}, "2 distinct names"),
        ({"names": ["a", 1]}, "list of strings"),
        ({"categories": []}, "must be an object"),
        ({"categories": {"2": GOOD["categories"]["1"]}}, "positions below 2"),
        ({"categories": {"01": GOOD["categories"]["1"]}}, "positions below 2"),
        ({"categories": {"-1": GOOD["categories"]["1"]}}, "positions below 2"),
        ({"categories": {"0": {"kind": "pickle", "values": []}}}, "expected categories as"),
        ({"categories": {"0": {"kind": "str", "values": [1]}}}, "kind 'str'"),
        ({"categories": {"0": {"kind": "int", "values": [True]}}}, "kind 'int'"),
        ({"categories": {"0": {"kind": "int", "values": [1, 1]}}}, "distinct"),
        ({"categories": {"0": {"kind": "int", "values": [2**70]}}}, "damaged"),
        ({"categories": {"0": {"kind": "float", "values": [NAN]}}}, "distinct"),
        ({"categories": {"0": None}}, "expected categories as"),
        ({"extra": 1}, "keys"),
    ],
)
def test_damaged_schema_is_refused(change, message):
    FeatureSchema.from_json(GOOD)
    with pytest.raises(ValueError, match=message):
        FeatureSchema.from_json({**GOOD, **change})


def test_schema_that_is_no_object_is_refused():
    with pytest.raises(ValueError, match="keys"):
        FeatureSchema.from_json([1, 2])
