"""Run independent pieces of training in threads, in order, until done or stopped."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from polyleaf import _core

T = TypeVar("T")


def in_threads(
    work: Callable[[int, _core.StopFlag], T], numbers: range, n_threads: int
) -> Generator[T, None, None]:
    """Yield the results of ``work(number, stop)`` in the order of the numbers.

    Python tells its main thread alone of Ctrl-C: the flag stops the core in the others.

    Parameters
    ----------
    work : callable
        Gives the same result in whatever thread it runs.
    numbers : range
    n_threads : int
    """
    stop = _core.StopFlag()
    if n_threads == 1 or len(numbers) == 1:
        for number in numbers:
            yield work(number, stop)
        return
    # A few more than there are threads, so that none waits; not all, so that few wait in memory.
    window = 2 * n_threads
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: dict[int, Future[T]] = {}
        ahead = iter(numbers)
        try:
            for number in numbers:
                while len(waiting) < window and (more := next(ahead, None)) is not None:
                    waiting[more] = pool.submit(work, more, stop)
                future = waiting[number]
                while not future.done():
                    wait([future], timeout=0.1, return_when=FIRST_COMPLETED)
                del waiting[number]
                yield future.result()
        except BaseException:
            stop.set()
            for future in waiting.values():
                future.cancel()
            raise
