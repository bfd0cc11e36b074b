"""A progress bar in notebooks: plain HTML that is updated in place, without widgets.

The last state stays in the output of the cell, and so in the saved notebook, as HTML and as text.
"""

from __future__ import annotations

import sys
import time
from html import escape
from importlib import import_module
from typing import Any

#: Seconds between two updates.
_PATIENCE = 0.2
_WIDTH = 24


def in_notebook() -> bool:
    """Tell whether a Jupyter kernel runs this code, which shows what is displayed."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class NotebookBar:
    """One bar below a cell.

    Parameters
    ----------
    description : str
    total : int
        Number of steps; 0 if it is not known.
    """

    def __init__(self, description: str, total: int) -> None:
        display = import_module("IPython.display").display
        self._description, self._total = description, total
        self._done, self._fields = 0, ""
        self._started = self._shown = time.monotonic()
        self._handle: Any = display(self._state(), raw=True, display_id=True)

    def advance(self, n_steps: int = 1, **fields: float) -> None:
        """Count steps; the fields, such as ``loss=0.3``, are shown behind the bar."""
        self._done += n_steps
        self._fields = "  ".join(f"{name} {value:.4g}" for name, value in fields.items())
        if time.monotonic() - self._shown >= _PATIENCE:
            self._update()

    def finish(self) -> None:
        """Show the last state, which stays."""
        self._update()

    def _update(self) -> None:
        self._shown = time.monotonic()
        self._handle.update(self._state(), raw=True)

    def _state(self) -> dict[str, str]:
        """Describe the bar by MIME types."""
        seconds = time.monotonic() - self._started
        share = min(self._done / self._total, 1.0) if self._total else 0.0
        count = f"{self._done}/{self._total}" if self._total else str(self._done)
        told = f"{count}  {_clock(seconds)}"
        if 0 < self._done < self._total:
            told += f"  left {_clock(seconds / self._done * (self._total - self._done))}"
        told += f"  {self._fields}" if self._fields else ""
        filled = round(_WIDTH * share)
        text = f"{self._description} {'█' * filled}{'░' * (_WIDTH - filled)} {told}"
        attributes = f' value="{self._done}" max="{self._total}"' if self._total else ""
        page = (
            f"<div>{escape(self._description)} <progress{attributes}></progress> "
            f"<code>{escape(told)}</code></div>"
        )
        return {"text/plain": text, "text/html": page}


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
