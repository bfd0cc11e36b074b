"""Work in threads that never hangs when memory is short.

The executors of the standard library wait for ever for a thread that ran out of memory before it
could say that it had begun, or between two pieces of work. Here the caller takes pieces itself and
waits for a thread only while that thread holds one. A thread that the system refuses to start is
done without.
"""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_POLL_SECONDS = 0.1
_NAP_SECONDS = 0.001
_NOTHING: Any = object()


class Pieces(Generic[T]):
    """Numbered pieces of work, done by the caller and by helpers; results come in order.

    Parameters
    ----------
    work : callable (number) -> result
    n_pieces : int
    n_threads : int
        The caller and n_threads - 1 helpers.
    window : int
        How many pieces may be begun beyond those that were yielded.
    """

    def __init__(self, work: Callable[[int], T], n_pieces: int, n_threads: int, window: int):
        self._work = work
        self._n_pieces = n_pieces
        self._window = window
        # Places are made here: to fill them takes no memory.
        self._results: list[Any] = [_NOTHING] * n_pieces
        self._errors: list[BaseException | None] = [None] * n_pieces
        self._owners: list[int] = [-1] * n_pieces
        self._is_working = [False] * n_threads
        self._n_begun = self._n_yielded = 0
        self._is_closed = False
        self._lock = _thread.allocate_lock()
        self._news = _thread.allocate_lock()
        with suppress(RuntimeError, MemoryError):  # those that could be started do
            for helper in range(1, min(n_threads, n_pieces)):
                _thread.start_new_thread(self._help, (helper,))

    def results(self) -> Iterator[T]:
        """Yield the results in the order of the numbers, or raise the first error."""
        for number in range(self._n_pieces):
            with self._lock:
                is_free = self._owners[number] < 0
                if is_free:
                    self._begin(number, 0)
            if is_free:
                self._results[number] = self._work(number)
            else:
                self._wait_for(number)
            result, self._results[number] = self._results[number], None
            self._n_yielded = number + 1
            yield result

    def close(self) -> None:
        """Wait for the helpers to leave what they are at."""
        self._is_closed = True
        while any(self._is_working):
            time.sleep(_NAP_SECONDS)

    def _begin(self, number: int, owner: int) -> None:
        self._owners[number] = owner
        self._n_begun = max(self._n_begun, number + 1)

    def _wait_for(self, number: int) -> None:
        while self._results[number] is _NOTHING:
            error = self._errors[number]
            if error is not None:
                raise error
            if not self._is_working[self._owners[number]] and self._is_lost(number):
                raise MemoryError(
                    "There was too little memory for a thread to go on. Set n_jobs=1, or give the "
                    "process more memory."
                )
            self._news.acquire(timeout=_POLL_SECONDS)

    def _is_lost(self, number: int) -> bool:
        return self._results[number] is _NOTHING and self._errors[number] is None

    def _help(self, helper: int) -> None:
        number = -1
        self._is_working[helper] = True
        try:
            while (number := self._next(helper)) >= 0:
                self._results[number] = self._work(number)
                self._tell()
        except BaseException as error:
            if number >= 0:
                self._errors[number] = error
        finally:
            self._is_working[helper] = False
            self._tell()

    def _next(self, helper: int) -> int:
        """Take the next piece, -1 if there is none; wait while the caller is far behind."""
        while not self._is_closed:
            with self._lock:
                number = self._n_begun
                if number >= self._n_pieces:
                    return -1
                if number < self._n_yielded + self._window:
                    self._begin(number, helper)
                    return number
            time.sleep(_NAP_SECONDS)
        return -1

    def _tell(self) -> None:
        with suppress(RuntimeError):  # it was told already
            self._news.release()
