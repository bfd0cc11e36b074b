"""A picture of a hierarchy of labels, with the scores of one row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.matrices import as_floats, is_sparse, read_array, read_sparse
from polyleaf.checks.numbers import expect_count
from polyleaf.checks.optional import require
from polyleaf.hierarchy import Hierarchy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    Floats = NDArray[np.float64]

_LONGEST_NAME = 40
_GREY = "0.65"


def plot_hierarchy(
    hierarchy: Any,
    scores: Any = None,
    *,
    labels: Any = None,
    max_labels: int = 40,
    ax: Axes | None = None,
) -> Axes:
    """Draw a hierarchy of labels as an indented list, with what a model says about one row.

    Every label has a line of its own, below its first parent; dashed lines lead to further
    parents. Of many labels, those with the highest scores are drawn, with all their ancestors.

    Parameters
    ----------
    hierarchy : Hierarchy or fitted classifier
        One that was given a hierarchy.
    scores : array-like or sparse matrix of shape (d,) or (1, d), optional
        Of one row, such as a row of `predict_proba`; from 0 to 1, NaN where there is none.
    labels : array-like or sparse matrix of shape (d,) or (1, d), optional
        The true labels of the row, 0 and 1: they are drawn with a ring.
    max_labels : int, default=40
        Draw no more than so many labels. Without scores, those nearest to the roots.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of a fitting size.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from polyleaf.hierarchy import as_hierarchy
    >>> from polyleaf.inspection import plot_hierarchy
    >>> animals = as_hierarchy(["animal", "animal/cat", "animal/dog"])
    >>> ax = plot_hierarchy(animals, [0.9, 0.7, 0.2], labels=[1, 1, 0])
    """
    order = _as_hierarchy(hierarchy)
    values = _one_row(scores, order.n_outputs, "scores")
    truth = _one_row(labels, order.n_outputs, "labels")
    max_labels = expect_count("max_labels", max_labels)
    plt = require("matplotlib.pyplot", "plots")
    lines = _lines(order, _drawn(order, values, max_labels), values)
    if ax is None:
        height = max(1.5, 0.6 + 0.24 * len(lines))
        _, ax = plt.subplots(figsize=(7.0, height), layout="constrained")
    _draw_edges(ax, order, lines)
    _draw_labels(ax, order, lines, values, truth)
    left_out = order.n_outputs - len(lines)
    ax.set_title("Labels" if values is None else "Labels and their scores")
    if left_out:
        kind = "further labels" if values is None else "labels with lower scores"
        ax.text(0, len(lines), f"and {left_out:,} {kind}", color="0.4", va="center", fontsize=8)
    ax.set_ylim(len(lines) + (0.7 if left_out else -0.3), -0.7)
    deepest = max((int(depth) for _, depth in lines), default=0)
    ax.set_xlim(-0.4, deepest + 5.0)
    ax.set_axis_off()
    return ax


def _as_hierarchy(given: Any) -> Hierarchy:
    found = given if isinstance(given, Hierarchy) else getattr(given, "hierarchy_", None)
    if not isinstance(found, Hierarchy):
        raise TypeError(
            "plot_hierarchy takes a Hierarchy (see polyleaf.hierarchy.as_hierarchy) or a "
            f"classifier that was fitted with one; got {type(given).__name__}."
        )
    return found


def _one_row(given: Any, n_outputs: int, name: str) -> Floats | None:
    if given is None:
        return None
    if is_sparse(given):
        if given.shape not in ((n_outputs,), (1, n_outputs)):
            raise _other_shape(name, n_outputs, given.shape)
        values = as_floats(read_sparse(given, name).toarray(), name)
    else:
        values = as_floats(read_array(given, name), name)
    if values.size != n_outputs or values.ndim not in (1, 2):
        raise _other_shape(name, n_outputs, values.shape)
    return np.asarray(values.reshape(n_outputs))


def _other_shape(name: str, n_outputs: int, shape: tuple[int, ...]) -> ValueError:
    return ValueError(
        f"{name} must be one row with a number for each of the {n_outputs} labels; got shape "
        f"{tuple(shape)}."
    )


def _drawn(order: Hierarchy, values: Floats | None, most: int) -> NDArray[np.bool_]:
    """Choose labels, so that none is drawn without its ancestors."""
    height = np.zeros(order.n_outputs) if values is None else np.nan_to_num(values, nan=-np.inf)
    raised = np.asarray(order.raise_ancestors(height[np.newaxis]))[0]
    first = np.lexsort((np.arange(raised.size), order.depth, -raised))[:most]
    is_drawn = np.zeros(order.n_outputs, dtype=np.bool_)
    is_drawn[first] = True
    return is_drawn


def _lines(
    order: Hierarchy, is_drawn: NDArray[np.bool_], values: Floats | None
) -> list[tuple[int, int]]:
    """Give label and indent of every line: each label below its first drawn parent."""
    first_parent = np.full(order.n_outputs, -1)
    for parent, child in order.edges[::-1].tolist():
        first_parent[child] = parent
    below: dict[int, list[int]] = {}
    for label in np.flatnonzero(is_drawn).tolist():
        below.setdefault(int(first_parent[label]), []).append(label)
    if values is not None:
        key = np.nan_to_num(values, nan=-np.inf)
        below = {up: sorted(all_, key=lambda j: -key[j]) for up, all_ in below.items()}
    lines: list[tuple[int, int]] = []
    waiting = [(label, 0) for label in reversed(below.get(-1, []))]
    while waiting:
        label, indent = waiting.pop()
        lines.append((label, indent))
        waiting += [(child, indent + 1) for child in reversed(below.get(label, []))]
    return lines


def _draw_edges(ax: Axes, order: Hierarchy, lines: list[tuple[int, int]]) -> None:
    place = {label: (indent, y) for y, (label, indent) in enumerate(lines)}
    has_parent: set[int] = set()
    for parent, child in order.edges.tolist():
        if parent not in place or child not in place:
            continue
        (x, y), (x_child, y_child) = place[parent], place[child]
        if child not in has_parent:
            ax.plot([x, x, x_child], [y, y_child, y_child], color=_GREY, lw=1.0, zorder=1)
        else:
            ax.plot([x, x_child], [y, y_child], color=_GREY, lw=0.8, ls="--", zorder=1)
        has_parent.add(child)


def _draw_labels(
    ax: Axes,
    order: Hierarchy,
    lines: list[tuple[int, int]],
    values: Floats | None,
    truth: Floats | None,
) -> None:
    chosen = [label for label, _ in lines]
    x, y = np.array([indent for _, indent in lines]), np.arange(len(lines))
    shades = np.full(len(lines), np.nan) if values is None else values[chosen]
    is_true = np.zeros(len(lines), bool) if truth is None else truth[chosen] == 1
    ax.scatter(
        x,
        y,
        s=70,
        c=np.nan_to_num(shades),
        cmap="Blues",
        vmin=0.0,
        vmax=1.0,
        edgecolors=["#c0392b" if ring else _GREY for ring in is_true],
        linewidths=[2.0 if ring else 1.0 for ring in is_true],
        zorder=2,
    )
    for at, down, label, score in zip(x, y, chosen, shades):
        name = f"label {label}" if order.names is None else order.names[label]
        name = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + "..."
        text = name if np.isnan(score) else f"{name}  {score:.2f}"
        ax.text(at + 0.25, float(down), text.replace("$", r"\$"), va="center", fontsize=8)
    if is_true.any():
        ax.scatter([], [], s=70, facecolors="none", edgecolors="#c0392b", lw=2, label="true label")
        ax.legend(loc="upper right", fontsize=8, frameon=False)
