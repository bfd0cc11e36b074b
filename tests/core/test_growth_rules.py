"""When nodes are split, and in which order."""

import heapq

import numpy as np
import pytest
from agreement import assert_agrees
from problems import WEIGHTS, make_problem, mixed_problem, numeric_problem

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize(
    "settings",
    [
        {"max_depth": 0},
        {"max_depth": 1},
        {"max_depth": 4},
        {"min_samples_split": 30},
        {"min_samples_leaf": 7},
        {"min_samples_leaf": 121},
        {"min_samples_split": 40, "min_samples_leaf": 15},
        {"min_impurity_decrease": 0.01},
        {"min_impurity_decrease": 0.05, "l2_regularization": 2.0},
        {"l2_regularization": 200.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_limits_are_kept_and_no_more_than_kept(settings, weights):
    problem = numeric_problem(240, n_channels=3, missing=True, weights=weights, seed=1)
    tree = problem.grow(**settings)
    assert_agrees(tree, problem, **settings)
    if "max_depth" in settings:
        assert tree.depths.max() == settings["max_depth"]


def test_an_unlimited_tree_separates_all_rows():
    problem = numeric_problem(150, max_bins=None)
    tree = problem.grow()
    assert np.all(tree.n_samples[tree.is_leaf] == 1)


def test_a_split_without_gain_is_accepted_because_the_next_may_gain():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]).repeat(5, axis=0)
    values = np.where(X[:, 0] == X[:, 1], 1.0, -1.0)[:, None]
    problem = make_problem(X, values)
    assert problem.grow().is_leaf.sum() == 4
    assert problem.grow(l2_regularization=1.0).n_nodes == 1
    assert problem.grow(min_impurity_decrease=1e-9).n_nodes == 1


def test_pure_nodes_and_constant_features_are_not_split():
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert make_problem(X, np.full((50, 2), 0.3)).grow().n_nodes == 1
    values = np.repeat([0.0, 1.0], 25)[:, None]
    assert make_problem(np.ones((50, 3)), values).grow().n_nodes == 1
    assert make_problem(np.full((50, 3), np.nan), values).grow().n_nodes == 1
    assert make_problem(np.sort(X, axis=0), values).grow().n_nodes == 3


def test_one_row_is_a_leaf():
    tree = make_problem(np.ones((1, 2)), np.ones((1, 3))).grow()
    assert tree.feature.tolist() == [-1]
    assert tree.rows.tolist() == [0]


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_best_first_without_a_limit_has_the_leaves_of_depth_first(weights, l2_regularization):
    problem = mixed_problem(n_channels=4, weights=weights, seed=2)
    settings = {"min_samples_leaf": 8, "l2_regularization": l2_regularization}
    best_first = problem.grow(max_leaf_nodes=10**6, **settings)
    assert best_first.leaf_sets() == problem.grow(**settings).leaf_sets()


def highest_gains(tree, n_expansions):
    """Nodes that are split when the open node of highest gain goes first."""
    open_nodes = [(-tree.gain[0], 0)] if not tree.is_leaf[0] else []
    expanded = set()
    while open_nodes and len(expanded) < n_expansions:
        _, node = heapq.heappop(open_nodes)
        expanded.add(node)
        for child in (node + 1, int(tree.right[node])):
            if not tree.is_leaf[child]:
                heapq.heappush(open_nodes, (-tree.gain[child], child))
    return expanded


@pytest.mark.parametrize("max_leaf_nodes", [1, 2, 3, 10, 25])
def test_best_first_expands_the_nodes_of_highest_gain(max_leaf_nodes):
    problem = mixed_problem(n_channels=3, seed=3)
    settings = {"min_samples_leaf": 5}
    full = problem.grow(max_leaf_nodes=10**6, **settings)
    tree = problem.grow(max_leaf_nodes=max_leaf_nodes, **settings)
    assert tree.is_leaf.sum() == max_leaf_nodes
    expanded = sorted(highest_gains(full, max_leaf_nodes - 1))
    rows = full.node_rows()
    expected = [(tuple(rows[node].tolist()), full.feature[node]) for node in expanded]
    own = tree.node_rows()
    inner = np.flatnonzero(~tree.is_leaf)
    assert [(tuple(own[node].tolist()), tree.feature[node]) for node in inner] == expected
    assert_agrees(tree, problem, max_leaf_nodes=max_leaf_nodes, **settings)


def test_nodes_are_in_preorder_and_children_add_up():
    tree = mixed_problem(n_channels=3, weights="rows").grow()
    inner = np.flatnonzero(~tree.is_leaf)
    left, right = inner + 1, tree.right[inner]
    assert np.array_equal(tree.n_samples[left] + tree.n_samples[right], tree.n_samples[inner])
    np.testing.assert_allclose(tree.weight[left] + tree.weight[right], tree.weight[inner])
    decrease = tree.impurity[inner] - tree.impurity[left] - tree.impurity[right]
    np.testing.assert_allclose(decrease, tree.gain[inner], rtol=1e-3, atol=1e-4)
    assert np.all(tree.right[tree.is_leaf] == -1)
