"""A progress bar with the time left, for training loops."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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
