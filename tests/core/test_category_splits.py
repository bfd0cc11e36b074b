"""Subsets of categories: optimal for one channel, greedy for several, ordered for very many.

What chance gives to many of them is taken off.
"""

import numpy as np
import pytest
from agreement import assert_agrees, assert_served
from problems import WEIGHTS, Problem, make_problem

pytestmark = pytest.mark.kernel


def category_problem(n_rows, n_categories, n_channels, *, missing=True, seed=0, **options):
    """Two categorical features whose categories have means of their own."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_categories, (n_rows, 2)).astype(float)
    values = rng.normal(size=(n_rows, n_channels))
    for feature in range(2):
        values += rng.normal(size=(n_categories, n_channels))[X[:, feature].astype(int)]
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    values -= values.mean(0)
    return make_problem(X, values, n_categories=[n_categories, n_categories], seed=seed, **options)


def assert_category_split(problem: Problem, finder: str, **settings):
    tree = problem.grow(**settings)
    assert_served(tree, finder)
    assert tree.category_offset[0] == 0
    assert np.array_equal(tree.category_offset >= 0, ~tree.is_leaf)
    assert_agrees(tree, problem, **settings)


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n_categories", [2, 3, 7])
def test_one_channel_finds_the_best_of_all_subsets(
    n_categories, weights, missing, l2_regularization
):
    problem = category_problem(150, n_categories, 1, missing=missing, weights=weights)
    assert_category_split(problem, "ordered_categories", l2_regularization=l2_regularization)


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("min_samples_leaf", [1, 12])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(("n_categories", "n_channels"), [(5, 2), (12, 5), (64, 17)])
def test_several_channels_select_categories_greedily(
    n_categories, n_channels, weights, min_samples_leaf, max_bins
):
    problem = category_problem(
        260, n_categories, n_channels, weights=weights, max_bins=max_bins, missing=False, seed=1
    )
    settings = {"min_samples_leaf": min_samples_leaf, "max_depth": 2}
    assert_category_split(problem, "greedy_categories", **settings)


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_missing_rows_are_one_more_item_of_the_selection(weights, l2_regularization):
    problem = category_problem(200, 9, 4, weights=weights, seed=1)
    settings = {"l2_regularization": l2_regularization, "max_depth": 4}
    assert_category_split(problem, "greedy_categories", **settings)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(("n_categories", "n_channels"), [(100, 3), (300, 20), (300, 1)])
def test_very_many_categories_are_split_better_than_at_random(n_categories, n_channels, weights):
    problem = category_problem(1200, n_categories, n_channels, weights=weights, seed=2)
    assert_category_split(problem, "ordered_categories", max_depth=2)


@pytest.mark.parametrize("n_channels", [1, 4])
@pytest.mark.parametrize("n_categories", [31, 32, 33, 64, 65])
def test_category_words_hold_any_number_of_categories(n_categories, n_channels):
    problem = category_problem(400, n_categories, n_channels, seed=3)
    tree = problem.grow(max_depth=3)
    n_splits = (~tree.is_leaf).sum()
    assert tree.category_words.size == n_splits * -(-n_categories // 32)
    assert_agrees(tree, problem, max_depth=3)


@pytest.mark.parametrize("random_cuts", [False, True])
@pytest.mark.parametrize("n_channels", [1, 3])
def test_categories_that_a_node_has_not_seen_go_the_way_of_the_missing(n_channels, random_cuts):
    problem = category_problem(120, 40, n_channels, seed=4)
    tree = problem.grow(random_cuts=random_cuts)
    codes = problem.reference().codes
    for node, rows in enumerate(tree.node_rows()):
        if tree.is_leaf[node]:
            continue
        unseen = np.setdiff1d(np.arange(40), codes[rows, tree.feature[node]])
        goes_left = tree.left_categories(node, 40)
        assert np.all(goes_left[unseen] == bool(tree.missing_left[node]))


@pytest.mark.parametrize("random_cuts", [False, True])
def test_a_categorical_split_has_no_threshold(random_cuts):
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=60) + 5.0, rng.integers(0, 4, 60)])
    values = 0.1 * X[:, :1] + rng.normal(size=4)[X[:, 1].astype(int), None]
    tree = make_problem(X, values - values.mean(), n_categories=[0, 4]).grow(
        random_cuts=random_cuts
    )
    is_categorical = tree.category_offset >= 0
    assert is_categorical.any()
    assert np.all(tree.threshold[is_categorical] == 0.0)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(
    ("n_categories", "n_channels", "finder"),
    [
        (20, 1, "ordered_categories"),
        (20, 4, "greedy_categories"),
        (90, 1, "ordered_categories"),
        (90, 3, "ordered_categories"),
    ],
)
def test_what_chance_gives_is_taken_off_the_gain_of_a_subset(
    n_categories, n_channels, finder, weights, missing
):
    problem = category_problem(400, n_categories, n_channels, weights=weights, missing=missing)
    settings = {"category_penalty": 1.2, "max_depth": 4}
    tree = problem.grow(**settings)
    assert_served(tree, finder)
    assert (tree.category_offset >= 0).any()
    assert_agrees(tree, problem, **settings)


@pytest.mark.parametrize("n_channels", [1, 5])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_categories_without_meaning_are_not_split(n_channels, weights):
    rng = np.random.default_rng(6)
    X = rng.integers(0, 80, (300, 1)).astype(float)
    values = rng.normal(size=(300, n_channels))
    problem = make_problem(X, values - values.mean(0), n_categories=[80], weights=weights)
    assert problem.grow(max_depth=1).n_nodes == 3
    assert problem.grow(max_depth=1, category_penalty=1.5).n_nodes == 1


@pytest.mark.parametrize("weights", WEIGHTS)
def test_few_categories_are_never_penalised(weights):
    problem = category_problem(200, 8, 3, weights=weights)
    plain, penalised = (problem.grow(category_penalty=p) for p in (0.0, 5.0))
    assert plain.n_nodes == penalised.n_nodes
    assert np.array_equal(plain.gain, penalised.gain)


def test_random_subsets_are_not_penalised():
    problem = category_problem(200, 30, 3)
    plain, penalised = (problem.grow(random_cuts=True, category_penalty=p) for p in (0.0, 5.0))
    assert np.array_equal(plain.rows, penalised.rows)
