"""Pictures of Shapley values: a map for all outputs, swarms, waterfalls and dependence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from polyleaf.checks.numbers import described, expect_count, expect_kind
from polyleaf.checks.optional import require
from polyleaf.estimator.wording import format_number
from polyleaf.inspection._importances import draw_shares
from polyleaf.inspection._shap_values import ShapValues
from polyleaf.inspection._shown_features import (
    axis_values_of,
    colours_of,
    name_ticks,
    shades_of,
    value_in_words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UP, _DOWN = "#b2182b", "#2166ac"
#: Most rows of a picture of single rows, and most panels of outputs.
_MOST_ROWS, _MOST_PANELS = 1000, 16


def plot_shap_map(found: ShapValues, *, max_features: int = 20, ax: Axes | None = None) -> Axes:
    """Draw how far features move outputs: one row per output, one column per feature.

    Sizes are means over the rows, as shares of what all features move an output, so that outputs
    in different units can be compared. Columns are sorted by their mean over the outputs, which
    is in the first row. All names of up to 100 outputs are shown.

    Parameters
    ----------
    found : ShapValues
        Of rows, or with ``reduce="mean_abs"``.
    max_features : int, default=20
        Most features to show; a last column has the sums of the rest, in grey.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of a fitting size.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.inspection import plot_shap_map, shap_values
    >>> X, Y = make_correlated_targets(200, 5, 4, random_state=0)
    >>> model = TreeRegressor(max_depth=4).fit(X, Y)
    >>> ax = plot_shap_map(shap_values(model, X, reduce="mean_abs"))
    """
    expect_kind("found", found, ShapValues, "shap_values")
    if found.outputs.ndim == 2:
        raise ValueError("With top_outputs every row has its own outputs: use outputs= instead.")
    sizes = found.values if found.values.ndim == 2 else np.abs(found.values).mean(axis=0)
    by_output = np.nan_to_num(sizes.T.astype(np.float64))
    totals = by_output.sum(axis=1, keepdims=True)
    shares = np.divide(by_output, totals, out=np.zeros_like(by_output), where=totals > 0)
    return draw_shares(
        shares,
        found.output_names,
        found.feature_names,
        max_features,
        "share in the moves",
        ax,
    )


def plot_shap_swarm(
    found: ShapValues, output: Any = None, *, max_features: int = 12, ax: Axes | None = None
) -> Axes:
    """Draw the contributions of features to one output: a dot for every row.

    Features are sorted by their mean size. Red dots have high values of the feature, blue ones low
    values, grey ones a value that is missing, unknown or a category without an order. At most
    1,000 rows are drawn.

    Parameters
    ----------
    found : ShapValues
        Of rows.
    output : str or int, optional
        Name or position of one of its outputs; needed if there are several.
    max_features : int, default=12
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of a fitting size.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.inspection import plot_shap_swarm, shap_values
    >>> X, Y = make_correlated_targets(200, 5, 4, random_state=0)
    >>> ax = plot_shap_swarm(shap_values(TreeRegressor(max_depth=4).fit(X, Y), X), "y1")
    """
    plt = _pyplot(found)
    values, name = _of_output(found, output)
    shown = _largest(np.abs(values).mean(axis=0), max_features)
    if ax is None:
        size = (6.2, 1.1 + 0.36 * len(shown))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    rows = np.arange(0, len(values), -(-len(values) // _MOST_ROWS))
    dots = None
    for place, feature in enumerate(shown):
        moves = values[rows, feature]
        heights = place + _swarm(moves, np.abs(values[:, shown]).max())
        colours = shades_of(found, feature)[rows]
        if feature in found.categories:
            colours[:] = np.nan
        known = ~np.isnan(colours)
        style: dict[str, Any] = {"s": 7, "linewidths": 0, "rasterized": True}
        ax.scatter(moves[~known], heights[~known], color="#999999", **style)
        dots = ax.scatter(
            moves[known], heights[known], c=colours[known], cmap="coolwarm", vmin=0, vmax=1,
            **style,
        )  # fmt: skip
    ax.axvline(0.0, color="#777777", linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(shown)), [found.feature_names[f] for f in shown], parse_math=False)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlabel(f"contribution to {name}", fontsize=9, parse_math=False)
    ax.tick_params(labelsize=8)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    if dots is not None and found.data is not None:
        bar = ax.figure.colorbar(dots, ax=ax, pad=0.01, aspect=30, ticks=[0, 1])
        bar.ax.set_yticklabels(["low", "high"], fontsize=8)
        bar.set_label("value of the feature", size=8, labelpad=-12)
        bar.outline.set_visible(False)
    return ax


def plot_shap_waterfall(
    found: ShapValues,
    row: int = 0,
    output: Any = None,
    *,
    max_features: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw how the features lead from the expected to the row's prediction of one output.

    Parameters
    ----------
    found : ShapValues
        Of rows.
    row : int, default=0
        Position among the rows that were explained.
    output : str or int, optional
        Name or position of one of its outputs; needed if there are several.
    max_features : int, default=10
        The largest contributions; one more bar sums the rest.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of a fitting size.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.inspection import plot_shap_waterfall, shap_values
    >>> X, Y = make_correlated_targets(200, 5, 4, random_state=0)
    >>> found = shap_values(TreeRegressor(max_depth=4).fit(X, Y), X)
    >>> ax = plot_shap_waterfall(found, row=3, output="y1")
    """
    plt = _pyplot(found)
    values, name = _of_output(found, output)
    _check_row(row, len(values))
    moves = values[row]
    shown = _largest(np.abs(moves), max_features)
    steps = [(value_in_words(found, row, f), float(moves[f])) for f in shown]
    others = np.setdiff1d(np.flatnonzero(moves), shown)
    if others.size:
        steps.append((f"{others.size:,} more", float(moves[others].sum())))
    if ax is None:
        size = (6.2, 1.2 + 0.34 * len(steps))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    base = float(found.base_values[_position(found, output)])
    _draw_steps(ax, steps, base)
    ax.set_xlabel(name, fontsize=9, parse_math=False)
    return ax


def plot_shap_difference(
    found: ShapValues,
    a: Any,
    b: Any,
    *,
    row: int | None = None,
    max_features: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw why output a rather than output b: of one row, or over all rows.

    Bars and dots to the right speak for a, those to the left for b.

    Parameters
    ----------
    found : ShapValues
        Of rows.
    a, b : str or int
        Names or positions of two of its outputs.
    row : int, optional
        Position among the rows that were explained: a waterfall. By default a swarm of all rows.
    max_features : int, default=10
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of a fitting size.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.inspection import plot_shap_difference, shap_values
    >>> X, Y = make_correlated_targets(200, 5, 4, random_state=0)
    >>> found = shap_values(TreeRegressor(max_depth=4).fit(X, Y), X)
    >>> ax = plot_shap_difference(found, "y1", "y2", row=0)
    """
    expect_kind("found", found, ShapValues, "shap_values")
    difference = found.difference(a, b)
    first, second = (found.output_names[_position(found, output)] for output in (a, b))
    if row is None:
        ax = plot_shap_swarm(difference, max_features=max_features, ax=ax)
    else:
        ax = plot_shap_waterfall(difference, row, max_features=max_features, ax=ax)
    ax.set_xlabel(f"\N{LEFTWARDS ARROW} {second}        {first} \N{RIGHTWARDS ARROW}",
                  fontsize=9, parse_math=False)  # fmt: skip
    return ax


def plot_shap_dependence(
    found: ShapValues, feature: Any, *, outputs: Any = None, color_by: Any = None
) -> NDArray[Any]:
    """Draw a feature's contributions over its values: a panel per output, a dot per row.

    Parameters
    ----------
    found : ShapValues
        Of dense rows.
    feature : str or int
    outputs : sequence of str or int, optional
        Names or positions of its outputs; by default all, of more than 16 those that the feature
        moves most.
    color_by : str or int, optional
        Another feature, whose low and high values are drawn blue and red, or up to ten
        categories in colours of their own: it shows what the two do together. Grey dots miss it.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, of shape (n_panels,)

    Examples
    --------
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.inspection import plot_shap_dependence, shap_values
    >>> X, Y = make_correlated_targets(200, 5, 4, random_state=0)
    >>> found = shap_values(TreeRegressor(max_depth=4).fit(X, Y), X)
    >>> plot_shap_dependence(found, 1, color_by=2).size
    4
    """
    plt = _pyplot(found)
    _check_rows(found)
    if found.data is None:
        raise ValueError("Contributions are drawn over values, but these rows were sparse.")
    if found.outputs.ndim == 2:
        raise ValueError("With top_outputs every row has its own outputs: use outputs= instead.")
    at = _feature(found, feature)
    if outputs is None:
        sizes = np.nan_to_num(np.abs(found.values[:, at]).mean(axis=0))
        chosen = np.sort(np.argsort(-sizes, kind="stable")[:_MOST_PANELS])
    else:
        listed = [outputs] if isinstance(outputs, str | int | np.integer) else outputs
        if not isinstance(listed, Iterable) or issparse(listed):
            raise ValueError(f"outputs must be a list of outputs; got {described(listed)}.")
        chosen = np.array([found._position(output) for output in listed], dtype=np.intp)
        if not chosen.size:
            raise ValueError("outputs must name at least one output; got none.")
    n_columns = min(len(chosen), 4 if len(chosen) > 4 else 3 if len(chosen) == 3 else 2)
    n_lines = -(-len(chosen) // n_columns)
    size = (max(2.7 * n_columns, 4.5), 2.3 * n_lines + 0.3)
    _, grid = plt.subplots(n_lines, n_columns, figsize=size, layout="constrained", squeeze=False)
    panels: NDArray[Any] = grid.ravel()
    for unused in panels[len(chosen) :]:
        unused.remove()
    panels = panels[: len(chosen)]
    rows = np.arange(0, len(found.values), -(-len(found.values) // _MOST_ROWS))
    style: dict[str, Any] = {"s": 8, "linewidths": 0, "rasterized": True, "color": "#4477aa"}
    if color_by is not None:
        del style["color"]
        by = _feature(found, color_by)
        colours, ticks, ends = colours_of(found, by)
        shades = np.ma.masked_invalid(shades_of(found, by)[rows])
        style |= {"c": shades, "cmap": colours, "plotnonfinite": True}
        style |= {"vmin": ends[0], "vmax": ends[1]}
    for panel, column in zip(panels, chosen.tolist()):
        dots = panel.scatter(
            axis_values_of(found, at)[rows], found.values[rows, at, column], **style
        )
        panel.axhline(0.0, color="#777777", linewidth=0.8, zorder=0)
        panel.set_title(found.output_names[column], fontsize=9, parse_math=False)
        panel.set_xlabel(found.feature_names[at], fontsize=8, parse_math=False)
        panel.tick_params(labelsize=7)
        name_ticks(panel, found, at)
        panel.spines[["top", "right"]].set_visible(False)
    if color_by is not None:
        bar = panels[0].figure.colorbar(dots, ax=list(panels), pad=0.01, aspect=30)
        bar.set_ticks(list(ticks), labels=list(ticks.values()), fontsize=8, parse_math=False)
        pad = -12 if len(ticks) == 2 else 4
        bar.set_label(found.feature_names[by], size=8, labelpad=pad, parse_math=False)
        bar.outline.set_visible(False)
    return panels


# Parts -------------------------------------------------------------------------------------------


def _pyplot(found: Any) -> Any:
    expect_kind("found", found, ShapValues, "shap_values")
    return require("matplotlib.pyplot", "plots")


def _check_rows(found: ShapValues) -> None:
    if found.values.ndim == 2:
        raise ValueError("Rows are drawn, but these are means of sizes: explain without reduce.")


def _check_row(row: Any, n_rows: int) -> None:
    if not isinstance(row, int | np.integer) or not -n_rows <= row < n_rows:
        raise ValueError(
            f"row must be one of the {n_rows} rows that were explained; got {described(row)}."
        )


def _position(found: ShapValues, output: Any) -> int:
    if output is None:
        if len(found.output_names) > 1:
            raise ValueError(
                f"One output is drawn, but {len(found.output_names)} were explained: give output=."
            )
        return 0
    return found._position(output)


def _of_output(found: ShapValues, output: Any) -> tuple[NDArray[np.float64], str]:
    """Contributions to one output, of shape (n, p), and its name."""
    _check_rows(found)
    if found.outputs.ndim == 2:
        raise ValueError("With top_outputs every row has its own outputs: use outputs= instead.")
    at = _position(found, output)
    return np.nan_to_num(found.values[:, :, at].astype(np.float64)), found.output_names[at]


def _feature(found: ShapValues, feature: Any) -> int:
    names = found.feature_names
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, int | np.integer) and 0 <= feature < len(names):
        return int(feature)
    raise ValueError(
        f"Expected the name of a feature, or its number below {len(names)}; got "
        f"{described(feature)}."
    )


def _largest(sizes: NDArray[np.float64], most: int) -> NDArray[np.intp]:
    """Positions of the largest sizes that are not 0, the largest first; at least one."""
    most = expect_count("max_features", most)
    order = np.argsort(-sizes, kind="stable")
    return order[: max(1, min(most, int(np.count_nonzero(sizes))))]


def _swarm(moves: NDArray[np.float64], largest: float) -> NDArray[np.float64]:
    """Heights in [-0.4, 0.4] at which dots that are close to each other stand side by side."""
    bins = np.rint(moves / max(largest, 1e-300) * 60).astype(int)
    heights = np.zeros(moves.size)
    _, places, counts = np.unique(bins, return_inverse=True, return_counts=True)
    spread = 0.4 * np.minimum(counts / max(counts.max(), 12), 1.0)
    for place in np.flatnonzero(counts > 1):
        inside = np.flatnonzero(places == place)
        ranks = np.arange(inside.size) * 0.618 % 1.0  # evenly, whatever the order of the rows
        heights[inside] = (2 * ranks - 1) * spread[place]
    return heights


def _draw_steps(ax: Axes, steps: list[tuple[str, float]], base: float) -> None:
    ends = base + np.cumsum([move for _, move in steps])
    starts = np.concatenate([[base], ends[:-1]])
    low, high = min(starts.min(), ends.min()), max(starts.max(), ends.max())
    room = max(high - low, 1e-12)
    for place, ((_, move), start, end) in enumerate(zip(steps, starts, ends)):
        colour = _UP if move >= 0 else _DOWN
        ax.barh(place, end - start, left=start, height=0.62, color=colour)
        is_right = move >= 0
        ax.text(
            max(start, end) + 0.012 * room if is_right else min(start, end) - 0.012 * room,
            place, format_number(move, 2, sign=True), va="center",
            ha="left" if is_right else "right", fontsize=8, color=colour,
        )  # fmt: skip
        if place + 1 < len(steps):
            ax.plot([end, end], [place + 0.31, place + 0.69], color="#999999", linewidth=0.7)
    for at, word in ((base, "expected"), (float(ends[-1]), "predicted")):
        ax.axvline(at, color="#777777", linewidth=0.8, linestyle=":", zorder=0)
        is_top = word == "expected"
        ax.text(
            at, -0.62 if is_top else len(steps) - 0.38, f"{word} {format_number(at, 2)}",
            ha="center", va="bottom" if is_top else "top", fontsize=8, color="#444444",
        )  # fmt: skip
    ax.set_ylim(len(steps) + 0.1, -1.1)
    ax.set_xlim(low - 0.16 * room, high + 0.16 * room)
    ax.set_yticks(range(len(steps)), [name for name, _ in steps], parse_math=False)
    ax.tick_params(labelsize=8)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
