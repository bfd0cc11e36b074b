"""Exact trees are scikit-learn's, split by split, where no two splits tie."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from polyleaf import TreeClassifier, TreeRegressor


def random_problem(seed, n_outputs, n_rows=300, n_features=5):
    """Features that float32 holds exactly (scikit-learn works on float32), smooth outputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32).astype(np.float64)
    signal = np.sin(2 * X) @ rng.normal(size=(n_features, n_outputs))
    Y = (signal + rng.normal(size=signal.shape)) * rng.uniform(0.1, 50, n_outputs) + 7.0
    return X, Y, rng


def standardised(Y, weights=None):
    mean = np.average(Y, axis=0, weights=weights)
    return (Y - mean) / np.sqrt(np.average((Y - mean) ** 2, axis=0, weights=weights))


def assert_same_splits(tree, other):
    """Both number their nodes in preorder."""
    ours, theirs = tree._trees.structure, other.tree_
    assert ours.n_nodes == theirs.node_count > 20
    is_inner = theirs.children_left >= 0
    assert np.array_equal(ours.feature[is_inner], theirs.feature[is_inner])
    assert np.all(ours.feature[~is_inner] == -1)
    np.testing.assert_allclose(ours.threshold[is_inner], theirs.threshold[is_inner], rtol=1e-6)
    assert np.array_equal(ours.right[is_inner], theirs.children_right[is_inner])
    assert np.array_equal(ours.n_samples, theirs.n_node_samples)
    np.testing.assert_allclose(ours.weight, theirs.weighted_n_node_samples, rtol=1e-6)
    per_row_and_output = ours.impurity / ours.weight / theirs.n_outputs
    np.testing.assert_allclose(per_row_and_output, theirs.impurity, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("seed", "n_outputs"), [(0, 1), (1, 1), (2, 2), (3, 3), (4, 5), (5, 8), (6, 16), (7, 17)]
)
def test_exact_tree_equals_sklearn_on_standardised_outputs(seed, n_outputs, weighted):
    X, Y, rng = random_problem(seed, n_outputs)
    weights = rng.uniform(0.2, 3.0, X.shape[0]) if weighted else None
    settings = {"min_samples_leaf": 8, "random_state": 0}
    tree = TreeRegressor(max_bins=None, **settings).fit(X, Y, sample_weight=weights)
    other = DecisionTreeRegressor(**settings)
    other.fit(X, standardised(Y, weights), sample_weight=weights)
    assert_same_splits(tree, other)


@pytest.mark.parametrize("n_outputs", [1, 4])
def test_exact_tree_without_normalisation_equals_sklearn_on_raw_outputs(n_outputs):
    X, Y, _ = random_problem(11, n_outputs)
    settings = {"min_samples_leaf": 8, "max_depth": 5, "random_state": 0}
    tree = TreeRegressor(max_bins=None, normalize_outputs=False, **settings).fit(X, Y)
    other = DecisionTreeRegressor(**settings).fit(X, Y)
    assert_same_splits(tree, other)
    np.testing.assert_allclose(tree.predict(X).reshape(Y.shape), other.predict(X).reshape(Y.shape))


@pytest.mark.parametrize("max_leaf_nodes", [2, 7, 20])
def test_best_first_growth_makes_sklearns_leaves(max_leaf_nodes):
    X, Y, _ = random_problem(12, 3)
    settings = {"min_samples_leaf": 8, "max_leaf_nodes": max_leaf_nodes, "random_state": 0}
    tree = TreeRegressor(max_bins=None, **settings).fit(X, Y)
    other = DecisionTreeRegressor(**settings).fit(X, standardised(Y))
    assert tree.get_n_leaves() == other.get_n_leaves() == max_leaf_nodes
    assert np.array_equal(same_leaf(tree.apply(X)), same_leaf(other.apply(X)))


def same_leaf(leaves):
    return leaves[:, None] == leaves[None, :]


@pytest.mark.parametrize("min_impurity_decrease", [0.02, 0.1, 0.5])
def test_min_impurity_decrease_means_what_it_means_in_sklearn(min_impurity_decrease):
    X, Y, _ = random_problem(13, 1)
    y = Y[:, 0] / 10
    settings = {"min_samples_leaf": 8, "min_impurity_decrease": min_impurity_decrease}
    exact = TreeRegressor(max_bins=None, normalize_outputs=False, random_state=0, **settings)
    other = DecisionTreeRegressor(random_state=0, **settings).fit(X, y)
    assert 1 < exact.fit(X, y).get_n_leaves() == other.get_n_leaves() < 30
    assert np.array_equal(same_leaf(exact.apply(X)), same_leaf(other.apply(X)))


@pytest.mark.parametrize(
    "settings",
    [
        {"max_depth": 3},
        {"min_samples_split": 60, "min_samples_leaf": 8},
        {"min_samples_split": 0.2, "min_samples_leaf": 8},
        {"min_samples_leaf": 0.1},
    ],
)
def test_limits_of_growth_mean_what_they_mean_in_sklearn(settings):
    X, Y, _ = random_problem(14, 4)
    tree = TreeRegressor(max_bins=None, random_state=0, **settings).fit(X, Y)
    other = DecisionTreeRegressor(random_state=0, **settings).fit(X, standardised(Y))
    assert tree.get_n_leaves() == other.get_n_leaves()
    assert tree.get_depth() == other.get_depth()
    assert np.array_equal(same_leaf(tree.apply(X)), same_leaf(other.apply(X)))


@pytest.mark.parametrize("weighted", [False, True])
def test_feature_importances_equal_sklearns(weighted):
    X, Y, rng = random_problem(15, 3)
    weights = rng.uniform(0.2, 3.0, X.shape[0]) if weighted else None
    settings = {"min_samples_leaf": 8, "random_state": 0}
    tree = TreeRegressor(max_bins=None, **settings).fit(X, Y, sample_weight=weights)
    other = DecisionTreeRegressor(**settings)
    other.fit(X, standardised(Y, weights), sample_weight=weights)
    np.testing.assert_allclose(
        tree.feature_importances_, other.feature_importances_, rtol=1e-5, atol=1e-9
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_exact_classification_tree_equals_sklearns_gini_tree(n_classes):
    X, Y, rng = random_problem(16, 1)
    y = np.digitize(Y[:, 0], np.quantile(Y[:, 0], np.arange(1, n_classes) / n_classes))
    weights = rng.uniform(0.5, 2.0, y.size)  # counts of classes would tie
    # Without a least gain scikit-learn splits pure nodes on rounding errors.
    settings = {"min_samples_leaf": 12, "min_impurity_decrease": 1e-9, "random_state": 0}
    tree = TreeClassifier(max_bins=None, **settings).fit(X, y, weights)
    other = DecisionTreeClassifier(**settings).fit(X, y, weights)
    assert np.array_equal(same_leaf(tree.apply(X)), same_leaf(other.apply(X)))
    np.testing.assert_allclose(tree.predict_proba(X), other.predict_proba(X), atol=1e-12)


def test_few_distinct_values_make_binned_and_exact_trees_equal():
    X, Y, _ = random_problem(17, 6)
    X = np.round(X * 8) / 8
    exact = TreeRegressor(max_bins=None, min_samples_leaf=8, random_state=0).fit(X, Y)
    binned = TreeRegressor(max_bins=255, min_samples_leaf=8, random_state=0).fit(X, Y)
    assert np.array_equal(exact.predict(X), binned.predict(X))
