"""Pictures of dependences: a panel per output, or a map where there are many outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import expect_kind
from polyleaf.checks.optional import require
from polyleaf.inspection._dependence import Dependence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Up to this many outputs have a panel of their own.
_MOST_PANELS = 16
#: Most curves of single rows in a panel, and most names on an axis.
_MOST_CURVES, _MOST_NAMES = 100, 100


def plot_dependence(dependence: Dependence, *, ax: Any = None) -> Any:
    """Draw how outputs depend on one or two features.

    Up to 16 outputs have a panel each: a line with thin lines for single rows (at most 100 of
    them), or a map for two features. More outputs share one map, a row per output: blue below and
    red above the output's mean, in units of its largest deviation.

    Parameters
    ----------
    dependence : Dependence
        Of `partial_dependence` or `accumulated_local_effects`.
    ax : matplotlib.axes.Axes, optional
        Where to draw, for a single panel or map; by default a new figure of a fitting size.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, of shape (n_panels,)

    Raises
    ------
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.inspection import partial_dependence, plot_dependence
    >>> X, Y = make_correlated_targets(200, 5, 4, random_state=0)
    >>> found = partial_dependence(TreeRegressor(max_depth=4).fit(X, Y), X, 1)
    >>> plot_dependence(found).size
    4
    """
    expect_kind("dependence", dependence, Dependence, "partial_dependence")
    plt = require("matplotlib.pyplot", "plots")
    n_outputs, is_pair = len(dependence.output_names), len(dependence.feature_names) == 2
    is_map = n_outputs > _MOST_PANELS
    if is_map and is_pair:
        raise ValueError(
            f"Two features are drawn for at most {_MOST_PANELS} outputs, but there are "
            f"{n_outputs}: choose some with outputs=."
        )
    n_panels = 1 if is_map else n_outputs
    if ax is not None:
        if n_panels != 1:
            raise ValueError(f"ax takes one panel, but {n_panels} outputs need one each.")
        panels = np.array([ax])
    elif is_map:
        height = 1.4 + 0.145 * min(n_outputs, _MOST_NAMES)
        _, one = plt.subplots(figsize=(6.5, height), layout="constrained")
        panels = np.array([one])
    else:
        panels = _panels(plt, n_panels, is_pair)
    if is_map:
        _draw_map(panels[0], dependence)
    for j, panel in enumerate(() if is_map else panels):
        (_draw_pair if is_pair else _draw_curve)(panel, dependence, j)
        panel.set_title(dependence.output_names[j], fontsize=9, parse_math=False)
    return panels


def _panels(plt: Any, n_panels: int, is_pair: bool) -> NDArray[Any]:
    n_columns = min(n_panels, 4 if n_panels > 4 else 3 if n_panels == 3 else 2)
    n_rows = -(-n_panels // n_columns)
    width = 3.2 if is_pair else 2.7
    size = (max(width * n_columns, 4.5), 2.3 * n_rows + 0.3)
    _, grid = plt.subplots(
        n_rows, n_columns, figsize=size, layout="constrained", squeeze=False, sharex=not is_pair
    )
    panels: NDArray[Any] = grid.ravel()
    for unused in panels[n_panels:]:
        unused.remove()
    for above in panels[max(0, n_panels - n_columns) : n_panels]:
        above.tick_params(labelbottom=True)
    return panels[:n_panels]


def _positions(values: NDArray[Any]) -> tuple[NDArray[Any], list[str] | None]:
    """Where values stand on an axis, and their names if they are not numbers."""
    if values.dtype.kind in "fiuM":
        return values, None
    return np.arange(values.size), [str(value) for value in values]


def _name_axis(axis: Any, name: str, ticks: NDArray[Any], names: list[str] | None) -> None:
    axis.set_label_text(name, fontsize=8, parse_math=False)
    axis.set_tick_params(labelsize=7)
    if ticks.dtype.kind == "M":
        write_dates(axis)
    if names is not None:
        is_long = axis.axis_name == "x" and max(map(len, names)) * len(names) > 24
        axis.set_ticks(ticks, names, rotation=90 if is_long else 0, parse_math=False)


def write_dates(axis: Any) -> None:
    """Write dates on an axis so briefly that they do not run into each other."""
    dates = require("matplotlib.dates", "plots")
    locator = dates.AutoDateLocator(maxticks=5)
    axis.set_major_locator(locator)
    axis.set_major_formatter(dates.ConciseDateFormatter(locator))


def _shown_average(dependence: Dependence) -> NDArray[np.float64]:
    if dependence.average is not None:
        return dependence.average
    assert dependence.individual is not None
    return np.asarray(dependence.individual.mean(axis=1))


def _draw_curve(ax: Axes, dependence: Dependence, output: int) -> None:
    ticks, names = _positions(dependence.grid_values[0])
    average = _shown_average(dependence)[output]
    if dependence.individual is not None:
        curves = dependence.individual[output]
        curves = curves[:: -(-len(curves) // _MOST_CURVES)]
        ax.plot(ticks, curves.T, color="#7f9fbf", linewidth=0.5, alpha=0.4, rasterized=True)
    marker = "o" if names is not None else None
    ax.plot(ticks, average, color="#b2182b", linewidth=1.8, marker=marker, markersize=4)
    if dependence.is_accumulated:
        ax.axhline(0.0, color="#999999", linewidth=0.7, zorder=0)
    _name_axis(ax.xaxis, dependence.feature_names[0], ticks, names)
    ax.tick_params(axis="y", labelsize=7)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_pair(ax: Axes, dependence: Dependence, output: int) -> None:
    (x, x_names), (y, y_names) = map(_positions, dependence.grid_values)
    values = _shown_average(dependence)[output]
    style: dict[str, Any] = {"cmap": "viridis"}
    if dependence.is_accumulated:
        largest = max(float(np.abs(values).max()), 1e-12)
        style = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest}
    mesh = ax.pcolormesh(x, y, values.T, shading="nearest", rasterized=True, **style)
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.02)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)
    _name_axis(ax.xaxis, dependence.feature_names[0], x, x_names)
    _name_axis(ax.yaxis, dependence.feature_names[1], y, y_names)


def _draw_map(ax: Axes, dependence: Dependence) -> None:
    ticks, names = _positions(dependence.grid_values[0])
    average = _shown_average(dependence)
    moves = average - average.mean(axis=1, keepdims=True)
    largest = np.abs(moves).max(axis=1, keepdims=True)
    moves = np.divide(moves, largest, out=np.zeros_like(moves), where=largest > 0)
    n_outputs = len(moves)
    mesh = ax.pcolormesh(
        ticks, np.arange(n_outputs), moves, shading="nearest", cmap="RdBu_r", vmin=-1.0, vmax=1.0,
        rasterized=True,
    )  # fmt: skip
    shown = list(range(0, n_outputs, -(-n_outputs // _MOST_NAMES)))
    ax.set_yticks(shown, [dependence.output_names[j] for j in shown], parse_math=False)
    ax.invert_yaxis()
    _name_axis(ax.xaxis, dependence.feature_names[0], ticks, names)
    ax.tick_params(axis="y", labelsize=6.5, length=0)
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.5, pad=0.02, aspect=25)
    bar.set_label("from the output's mean, by its largest deviation", size=8)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)
    for spine in ax.spines.values():
        spine.set_visible(False)
