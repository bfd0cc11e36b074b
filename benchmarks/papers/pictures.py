"""Save the figures of the papers that are drawn again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.papers.runs import Runs


def save(
    path: Path,
    draw: Callable[[Runs, Any], None],
    runs: Runs,
    shape: tuple[int, int],
    panel: tuple[float, float],
) -> None:
    """Draw runs into panels and save the picture.

    Parameters
    ----------
    path : Path
    draw : callable
        Gets the runs and the axes.
    runs : Runs
    shape : tuple of int
        Rows and columns of panels.
    panel : tuple of float
        Width and height of a panel, in inches.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    size = (panel[0] * shape[1], panel[1] * shape[0])
    figure, axes = plt.subplots(*shape, figsize=size, layout="constrained")
    draw(runs, axes)
    figure.savefig(path, dpi=100)
    plt.close(figure)
