"""Sums in fixed point: the reference's trees, and one tree for any division of the rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from agreement import assert_agrees
from core_tree import Tree, make_params, read_tree
from numpy.typing import NDArray
from problems import WEIGHTS, Problem, make_problem, mixed_problem, numeric_problem

from polyleaf import _core

pytestmark = pytest.mark.kernel

#: Gains from numbers of 15 bits, relative and relative to the scores that they are differences of.
TOLERANCE = (2e-2, 1e-3)
SPLITS = ("feature", "threshold", "right", "missing_left", "category_offset", "category_words")
STATISTICS = ("n_samples", "weight", "impurity", "gain")


class Meeting:
    """Where workers, each in a thread of its own, reduce their numbers."""

    def __init__(self, n_workers: int) -> None:
        self.barrier = threading.Barrier(n_workers, timeout=30.0)
        self.given: list[NDArray[Any] | None] = [None] * n_workers
        self.n_numbers = 0

    def reducer(self, worker: int) -> Callable[[NDArray[Any], str], None]:
        def reduce(numbers: NDArray[Any], by: str) -> None:
            self.given[worker] = numbers.copy()
            self.barrier.wait()
            given = [item for item in self.given if item is not None]
            assert len({(item.shape, item.dtype) for item in given}) == 1
            stacked = np.stack(given[::-1] if worker % 2 else given)  # in any order
            numbers[...] = stacked.sum(axis=0) if by == "sum" else stacked.max(axis=0)
            self.barrier.wait()

        return reduce


def shards_of(n_rows: int, n_workers: int, seed: int = 0) -> list[NDArray[np.int32]]:
    """Deal rows to workers at random; the first one gets few, the last none if there are five."""
    owners = np.random.default_rng(seed).integers(0, n_workers, n_rows)
    if n_workers == 5:
        owners[owners == 4] = 1
    owners[owners == 0] = np.where(np.arange((owners == 0).sum()) % 7 == 0, 0, n_workers // 2)
    return [np.flatnonzero(owners == worker).astype(np.int32) for worker in range(n_workers)]


def grow_on_workers(
    problem: Problem, shards: Sequence[NDArray[np.int32]], **settings: Any
) -> list[Tree]:
    """Grow on several workers, each of which has some of the rows."""
    meeting = Meeting(len(shards))
    problem.core  # noqa: B018 -- made once, before there are threads

    def work(worker: int) -> Tree:
        params = make_params(problem.binned.n_features, fixed_sums=True, **settings)
        reduce = meeting.reducer(worker)
        grown = _core.grow_tree(
            problem.core, problem.channels, shards[worker], params, None, reduce
        )
        return read_tree(grown)

    with ThreadPoolExecutor(len(shards)) as pool:
        return list(pool.map(work, range(len(shards))))


def assert_same(tree: Tree, other: Tree) -> None:
    for name in (*SPLITS, *STATISTICS):
        assert np.array_equal(getattr(tree, name), getattr(other, name)), name


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n_channels", [1, 3, 7, 16, 20, 32, 40])
def test_fixed_sums_find_the_splits_of_the_reference(weights: str, n_channels: int) -> None:
    problem = numeric_problem(500, n_channels=n_channels, missing=True, weights=weights)
    tree = problem.grow(fixed_sums=True, max_depth=4, min_samples_leaf=5)
    assert_agrees(
        tree,
        problem,
        tolerance=TOLERANCE,
        statistics=1e-2,
        max_depth=4,
        min_samples_leaf=5,
    )
    assert set(tree.finder_counts) == {"fixed_histogram", "fixed_difference"}


@pytest.mark.parametrize("l2_regularization", [0.0, 3.0])
@pytest.mark.parametrize("weights", ["unit", "rows", "masked"])
def test_fixed_sums_know_categories_and_sparse_features(
    weights: str, l2_regularization: float
) -> None:
    problem = mixed_problem(600, weights=weights)
    settings: dict[str, Any] = {
        "max_depth": 3,
        "min_samples_leaf": 4,
        "l2_regularization": l2_regularization,
    }
    tree = problem.grow(fixed_sums=True, **settings)
    assert_agrees(tree, problem, tolerance=TOLERANCE, statistics=1e-2, **settings)


def mostly_usual(n_rows: int, n_usual: int, n_full: int, **options: Any) -> Problem:
    """Columns of which most rows have one value (or none), and others."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n_rows, n_usual + n_full))
    values = np.tanh(X[:, :4]) @ rng.normal(size=(4, options.pop("n_channels")))
    is_usual = rng.random((n_rows, n_usual)) < 0.85
    X[:, :n_usual][is_usual] = 0.0
    X[:, 2][is_usual[:, 2]] = np.nan
    X[rng.random(n_rows) < 0.1, 3] = np.nan
    noise = 0.3 * rng.normal(size=values.shape)
    order = rng.permutation(X.shape[1])  # listed features lie between the others
    return make_problem(X[:, order], values + noise, **options)


@pytest.mark.parametrize("weights", ["unit", "rows", "masked"])
@pytest.mark.parametrize("n_channels", [1, 5, 16, 48])
@pytest.mark.parametrize(("n_usual", "n_full"), [(5, 0), (14, 3), (5, 3)])
def test_features_of_a_usual_value_are_summed_like_others(
    n_usual: int, n_full: int, n_channels: int, weights: str
) -> None:
    problem = mostly_usual(500, n_usual, n_full, n_channels=n_channels, weights=weights)
    settings: dict[str, Any] = {"max_depth": 3, "min_samples_leaf": 5}
    tree = problem.grow(fixed_sums=True, **settings)
    assert_agrees(tree, problem, tolerance=TOLERANCE, statistics=1e-2, **settings)
    for other in grow_on_workers(problem, shards_of(problem.n_rows, 2), **settings):
        assert_same(other, tree)


def test_rows_of_many_entries_are_summed_like_others() -> None:
    problem = mostly_usual(80, 2000, 0, n_channels=2)
    settings: dict[str, Any] = {"max_depth": 1, "min_samples_leaf": 5}
    tree = problem.grow(fixed_sums=True, **settings)
    assert tree.n_nodes == 3
    assert_agrees(tree, problem, tolerance=TOLERANCE, statistics=1e-2, **settings)


@pytest.mark.parametrize("n_channels", [1, 16])
def test_threads_share_features_of_a_usual_value(n_channels: int) -> None:
    problem = mostly_usual(40_000, 14, 3, n_channels=n_channels)
    alone = problem.grow(fixed_sums=True, max_depth=6, n_threads=1)
    assert alone.n_nodes > 60
    assert_same(problem.grow(fixed_sums=True, max_depth=6, n_threads=3), alone)


GROWTH: dict[str, dict[str, Any]] = {
    "by depth": {"max_depth": 5},
    "best first": {"max_leaf_nodes": 12},
    "drawn features": {"max_depth": 5, "max_features": 2},
    "random cuts": {"max_depth": 5, "random_cuts": True},
    "regularised": {"max_depth": 4, "l2_regularization": 2.0},
    "large leaves": {"max_depth": 6, "min_samples_leaf": 25, "min_samples_split": 70},
    "without impurity": {"max_depth": 5, "measures_impurity": False},
}


@pytest.mark.parametrize("n_channels", [1, 3, 6, 16, 24, 40, 130])
def test_every_instruction_set_grows_the_same_tree(n_channels: int) -> None:
    problem, before, trees = mixed_problem(700, n_channels=n_channels), _core.instruction_set(), []
    try:
        for name in ("baseline", "avx2", "avx512"):
            if _core.use_instruction_set(name):
                trees.append(problem.grow(fixed_sums=True, max_depth=3, min_samples_leaf=20))
    finally:
        _core.use_instruction_set(before)
    for tree in trees[1:]:
        assert np.array_equal(tree.feature, trees[0].feature)
        assert np.array_equal(tree.n_samples, trees[0].n_samples)


@pytest.mark.parametrize("growth", GROWTH)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_any_division_of_the_rows_gives_the_tree_of_one_worker(growth: str, weights: str) -> None:
    problem = mixed_problem(400, n_channels=4, weights=weights, seed=3)
    settings = GROWTH[growth]
    alone = problem.grow(fixed_sums=True, **settings)
    assert alone.n_nodes > 5
    for n_workers in (1, 2, 3, 5):
        shards = shards_of(problem.n_rows, n_workers)
        trees = grow_on_workers(problem, shards, **settings)
        for tree, rows in zip(trees, shards, strict=True):
            assert_same(tree, alone)
            assert np.array_equal(np.sort(tree.rows), rows)


@pytest.mark.parametrize("n_channels", [1, 40])
def test_workers_with_many_rows_agree_on_integer_sums(n_channels: int) -> None:
    problem = numeric_problem(30_000, n_channels=n_channels, missing=True, weights="rows")
    alone = problem.grow(fixed_sums=True, max_depth=6, n_threads=1)
    assert_same(problem.grow(fixed_sums=True, max_depth=6, n_threads=3), alone)
    for tree in grow_on_workers(problem, shards_of(problem.n_rows, 3), max_depth=6, n_threads=2):
        assert_same(tree, alone)


def test_few_large_numbers_do_not_hide_the_others() -> None:
    problem = numeric_problem(4000, n_channels=1)
    gradient = problem.gradient.copy()
    gradient[7] = 1000.0
    problem = replace(problem, gradient=gradient)
    tree = problem.grow(fixed_sums=True, max_depth=3, min_samples_leaf=20)
    exact = problem.grow(max_depth=3, min_samples_leaf=20)
    assert tree.gain.sum() > 0.99 * exact.gain.sum()


def test_small_nodes_finished_in_floats_hold_all_rows() -> None:
    problem = mixed_problem(3000, n_channels=2)
    tree = problem.grow(fixed_sums=True, float_rows=500)
    assert_agrees(tree, problem, tolerance=TOLERANCE, statistics=1e-2)
    assert sum(len(rows) for rows in tree.leaf_sets()) == problem.n_rows
    assert "fixed_histogram" in tree.finder_counts
    assert len(tree.finder_counts) > 3
    threads = problem.grow(fixed_sums=True, float_rows=500, n_threads=2)
    assert_same(tree, threads)


@pytest.mark.parametrize("category_penalty", [0.0, 1.25])
def test_chance_is_taken_off_the_gains_of_categories(category_penalty: float) -> None:
    rng = np.random.default_rng(8)
    X = np.column_stack([rng.integers(0, 40, 600), rng.normal(size=600)]).astype(float)
    values = 0.12 * np.sign(X[:, [1]]) + rng.normal(size=(600, 2))
    problem = make_problem(X, values, n_categories=[40, 0])
    settings: dict[str, Any] = {"max_depth": 1, "category_penalty": category_penalty}
    tree = problem.grow(fixed_sums=True, **settings)
    expected = problem.grow(**settings)
    assert tree.feature[0] == expected.feature[0] == (1 if category_penalty else 0)
    assert np.allclose(tree.gain, expected.gain, rtol=1e-3)


def test_equal_rows_are_a_leaf() -> None:
    problem = numeric_problem(300, n_channels=2)
    constant = np.full_like(problem.gradient, 0.3)
    for measures_impurity in (True, False):
        tree = replace(problem, gradient=constant).grow(
            fixed_sums=True, measures_impurity=measures_impurity
        )
        assert tree.n_nodes == 1


def test_an_error_in_a_collective_surfaces() -> None:
    problem = numeric_problem(300)

    def fail(numbers: NDArray[Any], by: str) -> None:
        if numbers.dtype == np.int32:
            raise ConnectionError("worker 2 is gone")

    params = make_params(problem.binned.n_features, fixed_sums=True)
    with pytest.raises(ConnectionError, match="worker 2 is gone"):
        _core.grow_tree(problem.core, problem.channels, problem.all_rows, params, None, fail)


def test_what_fixed_sums_cannot_do_is_refused() -> None:
    problem = numeric_problem(300)
    with pytest.raises(ValueError, match="dense channels"):
        problem.grow_sparse(fixed_sums=True)
    with pytest.raises(ValueError, match="at most 255 bins"):
        numeric_problem(300, max_bins=None).grow(fixed_sums=True)
    with pytest.raises(ValueError, match="must rise"):
        problem.grow(problem.all_rows[::-1].copy(), fixed_sums=True)
    params = make_params(problem.binned.n_features)
    with pytest.raises(ValueError, match="only sums in fixed point"):
        _core.grow_tree(
            problem.core, problem.channels, problem.all_rows, params, None, lambda *_: None
        )


def test_sums_sent_hold_no_padding() -> None:
    problem = numeric_problem(1000, n_features=4, n_channels=5)
    sent: list[tuple[int, ...]] = []

    def note(numbers: NDArray[Any], by: str) -> None:
        if numbers.dtype == np.int32:
            sent.append(numbers.shape)

    params = make_params(4, fixed_sums=True, max_depth=2, measures_impurity=False)
    _core.grow_tree(problem.core, problem.channels, problem.all_rows, params, None, note)
    n_bins = int(np.diff(problem.binned.bin_offsets).sum()) + 4
    assert sent == [(n_bins, 6), (n_bins, 6)]
