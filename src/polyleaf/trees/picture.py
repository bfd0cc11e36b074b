"""Draws a placed tree: boxes, branches, and the table of what the leaves predict."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.trees.layout import ROW_HEIGHT, PlacedNode, TreeLayout
from polyleaf.trees.reader import TreeReader

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Up to this many values a split shows bars, beyond it a strip of colours.
_MAX_BARS = 24
#: Cells at least this wide (inches) carry their value.
_CELL_WITH_TEXT = 0.4
#: Least distance (inches) between the names of two columns.
_NAME_SPACING = 0.12
_MAX_NAME_LENGTH = 28
_INK, _FAINT, _LINE = "#222222", "#6b6b6b", "#9a9a9a"
_LEAF_FILL, _OTHER_FEATURE, _UNKNOWN = "#f4f4f2", "#e4e4e4", "#c8c8c8"
#: Fills of splits, by feature, the most important first.
_TINTS = ("#d7e8f7", "#fde3c8", "#d9efd6", "#ecdcf2", "#fbf3c4", "#f8d8d8", "#d2efec", "#e9e0d3")


class TreePicture:
    """One drawing of a tree.

    Parameters
    ----------
    plt : module
        matplotlib.pyplot.
    reader : TreeReader
    layout : TreeLayout
    values : ndarray of intp
        Positions of the values in the table.
    ax : matplotlib.axes.Axes or None
    """

    def __init__(
        self,
        plt: Any,
        reader: TreeReader,
        layout: TreeLayout,
        values: NDArray[np.intp],
        ax: Axes | None,
    ) -> None:
        self._reader, self._layout, self._values = reader, layout, values
        self._deviations = {node: reader.deviations(node)[values] for node in layout.nodes}
        self._names = self._choose_names()
        self._names_height = self._measure_names()
        self._ax, self._font_scale = self._open(plt, ax)
        self._limit, self._is_clipped = self._colour_limit()
        self._norm = plt.Normalize(-self._limit, self._limit)
        self._colours = plt.get_cmap("RdBu_r").with_extremes(bad=_UNKNOWN)
        self._tints = self._assign_tints()

    def draw(self, show_missing: bool) -> Axes:
        """Draw everything."""
        for placed in self._layout.nodes.values():
            if not placed.is_end:
                self._draw_branches(placed, show_missing)
        for placed in self._layout.nodes.values():
            if placed.is_end:
                self._draw_end(placed)
            else:
                self._draw_split(placed)
        self._draw_table()
        self._draw_names()
        self._draw_legend()
        return self._ax

    # The sheet ---------------------------------------------------------------------------------

    def _open(self, plt: Any, ax: Axes | None) -> tuple[Axes, float]:
        margin = 0.12
        is_slanted = self._layout.cell_width >= _CELL_WITH_TEXT and not self._names_are_upright()
        overhang = self._names_height if is_slanted else 0.1
        left, right = -margin, max(self._layout.table_right + overhang, 5.0) + margin
        top = -(ROW_HEIGHT + self._names_height) - margin
        bottom = self._layout.bottom + 0.75 + margin
        width, height = right - left, bottom - top
        if ax is None:
            figure = plt.figure(figsize=(width, height))
            ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        ax.set_axis_off()
        extent = ax.get_window_extent()
        dots = ax.figure.dpi  # per inch
        return ax, float(min(extent.width / dots / width, extent.height / dots / height))

    def _text(self, x: float, y: float, text: str, size: float = 8.0, **style: Any) -> None:
        style = {"color": _INK, "ha": "left", "va": "center"} | style
        # Names are the user's: a dollar must not start mathematics.
        self._ax.text(
            x, y, text, fontsize=size * self._font_scale, parse_math=False, zorder=5, **style
        )

    def _line(self, x: list[float], y: list[float], width: float = 1.0, **style: Any) -> None:
        self._ax.plot(x, y, linewidth=width * self._font_scale, color=_LINE, **style)

    def _box(self, placed: PlacedNode, fill: str, **style: Any) -> None:
        from matplotlib.patches import FancyBboxPatch

        self._ax.add_patch(
            FancyBboxPatch(
                (placed.x, placed.y - placed.height / 2),
                placed.width,
                placed.height,
                boxstyle="round,pad=0,rounding_size=0.06",
                facecolor=fill,
                edgecolor=_LINE,
                linewidth=0.8 * self._font_scale,
                zorder=3,
                **style,
            )
        )

    def _cells(self, x: float, y: float, cell: float, height: float, values: Any) -> Any:
        """Colour a row of cells; y is its upper edge."""
        edges = x + cell * np.arange(len(values) + 1)
        return self._ax.pcolormesh(
            edges,
            [y, y + height],
            np.ma.masked_invalid([values]),
            cmap=self._colours,
            norm=self._norm,
            edgecolors="white" if cell >= _CELL_WITH_TEXT else "face",
            linewidth=1.0 if cell >= _CELL_WITH_TEXT else 0.1,
            zorder=4,
        )

    # The tree ----------------------------------------------------------------------------------

    def _assign_tints(self) -> dict[int, str]:
        structure = self._reader.structure
        splits = [p.node for p in self._layout.nodes.values() if not p.is_end]
        gains: dict[int, float] = {}
        for node in splits:
            feature = int(structure.feature[node])
            gains[feature] = gains.get(feature, 0.0) + float(structure.gain[node])
        ranked = sorted(gains, key=lambda feature: -gains[feature])
        tints = [*_TINTS, *[_OTHER_FEATURE] * len(ranked)]
        return dict(zip(ranked, tints))

    def _draw_branches(self, parent: PlacedNode, show_missing: bool) -> None:
        structure = self._reader.structure
        bend = parent.x + parent.width + 0.14
        asks_missing = self._reader.asks_whether_missing(parent.node)
        for side, node in enumerate(self._reader.children(parent.node)):
            child = self._layout.nodes[node]
            share = structure.n_samples[node] / structure.n_samples[0]
            self._line(
                [parent.x + parent.width, bend, bend, child.x],
                [parent.y, parent.y, child.y, child.y],
                width=0.8 + 3.0 * float(share),
                zorder=1,
                solid_joinstyle="round",
            )
            label = ("yes", "no")[side]
            takes_missing = self._reader.missing_left(parent.node) == (side == 0)
            if show_missing and takes_missing and not asks_missing:
                label += " / missing"
            above = side == 0
            self._text(
                bend + 0.07,
                child.y - 0.05 if above else child.y + 0.05,
                label,
                7.0,
                color=_FAINT,
                va="bottom" if above else "top",
            )

    def _draw_split(self, placed: PlacedNode) -> None:
        feature = int(self._reader.structure.feature[placed.node])
        self._box(placed, self._tints[feature])
        condition = self._reader.conditions(placed.node)[0].replace("<=", "≤")
        lines = _wrap(condition, 23)
        top = placed.y - placed.height / 2
        self._text(
            placed.x + 0.09,
            top + 0.07,
            "\n".join(lines),
            8.0 if len(lines) == 1 else 7.0,
            va="top",
            fontweight="bold",
            linespacing=1.05,
        )
        rows = f"n = {self._reader.structure.n_samples[placed.node]:,}"
        self._text(placed.x + 0.09, top + 0.42, rows, 7.0, color=_FAINT)
        if placed.node != 0:
            self._draw_strip(placed)

    def _draw_strip(self, placed: PlacedNode) -> None:
        """Show how the outputs of a split node differ from all rows."""
        deviations = self._deviations[placed.node]
        x, width = placed.x + 0.09, placed.width - 0.18
        bottom = placed.y + placed.height / 2 - 0.06
        if deviations.size > _MAX_BARS:
            self._cells(x, bottom - 0.17, width / deviations.size, 0.17, deviations)
            return
        middle, reach = bottom - 0.13, 0.13
        bar = min(width / deviations.size, 0.22)
        sizes = np.clip(np.nan_to_num(deviations) / self._limit, -1, 1) * reach
        colours = self._colours(self._norm(np.ma.masked_invalid(deviations)))
        self._line([x, x + bar * deviations.size], [middle, middle], 0.6, zorder=4)
        self._ax.bar(
            x + bar * (np.arange(deviations.size) + 0.5),
            -sizes,
            width=0.8 * bar,
            bottom=middle,
            color=colours,
            edgecolor=_FAINT,
            linewidth=0.3,
            zorder=4,
        )

    def _draw_end(self, placed: PlacedNode) -> None:
        structure = self._reader.structure
        is_cut_off = not structure.is_leaf[placed.node]
        self._line(
            [placed.x + placed.width, self._layout.table_x - 0.06],
            [placed.y, placed.y],
            width=0.8,
            linestyle=":",
            zorder=1,
        )
        self._box(placed, _LEAF_FILL, **({"linestyle": "--"} if is_cut_off else {}))
        middle = placed.x + placed.width / 2
        rows = f"n = {structure.n_samples[placed.node]:,}"
        if is_cut_off:
            n_leaves = self._reader.n_leaves_below(placed.node)
            self._text(middle, placed.y - 0.075, rows, 7.0, ha="center")
            self._text(middle, placed.y + 0.08, f"{n_leaves:,} leaves", 6.5, ha="center")
        else:
            self._text(middle, placed.y, rows, 7.5, ha="center")

    # The table ---------------------------------------------------------------------------------

    def _draw_table(self) -> None:
        layout = self._layout
        for placed in layout.ends:
            y = placed.y - 0.19
            self._cells(layout.table_x, y, layout.cell_width, 0.38, self._deviations[placed.node])
            self._write_values(placed.node, placed.y)
        if layout.cell_width >= _CELL_WITH_TEXT:
            y = -ROW_HEIGHT / 2
            self._text(layout.table_x - 0.1, y, "all rows", 7.5, ha="right", color=_FAINT)
            self._write_values(0, y)
        self._line([layout.table_x, layout.table_right], [-0.08, -0.08], width=0.8)

    def _write_values(self, node: int, y: float) -> None:
        if self._layout.cell_width < _CELL_WITH_TEXT:
            return
        deviations = np.zeros(self._values.size) if y < 0 else self._deviations[node]
        for j, value in enumerate(self._reader.values(node)[self._values]):
            dark = abs(deviations[j]) > 0.62 * self._limit
            self._text(
                self._layout.table_x + (j + 0.5) * self._layout.cell_width,
                y,
                _cell_text(float(value), float(self._reader.scale[self._values[j]])),
                7.0,
                ha="center",
                color="white" if dark else _INK,
            )

    def _choose_names(self) -> list[int]:
        """Choose the columns that are named: all, or those that differ most where it is tight."""
        n, cell = self._values.size, self._layout.cell_width
        largest = np.zeros(n)
        for placed in self._layout.ends:
            np.fmax(largest, np.abs(self._deviations[placed.node]), out=largest)
        chosen: list[int] = []
        for j in np.argsort(-largest, kind="stable").tolist():
            if all(abs(j - other) * cell >= _NAME_SPACING - 1e-9 for other in chosen):
                chosen.append(j)
        return sorted(chosen)

    def _name(self, column: int) -> str:
        return _shorten(self._reader.value_names[self._values[column]], _MAX_NAME_LENGTH)

    def _names_are_upright(self) -> bool:
        longest = max(len(self._name(j)) for j in self._names)
        return longest * 0.068 <= self._layout.cell_width

    def _measure_names(self) -> float:
        if self._names_are_upright():
            return 0.25
        slant = 1.0 if self._layout.cell_width < _CELL_WITH_TEXT else 0.75
        return 0.2 + slant * 0.068 * max(len(self._name(j)) for j in self._names)

    def _draw_names(self) -> None:
        upright = self._names_are_upright()
        dense = self._layout.cell_width < _CELL_WITH_TEXT
        y = -ROW_HEIGHT if not dense else -0.14
        for j in self._names:
            x = self._layout.table_x + (j + 0.5) * self._layout.cell_width
            if upright:
                self._text(x, y + 0.06, self._name(j), 7.5, ha="center", va="bottom")
            elif dense:
                self._text(x, y, self._name(j), 6.5, ha="center", va="bottom", rotation=90)
            else:
                slanted = {"rotation": 45, "rotation_mode": "anchor"}
                self._text(x - 0.03, y + 0.08, self._name(j), 7.5, va="baseline", **slanted)

    # The legend --------------------------------------------------------------------------------

    def _colour_limit(self) -> tuple[float, bool]:
        """Deviation at which colours end, and whether some are beyond it."""
        sizes = np.abs([self._deviations[placed.node] for placed in self._layout.ends])
        sizes = sizes[np.isfinite(sizes)]
        if not sizes.size or sizes.max() == 0:
            return 1.0, False
        limit = float(np.quantile(sizes, 0.97))
        limit = np.ceil(10 * limit) / 10 if limit > 0.1 else float(sizes.max())
        return float(limit), bool(sizes.max() > limit)

    def _draw_legend(self) -> None:
        y = self._layout.bottom + 0.2
        scale = self._ax.inset_axes((0.2, y, 1.6, 0.12), transform=self._ax.transData, zorder=6)
        steps = np.linspace(-self._limit, self._limit, 129)
        scale.imshow(
            steps[None, :],
            aspect="auto",
            cmap=self._colours,
            norm=self._norm,
            extent=(-self._limit, self._limit, 0, 1),
        )
        scale.set_yticks([])
        ends = f"≥ {_short(self._limit)}" if self._is_clipped else f"+{_short(self._limit)}"
        starts = f"≤ −{_short(self._limit)}" if self._is_clipped else f"−{_short(self._limit)}"
        scale.set_xticks([-self._limit, 0, self._limit], [starts, "0", ends])
        scale.tick_params(labelsize=7 * self._font_scale, length=2, colors=_FAINT)
        for spine in scale.spines.values():
            spine.set_visible(False)
        what = "Difference from all rows, in standard deviations of each output"
        total = len(self._reader.value_names)
        if self._values.size < total:
            what += f". {self._values.size:,} of {total:,} values are shown"
        self._text(2.15, y + 0.06, "\n".join(textwrap.wrap(what, 52)), 7.0, color=_FAINT)


def _short(value: float) -> str:
    return f"{value:.1f}" if value >= 0.1 else f"{value:.1g}"


def _cell_text(value: float, scale: float) -> str:
    """Write a value with as many digits as tell it from others on the given scale."""
    if np.isnan(value):
        return "?"
    if abs(value) >= 1e6 or 0 < scale < 1e-4:
        return f"{value:.1e}"
    decimals = 2 if scale == 0 else int(np.clip(2 - np.ceil(np.log10(scale) - 0.5), 0, 4))
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0 else text


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _wrap(text: str, width: int) -> list[str]:
    """Break into at most two lines."""
    lines = textwrap.wrap(text, width, break_long_words=True)
    if len(lines) > 2:
        lines = [lines[0], _shorten(lines[1] + " …" + " " * width, width).rstrip(" …") + " …"]
    return lines
