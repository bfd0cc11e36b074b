"""Packed lists, tables of subsets and channels loaded by block find what the plain ways find."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from agreement import assert_agrees, assert_identical, assert_same_gains, assert_served
from core_tree import make_params, read_tree
from problems import WEIGHTS, make_problem, make_values, numeric_problem

from polyleaf import _core

pytestmark = pytest.mark.kernel

#: Row counts around the largest table of subsets and the widths of vectors.
FEW_ROWS = (*range(2, _core.SMALL_ROWS + 13), 33, 65)
INSTRUCTION_SETS = ("baseline", "avx2", "avx512")
#: Trees of more rows load their channels block by block where they can.
SUBTREE_ROWS = _core.MAX_LIST_ROWS
BY_SORTING = {"histogram_min_rows": 10**9}


@pytest.fixture
def restored_instruction_set():
    before = _core.instruction_set()
    yield
    assert _core.use_instruction_set(before)


@pytest.mark.parametrize("min_samples_leaf", [1, 2])
@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("n_rows", FEW_ROWS)
def test_few_rows_are_split_at_the_best_places(n_rows, weights, min_samples_leaf):
    for n_features, n_channels in ((2, 3), (40, 17)):
        problem = numeric_problem(
            n_rows, n_features, n_channels, weights=weights, missing=True, seed=n_rows
        )
        settings = {"min_samples_leaf": min_samples_leaf}
        tree = problem.grow(**settings)
        if not tree.is_leaf.all():
            assert_served(tree, "presorted_list")
        if n_features == 40 and not tree.is_leaf[0] and n_rows <= _core.SMALL_ROWS:
            assert_served(tree, "list_table")
        assert_agrees(tree, problem, **settings)


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("n_channels", [3, 8, 17, 70])
def test_every_instruction_set_splits_lists_alike(
    n_channels, weights, name, restored_instruction_set
):
    if not _core.use_instruction_set(name):
        pytest.skip(f"this machine has no {name}")
    problem = numeric_problem(90, 20, n_channels, weights=weights, missing=True, seed=3)
    tree = problem.grow()
    assert_served(tree, "presorted_list", "list_table", "list_groups")
    assert_agrees(tree, problem)


@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("name", INSTRUCTION_SETS[1:])
def test_every_instruction_set_chooses_alike_between_features_that_divide_rows_alike(
    name, weights, restored_instruction_set
):
    if not _core.use_instruction_set(name):
        pytest.skip(f"this machine has no {name}")
    X = np.random.default_rng(0).normal(size=(60, 4))
    # A feature and its mirror image are equally good; their gains differ by rounding alone.
    problem = make_problem(np.hstack([X, -X]), make_values(X, 5, 1), weights=weights)
    tree = problem.grow(double_precision=True)
    assert _core.use_instruction_set("baseline")
    np.testing.assert_array_equal(tree.feature, problem.grow(double_precision=True).feature)


@pytest.mark.parametrize("n_rows", [SUBTREE_ROWS - 1, SUBTREE_ROWS])
@pytest.mark.parametrize("weights", ["unit", "rows"])
def test_a_subtree_is_centred_whatever_its_size(weights, n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 4))
    problem = make_problem(X, 3.0 + make_values(X, 3, 1), weights=weights)
    rows = problem.all_rows[:n_rows]
    settings = {"max_depth": 3}
    tree = problem.grow(rows, **settings)
    assert_same_gains(tree, problem.grow(rows, **settings, **BY_SORTING))


@cache
def lazy_problem(weights):
    return numeric_problem(9_000, 5, 20, weights=weights, missing=True, seed=5)


@pytest.mark.parametrize("weights", ["unit", "rows"])
def test_channels_loaded_by_block_equal_channels_at_hand(weights):
    problem = lazy_problem(weights)
    # A categorical feature, even a constant one, is searched over channels at hand.
    constant = np.zeros((problem.n_rows, 1))
    values = problem.gradient / problem.hessian
    resident = make_problem(
        np.hstack([problem.X, constant]), values, n_categories=[0] * 5 + [1], weights=weights
    )
    resident = replace(resident, gradient=problem.gradient, row_weights=problem.row_weights)
    settings = {"min_samples_leaf": 40}
    by_block, at_hand = problem.grow(**settings), resident.grow(**settings)
    assert by_block.plan.loads_lazily
    assert not at_hand.plan.loads_lazily
    assert_same_gains(by_block, at_hand, 1e-3)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n_rows", [300, 9_000])
def test_targets_scaled_as_they_are_read_equal_given_channels(n_rows, weights):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(n_rows, 4))
    values = make_values(X, 6, 2) * 3.0 + 1.0
    columns = np.array([4, 0, 5], np.int32)
    shift, factor = rng.normal(size=3), rng.uniform(0.5, 2.0, 3)
    problem = make_problem(X, (values[:, columns] - shift) * factor, weights=weights)
    settings = {"min_samples_leaf": 20}
    channels = _core.Channels.of_targets(
        values, columns, shift, factor, problem.row_weights, problem.entry_weights
    )
    tree = problem.grow_on(channels, **settings)
    assert tree.n_nodes > 10
    assert_same_gains(tree, problem.grow(**settings))


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("columns", [[4, 0, 5], list(range(18)), list(range(1, 17))])
def test_scaled_targets_that_trees_share_equal_given_channels(columns, weights):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(500, 4))
    values = make_values(X, 18, 2).astype(np.float32)
    problem = make_problem(X, values[:, columns], weights=weights)
    settings = {"min_samples_leaf": 20, "max_features": 2}
    channels = _core.Channels.of_scaled_targets(
        values, np.array(columns, np.int32), problem.row_weights, problem.entry_weights
    )
    tree = problem.grow_on(channels, **settings)
    assert tree.n_nodes > 10
    assert_same_gains(tree, problem.grow(**settings))


@pytest.mark.parametrize("settings", [{}, {"random_cuts": True}, {"max_leaf_nodes": 30}])
def test_splits_alone_are_those_of_all_nodes(settings):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 5))
    problem = make_problem(X, make_values(X, 3, 2))
    params = make_params(5, **settings)
    grown = _core.grow_tree(problem.core, problem.channels, problem.all_rows, params)
    tree = read_tree(grown)
    names = ("feature", "threshold", "right", "missing_left", "category_offset")
    nodes = {name: np.empty_like(getattr(tree, name)) for name in names}
    offsets, gains = np.empty(int(tree.is_leaf.sum()) + 1, np.int64), np.empty(5)
    grown.write_splits(**nodes, leaf_offsets=offsets, feature_gains=gains)
    for name in names:
        assert np.array_equal(nodes[name], getattr(tree, name))
    assert np.array_equal(np.diff(offsets), tree.n_samples[tree.is_leaf])
    inner = ~tree.is_leaf
    taken = np.minimum(tree.gain, tree.impurity)[inner]
    np.testing.assert_allclose(gains, np.bincount(tree.feature[inner], taken, 5), rtol=1e-12)


@cache
def kept_problem(weights):
    """Enough rows that histograms of a node take less memory than the codes, and are kept."""
    return numeric_problem(40_000, 4, 3, weights=weights, missing=True, seed=7)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_kept_histograms_find_the_gains_of_sorted_rows(weights):
    problem = kept_problem(weights)
    settings = {"min_samples_leaf": 1000}
    tree = problem.grow(**settings)
    assert tree.n_nodes > 20
    assert_served(tree, "subtracted_histogram")
    assert_same_gains(tree, problem.grow(**settings, **BY_SORTING), 1e-3)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_kept_histograms_do_not_depend_on_the_number_of_threads(weights):
    problem = kept_problem(weights)
    one = problem.grow(n_threads=1, min_samples_leaf=5)
    assert_served(one, "subtracted_histogram")
    assert_identical(one, problem.grow(n_threads=3, min_samples_leaf=5))


@pytest.mark.parametrize("n_rows", [6, 60, 600, 6_000])
@pytest.mark.parametrize("lightest", [1e-15, 1e-30, 1e-44])
def test_rows_of_next_to_no_weight_give_finite_gains_and_no_splits_of_their_own(n_rows, lightest):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(n_rows, 30))
    values = rng.normal(size=(n_rows, 2))
    row_weights = np.ones(n_rows, np.float32)
    light = rng.permutation(n_rows)[: n_rows // 3]
    row_weights[light] = lightest
    problem = replace(
        make_problem(X, values),
        gradient=(row_weights[:, None] * values).astype(np.float32),
        row_weights=row_weights,
    )
    is_light = np.isin(np.arange(n_rows), light)
    for settings in ({}, BY_SORTING, {"histogram_min_rows": 1}, {"random_cuts": True}):
        tree = problem.grow(**settings)
        assert np.isfinite(tree.gain).all()
        all_light = np.array([is_light[rows].all() for rows in tree.node_rows()])
        inner = np.flatnonzero(~tree.is_leaf & ~all_light)
        assert not all_light[inner + 1].any()
        assert not all_light[tree.right[inner]].any()


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("constant", [0.1, 0.3, 1e6])
@pytest.mark.parametrize("n_rows", [10, 1_000, 20_001])
def test_constant_targets_are_pure_however_they_are_rounded(n_rows, constant, weights):
    X = np.random.default_rng(9).normal(size=(n_rows, 3))
    problem = make_problem(X, np.full((n_rows, 2), constant), weights=weights)
    assert problem.grow().n_nodes == 1


@pytest.mark.parametrize("n_rows", [6, 60, 6_000])
@pytest.mark.parametrize("settings", [{}, BY_SORTING, {"random_cuts": True}], ids=str)
def test_a_gradient_that_is_not_a_number_gives_a_leaf(settings, n_rows):
    problem = numeric_problem(n_rows, 30, 2, seed=10)
    gradient = problem.gradient.copy()
    gradient[n_rows // 2] = np.nan
    assert replace(problem, gradient=gradient).grow(**settings).n_nodes == 1


def test_the_largest_min_samples_leaf_gives_a_leaf():
    assert numeric_problem(50).grow(min_samples_leaf=2**63 - 1).n_nodes == 1
