"""Degenerate data has a defined outcome."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from polyleaf import TreeClassifier, TreeRegressor


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(40, 3))


def test_constant_outputs_make_a_single_leaf(X):
    for value in (0.0, 0.1, -1e30, 5e-324):
        tree = TreeRegressor().fit(X, np.full((40, 2), value))
        assert tree.get_n_leaves() == 1
        np.testing.assert_allclose(tree.predict(X), np.full((40, 2), value), rtol=1e-12)


def test_constant_features_make_a_single_leaf():
    tree = TreeRegressor().fit(np.ones((10, 3)), np.arange(10.0))
    assert tree.get_n_leaves() == 1
    assert tree.predict([[1.0, 2.0, 3.0]]).tolist() == [4.5]


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("pruning", [None, "f_test"])
def test_one_row_is_remembered(splitter, pruning):
    settings = {"splitter": splitter, "pruning": pruning}
    assert TreeRegressor(**settings).fit([[1.0]], [5.0]).predict([[9.0]]).tolist() == [5.0]
    tree = TreeClassifier(**settings).fit([[1.0]], [[0, 1]])
    assert tree.predict([[9.0]]).tolist() == [[0, 1]]
    assert TreeClassifier(**settings).fit([[1.0]], ["a"]).predict([[9.0]]).tolist() == ["a"]


@pytest.mark.parametrize("projection", [None, "gaussian", "subsample", "pca"])
def test_more_outputs_than_rows_are_fitted(projection):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 300))
    tree = TreeRegressor(projection=projection, random_state=0).fit(X, Y)
    np.testing.assert_allclose(tree.predict(X), Y)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_labels_without_or_with_only_positives_are_predicted_so(X, make):
    Y = np.column_stack([np.zeros(40), np.ones(40), X[:, 0] > 0]).astype(int)
    predicted = TreeClassifier().fit(X, make(Y)).predict(X)
    predicted = predicted.toarray() if sparse.issparse(predicted) else predicted
    assert np.array_equal(predicted, Y)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_labels_without_any_positive_make_a_single_leaf(X, make):
    tree = TreeClassifier().fit(X, make(np.zeros((40, 5), int)))
    assert tree.get_n_leaves() == 1
    assert tree.predict(X).sum() == 0


def test_a_single_class_is_predicted_always(X):
    tree = TreeClassifier().fit(X, ["only"] * 40)
    assert tree.classes_.tolist() == ["only"]
    assert tree.predict(X[:2]).tolist() == ["only", "only"]
    assert tree.predict_proba(X[:2]).tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("max_bins", [None, 255])
def test_a_column_without_any_value_is_left_out(max_bins):
    X = np.random.default_rng(0).normal(size=(50, 3))
    y = X[:, 0] > 0
    expected = TreeRegressor(max_bins=max_bins, random_state=0).fit(X[:, [0, 2]], y)
    X[:, 1] = np.nan
    tree = TreeRegressor(max_bins=max_bins, random_state=0).fit(X, y)
    np.testing.assert_array_equal(tree.predict(X), expected.predict(X[:, [0, 2]]))


def test_an_output_that_is_never_observed_predicts_nan_and_changes_nothing(X):
    Y = np.column_stack([X[:, 0] ** 2, X[:, 1]])
    wider = np.column_stack([Y, np.full(40, np.nan)])[:, [0, 2, 1]]
    for settings in ({}, {"min_impurity_decrease": 0.05}, {"normalize_outputs": False}):
        alone = TreeRegressor(random_state=0, **settings).fit(X, Y)
        with pytest.warns(UserWarning, match="without a single observed value: 1. Their pred"):
            tree = TreeRegressor(random_state=0, **settings).fit(X, wider)
        assert alone.get_n_leaves() == tree.get_n_leaves()
        assert np.array_equal(tree.predict(X)[:, [0, 2]], alone.predict(X))
        assert np.isnan(tree.predict(X)[:, 1]).all()
        assert tree.output_importances_[1].tolist() == [0.0, 0.0, 0.0]


def test_a_label_that_is_never_observed_is_predicted_zero(X):
    Y = np.column_stack([X[:, 0] > 0, np.full(40, np.nan)])
    with pytest.warns(UserWarning, match="They are predicted as 0, with probability 0"):
        tree = TreeClassifier(random_state=0).fit(X, Y)
    assert np.array_equal(tree.predict(X), np.column_stack([X[:, 0] > 0, np.zeros(40)]))
    assert np.all(tree.predict_proba(X)[:, 1] == 0.0)


def test_nothing_observed_at_all_is_refused(X):
    for estimator in (TreeRegressor(), TreeClassifier()):
        with pytest.raises(ValueError, match="observed"):
            estimator.fit(X, np.full((40, 2), np.nan))


def test_entirely_missing_features_are_never_split(X):
    X = np.column_stack([X, np.full(40, np.nan)])
    tree = TreeRegressor(random_state=0).fit(X, X[:, 0])
    assert tree.feature_importances_[3] == 0.0
    np.testing.assert_allclose(tree.predict(X), X[:, 0])


@pytest.mark.parametrize("scale", [1e-100, 1e-30, 1e30, 1e99])
@pytest.mark.parametrize("normalize", [False, True])
def test_the_unit_of_the_outputs_does_not_change_the_tree(X, scale, normalize):
    Y = np.sin(X) + 1.0
    settings = {"normalize_outputs": normalize, "min_samples_leaf": 3, "random_state": 0}
    expected = TreeRegressor(**settings).fit(X, Y).predict(X)
    predicted = TreeRegressor(**settings).fit(X, Y * scale).predict(X)
    np.testing.assert_allclose(predicted / scale, expected, rtol=1e-9)


@pytest.mark.parametrize("scale", [2.0**-300, 2.0**-40, 2.0**40, 2.0**300])
def test_the_unit_of_the_weights_does_not_change_the_tree(X, scale):
    Y = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, np.sin(X))
    for ndim in (1, 2):
        weights = np.random.default_rng(2).uniform(0.5, 2.0, X.shape[:ndim])
        tree = TreeRegressor(random_state=0).fit(X, Y, weights)
        scaled = TreeRegressor(random_state=0).fit(X, Y, weights * scale)
        assert np.array_equal(scaled.predict(X), tree.predict(X))
        assert np.array_equal(scaled.feature_importances_, tree.feature_importances_)


def test_a_far_mean_does_not_change_the_tree(X):
    Y = np.sin(X)
    near = TreeRegressor(random_state=0, min_samples_leaf=3).fit(X, Y)
    far = TreeRegressor(random_state=0, min_samples_leaf=3).fit(X, Y + 2.0**30)
    assert np.array_equal(far.apply(X), near.apply(X))
    np.testing.assert_allclose(far.output_importances_, near.output_importances_, atol=1e-5)


def test_values_that_cannot_be_squared_are_refused(X):
    with pytest.raises(ValueError, match="Divide it by a constant"):
        TreeRegressor().fit(X, np.full(40, 1e308))


def test_wrong_shapes_at_predict_are_refused(X):
    tree = TreeRegressor().fit(X, X)
    for wrong in (X[:, :2], np.zeros((0, 3)), X[0], X[None]):
        with pytest.raises(ValueError, match=r"features|0 sample|1D|dim 3"):
            tree.predict(wrong)


def test_a_failed_refit_keeps_the_fitted_tree(X):
    tree = TreeRegressor(pruning="f_test", pruning_level=0.1, random_state=0).fit(X, X[:, 0])
    expected, level = tree.predict(X), tree.pruning_level_
    with pytest.raises(ValueError, match="Divide"):
        tree.set_params(pruning_level=0.5).fit(X, np.full(40, 1e300))
    assert np.array_equal(tree.predict(X), expected)
    assert tree.pruning_level_ == level


def test_a_refit_forgets_what_no_longer_holds(X):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    tree = TreeRegressor(pruning="f_test", pruning_level=0.1).fit(frame, X[:, 0])
    tree.set_params(pruning=None).fit(X, X)
    assert not hasattr(tree, "pruning_level_")
    assert not hasattr(tree, "feature_names_in_")
    assert tree.n_outputs_ == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_depth", 0),
        ("max_depth", 2.0),
        ("max_depth", True),
        ("max_leaf_nodes", 1),
        ("min_samples_split", 1),
        ("min_samples_split", 1.5),
        ("min_samples_leaf", 0),
        ("min_samples_leaf", 0.0),
        ("min_impurity_decrease", -1.0),
        ("min_impurity_decrease", np.nan),
        ("max_features", "all"),
        ("max_features", 0),
        ("splitter", "worst"),
        ("max_bins", 256),
        ("max_bins", 1),
        ("normalize_outputs", "yes"),
        ("pruning", "cost"),
        ("pruning_level", 0.0),
        ("pruning_level", "auto"),
        ("random_state", -1),
        ("n_jobs", 0),
        ("n_jobs", 1.5),
    ],
)
def test_impossible_parameters_are_refused_by_name(X, name, value):
    with pytest.raises(ValueError, match=rf"{name} of TreeRegressor must be .*; got"):
        TreeRegressor(**{name: value}).fit(X, X)
