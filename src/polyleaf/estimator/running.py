"""Run loops: a progress bar with the time left, and pieces of work in threads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TypeVar

from polyleaf import _core
from polyleaf.checks.threads import Pieces
from polyleaf.estimator.base import current_steps
from polyleaf.estimator.notebook_bar import NotebookBar, in_notebook

T = TypeVar("T")


@contextmanager
def progress_bar(description: str, total: int, verbose: int) -> Iterator[Callable[..., None]]:
    """Show how far a loop has come, on standard error or below the cell of a notebook.

    Callbacks of scikit-learn hear of the steps, too.

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
    tell = current_steps() if total else None
    with _shown_bar(description, total, verbose) as show:
        if tell is None:
            yield show
            return

        def advance(n_steps: int = 1, **fields: float) -> None:
            show(n_steps, **fields)
            tell(n_steps)

        yield advance


@contextmanager
def _shown_bar(description: str, total: int, verbose: int) -> Iterator[Callable[..., None]]:
    if not verbose:
        yield lambda n_steps=1, **fields: None
    elif in_notebook():
        bar = NotebookBar(description, total)
        try:
            yield bar.advance
        finally:
            bar.finish()
    else:
        with _terminal_bar(description, total) as advance:
            yield advance


@contextmanager
def _terminal_bar(description: str, total: int) -> Iterator[Callable[..., None]]:
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
    task = bar.add_task(description, total=total or None, shown="")

    def advance(n_steps: int = 1, **fields: float) -> None:
        shown = "  ".join(f"{name} {value:.4g}" for name, value in fields.items())
        bar.update(task, advance=n_steps, shown=shown)

    try:
        bar.start()
    except RuntimeError:  # no memory for the thread of the bar: the fit goes on without one
        yield lambda n_steps=1, **fields: None
        return
    try:
        yield advance
    finally:
        bar.stop()


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
    pieces = Pieces(lambda i: work(numbers[i], stop), len(numbers), n_threads, 2 * n_threads)
    try:
        yield from pieces.results()
    finally:
        stop.set()
        pieces.close()
