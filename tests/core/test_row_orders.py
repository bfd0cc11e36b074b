"""Trees on rows that come sorted by every feature find what the plain ways find."""

import numpy as np
import pytest
from agreement import assert_agrees, assert_identical, assert_same_gains, assert_served
from core_tree import make_params
from problems import make_problem, make_values, numeric_problem

from polyleaf import _core

pytestmark = pytest.mark.kernel

INSTRUCTION_SETS = ("baseline", "avx2", "avx512")


@pytest.fixture
def restored_instruction_set():
    before = _core.instruction_set()
    yield
    assert _core.use_instruction_set(before)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("n_channels", [1, 3, 8, 16, 20, 40])
def test_ordered_rows_are_split_at_the_best_places(n_channels, weights, missing):
    problem = numeric_problem(700, 7, n_channels, weights=weights, missing=missing, seed=1)
    settings = {"max_depth": 4, "min_samples_leaf": 3}
    tree = problem.grow(ordered=True, **settings)
    # More channels than two blocks are read faster row by row, for histograms.
    assert_served(tree, "whole_list" if n_channels <= 32 else "presorted_list")
    assert_agrees(tree, problem, **settings)


@pytest.mark.parametrize("settings", [{"max_leaf_nodes": 12}, {"max_depth": 5}])
@pytest.mark.parametrize("n_channels", [1, 8, 20])
def test_the_work_of_a_tree_does_not_depend_on_threads(n_channels, settings):
    """What it costs steers `projections.Adaptive` and the race of views."""
    problem = numeric_problem(2_000, 9, n_channels, missing=True, seed=5)
    arguments = problem.core, problem.channels, problem.all_rows

    def work(n_threads):
        params = make_params(problem.binned.n_features, n_threads=n_threads, **settings)
        orders = _core.RowOrders(problem.core, n_threads)
        return _core.grow_tree(*arguments, params, orders).work

    assert work(1) == work(2) == work(5) > 0


@pytest.mark.parametrize("weights", ["unit", "rows"])
def test_large_nodes_of_ordered_rows_have_the_gains_of_histograms(weights):
    problem = numeric_problem(9_000, 9, 5, weights=weights, missing=True, seed=2)
    settings = {"max_depth": 5}
    tree = problem.grow(ordered=True, **settings)
    by_histograms = problem.grow(**settings)
    assert_served(tree, "whole_list")
    assert_served(by_histograms, "histogram")
    assert_same_gains(tree, by_histograms)
    assert_identical(tree, problem.grow(ordered=True, n_threads=3, **settings))


@pytest.mark.parametrize("shape", ["even", "lopsided"])
def test_threads_that_give_each_other_subtrees_grow_the_same_tree(shape):
    """Which thread grows what is up to chance: several times."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(6_000, 5))
    values = make_values(X, 3, 5)
    if shape == "lopsided":  # every split takes off the rows with the largest values
        values = values + np.exp(4.0 * X[:, :1])
    problem = make_problem(X, values)
    for settings in ({"max_depth": 9}, {"min_samples_leaf": 2}):
        one = problem.grow(ordered=True, **settings)
        assert_agrees(problem.grow(ordered=True, max_depth=3), problem, max_depth=3)
        for n_threads in (2, 3, 8) * 4:
            assert_identical(one, problem.grow(ordered=True, n_threads=n_threads, **settings))


@pytest.mark.parametrize("n_channels", [4, 20])
def test_lists_are_paired_alike_by_one_thread_and_by_many(n_channels):
    """Columns that come twice tie unless they are rounded alike; some are not grouped."""
    rng = np.random.default_rng(1)
    many = rng.normal(size=6_000)
    few = rng.integers(0, 60, size=(6_000, 4)).astype(float)
    columns = [few[:, 0], few[:, 0] > 30, few[:, 1], many, few[:, 2], few[:, 3]]
    X = np.column_stack([*columns, many, few[:, 1], few[:, 3], few[:, 2], many])
    values = rng.normal(size=(6_000, n_channels))
    values[:, 0] += few[:, 0] / 10 + few[:, 1] * few[:, 2] / 200 + many
    problem = make_problem(X, values)
    for seed in range(4):
        one = problem.grow(ordered=True, max_depth=8, seed=seed)
        assert_served(one, "list_pairs", "list_groups")
        for n_threads in (2, 4):
            tree = problem.grow(ordered=True, max_depth=8, seed=seed, n_threads=n_threads)
            assert_identical(one, tree)


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("n_values", [2, 5, 60])
@pytest.mark.parametrize("n_channels", [3, 16, 100])
def test_every_instruction_set_walks_groups_alike(
    n_channels, n_values, name, restored_instruction_set
):
    if not _core.use_instruction_set(name):
        pytest.skip(f"this machine has no {name}")
    rng = np.random.default_rng(3)
    X = rng.integers(n_values, size=(500, 5)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    problem = make_problem(X, make_values(np.nan_to_num(X), n_channels, 4))
    for ordered in (False, True):
        tree = problem.grow(ordered=ordered, max_depth=4)
        assert_served(tree, "list_groups")
        assert_agrees(tree, problem, max_depth=4)


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("n_channels", [1, 16, 60])
def test_long_groups_are_walked_code_by_code(n_channels, weights, name, restored_instruction_set):
    if not _core.use_instruction_set(name):
        pytest.skip(f"this machine has no {name}")
    rng = np.random.default_rng(9)
    X = rng.integers([2, 9, 9, 25, 40], size=(900, 5)).astype(float)
    X[rng.random(900) < 0.2, 2] = np.nan
    X[rng.random(900) < 0.9, 3] = np.nan
    problem = make_problem(X, make_values(np.nan_to_num(X), n_channels, 4), weights=weights)
    settings = {"max_depth": 3, "min_samples_leaf": 15}
    tree = problem.grow(ordered=True, **settings)
    assert_served(tree, "list_groups")
    assert_agrees(tree, problem, **settings)


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("n_channels", [3, 8, 16, 20, 32])
def test_pairs_of_lists_are_cut_at_the_best_place(
    n_channels, weights, name, restored_instruction_set
):
    """Rows that fill vectors of sixteen, and some that do not; cuts at either end are too near."""
    if not _core.use_instruction_set(name):
        pytest.skip(f"this machine has no {name}")
    for n_rows in (15, 17, 33, 64, 250):
        problem = numeric_problem(n_rows, 5, n_channels, weights=weights, seed=n_rows)
        for least in (1, 6):
            settings = {"max_depth": 3, "min_samples_leaf": least}
            tree = problem.grow(ordered=True, **settings)
            assert_served(tree, "whole_list", "list_pairs")
            assert_agrees(tree, problem, **settings)


def test_some_of_the_rows_do_without_orders():
    problem = numeric_problem(600, 6, 4, missing=True, seed=5)
    rows = problem.all_rows[::2].copy()
    tree = problem.grow(rows, ordered=True)
    assert "whole_list" not in tree.finder_counts
    assert_identical(tree, problem.grow(rows))


@pytest.mark.parametrize("weights", ["unit", "rows"])
def test_best_first_growth_keeps_orders(weights):
    problem = numeric_problem(6_000, 6, 4, weights=weights, missing=True, seed=5)
    leafwise = {"max_leaf_nodes": 20}
    tree = problem.grow(ordered=True, **leafwise)
    assert_served(tree, "whole_list")
    assert_same_gains(tree, problem.grow(**leafwise))
    assert_identical(tree, problem.grow(ordered=True, n_threads=3, **leafwise))


def test_more_rows_than_a_list_can_name_do_without_orders():
    problem = numeric_problem(_core.MOST_ORDERED_ROWS + 1, 2, 2, seed=6)
    tree = problem.grow(ordered=True, max_depth=2)
    assert "whole_list" not in tree.finder_counts
    assert_identical(tree, problem.grow(max_depth=2))


def test_orders_of_other_features_are_refused():
    problem, other = (numeric_problem(50, 3, 2, seed=seed) for seed in (7, 8))
    arguments = (problem.core, problem.channels, problem.all_rows)
    with pytest.raises(ValueError, match="orders must be those of the binned features"):
        _core.grow_tree(*arguments, make_params(3), _core.RowOrders(other.core, 1))


def test_orders_change_nothing_for_labels_and_find_the_same_gains_for_targets():
    problem = numeric_problem(400, 5, 3, seed=9)
    settings = {"max_depth": 5}
    on_labels = [problem.grow_on(problem.label_channels, ordered=o, **settings) for o in (0, 1)]
    assert_identical(*on_labels)
    columns = np.arange(3, dtype=np.int32)
    scaled = _core.Channels.of_scaled_targets(problem.gradient, columns)
    tree = problem.grow_on(scaled, ordered=True, **settings)
    assert_same_gains(tree, problem.grow(**settings))
