"""Threads outlive the trees they grow, but not the process."""

import multiprocessing
import sys

import pytest
from agreement import assert_identical
from problems import numeric_problem


def _grow_in_child(problem, answers):
    answers.put(problem.grow(n_threads=3, max_depth=4).n_samples.tolist())


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own():
    problem = numeric_problem(5_000, 6, 3, seed=3)
    tree = problem.grow(n_threads=3, max_depth=4)  # leaves idle threads behind
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_grow_in_child, args=(problem, answers))
    child.start()
    try:
        assert answers.get(timeout=60) == tree.n_samples.tolist()
    finally:
        child.kill()
        child.join()


def test_threads_that_were_used_before_change_nothing():
    problem = numeric_problem(5_000, 6, 3, seed=4)
    alone = problem.grow(max_depth=4)
    for n_threads in (4, 2, 3):
        assert_identical(problem.grow(n_threads=n_threads, max_depth=4), alone)
