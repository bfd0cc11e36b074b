"""Random cuts are uniform in value and scored like any other split."""

import numpy as np
import pytest
from agreement import assert_agrees, assert_served
from problems import WEIGHTS, make_problem, mixed_problem, numeric_problem
from scipy import stats

from polyleaf import _core

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("max_bins", [255, 16, None])
@pytest.mark.parametrize("n_channels", [1, 5])
def test_recorded_gain_is_that_of_the_cut(n_channels, max_bins, weights, l2_regularization):
    problem = mixed_problem(n_channels=n_channels, max_bins=max_bins, weights=weights, seed=1)
    settings = {"random_cuts": True, "seed": 3, "l2_regularization": l2_regularization}
    assert_agrees(problem.grow(**settings), problem, is_best=False, **settings)


@pytest.mark.parametrize("max_bins", [255, 16, None])
def test_thresholds_lie_within_the_values_of_the_node(max_bins):
    problem = mixed_problem(n_channels=3, max_bins=max_bins, seed=2)
    tree = problem.grow(random_cuts=True, seed=5)
    for node, rows in enumerate(tree.node_rows()):
        is_numeric = not tree.is_leaf[node] and tree.category_offset[node] < 0
        if is_numeric and np.isfinite(tree.threshold[node]):
            values = problem.X[rows, tree.feature[node]]
            assert np.nanmin(values) <= tree.threshold[node] < np.nanmax(values)


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_cuts_are_uniform_in_value_not_in_rank(is_sparse, max_bins):
    rng = np.random.default_rng(3)
    x = rng.exponential(size=200) ** 3  # most ranks lie at the low end
    if is_sparse:
        x = np.concatenate([-x[:20], x[20:40], np.zeros(400)])
    problem = make_problem(x[:, None], rng.normal(size=(x.size, 1)), max_bins=max_bins)
    assert (problem.binned.sparse_features.size == 1) == is_sparse
    cuts = np.array(
        [problem.grow(random_cuts=True, max_depth=1, seed=s).threshold[0] for s in range(400)]
    )
    assert stats.kstest(cuts, stats.uniform(x.min(), np.ptp(x)).cdf).pvalue > 0.01
    ranks = np.searchsorted(np.unique(x), cuts) / np.unique(x).size
    assert stats.kstest(ranks, stats.uniform.cdf).pvalue < 1e-6


def test_cuts_of_coarse_bins_follow_the_values_too():
    rng = np.random.default_rng(4)
    x = rng.exponential(size=2000)
    problem = make_problem(x[:, None], rng.normal(size=(2000, 1)), max_bins=16)
    low, high = problem.binned.bin_low, problem.binned.bin_high
    n_draws = 1500
    cuts = np.array(
        [
            problem.grow(random_cuts=True, max_depth=1, seed=seed).threshold[0]
            for seed in range(n_draws)
        ]
    )
    # A draw falls to the nearer end of the bin that it hits, so that the boundary after bin b
    # has the values from the middle of bin b to the middle of the next; the ends have no other.
    middles = (low + high) / 2
    edges = np.concatenate([[low[0]], middles[1:-1], [high[-1]]])
    expected = np.diff(edges) / (high[-1] - low[0])
    chosen = np.searchsorted(high, cuts, side="right") - 1
    observed = np.bincount(chosen, minlength=expected.size) / n_draws
    assert stats.chisquare(observed * n_draws, expected * n_draws).pvalue > 0.01


def test_children_are_never_empty_and_every_distinct_value_gets_a_leaf():
    rng = np.random.default_rng(5)
    x = np.repeat(np.arange(40.0), 3)
    problem = make_problem(x[:, None], np.sort(rng.normal(size=40)).repeat(3)[:, None])
    for seed in range(20):
        tree = problem.grow(random_cuts=True, seed=seed)
        assert tree.is_leaf.sum() == 40
        assert tree.n_samples.min() == 3


@pytest.mark.parametrize(
    "x",
    [
        [-np.inf, 0.0, 1.0, 2.0],
        [0.0, 1.0, np.inf, np.inf],
        [-np.inf, 0.0, 1.0, np.inf],
        [-1.7e308, -1.0, 1.0, 1.7e308],
        [1.0, 1.0 + 2**-52, 1.0 + 2**-51, 1.0 + 2**-51],
    ],
    ids=str,
)
def test_infinite_and_overflowing_ranges_are_cut_between_their_values(x):
    values = np.arange(4.0)[:, None]
    problem = make_problem(np.array(x)[:, None], values - values.mean())
    roots = set()
    for seed in range(40):
        settings = {"random_cuts": True, "seed": seed}
        tree = problem.grow(**settings)
        assert_agrees(tree, problem, is_best=False, **settings)
        roots.add(int(tree.n_samples[1]))
    assert len(roots) > 1


@pytest.mark.parametrize("n_channels", [1, 3])
def test_random_subsets_are_proper_and_all_of_them_occur(n_channels):
    rng = np.random.default_rng(6)
    x = np.repeat([0.0, 1.0, 2.0, 4.0], 10)  # category 3 is empty
    problem = make_problem(x[:, None], rng.normal(size=(40, n_channels)), n_categories=[5])
    seen = set()
    for seed in range(300):
        tree = problem.grow(random_cuts=True, max_depth=1, seed=seed)
        goes_left = tree.left_categories(0, 5)[[0, 1, 2, 4]]
        assert 0 < goes_left.sum() < 4
        seen.add(tuple(goes_left.tolist()))
    assert len(seen) == 14


@pytest.mark.parametrize("n_categories", [2, 3, 4])
def test_all_proper_subsets_of_the_categories_are_equally_likely(n_categories):
    """Chi-squared over the 2^m - 2 of them, far out in the tail for any other way to draw."""
    rng = np.random.default_rng(6)
    x = np.repeat(np.arange(float(n_categories)), 5)
    problem = make_problem(x[:, None], rng.normal(size=(x.size, 1)), n_categories=[n_categories])
    counts = np.zeros(2**n_categories)
    for seed in range(2000):
        tree = problem.grow(random_cuts=True, max_depth=1, seed=seed)
        counts[tree.left_categories(0, n_categories) @ 2 ** np.arange(n_categories)] += 1
    assert counts[0] == counts[-1] == 0
    counts = counts[1:-1]
    expected = counts.mean()
    n_free = counts.size - 1
    statistic = ((counts - expected) ** 2).sum() / expected
    assert statistic < n_free + 4 * np.sqrt(2 * n_free)


def test_the_best_of_the_random_cuts_is_taken():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(200, 8))
    problem = make_problem(X, np.sign(X[:, 3:4]) + 0.01 * rng.normal(size=(200, 1)))
    features = [
        problem.grow(random_cuts=True, max_depth=1, seed=seed).feature[0] for seed in range(50)
    ]
    assert np.mean(np.array(features) == 3) > 0.6


@pytest.mark.parametrize("n_rows", [40, 600, 6000])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("n_channels", [1, 8, 40])
def test_batches_of_cuts_are_the_cuts_drawn_one_by_one(n_channels, weights, missing, n_rows):
    problem = numeric_problem(
        n_rows, 11, n_channels, missing=missing, weights=weights, max_bins=64, seed=6
    )
    # Depth and leaves such that no two cuts tie: rounding must not choose between them.
    settings = {"random_cuts": True, "max_depth": 3, "min_samples_leaf": 3, "seed": 8}
    batched = problem.grow(**settings)
    one_by_one = problem.grow(histogram_min_rows=1, **settings)
    assert_served(batched, "random_cuts")
    assert set(one_by_one.finder_counts) == {"walk_cut"}
    assert np.array_equal(batched.feature, one_by_one.feature)
    assert np.array_equal(batched.threshold, one_by_one.threshold)
    assert np.array_equal(batched.missing_left, one_by_one.missing_left)
    np.testing.assert_allclose(batched.gain, one_by_one.gain, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("max_features", [6, 3])
@pytest.mark.parametrize("power", [3, 25, 91])
def test_cuts_of_values_far_apart_are_the_cuts_drawn_one_by_one(power, max_features):
    # Up to a range of 1e120, where the places of most bins are one in any number of 32 bits.
    rng = np.random.default_rng(power)
    X = np.column_stack(
        [rng.normal(size=(400, 3)) ** power, rng.normal(size=400), rng.exponential(size=(400, 2))]
    )
    problem = make_problem(X, rng.normal(size=(400, 4)), max_bins=64)
    settings = {"random_cuts": True, "max_depth": 3, "min_samples_leaf": 2, "seed": 3}
    settings["max_features"] = max_features
    batched = problem.grow(**settings)
    one_by_one = problem.grow(histogram_min_rows=1, **settings)
    assert_served(batched, "random_cuts")
    assert set(one_by_one.finder_counts) == {"walk_cut"}
    assert np.array_equal(batched.feature, one_by_one.feature)
    assert np.array_equal(batched.threshold, one_by_one.threshold)


@pytest.mark.parametrize("n_rows", range(2, 12))
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weights", ["unit", "rows"])
def test_a_few_rows_are_cut_as_well_in_batches_as_one_by_one(weights, missing, n_rows):
    # Several features cut so few rows alike, so that only the gains can be compared.
    problem = numeric_problem(n_rows, 11, 5, missing=missing, weights=weights, seed=7)
    settings = {"random_cuts": True, "max_depth": 1, "seed": 9}
    batched = problem.grow(**settings)
    one_by_one = problem.grow(histogram_min_rows=1, **settings)
    np.testing.assert_allclose(batched.gain, one_by_one.gain, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["baseline", "avx2", "avx512"])
@pytest.mark.parametrize("max_features", [70, 9, 5])
@pytest.mark.parametrize("n_channels", [20, 12])
@pytest.mark.parametrize("n_rows", [5, 64, 65, 700])
def test_every_instruction_set_cuts_all_columns_as_one_by_one(
    n_rows, n_channels, max_features, name
):
    # More features than one vector of codes holds, some of them with missing values.
    problem = numeric_problem(n_rows, 70, n_channels, missing=True, max_bins=32, seed=10)
    settings = {"random_cuts": True, "max_depth": 2, "min_samples_leaf": 2, "seed": 11}
    settings["max_features"] = max_features
    before = _core.instruction_set()
    if not _core.use_instruction_set(name):
        pytest.skip(f"this machine has no {name}")
    try:
        batched = problem.grow(**settings)
    finally:
        assert _core.use_instruction_set(before)
    one_by_one = problem.grow(histogram_min_rows=1, **settings)
    np.testing.assert_allclose(batched.gain, one_by_one.gain, rtol=1e-3, atol=1e-4)
    assert_agrees(batched, problem, is_best=False, **settings)


@pytest.mark.parametrize("settings", [{}, {"max_leaf_nodes": 60}, {"min_samples_leaf": 3}])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("max_features", [11, 4])
def test_full_trees_of_random_cuts_do_not_depend_on_threads(
    max_features, weights, missing, settings
):
    problem = numeric_problem(6000, 11, 6, missing=missing, weights=weights, max_bins=64, seed=12)
    settings = {"random_cuts": True, "seed": 13, "max_features": max_features, **settings}
    alone, together = (problem.grow(n_threads=n, **settings) for n in (1, 3))
    for name in ("feature", "threshold", "missing_left", "impurity", "gain", "rows"):
        assert np.array_equal(getattr(alone, name), getattr(together, name)), name


@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("max_features", [11, 4])
def test_impurities_are_those_of_the_rows_where_means_are_far_apart(max_features, weights):
    rng = np.random.default_rng(14)
    X = rng.normal(size=(500, 11))
    Y = 100.0 * (X[:, :1] > 0) + rng.normal(size=(500, 3))
    problem = make_problem(X, Y, weights=weights, max_bins=64)
    tree = problem.grow(random_cuts=True, seed=15, max_features=max_features)
    row_weights = np.ones(500) if problem.row_weights is None else problem.row_weights
    expected = []
    for rows in tree.node_rows():
        mean = np.average(Y[rows], axis=0, weights=row_weights[rows])
        expected.append(row_weights[rows] @ ((Y[rows] - mean) ** 2).sum(axis=1))
    np.testing.assert_allclose(tree.impurity, expected, rtol=1e-4, atol=1e-4)
