"""Steps for losses whose outputs depend on each other: any step that lowers the loss will do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from polyleaf.losses._base import Loss
    from polyleaf.losses._targets import LossTargets

_MOST_HALVINGS = 40


def joint_step(
    loss: Loss, targets: LossTargets, raw: NDArray[Any], direction: NDArray[Any]
) -> NDArray[np.float64]:
    """Find factors of a direction that lower the loss; see `Loss.step`.

    Parameters
    ----------
    loss : Loss
    targets : LossTargets
    raw : ndarray of shape (n_rows, n_channels)
    direction : ndarray of shape (n_rows, n_channels) or (n_rows, 1)

    Returns
    -------
    ndarray of shape (n_channels,), float64
    """
    factors = np.ones(targets.n_channels)
    if direction.shape[1] == 1 < targets.n_channels:
        factors = _newton_factors(loss, targets, raw, direction)
    return factors * _line_search(loss, targets, raw, direction * factors)


def _newton_factors(
    loss: Loss, targets: LossTargets, raw: NDArray[Any], direction: NDArray[Any]
) -> NDArray[np.float64]:
    def terms(rows: slice, part: LossTargets) -> tuple[NDArray[Any], NDArray[Any]]:
        along = direction[rows]
        slopes = loss.gradient(part, raw[rows]) * along
        return slopes, loss.curvature(part, raw[rows]) * along**2

    slope, curvature = targets.row_sums(terms, 2)
    return np.divide(-slope, curvature, out=np.zeros_like(slope), where=curvature > 0)


def _line_search(
    loss: Loss, targets: LossTargets, raw: NDArray[Any], direction: NDArray[Any]
) -> float:
    """Halve from 1 until the loss falls, or double while it falls further."""
    size = float(targets.largest(direction).max(initial=0.0))
    if size == 0.0:
        return 0.0
    longest = loss.largest_move / size

    def loss_at(factor: float) -> float:
        return targets.loss_of(loss, raw + factor * direction)

    start, factor = targets.loss_of(loss, raw), min(1.0, longest)
    reached = loss_at(factor)
    for _ in range(_MOST_HALVINGS):
        if reached <= start:
            break
        factor /= 2
        reached = loss_at(factor)
    else:
        return 0.0
    while factor * 2 <= longest and (further := loss_at(factor * 2)) < reached:
        factor, reached = factor * 2, further
    return factor
