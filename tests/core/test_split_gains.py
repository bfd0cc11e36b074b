"""Splits of dense numeric features are the best ones, at the gain that the formula gives."""

import numpy as np
import pytest
from agreement import assert_agrees, assert_same_gains, assert_served
from problems import WEIGHTS, make_problem, numeric_problem

from polyleaf import _core

pytestmark = pytest.mark.kernel

#: Around the boundaries of blocks of 4, 8 and 16 channels.
CHANNEL_COUNTS = (1, 3, 4, 5, 8, 9, 16, 17, 40)
#: Bytes, few bins, and exact codes of 32 bits.
MAX_BINS = (255, 16, None)
ALWAYS, DEFAULT, NEVER = 1, _core.HISTOGRAM_MIN_ROWS, 10**9
FINDERS = {ALWAYS: "histogram", NEVER: "walk"}


@pytest.mark.parametrize("histogram_min_rows", [ALWAYS, NEVER])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n_channels", CHANNEL_COUNTS)
def test_every_split_is_the_best_for_any_number_of_channels(
    n_channels, weights, histogram_min_rows
):
    problem = numeric_problem(n_channels=n_channels, weights=weights, missing=True)
    settings = {"histogram_min_rows": histogram_min_rows, "max_depth": 4, "min_samples_leaf": 3}
    tree = problem.grow(**settings)
    assert set(tree.finder_counts) == {FINDERS[histogram_min_rows]}
    assert_agrees(tree, problem, **settings)


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("max_bins", MAX_BINS)
def test_every_split_is_the_best_for_any_kind_of_codes(
    max_bins, weights, missing, l2_regularization
):
    problem = numeric_problem(
        n_channels=5, max_bins=max_bins, weights=weights, missing=missing, seed=1
    )
    assert problem.binned.dense_codes.dtype == (np.uint32 if max_bins is None else np.uint8)
    settings = {
        "l2_regularization": l2_regularization,
        "histogram_min_rows": 60,
        "min_samples_leaf": 2,
        "max_depth": 5,
    }
    assert_agrees(problem.grow(**settings), problem, **settings)


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_histograms_and_sorted_rows_find_the_same_gains(weights, l2_regularization):
    problem = numeric_problem(900, n_channels=5, weights=weights, missing=True, seed=2)
    settings = {"min_samples_leaf": 20, "l2_regularization": l2_regularization}
    trees = [
        problem.grow(histogram_min_rows=least, **settings) for least in (ALWAYS, DEFAULT, NEVER)
    ]
    assert_served(trees[0], "histogram")
    assert_served(trees[1], "histogram", "walk")
    assert_served(trees[2], "walk")
    for tree in trees:
        assert tree.n_nodes > 20
        assert_same_gains(tree, trees[-1])


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("max_bins", [255, None])
def test_double_precision_gains_agree_to_the_rounding_of_the_channels(
    max_bins, weights, l2_regularization
):
    problem = numeric_problem(
        n_channels=9, max_bins=max_bins, weights=weights, missing=True, seed=3
    )
    settings = {
        "double_precision": True,
        "l2_regularization": l2_regularization,
        "min_samples_leaf": 4,
    }
    assert_agrees(problem.grow(**settings), problem, **settings)


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_double_precision_gains_have_nine_digits(weights, l2_regularization):
    problem = numeric_problem(n_channels=5, max_bins=None, weights=weights, seed=3)
    settings = {
        "double_precision": True,
        "l2_regularization": l2_regularization,
        "min_samples_leaf": 8,
    }
    assert_agrees(problem.grow(**settings), problem, tolerance=(1e-9, 1e-12), **settings)


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n_channels", [1, 3, 17])
def test_double_precision_tree_equals_the_naive_tree(
    n_channels, weights, missing, l2_regularization
):
    problem = numeric_problem(
        200, n_channels=n_channels, max_bins=None, weights=weights, missing=missing, seed=4
    )
    settings = {"min_samples_leaf": 8, "l2_regularization": l2_regularization}
    tree = problem.grow(double_precision=True, **settings)
    nodes = problem.reference(**settings).grow(problem.all_rows)
    assert tree.n_nodes == len(nodes) > 10
    assert tree.feature.tolist() == [node.feature for node in nodes]
    assert tree.threshold.tolist() == [node.threshold for node in nodes]
    assert tree.missing_left.tolist() == [node.missing_left for node in nodes]
    assert tree.n_samples.tolist() == [len(node.rows) for node in nodes]


@pytest.mark.parametrize("histogram_min_rows", [ALWAYS, NEVER])
def test_all_values_against_missing_has_an_infinite_threshold(histogram_min_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 1))
    X[:40] = np.nan
    values = np.where(np.isnan(X), 5.0, 0.01 * X)
    tree = make_problem(X, values - values.mean()).grow(
        histogram_min_rows=histogram_min_rows, max_depth=1
    )
    assert tree.threshold[0] == np.inf
    assert not tree.missing_left[0]
    assert tree.n_samples.tolist() == [100, 60, 40]


@pytest.mark.parametrize("histogram_min_rows", [ALWAYS, NEVER])
@pytest.mark.parametrize(
    ("low", "high", "threshold"),
    [
        (0.0, 1.0, 0.5),
        (-np.inf, 2.0, -np.inf),
        (2.0, np.inf, 2.0),
        (-np.inf, np.inf, -np.inf),
        (1e308, 1.5e308, 1.25e308),
        (1.0, np.nextafter(1.0, 2.0), 1.0),
        (5e-324, 1e-323, 5e-324),
    ],
)
def test_threshold_separates_the_two_values_it_lies_between(
    low, high, threshold, histogram_min_rows
):
    X = np.repeat([low, high], 10)[:, None]
    problem = make_problem(X, np.repeat([-1.0, 1.0], 10)[:, None])
    tree = problem.grow(histogram_min_rows=histogram_min_rows)
    assert tree.threshold[0] == threshold
    assert tree.n_samples.tolist() == [20, 10, 10]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_gains_hold_when_the_values_lie_far_from_zero(weights):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(240, 3))
    values = 30.0 + np.sin(2 * X) @ rng.normal(size=(3, 5)) + rng.normal(size=(240, 5))
    problem = make_problem(X, values, weights=weights)
    for histogram_min_rows in (ALWAYS, NEVER):
        settings = {"histogram_min_rows": histogram_min_rows, "max_depth": 4}
        assert_agrees(problem.grow(**settings), problem, **settings)


def test_an_output_that_is_nowhere_observed_changes_no_split():
    problem = numeric_problem(n_channels=4, weights="masked", missing=True, seed=6)
    empty = np.zeros((problem.n_rows, 1), np.float32)
    wider = make_problem(problem.X, np.zeros((problem.n_rows, 5)))
    object.__setattr__(wider, "gradient", np.hstack([problem.gradient, empty]))
    object.__setattr__(wider, "entry_weights", np.hstack([problem.entry_weights, empty]))
    tree, other = problem.grow(min_samples_leaf=5), wider.grow(min_samples_leaf=5)
    assert np.array_equal(tree.feature, other.feature)
    assert np.array_equal(tree.threshold, other.threshold)
    np.testing.assert_allclose(tree.gain, other.gain, rtol=1e-5)
