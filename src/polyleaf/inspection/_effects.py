"""Accumulated local effects (Apley and Zhu 2020): dependence among rows that could be.

Partial dependence gives rows values that may never occur together. Local effects only move a
row's feature to the ends of the interval it lies in, average the change among the rows of the
interval, and add the changes up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from polyleaf.estimator.wording import feature_names_of
from polyleaf.inspection._dependence import Dependence, Responses, checked_count
from polyleaf.inspection._grid import chosen_features, column_of, shown_values_of


def accumulated_local_effects(
    model: Any,
    X: Any,
    features: Any,
    *,
    outputs: Any = None,
    response: str = "auto",
    n_intervals: int = 40,
    n_jobs: int | None = None,
) -> Dependence:
    """Compute how predictions change with one or two features, among rows that can occur.

    Accumulated local effects (Apley and Zhu 2020), centred at 0. Unlike partial dependence they
    never combine values that do not occur together, so that correlated features do not distort
    them. For two features: what the pair does beyond the effects of both.

    Parameters
    ----------
    model : tree, forest, boosted trees or rules
        Fitted.
    X : array-like, frame or sparse matrix of shape (n, p)
    features : str, int, or a pair of these
        Numeric features, or ordered categories. Rows where one is missing are left out.
    outputs, response, n_jobs : optional
        As in `partial_dependence`.
    n_intervals : int, default=40
        Most intervals of a feature; they hold about the same number of rows.

    Returns
    -------
    Dependence
        `average` at the edges of the intervals.

    Examples
    --------
    >>> from polyleaf import BoostingRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.inspection import accumulated_local_effects
    >>> X, Y = make_correlated_targets(300, 6, 4, random_state=0)
    >>> model = BoostingRegressor(n_estimators=20, random_state=0).fit(X, Y)
    >>> accumulated_local_effects(model, X, 2, n_intervals=10).average.shape
    (4, 11)
    """
    responses = Responses(model, outputs, response, n_jobs)
    n_most = checked_count(n_intervals, "n_intervals", 1)
    numbers = chosen_features(model, features)
    names = feature_names_of(model)
    for feature in numbers:
        if model._features.n_categories[feature]:
            raise ValueError(
                f"Effects accumulate along an order, but the categories of {names[feature]!r} "
                "have none: use partial_dependence, or an ordered categorical."
            )
    encoded = model._encode(X)
    columns = [column_of(encoded, feature).astype(np.float64) for feature in numbers]
    rows = np.flatnonzero(np.all(np.isfinite(columns), axis=0))
    if not rows.size:
        raise ValueError("The chosen features are missing in all rows.")
    block: Any = encoded[rows]
    kept = np.ascontiguousarray(block.toarray() if hasattr(block, "toarray") else block)
    edges = [_edges(column[rows], n_most).astype(kept.dtype) for column in columns]
    places = [_intervals(kept[:, f], e) for f, e in zip(numbers, edges)]
    effects = (_one if len(numbers) == 1 else _two)(responses, kept, numbers, edges, places)
    shown = [shown_values_of(model, f, e.astype(np.float64)) for f, e in zip(numbers, edges)]
    return Dependence(
        [names[f] for f in numbers],
        shown,
        responses.names,
        np.moveaxis(effects, -1, 0),
        is_accumulated=True,
    )


def _edges(column: NDArray[np.float64], n_intervals: int) -> NDArray[np.float64]:
    """Cut values into intervals that hold about as many rows; edges are observed values."""
    shares = np.linspace(0.0, 1.0, n_intervals + 1)
    edges: NDArray[np.float64] = np.unique(np.quantile(column, shares, method="inverted_cdf"))
    return edges if edges.size > 1 else np.repeat(edges, 2)


def _intervals(column: NDArray[Any], edges: NDArray[Any]) -> NDArray[np.intp]:
    """Find the interval (edges[i], edges[i + 1]] of each row; the least value is in the first."""
    places = np.searchsorted(edges, column, side="left") - 1
    return np.clip(places, 0, edges.size - 2)


def _moved(
    responses: Responses, rows: NDArray[Any], features: list[int], values: list[NDArray[Any]]
) -> NDArray[np.float64]:
    moved = rows.copy()
    for feature, column in zip(features, values):
        moved[:, feature] = column
    return responses.predict(moved)


def _means(
    changes: NDArray[np.float64], cells: NDArray[np.intp], n_cells: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Average changes of shape (n, k) within cells; 0 for empty ones."""
    counts = np.bincount(cells, minlength=n_cells)
    sums = np.stack([np.bincount(cells, change, n_cells) for change in changes.T], axis=1)
    return sums / np.maximum(counts, 1)[:, None], counts


def _one(
    responses: Responses, rows: Any, features: list[int], edges: list[Any], places: list[Any]
) -> NDArray[np.float64]:
    """Effects at the edges, of shape (n_edges, k)."""
    (edge,), (place,) = edges, places
    upper = _moved(responses, rows, features, [edge[place + 1]])
    changes, counts = _means(
        upper - _moved(responses, rows, features, [edge[place]]), place, edge.size - 1
    )
    effects = np.concatenate([np.zeros((1, changes.shape[1])), np.cumsum(changes, axis=0)])
    middles = (effects[:-1] + effects[1:]) / 2
    return np.asarray(effects - counts @ middles / counts.sum())


def _two(
    responses: Responses, rows: Any, features: list[int], edges: list[Any], places: list[Any]
) -> NDArray[np.float64]:
    """Effects of a pair beyond those of its two, of shape (n_edges_0, n_edges_1, k)."""
    (a, b), (i, j) = edges, places
    corners = {
        (s, t): _moved(responses, rows, features, [a[i + s], b[j + t]])
        for s in (0, 1)
        for t in (0, 1)
    }
    changes = corners[1, 1] - corners[0, 1] - corners[1, 0] + corners[0, 0]
    shape = (a.size - 1, b.size - 1)
    means, flat_counts = _means(changes, i * shape[1] + j, shape[0] * shape[1])
    means = _filled(means, flat_counts, shape)
    counts = flat_counts.reshape(shape)
    effects = np.zeros((a.size, b.size, means.shape[1]))
    effects[1:, 1:] = means.reshape(*shape, -1).cumsum(axis=0).cumsum(axis=1)
    for axis in (0, 1):
        effects = effects - _own_effect(effects, counts, axis)
    middles = (effects[:-1, :-1] + effects[1:, :-1] + effects[:-1, 1:] + effects[1:, 1:]) / 4
    centre = np.tensordot(counts, middles, axes=2) / counts.sum()
    return np.asarray(effects - centre)


def _own_effect(
    effects: NDArray[np.float64], counts: NDArray[np.int64], axis: int
) -> NDArray[np.float64]:
    """Give the accumulated effect of one feature alone in that of a pair."""
    if axis == 1:
        turned = _own_effect(effects.transpose(1, 0, 2), counts.T, 0)
        return turned.transpose(1, 0, 2)
    steps = np.diff(effects, axis=0)  # (n_0, n_edges_1, k)
    steps = (steps[:, :-1] + steps[:, 1:]) / 2
    totals = np.maximum(counts.sum(axis=1), 1)
    means = (counts[..., None] * steps).sum(axis=1) / totals[:, None]
    own = np.concatenate([np.zeros((1, means.shape[1])), np.cumsum(means, axis=0)])
    return own[:, None, :]


def _filled(
    means: NDArray[np.float64], counts: NDArray[np.int64], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Give cells without rows the change of the nearest cell that has some."""
    empty = np.flatnonzero(counts == 0)
    if not empty.size:
        return means
    known = np.flatnonzero(counts)
    sizes = np.array(shape, dtype=np.float64)
    centres = np.stack(np.unravel_index(np.arange(counts.size), shape), axis=1) / sizes
    _, nearest = cKDTree(centres[known]).query(centres[empty])
    filled = means.copy()
    filled[empty] = means[known[nearest]]
    return filled
