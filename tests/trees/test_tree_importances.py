"""Importances of features for all outputs together and for each."""

import numpy as np
import pytest
from scipy import sparse

from polyleaf import TreeClassifier, TreeRegressor


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    noise = 0.1 * rng.normal(size=(300, 3))
    Y = np.column_stack([np.sin(2 * X[:, 0]), np.abs(X[:, 1]), X[:, 2] * X[:, 0]]) + noise
    return X, Y * [1.0, 100.0, 0.01] + [0.0, 1e6, 3.0], rng


def naive_output_importances(tree, X, Y, weights=None):
    """Follow the training rows to each node, and sum squares there, output by output."""
    structure = tree._trees.structure
    weights = np.ones(len(X)) if weights is None else weights
    reached = tree.decision_path(X).toarray().astype(bool)
    gains = np.zeros((Y.shape[1], X.shape[1]))

    def squares(node, k):
        rows = reached[:, node] & ~np.isnan(Y[:, k])
        if not weights[rows].sum() > 0:
            return 0.0
        mean = np.average(Y[rows, k], weights=weights[rows])
        return weights[rows] @ (Y[rows, k] - mean) ** 2

    for node in np.flatnonzero(structure.feature >= 0):
        for k in range(Y.shape[1]):
            gains[k, structure.feature[node]] += (
                squares(node, k) - squares(node + 1, k) - squares(structure.right[node], k)
            )
    return gains / gains.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_output_importances_equal_a_naive_computation(problem, masked, weighted):
    X, Y, rng = problem
    if masked:
        Y = np.where(rng.random(Y.shape) < 0.1, np.nan, Y)
    weights = rng.uniform(0.0, 2.0, len(X)) if weighted else None
    tree = TreeRegressor(max_depth=5, random_state=0).fit(X, Y, weights)
    importances = tree.output_importances_
    assert importances.shape == (3, 4)
    np.testing.assert_allclose(importances.sum(axis=1), 1.0)
    expected = naive_output_importances(tree, X, Y, weights)
    if masked:  # where a child lost all observed values, its part counts as taken off
        np.testing.assert_allclose(importances, expected, atol=1e-6)
    else:
        np.testing.assert_allclose(importances, expected, rtol=1e-6, atol=1e-9)


def test_an_output_that_depends_on_one_feature_has_its_mass_there(problem):
    X, Y, _ = problem
    importances = TreeRegressor(min_samples_leaf=5, random_state=0).fit(X, Y).output_importances_
    assert importances[0, 0] > 0.75
    assert importances[1, 1] > 0.75


def test_constant_outputs_have_no_importance_at_all(problem):
    X, Y, _ = problem
    Y = np.column_stack([Y, np.full(len(Y), 0.1)])
    importances = TreeRegressor(random_state=0).fit(X, Y).output_importances_
    assert importances[3].tolist() == [0.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(importances[:3].sum(axis=1), 1.0)


def test_a_single_leaf_has_no_importances():
    tree = TreeRegressor().fit(np.zeros((5, 2)), np.arange(10.0).reshape(5, 2))
    assert tree.feature_importances_.tolist() == [0.0, 0.0]
    assert tree.output_importances_.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_classes_of_one_output_are_taken_together(problem):
    X, Y, _ = problem
    y = np.digitize(Y[:, 0], [-0.7, 0.0, 0.7])
    tree = TreeClassifier(max_depth=4, random_state=0).fit(X, y)
    one_hot = (y[:, None] == tree.classes_).astype(float)
    gains = naive_output_importances(tree, X, one_hot)
    assert tree.output_importances_.shape == (1, 4)
    # All channels share a weight per row, so that the sum over classes is the tree's criterion.
    np.testing.assert_allclose(tree.output_importances_[0], tree.feature_importances_, rtol=1e-4)
    assert not np.allclose(tree.output_importances_[0], gains.mean(axis=0), atol=1e-4)


def test_importances_agree_between_dense_and_sparse_labels(problem):
    X, Y, _ = problem
    labels = (np.quantile(Y, 0.7, axis=0) < Y).astype(int)
    dense = TreeClassifier(max_depth=4, random_state=0).fit(X, labels)
    other = TreeClassifier(max_depth=4, random_state=0).fit(X, sparse.csr_array(labels))
    np.testing.assert_allclose(dense.output_importances_, other.output_importances_, atol=1e-9)
    np.testing.assert_allclose(dense.feature_importances_, other.feature_importances_, atol=1e-5)
