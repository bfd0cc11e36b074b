"""Pieces of training in threads: in order, few at a time, and all stopped by an error."""

import threading
import time

import pytest

from polyleaf.estimator.running import in_threads


def pool_threads():
    """Give the threads of pools; other tests may have left some."""
    return {t for t in threading.enumerate() if t.name.startswith("ThreadPool")}


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_numbers(n_threads):
    def work(number, _):
        time.sleep(0.001 * (7 * number % 5))
        return number**2

    assert list(in_threads(work, range(3, 20), n_threads)) == [n**2 for n in range(3, 20)]


def test_few_results_wait_for_their_turn():
    done = []

    def work(number, _):
        done.append(number)
        return number

    results = in_threads(work, range(100), 2)
    next(results)
    time.sleep(0.05)
    assert len(done) <= 5  # one taken, and two per thread
    results.close()


def test_an_error_stops_the_others_and_comes_through():
    before, stopped = pool_threads(), []

    def work(number, stop):
        if number == 1:
            raise ValueError("number 1 is bad")
        deadline = time.monotonic() + 30
        while number > 1 and not stop.is_set:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        stopped.append(number)
        return number

    with pytest.raises(ValueError, match="number 1 is bad"):
        list(in_threads(work, range(50), 3))
    assert 0 in stopped
    assert len(stopped) < 10
    assert not pool_threads() - before


def test_closing_stops_the_threads():
    before = pool_threads()

    def work(number, stop):
        deadline = time.monotonic() + 30
        while number and not stop.is_set:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        return number

    results = in_threads(work, range(50), 2)
    assert next(results) == 0
    results.close()
    assert not pool_threads() - before
