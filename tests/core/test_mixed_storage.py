"""Features stored sparse, dense and as categories are searched alike."""

from dataclasses import replace

import numpy as np
import pytest
from agreement import assert_agrees, assert_same_gains, assert_served
from problems import WEIGHTS, make_problem, make_values, mixed_problem
from scipy import sparse

from polyleaf.data import bin_features

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("max_bins", [255, 16, None])
@pytest.mark.parametrize("n_channels", [1, 3, 9])
def test_every_split_is_the_best_over_all_kinds_of_features(
    n_channels, max_bins, weights, l2_regularization
):
    problem = mixed_problem(n_channels=n_channels, max_bins=max_bins, weights=weights)
    assert problem.binned.dense_features.size > 0
    assert problem.binned.sparse_features.size > 4
    settings = {
        "l2_regularization": l2_regularization,
        "histogram_min_rows": 100,
        "min_samples_leaf": 1 if n_channels == 1 else 3,
        "max_depth": 5,
    }
    tree = problem.grow(**settings)
    assert len(np.unique(tree.feature[~tree.is_leaf])) > 4
    assert_served(
        tree,
        "walk",
        "ordered_categories" if n_channels == 1 else "greedy_categories",
        *(["histogram"] if max_bins else []),
    )
    assert_agrees(tree, problem, **settings)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_double_precision_holds_for_sparse_and_categorical_features(weights):
    problem = mixed_problem(n_channels=5, weights=weights, max_bins=None, seed=1)
    settings = {"double_precision": True, "min_samples_leaf": 3}
    assert_agrees(problem.grow(**settings), problem, **settings)


@pytest.mark.parametrize("min_samples_leaf", [4, 10])
def test_sparse_storage_splits_like_dense_storage(min_samples_leaf):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 6)) * (rng.random((400, 6)) < 0.15)
    X[rng.random(X.shape) < 0.01] = np.nan
    stored_sparse = make_problem(X, make_values(X, 4, seed=3))
    # Rows that are not grown on make no value common enough for sparse storage.
    padding = rng.normal(size=(1200, 6))
    stored_dense = make_problem(
        np.vstack([X, padding]),
        np.vstack([stored_sparse.gradient, np.zeros((1200, 4))]),
        max_bins=None,
    )
    assert stored_sparse.binned.dense_features.size == 0
    assert stored_dense.binned.sparse_features.size == 0
    settings = {"min_samples_leaf": min_samples_leaf, "max_depth": 5}
    tree = stored_sparse.grow(**settings)
    assert_same_gains(tree, stored_dense.grow(rows=stored_sparse.all_rows, **settings))
    assert np.any((tree.threshold < 0) & (tree.feature >= 0))


def test_a_sparse_matrix_gives_the_tree_of_its_dense_form():
    problem = mixed_problem(n_channels=3)
    binned = bin_features(
        sparse.csr_array(problem.X), problem.n_categories > 0, problem.n_categories, 255
    )
    tree, other = problem.grow(), replace(problem, binned=binned).grow()
    assert np.array_equal(tree.feature, other.feature)
    assert np.array_equal(tree.threshold, other.threshold)
    assert np.array_equal(tree.rows, other.rows)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_subset_of_the_rows_is_grown_on_as_if_there_were_no_others(weights):
    problem = mixed_problem(n_channels=4, weights=weights, seed=4)
    rows = np.random.default_rng(0).permutation(problem.n_rows)[:170].astype(np.int32)
    settings = {"min_samples_leaf": 2, "histogram_min_rows": 50}
    tree = problem.grow(rows=rows, **settings)
    assert np.array_equal(np.sort(tree.rows), np.sort(rows))
    assert_agrees(tree, problem, rows=rows, **settings)
