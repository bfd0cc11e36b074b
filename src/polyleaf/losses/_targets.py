"""What a loss compares predictions with: targets, who counts how much, and groups of channels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Entries of a block of rows, so that temporary arrays stay in cache.
_BLOCK_ENTRIES = 2**16


@dataclass(frozen=True, eq=False)
class LossTargets:
    """Targets of some rows.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_channels)
        0 or 1 for labels and classes (one channel per class); any number where the weight is 0.
    weights : ndarray of shape (n_rows,) or (n_rows, n_channels), or None
        0 where a target is not observed; None: all are 1.
    channel_offsets : ndarray of shape (n_outputs + 1,), int32
        Output j has the channels channel_offsets[j] up to channel_offsets[j + 1].

    Examples
    --------
    >>> targets = LossTargets.of([[1.0, 2.0], [3.0, 4.0]])
    >>> targets.n_channels
    2
    """

    values: NDArray[Any]
    weights: NDArray[Any] | None
    channel_offsets: NDArray[np.int32]

    @classmethod
    def of(cls, values: Any, weights: Any = None) -> LossTargets:
        """Make targets with one channel per output.

        Parameters
        ----------
        values : array-like of shape (n_rows, n_channels)
        weights : array-like of shape (n_rows,) or (n_rows, n_channels), optional
        """
        array = np.asarray(values, dtype=np.float64)
        offsets = np.arange(array.shape[1] + 1, dtype=np.int32)
        return cls(array, None if weights is None else np.asarray(weights, np.float64), offsets)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    @property
    def n_channels(self) -> int:
        """Number of channels of all outputs."""
        return int(self.values.shape[1])

    @property
    def column_weights(self) -> NDArray[Any] | None:
        """Weights that broadcast to (n_rows, n_channels), None if all are 1."""
        if self.weights is None or self.weights.ndim == 2:
            return self.weights
        return self.weights[:, None]

    def weighted(self, entries: NDArray[Any]) -> NDArray[Any]:
        """Multiply entries of shape (n_rows, n_channels) by their weights."""
        weights = self.column_weights
        return entries if weights is None else entries * weights

    def weighted_sums(self, entries: NDArray[Any]) -> NDArray[np.float64]:
        """Sum weighted entries over rows, in double precision; of shape (n_channels,)."""
        sums: NDArray[np.float64] = self.weighted(entries).sum(axis=0, dtype=np.float64)
        return sums

    @property
    def total_weights(self) -> NDArray[np.float64]:
        """Sum of the weights of every channel, of shape (n_channels,)."""
        if self.weights is None:
            return np.full(self.n_channels, float(self.n_rows))
        if self.weights.ndim == 1:
            return np.full(self.n_channels, self.weights.sum(dtype=np.float64))
        return np.asarray(self.weights.sum(axis=0, dtype=np.float64))

    def at(self, rows: Any) -> LossTargets:
        """Give the targets of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return LossTargets(self.values[rows], weights, self.channel_offsets)

    def entries(self, rows: NDArray[Any], channels: NDArray[Any]) -> LossTargets:
        """Give the targets of some rows and channels, each channel an output of its own."""
        at = rows[:, np.newaxis], channels
        weights = self.weights
        if weights is not None:
            weights = weights[at] if weights.ndim == 2 else weights[rows]
        offsets = np.arange(channels.size + 1, dtype=np.int32)
        return LossTargets(self.values[at], weights, offsets)

    def blocks(self) -> Iterator[tuple[slice, LossTargets]]:
        """Yield consecutive rows and their targets, in blocks that fit into a cache."""
        step = max(1, _BLOCK_ENTRIES // self.n_channels)
        for start in range(0, self.n_rows, step):
            rows = slice(start, min(start + step, self.n_rows))
            yield rows, self.at(rows)
