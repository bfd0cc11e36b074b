"""Trees grown best-first: open nodes keep histograms, and larger children are differences."""

from functools import cache

import numpy as np
import pytest
from agreement import assert_agrees, assert_identical, assert_same_gains, assert_served
from core_tree import Tree
from problems import WEIGHTS, mixed_problem, numeric_problem

from polyleaf import _core

pytestmark = pytest.mark.kernel

NO_LIMIT = 10**6


@cache
def large_problem(weights, missing=True):
    return numeric_problem(
        10_000, n_features=6, n_channels=5, weights=weights, missing=missing, seed=7
    )


@cache
def wide_problem():
    """So many features and channels that four nodes may keep their histograms at a time."""
    return numeric_problem(40_000, n_features=60, n_channels=64, weights="masked", seed=2)


def n_subtracted(tree: Tree) -> int:
    return tree.finder_counts.get("subtracted_histogram", 0)


def n_large_parents(tree: Tree) -> int:
    """Nodes that are large enough to keep their histograms, and have grandchildren."""
    inner = ~tree.is_leaf
    has_inner_child = np.zeros(tree.n_nodes, dtype=bool)
    for node in np.flatnonzero(inner):
        has_inner_child[node] = inner[node + 1] or inner[tree.right[node]]
    return int(np.sum(has_inner_child & (tree.n_samples >= _core.SUBTRACTION_MIN_ROWS)))


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_subtracted_histograms_give_the_best_splits(weights, missing, l2_regularization):
    problem = large_problem(weights, missing)
    settings = {"max_leaf_nodes": 7, "l2_regularization": l2_regularization}
    tree = problem.grow(**settings)
    assert_served(tree, "histogram", "subtracted_histogram")
    assert_agrees(tree, problem, **settings)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_without_a_limit_the_tree_is_that_of_depth_first_growth(weights):
    problem = large_problem(weights)
    settings = {"max_depth": 4, "min_samples_leaf": 300}
    best_first = problem.grow(max_leaf_nodes=NO_LIMIT, **settings)
    assert n_subtracted(best_first) >= n_large_parents(best_first) > 0
    assert_same_gains(best_first, problem.grow(**settings), 1e-3)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_subtraction_goes_together_with_sparse_and_categorical_features(weights):
    problem = mixed_problem(6_000, n_channels=5, weights=weights, seed=8)
    settings = {"max_leaf_nodes": 4}
    tree = problem.grow(**settings)
    assert_served(tree, "subtracted_histogram", "walk")
    assert_agrees(tree, problem, **settings)


@pytest.mark.parametrize("weights", ["unit", "rows", "masked"])
def test_one_thread_equals_many_to_the_last_bit(weights):
    problem = large_problem(weights)
    settings = {"max_leaf_nodes": 40, "min_samples_leaf": 20}
    one = problem.grow(n_threads=1, **settings)
    assert_served(one, "subtracted_histogram")
    for n_threads in (2, 5):
        assert_identical(one, problem.grow(n_threads=n_threads, **settings))


def test_nodes_beyond_the_memory_bound_are_built_again_from_their_rows():
    problem = wide_problem()
    settings = {"min_samples_leaf": 1000, "n_threads": 2}
    bounded = problem.grow(max_leaf_nodes=NO_LIMIT, **settings)
    assert bounded.plan.waiting_histograms == 4
    assert 0 < n_subtracted(bounded) < n_large_parents(bounded)
    assert_identical(bounded, problem.grow(max_leaf_nodes=NO_LIMIT, min_samples_leaf=1000))
    assert_same_gains(bounded, problem.grow(histogram_min_rows=10**9, **settings), 1e-3)


def test_a_child_that_may_not_be_split_is_a_leaf_though_its_sibling_is_searched():
    problem = large_problem("unit")
    settings = {"max_leaf_nodes": 30, "min_samples_split": 4500}
    tree = problem.grow(**settings)
    assert_served(tree, "subtracted_histogram")
    inner = ~tree.is_leaf
    assert inner.sum() >= 2
    assert tree.n_samples[inner].min() >= 4500


@pytest.mark.parametrize("max_leaf_nodes", [1, 2, 3, 4])
def test_few_leaves_are_those_of_the_highest_gains(max_leaf_nodes):
    problem = large_problem("rows")
    tree = problem.grow(max_leaf_nodes=max_leaf_nodes)
    assert tree.is_leaf.sum() == max_leaf_nodes
    # Two leaves need no search of the children, and so no histograms for them.
    assert n_subtracted(tree) == max(0, max_leaf_nodes - 2)
    assert_agrees(tree, problem, max_leaf_nodes=max_leaf_nodes)
