"""A flag stops the growth of a tree in a thread that Python does not tell of Ctrl-C."""

import threading

import numpy as np
import pytest
from core_tree import make_params
from problems import mixed_problem

from polyleaf import _core

pytestmark = pytest.mark.kernel


def grow(problem, params):
    return _core.grow_tree(problem.core, problem.channels, problem.all_rows, params).n_nodes


@pytest.fixture
def problem():
    return mixed_problem(400, n_channels=3)


@pytest.fixture(scope="module")
def long_arguments():
    """A tree that takes seconds: the core looks at the flag every 50 ms."""
    n_rows, n_features, n_channels = 40_000, 40, 128
    rng = np.random.default_rng(0)
    edges = np.tile(np.arange(255.0), n_features)
    no_index, no_code = np.zeros(0, np.int32), np.zeros(0, np.uint32)
    binned = _core.Binned(
        n_rows,
        np.zeros(n_features, np.uint8),
        np.arange(n_features + 1, dtype=np.int64) * 255,
        edges,
        edges,
        np.arange(n_features, dtype=np.int32),
        rng.integers(0, 255, (n_features // 4, n_rows, 4), dtype=np.uint8),
        None,
        no_index,
        no_code,
        np.zeros(n_rows + 1, np.int64),
        no_index,
        no_code,
    )
    some_rows = rng.standard_normal((997, n_channels), dtype=np.float32)
    gradient = np.resize(some_rows, (n_rows, n_channels))
    channels = _core.Channels.of_gradients(gradient)
    return binned, channels, np.arange(n_rows, dtype=np.int32)


def test_a_flag_that_is_not_set_changes_nothing(problem):
    params = make_params(9)
    expected = grow(problem, params)
    params.stop = _core.StopFlag()
    assert grow(problem, params) == expected > 1
    assert not params.stop.is_set


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_flag_that_is_set_ends_the_growth(long_arguments, n_threads):
    params = make_params(40, n_threads=n_threads)
    params.stop = _core.StopFlag()
    params.stop.set()
    assert params.stop.is_set
    with pytest.raises(KeyboardInterrupt):
        _core.grow_tree(*long_arguments, params)


def test_a_flag_set_meanwhile_ends_the_growth_in_another_thread(long_arguments):
    flag, outcomes, started = _core.StopFlag(), [], threading.Event()

    def work():
        params = make_params(40)
        params.stop = flag
        started.set()
        try:
            _core.grow_tree(*long_arguments, params)
        except KeyboardInterrupt:
            outcomes.append("stopped")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert started.wait(timeout=60)
    flag.set()
    thread.join(timeout=60)
    assert outcomes == ["stopped"]


def test_a_stopped_parameter_can_be_used_again_without_the_flag(problem):
    params = make_params(9)
    params.stop = _core.StopFlag()
    params.stop.set()
    params.stop = None
    assert grow(problem, params) > 1


def test_anything_but_a_flag_is_refused():
    with pytest.raises(TypeError):
        make_params(9).stop = True
