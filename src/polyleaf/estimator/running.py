"""Run loops: a progress bar with the time left, callbacks, and pieces of work in threads.

Callbacks are those of scikit-learn 1.9 and later, which `set_callbacks` takes. They see a task of
two levels, "fit" and its steps: trees, rounds, rules or graphs. All loops show their steps by
`progress_bar`, which tells the callbacks. A step is told of once it is over, in the thread that
called `fit`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from polyleaf import _core
from polyleaf.checks.threads import Pieces
from polyleaf.estimator.notebook_bar import NotebookBar, in_notebook

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for scikit-learn's, which this version does not have."""

    def _with_callbacks(method: Any) -> Any:
        return method


T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(method: Method) -> Method:
    """Have callbacks closed after a method, however it ends."""
    return cast("Method", _with_callbacks(method))


#: Tells the callbacks of the fit that runs in this thread of steps; None if it has none.
_STEPS: ContextVar[Callable[[int], None] | None] = ContextVar("polyleaf_steps", default=None)


def current_steps() -> Callable[[int], None] | None:
    """Give the function that tells callbacks of a number of steps, if somebody listens."""
    return _STEPS.get()


@contextmanager
def followed(estimator: Any, X: Any, y: Any) -> Iterator[Callable[[Any], None]]:
    """Tell the callbacks of an estimator of a fit, from beginning to end.

    Parameters
    ----------
    estimator : Estimator
        With callbacks or without.
    X, y
        What `fit` was given, for callbacks that ask for it.

    Yields
    ------
    callable (fitted)
        To be called with what was learnt, before the estimator has it.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        with _listening(None):
            yield lambda fitted: None
        return
    most = _most_steps(estimator)
    context = estimator._init_callback_context(max_subtasks=most)
    told = 0

    def tell_steps(n_steps: int) -> None:
        nonlocal told
        for _ in range(min(n_steps, most - told)):
            step = context.subcontext(task_name="step")
            step.call_on_fit_task_begin(estimator=estimator)
            step.call_on_fit_task_end(estimator=estimator)
            told += 1

    def tell_end(fitted: Any) -> None:
        context.call_on_fit_task_end(
            estimator=estimator, X=X, y=y, reconstruction_attributes={"_fitted": fitted}
        )

    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    with _listening(tell_steps):
        yield tell_end


@contextmanager
def _listening(steps: Callable[[int], None] | None) -> Iterator[None]:
    token = _STEPS.set(steps)
    try:
        yield
    finally:
        _STEPS.reset(token)


def _most_steps(estimator: Any) -> int:
    given = vars(estimator)
    most = given.get("n_estimators", given.get("n_rules", 0))
    return int(most) if isinstance(most, int) else 0


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
    pieces = Pieces(lambda i: work(numbers[i], stop), len(numbers), n_threads, 2 * n_threads)
    try:
        yield from pieces.results()
    finally:
        stop.set()
        pieces.close()
