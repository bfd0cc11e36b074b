"""Draw the charts of a report as SVG, in colours that the page sets for light and dark mode."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

Points = Sequence[tuple[float, float]]
Box = tuple[float, float, float, float]  # left, top, right, bottom
WIDTH = 560
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 16, 44
_LETTER = 8.0  # the mean width of a letter of a label, in the units of the picture


def scatter(
    points: Sequence[tuple[str, str, float, float]], x_label: str, y_label: str, title: str
) -> str:
    """Draw named points, with a logarithmic horizontal axis.

    Parameters
    ----------
    points : sequence of (name, group, x, y)
        x above 0. The group gives the colour.
    x_label, y_label, title : str

    Returns
    -------
    str
        An SVG element; empty without points.
    """
    points = [
        (n, g, max(x, 1e-6), y) for n, g, x, y in points if np.isfinite(x) and np.isfinite(y)
    ]
    if not points:
        return ""
    frame = _Frame([p[2] for p in points], [p[3] for p in points])
    parts = frame.axes(x_label, y_label)
    places = [frame.at(x, y) for _, _, x, y in points]
    taken: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for x, y in places]
    for (name, group, x, y), (px, py) in zip(points, places):
        box = _label_box(px, py, _LETTER * len(name), frame.left, taken)
        taken.append(box)
        middle = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        parts.append(
            f'<g class="point g-{escape(group)}">'
            f'{_leader(px, py, box)}<circle cx="{px:.1f}" cy="{py:.1f}" r="5.5"/>'
            f'<text x="{middle[0]:.1f}" y="{middle[1] + 4.5:.1f}" text-anchor="middle">'
            f"{escape(name)}</text><title>{escape(name)}: {y:.4f}, {x:.3g}</title></g>"
        )
    return svg(parts, frame.height, title)


def lines(curves: Sequence[tuple[str, Points]], x_label: str, y_label: str, title: str) -> str:
    """Draw curves over a logarithmic horizontal axis, with a legend.

    Parameters
    ----------
    curves : sequence of (name, points)
    x_label, y_label, title : str

    Returns
    -------
    str
        An SVG element; empty without points.
    """
    curves = [(name, points) for name, points in curves if points]
    if not curves:
        return ""
    every = [point for _, points in curves for point in points]
    frame = _Frame([p[0] for p in every], [p[1] for p in every])
    parts = frame.axes(x_label, y_label)
    for number, (name, points) in enumerate(curves):
        places = " ".join("{:.1f},{:.1f}".format(*frame.at(*point)) for point in points)
        dashes = ' stroke-dasharray="6 4"' if number >= 8 else ""
        x, y = frame.at(*points[-1])
        legend = frame.left + 8 + 160 * (number % 3), frame.height + 12 + 20 * (number // 3)
        parts.append(
            f'<polyline class="line s{number % 8}" fill="none" points="{places}"{dashes}>'
            f"<title>{escape(name)}</title></polyline>"
            f'<circle class="c{number % 8}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
            f'<circle class="c{number % 8}" cx="{legend[0]}" cy="{legend[1] - 4}" r="5"/>'
            f'<text x="{legend[0] + 10}" y="{legend[1]}">{escape(name)}</text>'
        )
    height = frame.height + 12 + 20 * ((len(curves) - 1) // 3 + 1)
    return svg(parts, height, title)


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
        The ends of the range of colours. If `low` is 0 or more there is one colour alone.

    Returns
    -------
    str
        An SVG element.
    """
    n_rows, n_columns = values.shape
    left, top = 132, 12 + 5 * min(18, max(len(str(name)) for name in column_names))
    cell_width = max(9.0, min(46.0, (WIDTH - left - 8) / n_columns))
    cell_height = min(26.0, max(cell_width, 16.0))
    parts = []
    for j, name in enumerate(column_names):
        x = left + cell_width * (j + 0.5)
        parts.append(
            f'<text class="tick" transform="translate({x + 4:.1f},{top - 6}) rotate(-50)">'
            f"{escape(_short(name))}</text>"
        )
    for i, name in enumerate(row_names):
        y = top + cell_height * i
        parts.append(
            f'<text class="tick" x="{left - 6}" y="{y + cell_height / 2 + 4:.1f}" '
            f'text-anchor="end">{escape(_short(name))}</text>'
        )
        for j in range(n_columns):
            if np.isfinite(values[i, j]):
                box = left + cell_width * j, y, cell_width, cell_height
                where = f"{name}, {column_names[j]}"
                parts.append(_cell(values[i, j], low, high, box, where))
    width = max(WIDTH, left + cell_width * n_columns)
    return svg(parts, top + cell_height * n_rows + 8, title, width=width)


def svg(parts: Sequence[str], height: float, title: str, width: float = WIDTH) -> str:
    """Return an SVG element with a name for those who do not see it."""
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def _cell(value: float, low: float, high: float, box: Box, where: str) -> str:
    x, y, width, height = box
    share = float(np.clip((value - low) / (high - low), 0.0, 1.0)) if high > low else 1.0
    kind = "warm"
    if low < 0:
        share = share * 2.0 - 1.0
        kind = "warm" if share >= 0 else "cold"
    shown = ""
    if width >= 34:
        strong = " strong" if abs(share) > 0.55 else ""
        shown = (
            f'<text class="in{strong}" x="{x + width / 2 - 0.5:.1f}" '
            f'y="{y + height / 2 + 4:.1f}" text-anchor="middle">{_two_digits(value)}</text>'
        )
    return (
        f'<g><rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width - 1:.1f}" '
        f'height="{height - 1:.1f}" rx="2" fill-opacity="{abs(share) * 0.92 + 0.05:.2f}"/>{shown}'
        f"<title>{escape(where)}: {value:.3f}</title></g>"
    )


class _Frame:
    """A pair of axes, the horizontal one logarithmic: where values stand on the page."""

    height = 330

    def __init__(self, xs: Sequence[float], ys: Sequence[float]) -> None:
        self.x_range, self.y_range = _padded(np.log10(xs).tolist()), _padded(ys)
        self._steps = [(value, f"{value:.6g}") for value in round_steps(*self.y_range)]
        # Room for the longest number beside the turned label.
        self.left = max(
            _LEFT, 32 + _LETTER * max((len(text) for _, text in self._steps), default=0)
        )

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the place of a point."""
        share_x = (float(np.log10(x)) - self.x_range[0]) / (self.x_range[1] - self.x_range[0])
        share_y = (y - self.y_range[0]) / (self.y_range[1] - self.y_range[0])
        return (
            self.left + share_x * (WIDTH - self.left - _RIGHT),
            self.height - _BOTTOM - share_y * (self.height - _TOP - _BOTTOM),
        )

    def axes(self, x_label: str, y_label: str) -> list[str]:
        """Return axes with ticks and labels."""
        bottom, end = self.height - _BOTTOM, WIDTH - _RIGHT
        parts = [
            f'<line class="axis" x1="{self.left}" y1="{bottom}" x2="{end}" y2="{bottom}"/>',
            f'<text class="label" x="{(self.left + end) / 2}" y="{self.height - 6}" '
            f'text-anchor="middle">{escape(x_label)}</text>',
            f'<text class="label" transform="translate(14,{(bottom + _TOP) / 2}) rotate(-90)" '
            f'text-anchor="middle">{escape(y_label)}</text>',
        ]
        for value, text in self._steps:
            y = self.at(10.0 ** self.x_range[0], value)[1]
            parts.append(
                f'<line class="grid" x1="{self.left}" y1="{y:.1f}" x2="{end}" y2="{y:.1f}"/>'
                f'<text class="tick" x="{self.left - 6}" y="{y + 4:.1f}" text-anchor="end">'
                f"{text}</text>"
            )
        for value in _round_numbers(*self.x_range):
            x = self.at(value, self.y_range[0])[0]
            parts.append(
                f'<text class="tick" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">'
                f"{value:g}</text>"
            )
        return parts


def _label_box(px: float, py: float, width: float, left: float, taken: Sequence[Box]) -> Box:
    """Return a place for a label near a point that covers nothing, the nearest there is."""
    candidates = []
    for distance in (9, 22, 38, 56, 76):
        for angle in np.deg2rad([0, 180, 90, 270, 45, 315, 135, 225, 20, 340, 160, 200]):
            cx = px + np.cos(angle) * (distance + width / 2)
            cy = py + np.sin(angle) * (distance + 5)
            candidates.append((cx - width / 2, cy - 8, cx + width / 2, cy + 8))
    inside = [b for b in candidates if b[0] > left + 2 and b[2] < WIDTH - 2 and b[1] > 0]
    for box in inside:
        if not any(_overlap(box, other) for other in taken):
            return box
    return inside[0] if inside else candidates[0]


def _leader(px: float, py: float, box: Box) -> str:
    """Draw a line from a point to a label that stands apart from it."""
    x = min(max(px, box[0]), box[2])
    y = min(max(py, box[1]), box[3])
    if np.hypot(x - px, y - py) < 16:
        return ""
    return f'<line class="leader" x1="{px:.1f}" y1="{py:.1f}" x2="{x:.1f}" y2="{y:.1f}"/>'


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def round_steps(low: float, high: float, most: int = 7) -> list[float]:
    """Return round numbers in a range, evenly spaced, at most so many."""
    rough = (high - low) / most
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= rough)
    first = np.ceil(low / step)
    n_steps = int(np.floor(high / step) - first) + 1
    return [float(round((first + i) * step, 12)) for i in range(n_steps)]


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


def _two_digits(value: float) -> str:
    text = f"{abs(value):.2f}"
    return ("−" if value < 0 else "") + (text[1:] if text.startswith("0") else text)


def _short(name: object, most: int = 18) -> str:
    text = str(name)
    return text if len(text) <= most else text[: most - 1] + "…"
