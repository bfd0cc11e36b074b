"""Mostly sparse features: sums that are derived from each other, rows that stay where they are."""

from dataclasses import replace

import numpy as np
import pytest
from agreement import assert_agrees, assert_identical, assert_same_gains, assert_served
from problems import make_problem, make_values
from scipy import sparse

from polyleaf import _core
from polyleaf.data import bin_features

pytestmark = pytest.mark.kernel

LABELS_AND_CHANNELS = ("labels", "channels")


def binary_problem(n_rows=260, n_features=18, n_channels=3, *, share=0.1, seed=0, **options):
    """Rare values of 18 features with two values each, not all of them 0 and 1."""
    rng = np.random.default_rng(seed)
    is_rare = rng.random((n_rows, n_features)) < share * rng.uniform(0.3, 1.5, n_features)
    X = is_rare.astype(float)
    values = make_values(X, n_channels, seed + 1)
    X[:, 1] = 1.0 - X[:, 1]  # mostly 1
    X[:, 2] = np.where(is_rare[:, 2], -3.0, 7.0)
    n_categories = np.zeros(n_features, int)
    n_categories[3:5] = 2
    X[:, 4] = 1.0 - X[:, 4]
    problem = make_problem(X, values, n_categories=n_categories, seed=seed, **options)
    assert problem.binned.dense_features.size == 0
    return problem


def grow(problem, kind, **settings):
    return (problem.grow_sparse if kind == "labels" else problem.grow)(**settings)


def as_labels(problem):
    """Turn the channels into rare labels with exact weights."""
    weights = problem.row_weights
    weights = None if weights is None else np.maximum(np.round(weights * 4) / 4, 0.25)
    labels = (problem.gradient > np.quantile(problem.gradient, 0.8, axis=0)).astype(np.float32)
    if weights is not None:
        labels *= weights[:, None]
    return replace(problem, gradient=labels, row_weights=weights)


def problem_of(kind, **options):
    problem = binary_problem(**options)
    return as_labels(problem) if kind == "labels" else problem


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def each_instruction_set(request):
    before = _core.instruction_set()
    if not _core.use_instruction_set(request.param):
        pytest.skip(f"this machine has no {request.param}")
    yield
    assert _core.use_instruction_set(before)


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("n_channels", [1, 4, 7, 16, 25])
@pytest.mark.usefixtures("each_instruction_set")
def test_every_split_of_features_with_two_values_is_the_best(
    n_channels, weights, l2_regularization
):
    problem = binary_problem(n_channels=n_channels, weights=weights)
    settings = {"l2_regularization": l2_regularization, "min_samples_leaf": 2}
    tree = problem.grow(**settings)
    assert len(np.unique(tree.feature[~tree.is_leaf])) > 8
    assert (tree.category_offset >= 0).any()
    # The sums of all flags are made at once where they fit one block of channels.
    assert_served(tree, "flag_sums" if n_channels <= 16 else "flags")
    assert_agrees(tree, problem, **settings)


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("min_samples_leaf", [1, 5])
def test_every_split_of_sparse_labels_by_two_values_is_the_best(
    min_samples_leaf, weights, l2_regularization
):
    problem = problem_of("labels", n_channels=20, weights=weights, seed=1)
    settings = {"l2_regularization": l2_regularization, "min_samples_leaf": min_samples_leaf}
    tree = problem.grow_sparse(**settings)
    assert_served(tree, "flags")
    assert_agrees(tree, problem, **settings)


@pytest.mark.parametrize("kind", LABELS_AND_CHANNELS)
@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("max_features", [1, 4, 17])
def test_drawn_features_with_two_values_have_the_gains_they_record(max_features, weights, kind):
    problem = problem_of(kind, n_channels=6, weights=weights, seed=2)
    settings = {"max_features": max_features, "seed": 5}
    tree = grow(problem, kind, **settings)
    assert_served(tree, "flags")
    assert_agrees(tree, problem, is_best=False, **settings)


@pytest.mark.parametrize("kind", LABELS_AND_CHANNELS)
@pytest.mark.parametrize("max_features", [3, 18])
def test_a_random_cut_of_two_values_lies_between_them(max_features, kind):
    problem = problem_of(kind, n_channels=4, weights="rows", seed=3)
    settings = {"random_cuts": True, "max_features": max_features, "seed": 1}
    tree = grow(problem, kind, **settings)
    assert_agrees(tree, problem, is_best=max_features == 18, **settings)
    is_third = tree.feature == 2
    assert np.all((tree.threshold[is_third] >= -3.0) & (tree.threshold[is_third] < 7.0))
    assert np.unique(tree.threshold[is_third]).size > 1


@pytest.mark.parametrize("kind", LABELS_AND_CHANNELS)
def test_splits_are_those_of_the_same_features_stored_dense(kind):
    problem = problem_of(kind, n_rows=400, n_channels=5, seed=4)
    problem = replace(
        make_problem(problem.X, np.zeros((400, 1))),
        gradient=problem.gradient,
    )
    # Rows that are not grown on make no value common enough for sparse storage.
    padding = np.random.default_rng(0).normal(size=(1600, 18))
    stored_dense = replace(
        make_problem(np.vstack([problem.X, padding]), np.zeros((2000, 1)), max_bins=None),
        gradient=np.vstack([problem.gradient, np.zeros((1600, 5), np.float32)]),
    )
    assert problem.binned.dense_features.size == 0
    assert stored_dense.binned.sparse_features.size == 0
    tree = grow(problem, kind, min_samples_leaf=4)
    assert_same_gains(
        tree, stored_dense.grow(rows=problem.all_rows, min_samples_leaf=4, double_precision=True)
    )


@pytest.mark.parametrize("kind", LABELS_AND_CHANNELS)
def test_a_deep_and_lopsided_tree_keeps_its_sums_exact(kind):
    """Every split takes few rows off: the last sums are differences of differences."""
    n_rows = 700
    rng = np.random.default_rng(5)
    X = np.zeros((n_rows, 60))
    X[np.arange(n_rows), rng.integers(0, 60, n_rows)] = 1.0
    offset = (
        1e3 if kind == "channels" else 1.0
    )  # labels are rounded when they are divided by weights
    values = offset + X @ rng.normal(size=(60, 3)) + 0.1 * rng.normal(size=(n_rows, 3))
    problem = make_problem(X, values, weights="rows")
    settings = {"max_features": 7, "seed": 2}
    tree = grow(problem, kind, **settings)
    assert tree.depths.max() > 20
    assert_agrees(tree, problem, is_best=False, **settings)


def test_sums_derived_from_the_parent_are_those_of_the_rows():
    """Best-first growth keeps the sums of its features, and takes the smaller child off them."""
    problem = binary_problem(n_rows=5000, n_channels=5, share=0.02, weights="rows", seed=14)
    problem = replace(problem, gradient=problem.gradient + 100.0 * problem.row_weights[:, None])
    settings = {"max_leaf_nodes": 150, "min_samples_leaf": 4}
    tree = problem.grow(**settings)
    assert tree.depths.max() > 12
    assert_agrees(tree, problem, **settings)


@pytest.mark.parametrize("kind", LABELS_AND_CHANNELS)
def test_rare_numbers_are_split_like_rare_flags(kind):
    """More than two values, missing ones, and two dense features beside many sparse ones."""
    rng = np.random.default_rng(6)
    X = np.round(rng.normal(size=(320, 24)), 1) * (rng.random((320, 24)) < 0.12)
    X[rng.random(X.shape) < 0.01] = np.nan
    X[:, 5] = np.where(rng.random(320) < 0.85, np.nan, X[:, 5])
    X[:, 23] = rng.normal(size=320)
    problem = make_problem(X, make_values(X, 5, seed=7), weights="rows")
    problem = as_labels(problem) if kind == "labels" else problem
    assert problem.binned.dense_features.tolist() == [5, 23]
    settings = {"min_samples_leaf": 3}
    tree = grow(problem, kind, **settings)
    assert tree.plan.is_incremental
    assert_served(tree, "walk")
    assert_agrees(tree, problem, **settings)
    for random_cuts in (False, True):
        settings = {"max_features": 4, "seed": 8, "random_cuts": random_cuts}
        assert_agrees(grow(problem, kind, **settings), problem, is_best=False, **settings)


@pytest.mark.parametrize("kind", LABELS_AND_CHANNELS)
@pytest.mark.parametrize("max_features", [5, 18])
def test_best_first_growth_on_sparse_features_equals_depth_first(max_features, kind):
    problem = problem_of(kind, seed=9)
    settings = {"max_features": max_features, "min_samples_leaf": 3}
    deep = grow(problem, kind, **settings)
    best_first = grow(problem, kind, max_leaf_nodes=10**6, **settings)
    assert deep.leaf_sets() == best_first.leaf_sets()


@pytest.mark.parametrize("kind", LABELS_AND_CHANNELS)
@pytest.mark.parametrize("max_features", [6, 18])
@pytest.mark.parametrize("limits", [{"max_depth": 40}, {"max_leaf_nodes": 600}])
def test_one_thread_equals_many_on_sparse_features(kind, max_features, limits):
    # More rows than one thread takes alone, fewer than those from which columns stay dense.
    problem = problem_of(kind, n_rows=65_000, n_channels=3, weights="rows", seed=10)
    settings = {"max_features": max_features, "min_samples_leaf": 5, **limits}
    one = grow(problem, kind, n_threads=1, **settings)
    assert one.n_nodes > 1000
    for n_threads in (2, 5):
        assert_identical(one, grow(problem, kind, n_threads=n_threads, **settings))


def test_rows_of_a_leaf_are_ascending():
    tree = binary_problem(seed=11).grow(max_features=4)
    for leaf in np.flatnonzero(tree.is_leaf):
        begin = tree.begins[leaf]
        assert np.all(np.diff(tree.rows[begin : begin + tree.n_samples[leaf]]) > 0)


def test_a_sparse_matrix_of_flags_gives_the_tree_of_its_dense_form():
    problem = binary_problem(seed=12)
    binned = bin_features(
        sparse.csr_array(problem.X), problem.n_categories > 0, problem.n_categories, 255
    )
    settings = {"max_features": 4, "seed": 3}
    assert_identical(problem.grow(**settings), replace(problem, binned=binned).grow(**settings))


def test_a_row_of_weight_two_counts_like_two_rows():
    problem = binary_problem(n_rows=200, seed=13)
    weights = np.random.default_rng(1).integers(1, 4, 200)
    weighted = replace(
        problem,
        gradient=problem.gradient * weights[:, None].astype(np.float32),
        row_weights=weights.astype(np.float32),
    )
    twice = np.repeat(problem.all_rows, weights)
    repeated = make_problem(
        problem.X[twice], problem.gradient[twice].astype(float), n_categories=problem.n_categories
    )
    settings = {"max_features": 4, "seed": 2}
    a, b = weighted.grow(**settings), repeated.grow(**settings)
    assert np.array_equal(a.feature, b.feature)
    np.testing.assert_allclose(a.gain, b.gain, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", LABELS_AND_CHANNELS)
def test_where_no_drawn_feature_can_split_the_others_are_equally_likely(kind):
    X = np.zeros((40, 300))
    X[:6, 7] = X[:6, 70] = X[:6, 250] = 1.0
    problem = make_problem(X, X[:, 7:8])
    counts = dict.fromkeys((7, 70, 250), 0)
    for seed in range(300):
        counts[int(grow(problem, kind, max_features=1, seed=seed).feature[0])] += 1
    assert min(counts.values()) > 65
