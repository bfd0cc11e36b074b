"""From targets to the channels a tree is grown on: scaling, the view, and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ramify.projections import Projection, ProjectionContext, View

if TYPE_CHECKING:
    from ramify.ingest import Targets

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]


@dataclass(frozen=True)
class Channels:
    """What the grower sees of the targets.

    Attributes
    ----------
    gradient : ndarray of shape (n_rows, n_channels), float32, or csr_array
        Weight times value; values only (not weighted) if sparse.
    row_weights : ndarray of shape (n_rows,), float32, or None
    entry_weights : ndarray of shape (n_rows, n_channels), float32, or None
        0 where a target is not observed.
    rows : ndarray, int32
        Rows that carry weight.
    """

    gradient: NDArray[np.float32] | CSR
    row_weights: NDArray[np.float32] | None
    entry_weights: NDArray[np.float32] | None
    rows: NDArray[np.int32]


def output_scales(targets: Targets, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Inverse standard deviation of each channel (1 if constant), of shape (n_channels,).

    Scaled so, every output has variance 1 on the training rows (paper 004, below eq. 1).
    """
    mean, square = _moments(targets, weights)
    variance = np.maximum(square - mean**2, 0.0)
    # A variance this far below the squares it comes from is rounding.
    is_constant = variance <= 1e-13 * square
    return np.where(is_constant, 1.0, 1.0 / np.sqrt(np.where(is_constant, 1.0, variance)))


def make_channels(
    targets: Targets,
    weights: NDArray[np.float64] | None,
    scales: NDArray[np.float64] | None,
    view: View,
    used_rows: NDArray[np.int32],
) -> Channels:
    """Apply a view to the scaled targets.

    Parameters
    ----------
    targets : Targets
    weights : ndarray of shape (n_rows,) or (n_rows, n_channels), or None
    scales : ndarray of shape (n_channels,) or None
    view : View
    used_rows : ndarray, int32
        Candidates; those without any weight are left out.
    """
    values = targets.values
    if not isinstance(values, np.ndarray):
        if view.kind == "all":
            scaled = values if scales is None else sparse.csr_array(values * scales[None, :])
            return _finish(scaled.astype(np.float32), weights, None, used_rows)
        channels = view.apply(_scaled(values, scales), None, weights)
        return _weighted(channels, view.apply_weights(weights), None, used_rows)
    if view.kind == "mixing":
        scaled_values = _scaled(values, scales)
        channels = view.apply(scaled_values, targets.observed, weights)
        return _weighted(channels, view.apply_weights(weights), None, used_rows)
    channels = _selected(targets, weights, scales, view)
    selected = None if view.kind == "all" else view.selected
    row_weights, entry_weights = weights, None
    if weights is not None and weights.ndim == 2:
        row_weights, entry_weights = None, _columns(weights, selected)
    if targets.observed is not None:
        observed = _columns(targets.observed, selected)
        if entry_weights is not None:
            entry_weights = np.where(observed, entry_weights, 0.0)
        elif row_weights is not None:
            entry_weights, row_weights = np.where(observed, row_weights[:, None], 0.0), None
        else:
            entry_weights = observed.astype(np.float64)
    return _weighted(channels, row_weights, entry_weights, used_rows)


def draw_view(
    projection: Projection | None,
    targets: Targets,
    weights: NDArray[np.float64] | None,
    scales: NDArray[np.float64] | None,
    rng: np.random.Generator,
    round_number: int = 0,
) -> View:
    """Draw the view of the outputs that one tree sees."""
    if projection is None:
        return View.of_all(targets.schema.n_channels)
    context = ProjectionContext(
        round=round_number,
        rng=rng,
        values=_scaled(targets.values, scales),
        channel_offsets=targets.schema.channel_offsets,
        observed=targets.observed,
        weights=weights,
    )
    return projection.draw(context)


def _moments(
    targets: Targets, weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weighted mean and mean square of each channel over its observed entries."""
    values = targets.values
    if not isinstance(values, np.ndarray):
        row_weights = np.ones(values.shape[0]) if weights is None else weights
        total = row_weights.sum()
        return row_weights @ values / total, row_weights @ values.power(2) / total
    if targets.observed is None and (weights is None or weights.ndim == 1):
        return (
            np.average(values, axis=0, weights=weights),
            np.average(values**2, axis=0, weights=weights),
        )
    entry_weights = np.ones(values.shape) if weights is None else weights
    entry_weights = entry_weights[:, None] if entry_weights.ndim == 1 else entry_weights
    if targets.observed is not None:
        entry_weights = entry_weights * targets.observed
    totals = np.broadcast_to(entry_weights, values.shape).sum(axis=0)
    safe = np.where(totals > 0, totals, 1.0)
    return (
        (entry_weights * values).sum(axis=0) / safe,
        (entry_weights * values**2).sum(axis=0) / safe,
    )


def _scaled(values: NDArray[np.float64] | CSR, scales: NDArray[np.float64] | None) -> Any:
    if scales is None:
        return values
    if isinstance(values, np.ndarray):
        return values * scales
    return sparse.csr_array(values * scales[None, :])


def _columns(array: NDArray[Any], selected: NDArray[np.int32] | None) -> NDArray[Any]:
    return array if selected is None else array[:, selected]


def _selected(
    targets: Targets,
    weights: NDArray[np.float64] | None,
    scales: NDArray[np.float64] | None,
    view: View,
) -> NDArray[np.float32]:
    """Scaled and centred columns of the view: float32 keeps more of what is near zero."""
    selected = None if view.kind == "all" else view.selected
    factors = np.ones(targets.schema.n_channels) if scales is None else scales
    mean, _ = _moments(targets, weights)
    columns = _columns(targets.values, selected)
    shift, factor = _columns(mean[None, :], selected), _columns(factors[None, :], selected)
    if view.kind == "selection":
        factor = factor * view.scale
    channels = np.empty(columns.shape, dtype=np.float32)
    block = 4096  # rows at a time, so that no second float64 copy is made
    for start in range(0, columns.shape[0], block):
        rows = slice(start, start + block)
        channels[rows] = (columns[rows] - shift) * factor
    return channels


def _weighted(
    channels: NDArray[np.float32],
    row_weights: NDArray[np.float64] | None,
    entry_weights: NDArray[np.float64] | None,
    used_rows: NDArray[np.int32],
) -> Channels:
    channels = np.ascontiguousarray(channels, dtype=np.float32)
    if row_weights is not None:
        channels = channels * row_weights[:, None].astype(np.float32)
    if entry_weights is not None:
        channels = channels * entry_weights.astype(np.float32)
    return _finish(channels, row_weights, entry_weights, used_rows)


def _finish(
    gradient: NDArray[np.float32] | CSR,
    row_weights: NDArray[np.float64] | None,
    entry_weights: NDArray[np.float64] | None,
    used_rows: NDArray[np.int32],
) -> Channels:
    rows32 = None if row_weights is None else row_weights.astype(np.float32)
    entries32 = None if entry_weights is None else entry_weights.astype(np.float32)
    if entries32 is not None:
        entries32 = np.ascontiguousarray(entries32)
        used_rows = used_rows[entries32[used_rows].any(axis=1)]
    if rows32 is not None:
        used_rows = used_rows[rows32[used_rows] > 0]
    return Channels(gradient, rows32, entries32, used_rows)
