"""Draw the charts of a report as SVG, in colours that the page sets for light and dark mode."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from ramify.experiments._statistics import not_worse_groups

Points = Sequence[tuple[float, float]]
_WIDTH = 720
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 16, 44


def critical_difference_diagram(
    names: Sequence[str], ranks: Sequence[float], difference: float
) -> str:
    """Draw mean ranks on a line; bars join methods that differ by less than the difference.

    Parameters
    ----------
    names : sequence of str
    ranks : sequence of float
        The mean rank of each; 1 is best.
    difference : float
        The critical difference.

    Returns
    -------
    str
        An SVG element.
    """
    order = np.argsort(ranks, kind="stable")
    k = len(names)
    half = (k + 1) // 2
    bars = not_worse_groups([ranks[i] for i in order], difference)
    axis_y = 48
    first_row = axis_y + 22 + 8 * len(bars)
    height = first_row + 22 * half + 8
    left, right = 190, _WIDTH - 190

    def x_of(rank: float) -> float:
        return left + (rank - 1) / max(k - 1, 1) * (right - left)

    parts = [f'<line class="axis" x1="{left}" y1="{axis_y}" x2="{right}" y2="{axis_y}"/>']
    for rank in range(1, k + 1):
        x = x_of(rank)
        parts.append(
            f'<line class="axis" x1="{x:.1f}" y1="{axis_y - 5}" x2="{x:.1f}" y2="{axis_y}"/>'
            f'<text class="tick" x="{x:.1f}" y="{axis_y - 9}" text-anchor="middle">{rank}</text>'
        )
    shown = min(difference, k - 1)
    parts.append(
        f'<line class="bar" x1="{left}" y1="14" x2="{x_of(1 + shown):.1f}" y2="14"/>'
        f'<text class="tick" x="{left - 8}" y="18" text-anchor="end">CD {difference:.2f}</text>'
    )
    for number, (a, b) in enumerate(bars):
        y = axis_y + 10 + 8 * number
        x1, x2 = x_of(ranks[order[a]]) - 3, x_of(ranks[order[b]]) + 3
        parts.append(f'<line class="bar" x1="{x1:.1f}" y1="{y}" x2="{x2:.1f}" y2="{y}"/>')
    for place, i in enumerate(order):
        on_left = place < half
        row = place if on_left else k - 1 - place
        y, x = first_row + 22 * row, x_of(ranks[i])
        end, anchor, text_x = (left - 8, "end", left - 14) if on_left else (
            right + 8, "start", right + 14)  # fmt: skip
        parts.append(
            f'<polyline class="axis" fill="none" points="{x:.1f},{axis_y} {x:.1f},{y} {end},{y}"/>'
            f'<text x="{text_x}" y="{y + 4}" text-anchor="{anchor}">{escape(names[i])} '
            f'<tspan class="tick">{ranks[i]:.2f}</tspan></text>'
        )
    return _svg(parts, height, "Mean ranks, with bars that join methods not told apart")


def scatter(
    points: Sequence[tuple[str, float, float]], x_label: str, y_label: str, title: str
) -> str:
    """Draw named points, with a logarithmic horizontal axis.

    Parameters
    ----------
    points : sequence of (name, x, y)
        x above 0.
    x_label, y_label, title : str

    Returns
    -------
    str
        An SVG element.
    """
    points = [(n, max(x, 1e-6), y) for n, x, y in points if np.isfinite(x) and np.isfinite(y)]
    if not points:
        return ""
    xs, ys = [p[1] for p in points], [p[2] for p in points]
    frame = _Frame(xs, ys)
    parts = frame.axes(x_label, y_label)
    taken: list[tuple[float, float]] = []  # the left ends and heights of labels
    for number, (name, x, y) in enumerate(points):
        px, py = frame.at(x, y)
        near_end = px > _WIDTH - 150
        anchor, dx = ("end", -8) if near_end else ("start", 8)
        left = px - 8 - 8 * len(name) if near_end else px + 8
        text_y = _free_height(left, py + 4, 8 * len(name), taken)
        taken.append((left, text_y))
        parts.append(
            f'<circle class="c{number % 8}" cx="{px:.1f}" cy="{py:.1f}" r="5">'
            f"<title>{escape(name)}: {y:.4f}, {x:.3g}</title></circle>"
            f'<text x="{px + dx:.1f}" y="{text_y:.1f}" text-anchor="{anchor}">'
            f"{escape(name)}</text>"
        )
    return _svg(parts, frame.height, title)


def lines(curves: Sequence[tuple[str, Points]], x_label: str, y_label: str, title: str) -> str:
    """Draw curves over a logarithmic horizontal axis, with a legend.

    Parameters
    ----------
    curves : sequence of (name, points)
    x_label, y_label, title : str

    Returns
    -------
    str
        An SVG element.
    """
    curves = [(name, points) for name, points in curves if points]
    if not curves:
        return ""
    every = [point for _, points in curves for point in points]
    frame = _Frame([p[0] for p in every], [p[1] for p in every])
    parts = frame.axes(x_label, y_label)
    for number, (name, points) in enumerate(curves):
        places = " ".join("{:.1f},{:.1f}".format(*frame.at(*point)) for point in points)
        parts.append(f'<polyline class="line s{number % 8}" fill="none" points="{places}"/>')
        x, y = frame.at(*points[-1])
        parts.append(f'<circle class="c{number % 8}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
        legend = _LEFT + 8 + 160 * (number % 4), frame.height + 12 + 20 * (number // 4)
        parts.append(
            f'<circle class="c{number % 8}" cx="{legend[0]}" cy="{legend[1] - 4}" r="5"/>'
            f'<text x="{legend[0] + 10}" y="{legend[1]}">{escape(name)}</text>'
        )
    height = frame.height + 12 + 20 * ((len(curves) - 1) // 4 + 1)
    return _svg(parts, height, title)


def heatmap(
    values: NDArray[np.float64],
    row_names: Sequence[str],
    column_names: Sequence[str],
    title: str,
    *,
    low: float,
    high: float,
) -> str:
    """Draw a matrix as coloured cells: one colour below the middle of the range, one above.

    Parameters
    ----------
    values : ndarray of shape (rows, columns)
        NaN is left empty.
    row_names, column_names : sequence of str
    title : str
    low, high : float
        The ends of the range of colours.

    Returns
    -------
    str
        An SVG element.
    """
    n_rows, n_columns = values.shape
    left, top = 150, 12 + 5 * min(18, max(len(str(name)) for name in column_names))
    cell = max(8.0, min(34.0, (_WIDTH - left - 8) / n_columns))
    parts = []
    for j, name in enumerate(column_names):
        x = left + cell * (j + 0.5)
        parts.append(
            f'<text class="tick" transform="translate({x + 4:.1f},{top - 6}) rotate(-50)">'
            f"{escape(_short(name))}</text>"
        )
    for i, name in enumerate(row_names):
        y = top + cell * i
        parts.append(
            f'<text class="tick" x="{left - 6}" y="{y + cell / 2 + 4:.1f}" text-anchor="end">'
            f"{escape(_short(name))}</text>"
        )
        for j in range(n_columns):
            value = values[i, j]
            if not np.isfinite(value):
                continue
            share = np.clip((value - low) / (high - low), 0.0, 1.0) * 2.0 - 1.0
            kind = "warm" if share >= 0 else "cold"
            parts.append(
                f'<rect class="{kind}" x="{left + cell * j:.1f}" y="{y:.1f}" '
                f'width="{cell - 1:.1f}" height="{cell - 1:.1f}" '
                f'fill-opacity="{abs(share) * 0.95 + 0.05:.2f}"><title>{escape(str(name))}, '
                f"{escape(str(column_names[j]))}: {value:.3f}</title></rect>"
            )
    return _svg(parts, top + cell * n_rows + 8, title, width=max(_WIDTH, left + cell * n_columns))


class _Frame:
    """A pair of axes, the horizontal one logarithmic: where values stand on the page."""

    height = 340

    def __init__(self, xs: Sequence[float], ys: Sequence[float]) -> None:
        self.x_range, self.y_range = _padded(np.log10(xs).tolist()), _padded(ys)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the place of a point."""
        share_x = (float(np.log10(x)) - self.x_range[0]) / (self.x_range[1] - self.x_range[0])
        share_y = (y - self.y_range[0]) / (self.y_range[1] - self.y_range[0])
        return (
            _LEFT + share_x * (_WIDTH - _LEFT - _RIGHT),
            self.height - _BOTTOM - share_y * (self.height - _TOP - _BOTTOM),
        )

    def axes(self, x_label: str, y_label: str) -> list[str]:
        """Return axes with ticks and labels."""
        bottom, end = self.height - _BOTTOM, _WIDTH - _RIGHT
        parts = [
            f'<line class="axis" x1="{_LEFT}" y1="{bottom}" x2="{end}" y2="{bottom}"/>',
            f'<line class="axis" x1="{_LEFT}" y1="{_TOP}" x2="{_LEFT}" y2="{bottom}"/>',
            f'<text x="{(_LEFT + end) / 2}" y="{self.height - 6}" text-anchor="middle">'
            f"{escape(x_label)}</text>",
            f'<text transform="translate(14,{(bottom + _TOP) / 2}) rotate(-90)" '
            f'text-anchor="middle">{escape(y_label)}</text>',
        ]
        for value in np.linspace(*self.y_range, 5):
            y = self.at(10.0 ** self.x_range[0], value)[1]
            parts.append(
                f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{end}" y2="{y:.1f}"/>'
                f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
                f"{value:.3g}</text>"
            )
        for value in _round_numbers(*self.x_range):
            x = self.at(value, self.y_range[0])[0]
            parts.append(
                f'<text class="tick" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">'
                f"{value:g}</text>"
            )
        return parts


def _free_height(
    left: float, wanted: float, width: float, taken: Sequence[tuple[float, float]]
) -> float:
    """Return the height nearest to the wanted one at which a label covers no other."""
    for step in range(12):
        for height in (wanted - 14 * step, wanted + 14 * step):
            if all(abs(height - y) >= 13 or left + width < x or x + 110 < left for x, y in taken):
                return height
    return wanted


def _round_numbers(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten between 10^low and 10^high; fewer if many."""
    exponents = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        values = [f * 10.0**e for e in exponents for f in factors]
        inside = [value for value in values if low <= np.log10(value) <= high]
        if len(inside) <= 9:
            break
    return inside


def _padded(values: Sequence[float]) -> tuple[float, float]:
    low, high = float(np.min(values)), float(np.max(values))
    pad = 0.06 * (high - low) or max(abs(high) * 0.1, 0.1)
    return low - pad, high + pad


def _short(name: object, most: int = 18) -> str:
    text = str(name)
    return text if len(text) <= most else text[: most - 1] + "…"


def _svg(parts: Sequence[str], height: float, title: str, width: float = _WIDTH) -> str:
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )
