"""Pictures of regions: two outputs as areas, many outputs as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import expect_kind, expect_list, shown
from polyleaf.checks.optional import require
from polyleaf.conformal.region import Region, read_outputs

#: Most regions in one picture, and most outputs that are named.
_MOST_ROWS, _MOST_NAMES = 12, 100


def plot_region(
    region: Region,
    Y: Any = None,
    *,
    rows: int | Sequence[int] | None = None,
    outputs: Sequence[int | str] = (0, 1),
    ax: Any = None,
) -> Any:
    """Draw the regions of some rows over two outputs.

    Of more outputs, what is drawn is the shadow of the region: all values of the two that it
    holds together with some values of the others.

    Parameters
    ----------
    region : Region
    Y : array-like or frame of shape (n, d), optional
        What came, drawn as dots: filled inside the region (of all outputs), hollow outside.
    rows : int or sequence of int, optional
        By default the first six, at most 12.
    outputs : pair of int or str, default=(0, 1)
        Positions or names.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from polyleaf import ConformalRegressor, RandomForestRegressor
    >>> from polyleaf.conformal import plot_region
    >>> from polyleaf.datasets import make_correlated_targets
    >>> X, Y = make_correlated_targets(200, n_targets=2, random_state=0)
    >>> forest = RandomForestRegressor(n_estimators=10, random_state=0)
    >>> model = ConformalRegressor(forest, score="local", method="oob").fit(X, Y)
    >>> ax = plot_region(model.predict_region(X[:5]), Y[:5])
    >>> len(ax.patches)
    5
    """
    plt = require("matplotlib.pyplot", "plots")
    expect_kind("region", region, Region, "predict_region")
    of = "two names or positions of outputs"
    pair = [_position(region, output) for output in expect_list("outputs", outputs, of)]
    if len(pair) != 2 or pair[0] == pair[1]:
        raise ValueError(f"outputs must be two different outputs; got {shown(outputs, 80)}.")
    chosen = _rows(region, rows)
    values = None if Y is None else read_outputs(Y, region.center.shape)
    is_inside = None if values is None else region.contains(values)
    if ax is None:
        _, ax = plt.subplots(figsize=(5.5, 5.0), layout="constrained")
    for number, row in enumerate(chosen):
        colour = f"C{number % 10}"
        ax.add_patch(_shadow(region, row, pair, colour))
        ax.plot(*region.center[row, pair], "+", color=colour, markersize=8)
        if values is not None and is_inside is not None:
            face = colour if is_inside[row] else "none"
            ax.plot(*values[row, pair], "o", color=colour, markerfacecolor=face, markersize=5)
    names = [region.output_names[j] for j in pair]
    ax.set(xlabel=names[0], ylabel=names[1], title=f"{1 - region.alpha:.0%} of rows inside")
    ax.autoscale_view()
    return ax


def _shadow(region: Region, row: int, pair: list[int], colour: str) -> Any:
    """Make the outline of a region over two outputs; a finite one."""
    patches = require("matplotlib.patches", "plots")
    style = {"edgecolor": colour, "facecolor": colour, "alpha": 0.25, "linewidth": 1.5}
    if region.matrix is None or region.radius is None:
        lower, upper = (bounds[row, pair] for bounds in region.bounds())
        if not np.isfinite(lower).all() or not np.isfinite(upper).all():
            raise ValueError(f"Region {row} has no bounds, and cannot be drawn.")
        return patches.Rectangle(lower, *(upper - lower), **style)
    if not np.isfinite(region.radius[row]):
        raise ValueError(f"Region {row} has no bounds, and cannot be drawn.")
    values, vectors = np.linalg.eigh(region.matrix[row][np.ix_(pair, pair)])
    width, height = 2.0 * region.radius[row] * np.sqrt(np.maximum(values, 0.0))
    angle = np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0]))
    return patches.Ellipse(region.center[row, pair], width, height, angle=angle, **style)


def plot_outputs(region: Region, Y: Any = None, *, row: int = 0, ax: Any = None) -> Any:
    """Draw the region of one row as a bar per output.

    Bars are drawn around the center, in units of the output's median half-width over all rows of
    the region, so that outputs of any unit fit into one picture, and a long bar means a row that
    is less certain than others. Of ellipsoids, bars are the sides of the box around them.

    Parameters
    ----------
    region : Region
    Y : array-like or frame of shape (n, d), optional
        What came, drawn as dots.
    row : int, default=0
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from polyleaf import ConformalRegressor, RandomForestRegressor
    >>> from polyleaf.conformal import plot_outputs
    >>> from polyleaf.datasets import make_correlated_targets
    >>> X, Y = make_correlated_targets(200, n_targets=8, random_state=0)
    >>> forest = RandomForestRegressor(n_estimators=10, random_state=0)
    >>> model = ConformalRegressor(forest, score="quantile", method="oob").fit(X, Y)
    >>> ax = plot_outputs(model.predict_region(X[:20]), Y[:20], row=3)
    >>> ax.get_xlabel()
    'distance from the center, in median half-widths'
    """
    plt = require("matplotlib.pyplot", "plots")
    expect_kind("region", region, Region, "predict_region")
    [at] = _rows(region, row)
    lower, upper = region.bounds()
    half = np.median(0.5 * (upper - lower), axis=0)
    half = np.where(np.isfinite(half) & (half > 0), half, 1.0)
    n_outputs = half.size
    if ax is None:
        height = 1.2 + 0.28 * min(n_outputs, 2 * _MOST_NAMES)
        _, ax = plt.subplots(figsize=(6.5, min(height, 20.0)), layout="constrained")
    place = np.arange(n_outputs)[::-1]
    left, right = ((end[at] - region.center[at]) / half for end in (lower, upper))
    ax.hlines(place, left, right, linewidth=max(1.0, min(6.0, 300.0 / n_outputs)), alpha=0.5)
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    if Y is not None:
        values = read_outputs(Y, region.center.shape)[at]
        ax.plot((values - region.center[at]) / half, place, "o", color="black", markersize=3.5)
    if n_outputs <= _MOST_NAMES:
        ax.set_yticks(place, region.output_names)
    ax.set_xlabel("distance from the center, in median half-widths")
    ax.set_title(f"row {at}: {1 - region.alpha:.0%} of rows have all outputs inside")
    return ax


def _rows(region: Region, rows: Any) -> NDArray[np.intp]:
    """Read which rows are drawn."""
    if rows is None:
        return np.arange(min(6, len(region)))
    chosen = np.atleast_1d(np.asarray(rows))
    is_fine = chosen.ndim == 1 and chosen.dtype.kind in "iu" and 0 < chosen.size <= _MOST_ROWS
    if not is_fine or (chosen < 0).any() or (chosen >= len(region)).any():
        raise ValueError(
            f"rows must be at most {_MOST_ROWS} numbers from 0 to {len(region) - 1}; got "
            f"{shown(rows, 80)}."
        )
    return chosen.astype(np.intp)


def _position(region: Region, output: Any) -> int:
    names = list(region.output_names)
    if isinstance(output, str) and output in names:
        return names.index(output)
    if isinstance(output, (int, np.integer)) and 0 <= output < len(names):
        return int(output)
    raise ValueError(
        f"outputs must be names or positions of the {len(names)} outputs; got {shown(output, 60)}."
    )
