"""A picture of the consensus graph: labels on a circle, and the edges that bind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import expect_count
from polyleaf.checks.optional import require
from polyleaf.graphs.reading import ConsensusEdges, check_graph_model, consensus_edges

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ATTRACTS, _REPELS = "#2a6fbb", "#c8472f"


def plot_consensus_graph(
    model: Any,
    X: Any,
    *,
    max_edges: int | None = None,
    output_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the labels on a circle, and the edges that bind them.

    Labels that attract each other are joined by blue lines, those that repel each other by red
    ones; the wider, the stronger (`consensus_edges`). Strongly bound labels are neighbours.

    Parameters
    ----------
    model : GraphClassifier or GraphEnsembleClassifier
        Fitted.
    X : array-like, frame or sparse matrix of shape (n, p)
        Rows to average over.
    max_edges : int, optional
        Most edges to draw, the strongest ones; by default three times the number of labels.
    output_names : sequence of str, optional
        Names to use instead of those the model knows.
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
    >>> from polyleaf import GraphEnsembleClassifier
    >>> from polyleaf.datasets import make_circle_labels
    >>> from polyleaf.inspection import plot_consensus_graph
    >>> X, Y = make_circle_labels(100, 8, random_state=0)
    >>> model = GraphEnsembleClassifier(n_estimators=5, random_state=0).fit(X, Y)
    >>> ax = plot_consensus_graph(model, X)
    """
    plt = require("matplotlib.pyplot", "plots")
    check_graph_model(model)
    if max_edges is not None:
        expect_count("max_edges", max_edges)
    everything = consensus_edges(model, X, output_names=output_names)
    n_labels = len(everything.labels)
    found = everything.strongest(max_edges or 3 * n_labels)
    angles = _place_labels(everything)
    if ax is None:
        side = float(np.clip(3.5 + 0.06 * n_labels, 4.5, 11.0))
        _, ax = plt.subplots(figsize=(side, side), layout="constrained")
    _draw_edges(ax, found, angles)
    _draw_labels(ax, found.labels, angles)
    n_edges = everything.edges.shape[0]
    if n_edges > found.edges.shape[0]:
        ax.set_title(f"the {found.edges.shape[0]} strongest of {n_edges} edges", fontsize=9)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def _place_labels(found: ConsensusEdges) -> NDArray[np.float64]:
    """Give each label an angle on the circle; strongly bound labels side by side."""
    from scipy.cluster import hierarchy  # slow to import, and seldom needed
    from scipy.spatial.distance import squareform

    n_labels = len(found.labels)
    order: NDArray[Any] = np.arange(n_labels)
    if n_labels > 2:
        strength = np.abs(found.attraction)
        distance = np.ones((n_labels, n_labels))
        first, second = found.edges.T
        distance[first, second] -= strength / (strength.max(initial=0.0) or 1.0)
        distance = np.minimum(distance, distance.T)
        np.fill_diagonal(distance, 0.0)
        tree = hierarchy.linkage(squareform(distance), "average", optimal_ordering=True)
        order = hierarchy.leaves_list(tree)
    angles = np.empty(n_labels)
    angles[order] = np.pi / 2 - 2.0 * np.pi * np.arange(n_labels) / n_labels
    return angles


def _draw_edges(ax: Axes, found: ConsensusEdges, angles: NDArray[np.float64]) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    points = np.column_stack([np.cos(angles), np.sin(angles)])
    strength = np.abs(found.attraction)
    strength = strength / (strength.max(initial=0.0) or 1.0)
    curve = [Path.MOVETO, Path.CURVE3, Path.CURVE3]
    # The weakest first, so that the strongest lie on top.
    for e in np.argsort(strength):
        a, b = points[found.edges[e]]
        patch = PathPatch(
            Path([a, 0.2 * (a + b), b], curve),
            fill=False,
            edgecolor=_ATTRACTS if found.attraction[e] >= 0 else _REPELS,
            linewidth=0.3 + 3.7 * strength[e],
            alpha=0.35 + 0.5 * strength[e],
        )
        ax.add_patch(patch)


def _draw_labels(ax: Axes, names: list[str], angles: NDArray[np.float64]) -> None:
    ax.scatter(np.cos(angles), np.sin(angles), s=18, color="#222222", zorder=3)
    size = float(np.clip(400.0 / len(names), 3.0, 9.0))
    for name, angle in zip(names, angles):
        is_left = np.cos(angle) < -1e-9
        ax.annotate(
            name,
            (1.04 * np.cos(angle), 1.04 * np.sin(angle)),
            rotation=float(np.degrees(angle)) + (180.0 if is_left else 0.0),
            rotation_mode="anchor",
            ha="right" if is_left else "left",
            va="center",
            fontsize=size,
            parse_math=False,
        )
    longest = max(map(len, names))
    reach = 1.1 + 0.018 * size * longest / 2.0
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach))
