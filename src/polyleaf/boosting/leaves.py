"""What a tree of boosting adds to raw predictions: leaf values, or numbers times a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyleaf.boosting.monotone import bounded_values
from polyleaf.boosting.state import BoostingState, LeafRows

if TYPE_CHECKING:
    from polyleaf.boosting.booster import BoostingSettings
    from polyleaf.trees.channels import Channels
    from polyleaf.trees.structure import TreeStructure


@dataclass(frozen=True, eq=False)
class TreeMove:
    """What a tree adds.

    Attributes
    ----------
    values : ndarray of shape (n_leaves, n_channels) or (n_leaves, 1), float32
        Shrunk leaf values, or numbers.
    factors : ndarray of shape (n_channels,), float32, or None
        Shrunk rho by which the numbers are multiplied.
    """

    values: NDArray[np.float32]
    factors: NDArray[np.float32] | None = None

    def of_channel(self, channel: int) -> TreeMove:
        """Give the numbers that are added to one channel, the only one that moves."""
        if self.factors is None:
            return TreeMove(np.ascontiguousarray(self.values[:, channel : channel + 1]))
        return TreeMove(self.values * self.factors[channel])

    def spread(self, channels: NDArray[np.intp], n_channels: int) -> TreeMove:
        """Put values of some channels at their places among all."""
        if self.factors is not None:
            factors = np.zeros(n_channels, np.float32)
            factors[channels] = self.factors
            return TreeMove(self.values, factors)
        values = np.zeros((self.values.shape[0], n_channels), np.float32)
        values[:, channels] = self.values
        return TreeMove(values)


class LeafFitter:
    """Fits leaves to gradients and moves the state by them.

    Parameters
    ----------
    settings : BoostingSettings
    weight_unit : float
        Unit of the float32 weights.
    """

    def __init__(self, settings: BoostingSettings, weight_unit: float) -> None:
        self.settings = settings
        self._l2 = settings.l2_regularization / weight_unit

    def fit(
        self,
        state: BoostingState,
        structure: TreeStructure,
        channels: Channels,
        leaves: LeafRows,
        everywhere: LeafRows,
        updated: NDArray[np.bool_] | None = None,
    ) -> TreeMove:
        """Fit leaf values in all channels of the state, and move its rows.

        Parameters
        ----------
        state : BoostingState
        structure : TreeStructure
        channels : Channels
            What the tree was grown on.
        leaves : LeafRows
            The rows that it was grown on.
        everywhere : LeafRows
            The rows to be moved; `leaves` itself if they are the same.
        updated : ndarray of shape (n_channels,), bool, optional
            Channels that may move.
        """
        settings = self.settings
        if settings.leaf_fit == "linear":
            return self._fit_linear(state, channels, leaves, everywhere, updated)
        is_whole = everywhere is leaves and updated is None and settings.monotone is None
        if settings.leaf_values == "newton" and is_whole:
            return TreeMove(state.newton_step(leaves, settings.learning_rate, self._l2))
        values = self._leaf_values(state, leaves)
        if updated is not None:
            values *= updated
        if settings.monotone is not None:
            weights = state.leaf_weights(leaves)
            values = bounded_values(structure, values, weights, settings.monotone)
        if settings.leaf_values == "gradient" and not settings.loss.is_squared_error:
            direction = values[everywhere.leaf_of_rows(state.gradient.shape[0])]
            factors = state.step(direction)
            if settings.monotone is not None:  # the other way round they would break the order
                factors = np.maximum(factors, 0.0)
            values *= factors
        shrunk = (settings.learning_rate * values).astype(np.float32)
        state.move(everywhere, shrunk)
        return TreeMove(shrunk)

    def _leaf_values(self, state: BoostingState, leaves: LeafRows) -> NDArray[np.float64]:
        if self.settings.leaf_values == "newton":
            return state.newton_values(leaves, self._l2)
        if self.settings.leaf_values == "exact":
            return state.leaf_minimisers(leaves)
        totals = state.leaf_weights(leaves) + self._l2
        sums = state.sums(state.gradient, leaves)
        return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)

    def _fit_linear(
        self,
        state: BoostingState,
        channels: Channels,
        leaves: LeafRows,
        everywhere: LeafRows,
        updated: NDArray[np.bool_] | None,
    ) -> TreeMove:
        """Fit rho to a tree of one number per leaf (eq. 23, with the sum of squares below)."""
        numbers = self._leaf_numbers(state, channels, leaves)
        if self.settings.loss.is_squared_error:
            sums = state.sums(state.gradient, everywhere)
            squares = numbers**2 @ state.leaf_weights(everywhere)
            along = numbers @ sums
            factors = np.divide(along, squares, out=np.zeros_like(along), where=squares > 0)
        else:
            at = everywhere.leaf_of_rows(state.gradient.shape[0])
            factors = state.step(numbers[at][:, None])
        if updated is not None:
            factors = factors * updated
        factors = (self.settings.learning_rate * factors).astype(np.float32)
        values = numbers.astype(np.float32)[:, None]
        state.move(everywhere, values * factors)
        return TreeMove(values, factors)

    def _leaf_numbers(
        self, state: BoostingState, channels: Channels, leaves: LeafRows
    ) -> NDArray[np.float64]:
        """Mean of the one channel in every leaf, of shape (n_leaves,)."""
        source = channels.source
        assert isinstance(source, np.ndarray)
        sums = np.add.reduceat(source[leaves.rows, 0].astype(np.float64), leaves.offsets[:-1])
        weights = channels.row_weights
        if weights is None and channels.entry_weights is not None:
            weights = channels.entry_weights[:, 0]
        if weights is None:
            totals = np.diff(leaves.offsets).astype(np.float64)
        else:
            totals = np.add.reduceat(weights[leaves.rows].astype(np.float64), leaves.offsets[:-1])
        totals = totals + self._l2
        return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)
