"""Large nodes: histograms by subtraction, any number of threads, any instruction set."""

from functools import cache

import pytest
from agreement import assert_agrees, assert_identical, assert_same_gains, assert_served
from problems import WEIGHTS, mixed_problem, numeric_problem

from polyleaf import _core

pytestmark = pytest.mark.kernel

N_ROWS = 10_000


@cache
def large_problem(weights, missing):
    return numeric_problem(
        N_ROWS, n_features=6, n_channels=5, weights=weights, missing=missing, seed=7
    )


@cache
def large_mixed_problem(weights):
    return mixed_problem(6_000, n_channels=5, weights=weights, seed=8)


@pytest.fixture
def restored_instruction_set():
    before = _core.instruction_set()
    yield before
    assert _core.use_instruction_set(before)


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_subtracted_histograms_give_the_best_splits(weights, missing, l2_regularization):
    problem = large_problem(weights, missing)
    settings = {"max_depth": 3, "l2_regularization": l2_regularization}
    tree = problem.grow(**settings)
    assert_served(tree, "histogram", "subtracted_histogram")
    assert_agrees(tree, problem, **settings)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_subtraction_goes_together_with_sparse_and_categorical_features(weights):
    problem = large_mixed_problem(weights)
    settings = {"max_depth": 2}
    tree = problem.grow(**settings)
    assert_served(tree, "subtracted_histogram", "walk", "greedy_categories")
    assert_agrees(tree, problem, **settings)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_subtracted_histograms_find_the_gains_of_sorted_rows(weights):
    problem = large_problem(weights, True)
    settings = {"min_samples_leaf": 300}
    tree = problem.grow(**settings)
    assert_served(tree, "subtracted_histogram")
    by_sorting = problem.grow(histogram_min_rows=10**9, **settings)
    assert set(by_sorting.finder_counts) == {"walk"}
    assert_same_gains(tree, by_sorting, 1e-3)


@pytest.mark.parametrize("settings", [{}, {"max_features": 2}, {"max_leaf_nodes": 60}], ids=str)
@pytest.mark.parametrize("random_cuts", [False, True])
@pytest.mark.parametrize("weights", ["unit", "rows", "masked"])
def test_one_thread_equals_many_to_the_last_bit(weights, random_cuts, settings):
    problem = large_mixed_problem(weights)
    settings = {"min_samples_leaf": 20, "random_cuts": random_cuts, "seed": 3, **settings}
    one = problem.grow(n_threads=1, **settings)
    assert one.n_nodes > 50
    for n_threads in (2, 5):
        assert_identical(one, problem.grow(n_threads=n_threads, **settings))


@pytest.mark.parametrize("max_bins", [255, None])
def test_one_thread_equals_many_for_an_unlimited_tree(max_bins):
    problem = numeric_problem(3000, n_channels=3, max_bins=max_bins, missing=True)
    one = problem.grow(n_threads=1)
    assert_identical(one, problem.grow(n_threads=3))


@pytest.mark.parametrize("name", ["baseline", "avx2", "avx512"])
@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("weights", ["unit", "rows", "masked"])
@pytest.mark.parametrize("n_channels", [3, 8, 17])
def test_every_instruction_set_finds_the_best_splits(
    n_channels, weights, l2_regularization, name, restored_instruction_set
):
    if not _core.use_instruction_set(name):
        pytest.skip(f"this machine has no {name}")
    assert _core.instruction_set() == name
    problem = numeric_problem(120, 4, n_channels, weights=weights, missing=True, seed=9)
    for histogram_min_rows in (1, 10**9):
        settings = {
            "histogram_min_rows": histogram_min_rows,
            "l2_regularization": l2_regularization,
            "max_depth": 3,
        }
        assert_agrees(problem.grow(**settings), problem, **settings)


@pytest.mark.parametrize("double_precision", [False, True])
def test_instruction_sets_agree_on_a_large_tree(double_precision, restored_instruction_set):
    problem = large_problem("rows", True)
    settings = {"min_samples_leaf": 300, "double_precision": double_precision}
    best = problem.grow(**settings)
    for name in ("baseline", "avx2"):
        if _core.use_instruction_set(name):
            assert_same_gains(problem.grow(**settings), best, 1e-3)


def test_an_unknown_instruction_set_changes_nothing(restored_instruction_set):
    assert not _core.use_instruction_set("abacus")
    assert _core.instruction_set() == restored_instruction_set


@pytest.mark.parametrize("name", ["baseline", "avx2", "avx512"])
@pytest.mark.parametrize("weights", ["unit", "rows"])
def test_large_nodes_of_several_blocks_are_split_at_the_best_places(
    weights, name, restored_instruction_set
):
    if not _core.use_instruction_set(name):
        pytest.skip(f"this machine has no {name}")
    problem = numeric_problem(5_000, 5, 20, weights=weights, missing=True, seed=11)
    tree = problem.grow(max_depth=2)
    assert_served(tree, "histogram")
    assert_agrees(tree, problem, max_depth=2)
    assert_identical(problem.grow(max_depth=2, n_threads=3), tree)
