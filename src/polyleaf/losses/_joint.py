"""Steps for losses whose outputs depend on each other: any step that lowers the loss will do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.losses._base import Loss
from polyleaf.losses._targets import LossTargets

_MOST_HALVINGS = 40


class JointLoss(Loss):
    """Base of losses that are no sum over outputs."""

    decomposable = False

    def step(
        self, targets: LossTargets, raw: NDArray[Any], direction: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Find factors that lower the loss.

        One number for all channels if each has a direction of its own; if they share one, Newton
        steps of the channels one by one, times one number for all.

        Parameters
        ----------
        targets : LossTargets
        raw : ndarray of shape (n_rows, n_channels)
        direction : ndarray of shape (n_rows, n_channels) or (n_rows, 1)

        Returns
        -------
        ndarray of shape (n_channels,), float64
        """
        factors = np.ones(targets.n_channels)
        if direction.shape[1] == 1 < targets.n_channels:
            factors = self._newton_factors(targets, raw, direction)
        return factors * self._line_search(targets, raw, direction * factors)

    def _newton_factors(
        self, targets: LossTargets, raw: NDArray[Any], direction: NDArray[Any]
    ) -> NDArray[np.float64]:
        slope, curvature = np.zeros((2, targets.n_channels))
        for rows, part in targets.blocks():
            along = direction[rows]
            slope += part.weighted_sums(self.gradient(part, raw[rows]) * along)
            curvature += part.weighted_sums(self.curvature(part, raw[rows]) * along**2)
        return np.divide(-slope, curvature, out=np.zeros_like(slope), where=curvature > 0)

    def _line_search(
        self, targets: LossTargets, raw: NDArray[Any], direction: NDArray[Any]
    ) -> float:
        """Halve from 1 until the loss falls, or double while it falls further."""
        size = float(np.abs(direction).max(initial=0.0))
        if size == 0.0:
            return 0.0
        longest = self.largest_move / size

        def loss_at(factor: float) -> float:
            return self.value(targets, raw + factor * direction)

        start, factor = self.value(targets, raw), min(1.0, longest)
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
