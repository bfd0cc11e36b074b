"""Draw docs/figures/what_travels.svg: what workers send each other for one tree of boosting.

python tools/what_travels.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

_TARGET = Path(__file__).resolve().parents[1] / "docs" / "figures" / "what_travels.svg"
_STAYS = "rows, Y, weights\ncodes: 1 byte a cell\nscores, gradients"
_STEPS = (
    ("histograms of a level", "4 bytes × nodes × features × bins × (q + 1)", "#1b6ca8"),
    ("sums of leaves", "16 bytes × leaves × outputs", "#2a7f4f"),
    ("the loss", "8 bytes", "#777777"),
)


def draw() -> None:
    """Draw the client, three workers, and what goes between them."""
    # The same bytes however often it is drawn.
    mpl.rcParams.update({"svg.hashsalt": "polyleaf", "svg.fonttype": "none", "font.size": 10})
    figure, axes = plt.subplots(figsize=(8.4, 4.6))
    axes.set(xlim=(0, 12), ylim=(0, 7.0))
    axes.axis("off")
    box(axes, 4.0, 5.9, 4.0, 0.9, "client: settings, a secret; then the model", "#f3ead7")
    for number in range(3):
        left = 0.2 + 4.0 * number
        box(axes, left, 3.6, 3.6, 1.6, f"worker {number}\n{_STAYS}", "#e4eef5")
        start, end = (6.0, 5.9), (left + 1.8, 5.2)
        style = {"arrowstyle": "<->" if number == 0 else "->", "color": "#555555"}
        axes.annotate("", end, start, arrowprops=style)
    axes.text(0.2, 3.12, "for each tree, between all workers:", style="italic")
    for at, (name, size, colour) in enumerate(_STEPS):
        height = 2.55 - 0.62 * at
        axes.annotate("", (11.8, height), (0.2, height), arrowprops={
            "arrowstyle": "<->", "color": colour, "lw": 2.2 - 0.6 * at,
        })  # fmt: skip
        axes.text(6.0, height + 0.1, f"{name}:  {size}", ha="center", color=colour)
    axes.text(
        6.0,
        0.25,
        "500 features, 256 bins, 1,000 outputs: 3 MB a node with q = 5, 512 MB without a view",
        ha="center",
    )  # fmt: skip
    figure.subplots_adjust(0, 0, 1, 1)
    figure.savefig(_TARGET, metadata={"Date": None})
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], dpi=80)


def box(
    axes: plt.Axes, x: float, y: float, width: float, height: float, text: str, fill: str
) -> None:
    """Draw a box with a text."""
    shape = FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0.06", fc=fill, ec="#888888")
    axes.add_patch(shape)
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", linespacing=1.35)


if __name__ == "__main__":
    draw()
