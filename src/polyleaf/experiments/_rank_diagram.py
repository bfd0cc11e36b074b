"""Draw mean ranks with critical differences, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from polyleaf.experiments._charts import WIDTH, svg
from polyleaf.experiments._statistics import not_worse_groups

_MARGIN = 162  # for names, on both sides
_ROW = 22
_TICK_WIDTH = 24  # what the number of a rank needs
_AXIS_Y = 52


def critical_difference_diagram(
    names: Sequence[str], ranks: Sequence[float], difference: float, *, control: str | None = None
) -> str:
    """Draw mean ranks on a line, and join methods that a test cannot distinguish.

    Parameters
    ----------
    names : sequence of str
    ranks : sequence of float
        The mean rank of each; 1 is best.
    difference : float
        The critical difference.
    control : str, optional
        Without one, bars join the methods that differ by less than the difference (Nemenyi).
        With one, the range around it is marked in which methods cannot be distinguished from it
        (Bonferroni and Dunn), and the others are drawn faintly.

    Returns
    -------
    str
        An SVG element.
    """
    order = [int(i) for i in np.argsort(ranks, kind="stable")]
    sorted_ranks = [ranks[i] for i in order]
    bars = [] if control is not None else not_worse_groups(sorted_ranks, difference)
    scale = _Scale(len(names))
    first_row = _AXIS_Y + 24 + 8 * max(len(bars), 1)
    own = None if control is None else ranks[list(names).index(control)]
    parts = [*_axis(scale), _measure(scale, difference)]
    if own is None:
        parts += [
            _bar(scale, sorted_ranks[a], sorted_ranks[b], number)
            for number, (a, b) in enumerate(bars)
        ]
    else:
        parts.append(_stretch(scale, own, difference))
    half = (len(names) + 1) // 2
    for place, i in enumerate(order):
        row = place if place < half else len(names) - 1 - place
        is_far = own is not None and abs(ranks[i] - own) >= difference
        kind = "control" if names[i] == control else "far" if is_far else ""
        parts.append(_name(scale, names[i], ranks[i], first_row + _ROW * row, place < half, kind))
    title = "Mean ranks, with bars that join methods that cannot be distinguished"
    if control is not None:
        title = (
            f"Mean ranks, with the range of methods that cannot be distinguished from {control}"
        )
    return svg(parts, first_row + _ROW * half + 4, title)


class _Scale:
    """Where ranks stand on the page."""

    def __init__(self, n_methods: int) -> None:
        self.n_methods = n_methods
        self.left, self.right = _MARGIN, WIDTH - _MARGIN

    def x(self, rank: float) -> float:
        share = (rank - 1) / max(self.n_methods - 1, 1)
        return self.left + min(max(share, -0.02), 1.02) * (self.right - self.left)


def _axis(scale: _Scale) -> list[str]:
    parts = [
        f'<line class="axis" x1="{scale.left}" y1="{_AXIS_Y}" x2="{scale.right}" y2="{_AXIS_Y}"/>'
    ]
    apart = (scale.right - scale.left) / max(scale.n_methods - 1, 1)
    step = max(1, math.ceil(_TICK_WIDTH / apart))
    for rank in range(1, scale.n_methods + 1, step):
        x = scale.x(rank)
        parts.append(
            f'<line class="axis" x1="{x:.1f}" y1="{_AXIS_Y - 5}" x2="{x:.1f}" y2="{_AXIS_Y}"/>'
            f'<text class="tick" x="{x:.1f}" y="{_AXIS_Y - 10}" text-anchor="middle">{rank}</text>'
        )
    return parts


def _measure(scale: _Scale, difference: float) -> str:
    """Draw the length of the critical difference."""
    end = scale.x(1 + min(difference, scale.n_methods - 1))
    return (
        f'<path class="axis" fill="none" d="M{scale.left},10 v8 M{scale.left},14 H{end:.1f} '
        f'm0,-4 v8"/><text class="tick" x="{scale.left - 8}" y="18" text-anchor="end">'
        f"critical difference {difference:.2f}</text>"
    )


def _bar(scale: _Scale, low: float, high: float, number: int) -> str:
    y = _AXIS_Y + 11 + 8 * number
    x1, x2 = scale.x(low) - 3, scale.x(high) + 3
    return f'<line class="bar" x1="{x1:.1f}" y1="{y}" x2="{x2:.1f}" y2="{y}"/>'


def _stretch(scale: _Scale, own: float, difference: float) -> str:
    x1, x2 = scale.x(own - difference), scale.x(own + difference)
    return (
        f'<rect class="stretch" x="{x1:.1f}" y="{_AXIS_Y - 4}" width="{x2 - x1:.1f}" height="8" '
        'rx="4"/>'
    )


def _name(scale: _Scale, name: str, rank: float, y: float, on_left: bool, kind: str) -> str:
    x = scale.x(rank)
    end = scale.left - 8 if on_left else scale.right + 8
    text_x, anchor = (end - 6, "end") if on_left else (end + 6, "start")
    return (
        f'<g class="{kind}"><polyline class="axis" fill="none" '
        f'points="{x:.1f},{_AXIS_Y} {x:.1f},{y} {end},{y}"/>'
        f'<circle class="dot" cx="{x:.1f}" cy="{_AXIS_Y}" r="3.5"/>'
        f'<text x="{text_x}" y="{y + 4}" text-anchor="{anchor}">{escape(name)} '
        f'<tspan class="tick">{rank:.2f}</tspan></text></g>'
    )
