"""Any reasonable container for X, Y and weights gives the same tree."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import polyleaf
from polyleaf import TreeClassifier, TreeRegressor


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 8, size=(150, 4)).astype(np.float64) / 4
    X[rng.random(X.shape) < 0.4] = 0.0
    Y = np.column_stack([X[:, 0] * X[:, 1], X[:, 2] - X[:, 3]]) + 0.1 * rng.normal(size=(150, 2))
    return X, Y, TreeRegressor(min_samples_leaf=3, random_state=0).fit(X, Y).predict(X)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def strided(array):
    wide = np.zeros((2 * array.shape[0], 3 * array.shape[1]))
    wide[::2, ::3] = array
    return wide[::2, ::3]


CONTAINERS = {
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "longdouble": lambda X: X.astype(np.longdouble),
    "big-endian": lambda X: X.astype(">f8"),
    "fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda X: X[::-1, ::-1][::-1, ::-1],
    "read-only": read_only,
    "list": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "matrix of pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "csr_matrix": sparse.csr_matrix,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "lil": sparse.lil_array,
}


@pytest.mark.filterwarnings("ignore:X .* feature names")
@pytest.mark.parametrize("name", CONTAINERS)
def test_the_container_of_x_does_not_matter(problem, name):
    X, Y, expected = problem
    given = CONTAINERS[name](X)
    tree = TreeRegressor(min_samples_leaf=3, random_state=0).fit(given, Y)
    np.testing.assert_allclose(tree.predict(given), expected)
    np.testing.assert_allclose(tree.predict(X), expected)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float16])
def test_any_numeric_type_of_x_is_taken(dtype):
    X = (np.arange(60).reshape(20, 3) % 7 > 3).astype(dtype)
    y = X[:, 0].astype(float) - X[:, 2]
    assert np.allclose(TreeRegressor().fit(X, y).predict(X), y)


@pytest.mark.parametrize(
    "make",
    [
        np.asfortranarray,
        strided,
        read_only,
        lambda Y: Y.tolist(),
        lambda Y: Y.astype(object),
        pd.DataFrame,
        pl.DataFrame,
    ],
)
def test_the_container_of_y_does_not_matter(problem, make):
    X, Y, expected = problem
    predicted = TreeRegressor(min_samples_leaf=3, random_state=0).fit(X, make(Y)).predict(X)
    assert isinstance(predicted, np.ndarray)
    np.testing.assert_allclose(predicted, expected)


@pytest.mark.parametrize("make", [read_only, pd.Series, pl.Series, list, lambda w: w * 8])
def test_the_container_and_unit_of_weights_do_not_matter(problem, make):
    X, Y, _ = problem
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    settings = {"min_samples_leaf": 3, "random_state": 0}
    expected = TreeRegressor(**settings).fit(X, Y, weights).predict(X)
    predicted = TreeRegressor(**settings).fit(X, Y, make(weights)).predict(X)
    np.testing.assert_allclose(predicted, expected, rtol=1e-12)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_give_names_and_categories(make):
    X = make({"size": [1.0, 2.0, None, 4.0] * 5, "colour": ["red", "blue", "red", "green"] * 5})
    Y = make({"a": [1.0, 0.0, 1.0, 5.0] * 5, "b": [0.0, None, 1.0, 1.0] * 5})
    tree = TreeRegressor(random_state=0).fit(X, Y)
    assert tree.feature_names_in_.tolist() == ["size", "colour"]
    assert tree.output_names_.tolist() == ["a", "b"]
    assert tree.predict(X)[:, 0].tolist() == [1.0, 0.0, 1.0, 5.0] * 5
    with pytest.raises(ValueError, match="feature names should match"):
        tree.predict(X.rename(columns={"size": "sizes"}) if make is pd.DataFrame else X[:, ::-1])


def test_unseen_categories_go_the_way_of_missing_values():
    X = pd.DataFrame({"c": pd.Categorical(list("aabbcc") * 10)})
    X.loc[:9, "c"] = None
    y = X["c"].map({"a": 0.0, "b": 1.0, "c": 2.0}).astype(float).fillna(9.0)
    tree = TreeRegressor(random_state=0).fit(X, y)
    assert tree.predict(X).tolist() == y.tolist()
    unseen = pd.DataFrame({"c": ["never seen", None]})
    assert tree.predict(unseen).tolist() == [9.0, 9.0]


def test_outputs_without_names_are_numbered(problem):
    X, Y, _ = problem
    assert TreeRegressor().fit(X, Y).output_names_.tolist() == ["y0", "y1"]
    assert not hasattr(TreeRegressor().fit(X, Y), "feature_names_in_")


def test_binned_data_is_shared_between_fits_and_predictions(problem):
    X, Y, expected = problem
    data = polyleaf.BinnedData(X)
    tree = TreeRegressor(min_samples_leaf=3, random_state=0)
    assert np.array_equal(tree.fit(data, Y).predict(data), expected)
    assert np.array_equal(tree.fit(data, Y).predict(X), expected)
    with pytest.raises(ValueError, match="must have the features and categories"):
        tree.predict(polyleaf.BinnedData(X[:, :2]))
    with pytest.raises(ValueError, match="categorical_features must be given to BinnedData"):
        TreeRegressor(categorical_features=[0]).fit(data, Y)


def test_infinite_features_are_values():
    X = np.array([[-np.inf], [0.0], [1.0], [np.inf], [np.nan]])
    y = np.arange(5.0)
    assert TreeRegressor().fit(X, y).predict(X).tolist() == y.tolist()


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (np.array([0, 1] * 10), "binary"),
        (np.array(["no", "yes"] * 10), "binary"),
        (np.array([3, 1, 2, 1] * 5), "multiclass"),
        (np.array([[0, 1], [1, 1]] * 10), "multilabel"),
        (np.array([[True, False], [True, True]] * 10), "multilabel"),
        (np.array([[0, 2], [1, 0]] * 10), "multiclass-multioutput"),
        (np.array([["a", "b"], ["c", "b"]] * 10), "multiclass-multioutput"),
    ],
)
def test_what_y_holds_decides_the_task_and_the_shapes(y, kind):
    X = np.arange(20.0)[:, None]
    tree = TreeClassifier(random_state=0).fit(X, y)
    assert tree._targets.kind == kind
    assert np.array_equal(tree.predict(X), y)
    proba = tree.predict_proba(X)
    if kind == "multiclass-multioutput":
        assert [p.shape[1] for p in proba] == [len(c) for c in tree.classes_]
        assert all(np.allclose(p.sum(axis=1), 1) for p in proba)
        assert [p.shape for p in tree.predict_log_proba(X)] == [p.shape for p in proba]
    elif kind == "multilabel":
        assert tree.classes_.tolist() == [0, 1]
        assert proba.shape == y.shape
    else:
        assert proba.shape == (20, len(tree.classes_))
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)


@pytest.mark.parametrize("make", [TreeRegressor, polyleaf.BoostingRegressor])
@pytest.mark.parametrize(
    ("n_rows", "n_names", "is_told"), [(40, 21, True), (40, 20, False), (19, 19, False)]
)
def test_columns_that_name_rows_are_warned_of(make, n_rows, n_names, is_told, recwarn):
    rng = np.random.default_rng(0)
    names = [f"protein {i % n_names}" for i in range(n_rows)]
    frame = pd.DataFrame({"size": rng.normal(size=n_rows), "name": names})
    y = rng.normal(size=n_rows)
    make().fit(frame, y)
    told = [str(warning.message) for warning in recwarn if warning.category is UserWarning]
    assert len(told) == is_told
    if is_told:
        assert "Column 'name' of X has 21 categories in 40 rows" in told[0]
        assert recwarn[0].filename == __file__
