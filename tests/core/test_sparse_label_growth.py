"""Sparse labels give the tree of the same labels made dense."""

from dataclasses import replace

import numpy as np
import pytest
from agreement import assert_agrees, assert_identical, assert_same_gains, assert_served
from problems import make_problem, mixed_problem

pytestmark = pytest.mark.kernel


def label_problem(n_rows=300, n_labels=40, *, weights="unit", numeric_only=False, seed=0):
    """Rare 0/1 labels that depend on the features."""
    mixed = mixed_problem(n_rows, n_channels=n_labels, weights=weights, seed=seed)
    cut = np.quantile(mixed.gradient, 0.93, axis=0)
    labels = (mixed.gradient > cut).astype(np.float32)
    row_weights = mixed.row_weights
    if row_weights is not None:
        row_weights = np.round(row_weights * 4) / 4  # so that all products are exact
        row_weights = np.maximum(row_weights, 0.25).astype(np.float32)
        labels *= row_weights[:, None]
    problem = replace(mixed, gradient=labels, row_weights=row_weights)
    if not numeric_only:
        return problem
    numeric = make_problem(mixed.X[:, :6], np.zeros((n_rows, 1)))
    return replace(numeric, gradient=labels, row_weights=row_weights)


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("weights", ["unit", "rows"])
def test_sparse_labels_split_like_dense_ones(weights, l2_regularization):
    problem = label_problem(weights=weights, numeric_only=True)
    settings = {
        "l2_regularization": l2_regularization,
        "min_samples_leaf": 10,
        "double_precision": True,
    }
    assert_same_gains(problem.grow_sparse(**settings), problem.grow(**settings), 1e-5)


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("weights", ["unit", "rows"])
def test_gains_of_sparse_labels_are_exact(weights, l2_regularization):
    problem = label_problem(weights=weights, numeric_only=True, seed=1)
    settings = {"l2_regularization": l2_regularization, "min_samples_leaf": 4}
    tree = problem.grow_sparse(**settings)
    assert_agrees(tree, problem, **settings)
    reference, rows = problem.reference(**settings), tree.node_rows()
    for node in np.flatnonzero(~tree.is_leaf):
        left = np.isin(rows[node], rows[node + 1])
        exact = reference.gain(rows[node], left)
        score = reference.impurity(rows[node]) + reference.base_score(rows[node])
        np.testing.assert_allclose(tree.gain[node], exact, rtol=1e-12, atol=1e-14 * score)


@pytest.mark.parametrize("weights", ["unit", "rows"])
def test_sparse_labels_split_categories_at_the_gains_they_record(weights):
    problem = label_problem(weights=weights, seed=2)
    settings = {"min_samples_leaf": 4}
    tree = problem.grow_sparse(**settings)
    assert (tree.category_offset >= 0).any()
    # Categories are ordered along the node's mean only, so that better subsets may exist.
    assert_agrees(tree, problem, is_best=False, **settings)


@pytest.mark.parametrize("penalty", [0.0, 1.2])
@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("n_categories", [30, 100])
def test_sparse_labels_split_many_categories_better_than_at_random(n_categories, weights, penalty):
    rng = np.random.default_rng(8)
    category = rng.integers(0, n_categories, 800)
    frequency = rng.beta(0.3, 3.0, (n_categories, 25))
    labels = (rng.random((800, 25)) < frequency[category]).astype(float)
    problem = make_problem(
        category[:, None].astype(float), labels, n_categories=[n_categories], weights=weights
    )
    settings = {"max_depth": 1, "category_penalty": penalty}
    tree = problem.grow_sparse(**settings)
    assert_served(tree, "ordered_categories")
    assert_agrees(tree, problem, greedy=False, **settings)


@pytest.mark.parametrize("weights", ["unit", "rows"])
def test_sparse_labels_do_not_split_categories_without_meaning(weights):
    rng = np.random.default_rng(9)
    category = rng.integers(0, 60, (300, 1)).astype(float)
    labels = (rng.random((300, 25)) < 0.2).astype(float)
    problem = make_problem(category, labels, n_categories=[60], weights=weights)
    assert problem.grow_sparse(max_depth=1).n_nodes == 3
    assert problem.grow_sparse(max_depth=1, category_penalty=1.5).n_nodes == 1


@pytest.mark.parametrize("weights", ["unit", "rows"])
def test_random_cuts_of_sparse_labels_have_the_gains_they_record(weights):
    problem = label_problem(weights=weights, seed=3)
    settings = {"random_cuts": True, "max_features": 4, "seed": 7}
    tree = problem.grow_sparse(**settings)
    assert_served(tree, "walk_cut", "random_categories")
    assert_agrees(tree, problem, is_best=False, **settings)


def test_values_of_sparse_labels_may_be_any_number():
    problem = label_problem(numeric_only=True, seed=4)
    scale = np.random.default_rng(0).normal(size=problem.gradient.shape).astype(np.float32)
    problem = replace(problem, gradient=problem.gradient * scale)
    settings = {"min_samples_leaf": 4}
    assert_agrees(problem.grow_sparse(**settings), problem, **settings)


def test_one_thread_equals_many_for_sparse_labels():
    problem = label_problem(4000, 30, seed=5, numeric_only=True)
    one = problem.grow_sparse(n_threads=1, min_samples_leaf=3)
    assert one.n_nodes > 100
    for n_threads in (2, 5):
        assert_identical(one, problem.grow_sparse(n_threads=n_threads, min_samples_leaf=3))


def test_best_first_growth_of_sparse_labels_equals_depth_first():
    problem = label_problem(numeric_only=True, seed=6)
    settings = {"min_samples_leaf": 8}
    deep = problem.grow_sparse(**settings)
    assert deep.leaf_sets() == problem.grow_sparse(max_leaf_nodes=10**6, **settings).leaf_sets()
