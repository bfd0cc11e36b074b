"""Rows fall into the leaves that a plain descent would find."""

import numpy as np
import pytest
from core_tree import Tree
from problems import make_problem, mixed_problem
from scipy import sparse

from polyleaf import _core

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def problem():
    return mixed_problem(300, n_channels=3, max_bins=None)


@pytest.fixture(scope="module")
def tree(problem):
    return problem.grow()


def make_predictor(problem, *trees):
    """Put the trees one after the other."""
    words = np.cumsum([0] + [tree.category_words.size for tree in trees])
    offsets = [
        np.where(tree.category_offset >= 0, tree.category_offset + start, -1)
        for tree, start in zip(trees, words)
    ]

    def joined(name):
        return np.concatenate([getattr(tree, name) for tree in trees])

    return _core.Predictor(
        n_categories=problem.n_categories,
        tree_offsets=np.cumsum([0] + [tree.n_nodes for tree in trees]).astype(np.int64),
        category_offset=np.concatenate(offsets).astype(np.int64),
        **{
            name: joined(name)
            for name in ("feature", "threshold", "right", "missing_left", "category_words")
        },
    )


def apply_dense(predictor, X, n_trees=1, n_threads=1):
    nodes = np.full((len(X), n_trees), -7, np.int32)
    predictor.apply_dense(X=X, nodes=nodes, n_threads=n_threads)
    return nodes


def apply_csr(predictor, X, n_trees=1, n_threads=1):
    nodes = np.full((X.shape[0], n_trees), -7, np.int32)
    indptr, indices = X.indptr.astype(np.int64), X.indices.astype(np.int32)
    predictor.apply_csr(
        indptr=indptr, indices=indices, data=X.data, nodes=nodes, n_threads=n_threads
    )
    return nodes


def naive_leaf(tree: Tree, n_categories, row):
    node = 0
    while tree.feature[node] >= 0:
        value = float(row[tree.feature[node]])
        n = n_categories[tree.feature[node]]
        if n > 0:
            is_known = 0 <= value < n
            goes_left = (
                tree.left_categories(node, n)[int(value)] if is_known else tree.missing_left[node]
            )
        else:
            goes_left = (
                tree.missing_left[node] if np.isnan(value) else value <= tree.threshold[node]
            )
        node = node + 1 if goes_left else tree.right[node]
    return node


def naive_leaves(tree, problem, X):
    return np.array([naive_leaf(tree, problem.n_categories, row) for row in X])


def hostile_rows(problem, n_rows=400):
    """Rows with values that no training row had."""
    rng = np.random.default_rng(1)
    X = problem.X[rng.integers(0, problem.n_rows, n_rows)].copy()
    strange = [np.nan, np.inf, -np.inf, -1.0, 1e9, 1e300, -0.0, 0.5, 2.7, 5.999, 6.0, -0.5, 1e-310]
    is_strange = rng.random(X.shape) < 0.3
    X[is_strange] = rng.choice(strange, is_strange.sum())
    return X


def training_leaves(tree):
    leaves = np.empty(tree.rows.size, np.int32)
    for node, rows in enumerate(tree.node_rows()):
        if tree.is_leaf[node]:
            leaves[rows] = node
    return leaves


@pytest.mark.parametrize("random_cuts", [False, True])
@pytest.mark.parametrize("max_bins", [255, 16, None])
@pytest.mark.parametrize("n_channels", [1, 3])
def test_training_rows_land_in_the_leaf_that_holds_them(n_channels, max_bins, random_cuts):
    problem = mixed_problem(300, n_channels=n_channels, max_bins=max_bins)
    tree = problem.grow(random_cuts=random_cuts)
    leaves = training_leaves(tree)
    predictor = make_predictor(problem, tree)
    assert np.array_equal(apply_dense(predictor, problem.X)[:, 0], leaves)
    assert np.array_equal(apply_csr(predictor, sparse.csr_array(problem.X))[:, 0], leaves)


def test_infinite_training_values_land_in_the_leaf_that_holds_them():
    x = np.array([-np.inf, -1e308, -1.0, 0.0, 5e-324, 1.0, 1.7e308, np.inf])
    problem = make_problem(x[:, None], np.random.default_rng(0).normal(size=(8, 2)))
    for random_cuts in (False, True):
        tree = problem.grow(random_cuts=random_cuts)
        leaves = apply_dense(make_predictor(problem, tree), problem.X)[:, 0]
        assert np.array_equal(leaves, training_leaves(tree))
        assert len(set(leaves.tolist())) == 8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_values_descend_as_they_should(problem, tree, dtype):
    with np.errstate(over="ignore"):
        X = hostile_rows(problem).astype(dtype)
    predictor, expected = make_predictor(problem, tree), naive_leaves(tree, problem, X)
    assert np.array_equal(apply_dense(predictor, X)[:, 0], expected)
    assert np.array_equal(apply_csr(predictor, sparse.csr_array(X))[:, 0], expected)


def test_unknown_categories_go_the_way_of_the_missing_and_fractions_are_cut_off():
    rng = np.random.default_rng(2)
    x = np.repeat(np.arange(5.0), 20)
    x[:15] = np.nan
    problem = make_problem(x[:, None], rng.normal(size=(5, 1)).repeat(20, 0), n_categories=[5])
    tree = problem.grow(max_depth=1)
    predictor = make_predictor(problem, tree)

    def leaf(value):
        return apply_dense(predictor, np.array([[value]]))[0, 0]

    for unknown in (-1.0, -1e-9, 5.0, 31.0, 1e9, 1e300, np.inf, -np.inf):
        assert leaf(unknown) == leaf(np.nan)
    for category in range(5):
        assert leaf(category + 0.9) == leaf(float(category))


def test_csr_rows_may_be_unsorted_and_absent_entries_are_zero(problem, tree):
    X = sparse.csr_array(np.nan_to_num(problem.X))
    expected = naive_leaves(tree, problem, np.nan_to_num(problem.X))
    backwards = X.copy()
    for begin, end in zip(X.indptr[:-1], X.indptr[1:]):
        backwards.indices[begin:end] = X.indices[begin:end][::-1]
        backwards.data[begin:end] = X.data[begin:end][::-1]
    predictor = make_predictor(problem, tree)
    assert np.array_equal(apply_csr(predictor, backwards)[:, 0], expected)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_several_trees_and_threads(problem, n_threads):
    trees = [problem.grow(max_features=2, seed=seed, max_depth=seed) for seed in range(6)]
    X = np.vstack([hostile_rows(problem), problem.X])
    predictor = make_predictor(problem, *trees)
    expected = np.column_stack([naive_leaves(tree, problem, X) for tree in trees])
    assert np.array_equal(apply_dense(predictor, X, 6, n_threads), expected)
    assert np.array_equal(apply_csr(predictor, sparse.csr_array(X), 6, n_threads), expected)


def test_no_rows_are_no_work(problem, tree):
    predictor = make_predictor(problem, tree)
    assert apply_dense(predictor, np.zeros((0, 9))).shape == (0, 1)
    assert apply_csr(predictor, sparse.csr_array((0, 9))).shape == (0, 1)
