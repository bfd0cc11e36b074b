"""Run loops: a progress bar with the time left, and pieces of work in threads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

from polyleaf import _core

T = TypeVar("T")


@contextmanager
def progress_bar(description: str, total: int, verbose: int) -> Iterator[Callable[..., None]]:
    """Show how far a loop has come, on standard error.

    Parameters
    ----------
    description : str
    total : int
        Number of steps; 0 if it is not known.
    verbose : int
        0 shows nothing.

    Yields
    ------
    callable (n_steps=1, **fields)
        To be called after every step; the fields, such as ``loss=0.3``, are shown behind the bar.
    """
    if not verbose:
        yield lambda n_steps=1, **fields: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[shown]}"),
        console=Console(file=sys.stderr),
    )
    with bar:
        task = bar.add_task(description, total=total or None, shown="")

        def advance(n_steps: int = 1, **fields: float) -> None:
            shown = "  ".join(f"{name} {value:.4g}" for name, value in fields.items())
            bar.update(task, advance=n_steps, shown=shown)

        yield advance


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
