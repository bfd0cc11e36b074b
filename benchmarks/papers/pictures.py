"""Save the figures of the papers that are drawn again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def save(
    path: Path,
    draw: Callable[[list[dict[str, Any]], Any], None],
    records: list[dict[str, Any]],
    shape: tuple[int, int],
    panel: tuple[float, float],
) -> None:
    """Draw records into panels and save the picture.

    Parameters
    ----------
    path : Path
    draw : callable
        Gets the records and the axes.
    records : list of dict
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
    draw(records, axes)
    figure.savefig(path, dpi=100)
    plt.close(figure)
