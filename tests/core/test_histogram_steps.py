"""Build, reduce and scan: the three steps of a search by histograms, one by one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from core_tree import make_params
from numpy.typing import NDArray
from problems import WEIGHTS, Problem, make_problem, numeric_problem
from reference import MISSING, Reference, decode_codes

from polyleaf import _core

pytestmark = pytest.mark.kernel

N_BINS = 256
Split = tuple[int, float, bool, int, float]
Reduce = Callable[[str, int, NDArray[Any]], None]
Sums = tuple[str, int, NDArray[Any]]


def search(
    problem: Problem,
    rows: NDArray[np.int32],
    reduce: Reduce | None = None,
    **settings: Any,
) -> tuple[Split, Split, Split]:
    """Splits of the node of `rows` and of its children."""
    return _core.search_histograms(
        problem.core,
        problem.channels,
        np.ascontiguousarray(rows),
        make_params(problem.binned.n_features, **settings),
        reduce,
    )


class Recorder:
    """Is alone, and notes what it was given."""

    def __init__(self) -> None:
        self.seen: list[Sums] = []

    def __call__(self, what: str, channel_block: int, sums: NDArray[Any]) -> None:
        self.seen.append((what, channel_block, sums.copy()))


class Replay:
    """Replaces what it is given by sums that were noted elsewhere."""

    def __init__(self, noted: Sequence[Sums]) -> None:
        self.noted = list(noted)

    def __call__(self, what: str, channel_block: int, sums: NDArray[Any]) -> None:
        expected, block, noted = self.noted.pop(0)
        assert (what, channel_block, sums.shape) == (expected, block, noted.shape)
        sums[...] = noted


class Meeting:
    """Where workers, each in a thread of its own, add up their sums."""

    def __init__(self, n_workers: int) -> None:
        self.barrier = threading.Barrier(n_workers, timeout=30.0)
        self.given: list[Sums | None] = [None] * n_workers

    def add(self, worker: int, what: str, channel_block: int, sums: NDArray[Any]) -> None:
        self.given[worker] = (what, channel_block, sums.copy())
        self.barrier.wait()
        given = [item for item in self.given if item is not None]
        assert {item[:2] for item in given} == {(what, channel_block)}
        sums[...] = sum(item[2] for item in given)
        self.barrier.wait()


class Member:
    """One worker's end of a meeting."""

    def __init__(self, meeting: Meeting, worker: int) -> None:
        self.meeting, self.worker = meeting, worker

    def __call__(self, what: str, channel_block: int, sums: NDArray[Any]) -> None:
        self.meeting.add(self.worker, what, channel_block, sums)


def search_together(
    problem: Problem, shards: Sequence[NDArray[np.int32]], **settings: Any
) -> list[tuple[Split, Split, Split]]:
    """What each worker finds, given its rows and a reducer."""
    meeting = Meeting(len(shards))
    with ThreadPoolExecutor(len(shards)) as pool:
        futures = [
            pool.submit(search, problem, rows, Member(meeting, worker), **settings)
            for worker, rows in enumerate(shards)
        ]
        return [future.result() for future in futures]


def whole_number_problem(weights: str, n_channels: int, n_rows: int = 900) -> Problem:
    """Channels, and weights, whose sums are exact in any order."""
    rng = np.random.default_rng(12)
    X = rng.normal(size=(n_rows, 6))
    X[:, 5] = np.round(X[:, 5])
    signal = np.round(4 * np.sin(2 * X[:, [1]]) + X[:, [5]])
    X[rng.random(X.shape) < 0.1] = np.nan
    values = signal + rng.integers(-3, 4, (n_rows, n_channels))
    problem = make_problem(X, values, weights="masked" if weights == "masked" else "unit")
    if weights != "rows":
        return problem
    row_weights = rng.integers(1, 4, n_rows).astype(np.float32)
    gradient = problem.gradient * row_weights[:, None]
    return Problem(X, problem.n_categories, problem.binned, gradient, row_weights)


def bin_sums(problem: Problem, rows: NDArray[Any], values: NDArray[Any]) -> NDArray[np.float64]:
    """Sum `values`, one row for each of `rows`, per feature and bin, the plain way."""
    codes = decode_codes(problem.binned)[rows]
    sums = np.zeros((problem.binned.n_features, N_BINS, values.shape[1]))
    for place, feature in enumerate(problem.binned.dense_features):
        own = np.where(codes[:, feature] == MISSING, N_BINS - 1, codes[:, feature])
        np.add.at(sums[place], own, values)
    return sums.reshape(-1, values.shape[1])


def expected_sums(problem: Problem, rows: NDArray[Any]) -> list[tuple[str, int, NDArray[Any]]]:
    """All that must pass the reducer for one node, in this order, the plain way."""
    g, h = problem.gradient[rows].astype(float), problem.hessian[rows].astype(float)
    q = g.shape[1]
    lanes = 4 if q <= 4 else 8 if q <= 8 else 16
    is_per_channel = problem.entry_weights is not None
    square = np.where(h > 0, g**2 / np.where(h > 0, h, 1.0), 0.0)
    per_channel = [g, h, square] if is_per_channel else [g, square]
    padded = [np.pad(part.sum(0), (0, -q % lanes)) for part in per_channel]
    weight = 0.0 if is_per_channel else h[:, 0].sum()
    sums: list[Sums] = [
        ("node_rows", 0, np.array([[len(rows)]])),
        ("node_sums", 0, np.concatenate([[weight], *padded])[None, :]),
        ("bin_rows", 0, bin_sums(problem, rows, np.ones((len(rows), 1)))),
    ]
    if problem.row_weights is not None:
        sums.append(("bin_weights", 0, bin_sums(problem, rows, h[:, :1])))
    for block in range(-(-q // lanes)):
        columns = slice(block * lanes, (block + 1) * lanes)
        sums.append(("bin_gradients", block, bin_sums(problem, rows, g[:, columns])))
        if is_per_channel:
            sums.append(("bin_hessians", block, bin_sums(problem, rows, h[:, columns])))
    return sums


@pytest.mark.parametrize("n_channels", [1, 5, 20])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_build_gives_the_sums_of_a_naive_loop_in_the_order_of_the_header(weights, n_channels):
    problem = numeric_problem(400, 6, n_channels, weights=weights, missing=True, seed=3)
    rows = problem.all_rows[50:]
    recorder = Recorder()
    search(problem, rows, recorder)
    expected = expected_sums(problem, rows)
    assert [seen[:2] for seen in recorder.seen[: len(expected)]] == [e[:2] for e in expected]
    for (what, _, seen), (_, _, sums) in zip(recorder.seen, expected, strict=False):
        used = seen[: len(sums)]  # unused lanes of the last tile follow
        np.testing.assert_allclose(used, sums, rtol=1e-5, atol=1e-4, err_msg=what)


def assert_best(reference: Reference, rows: NDArray[Any], split: Split) -> NDArray[np.bool_]:
    """Check a split of the core against all splits; give the side of each row."""
    feature, threshold, missing_left, n_left, gain = split
    left = reference.numeric_left(rows, feature, threshold, missing_left)
    assert left.sum() == n_left
    slack = 1e-5 * (reference.impurity(rows) + reference.base_score(rows))
    assert gain == pytest.approx(reference.gain(rows, left), rel=1e-4, abs=slack)
    assert gain >= reference.best_gain(rows) * (1 - 1e-4) - slack
    return left


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("n_channels", [1, 5, 20])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_scan_finds_the_best_splits_of_a_node_and_its_children(
    weights, n_channels, l2_regularization
):
    problem = numeric_problem(300, 5, n_channels, weights=weights, missing=True, seed=4)
    rules = {"l2_regularization": l2_regularization, "min_samples_leaf": 3}
    reference = problem.reference(**rules)
    rows = problem.all_rows
    root, left, right = search(problem, rows, **rules)
    side = assert_best(reference, rows, root)
    assert_best(reference, rows[side], left)
    assert_best(reference, rows[~side], right)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_scan_reads_nothing_but_what_passed_the_reducer(weights):
    problem = numeric_problem(400, 6, 5, weights=weights, missing=True, seed=5)
    recorder = Recorder()
    found = search(problem, problem.all_rows, recorder)
    replay = Replay(recorder.seen)
    assert search(problem, problem.all_rows[:0], replay) == found
    assert not replay.noted


@pytest.mark.parametrize("n_channels", [3, 20])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_steps_one_by_one_equal_the_fused_ones_for_any_number_of_threads(weights, n_channels):
    problem = numeric_problem(500, 9, n_channels, weights=weights, missing=True, seed=6)
    fused = search(problem, problem.all_rows)
    for n_threads in (1, 2, 5):
        assert search(problem, problem.all_rows, n_threads=n_threads) == fused
        stepped = search(problem, problem.all_rows, Recorder(), n_threads=n_threads)
        assert stepped == fused


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n_channels", [1, 20])
@pytest.mark.parametrize("weights", ["unit", "rows", "masked"])
def test_two_shards_find_the_splits_of_all_rows(weights, n_channels, n_threads):
    problem = whole_number_problem(weights, n_channels)
    rows = problem.all_rows
    found = search(problem, rows)
    settings = {"n_threads": n_threads}
    # Halves, a few rows against the rest, every other row, and a worker without rows.
    for shards in (
        [rows[:450], rows[450:]],
        [rows[:7], rows[7:]],
        [rows[::2], rows[1::2]],
        [rows[:0], rows],
    ):
        assert search_together(problem, shards, **settings) == [found, found]
    # Half of the rows tell of another split.
    assert search(problem, rows[:450]) != found


def test_five_shards_find_the_splits_of_all_rows():
    problem = whole_number_problem("rows", 5)
    rows = problem.all_rows
    shards = np.array_split(np.random.default_rng(0).permutation(rows), 5)
    assert search_together(problem, shards) == 5 * [search(problem, rows)]


def test_an_error_of_the_reducer_ends_the_search():
    def broken(what: str, channel_block: int, sums: NDArray[Any]) -> None:
        if what == "bin_gradients":
            raise ConnectionError("worker 3 is gone")

    problem = numeric_problem(100)
    with pytest.raises(ConnectionError, match="worker 3 is gone"):
        search(problem, problem.all_rows, broken, n_threads=2)
