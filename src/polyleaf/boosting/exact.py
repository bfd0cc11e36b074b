"""Sums of boosting that do not depend on how rows are divided between workers.

See `polyleaf.trees.shards` for what shards and exact units are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.losses import Loss, LossTargets
from polyleaf.trees.shards import AllReduce, ExactUnit, Shard, exact_sums


@dataclass(frozen=True, eq=False)
class ShardTargets(LossTargets):
    """Targets of one worker whose sums are those of all workers.

    A baseline that is made of `weighted_sums`, `total_weights` and `n_rows` is thereby that of all
    rows.

    Attributes
    ----------
    shard : Shard
    """

    shard: Shard = field(default_factory=lambda: Shard.alone(0))

    @classmethod
    def around(cls, targets: LossTargets, shard: Shard) -> ShardTargets:
        """Give the same targets with these sums."""
        return cls(targets.values, targets.weights, targets.channel_offsets, shard)

    @property
    def n_rows(self) -> int:
        """Number of rows of all workers."""
        return self.shard.count(int(self.values.shape[0]))

    def blocks(self) -> Iterator[tuple[slice, LossTargets]]:
        """Yield consecutive rows of this worker and their targets."""
        return LossTargets(self.values, self.weights, self.channel_offsets).blocks()

    def weighted_sums(self, entries: NDArray[Any]) -> NDArray[np.float64]:
        """Sum weighted entries over the rows of all workers; of shape (n_channels,)."""
        return exact_sums(self.weighted(entries), self.shard)

    @property
    def total_weights(self) -> NDArray[np.float64]:
        """Sum of the weights of every channel, of shape (n_channels,)."""
        if self.weights is None:
            return np.full(self.n_channels, float(self.n_rows))
        by_entry = self.weights if self.weights.ndim == 2 else self.weights[:, None]
        sums = exact_sums(by_entry, self.shard)
        return np.broadcast_to(sums, (self.n_channels,)).copy()


def exact_output_values(
    loss: Loss, targets: LossTargets, raw: NDArray[Any], shard: Shard
) -> NDArray[np.float64] | None:
    """Sum the weighted loss over the rows of all workers, for every output.

    None if the loss has no value for an output alone.

    Parameters
    ----------
    loss : Loss
    targets : LossTargets
    raw : ndarray of shape (n_rows, n_channels)
    shard : Shard
    """
    if loss.is_joint_over_outputs:
        return None
    entries = np.empty((targets.n_rows, targets.n_channels))
    for rows, part in targets.blocks():
        entries[rows] = part.weighted(loss.losses(part, raw[rows]))
    sums = exact_sums(entries, shard)
    return np.asarray(np.add.reduceat(sums, targets.channel_offsets[:-1]))


def weighted_row_losses(
    loss: Loss, targets: LossTargets, raw: NDArray[Any]
) -> NDArray[np.float64]:
    """Give what every row adds to the loss, of shape (n_rows,)."""
    by_row = np.zeros(targets.n_rows)
    for rows, part in targets.blocks():
        by_row[rows] = loss.row_losses(part, raw[rows])
        if part.weights is not None and part.weights.ndim == 1:
            by_row[rows] *= part.weights
    return by_row


class ExactSums:
    """Units of the sums that the core makes in a round of boosting.

    Parameters
    ----------
    shard : Shard
    weights : ndarray of shape (n_rows,) or (n_rows, n_channels), or None
    n_channels : int
    """

    def __init__(self, shard: Shard, weights: NDArray[np.float32] | None, n_channels: int) -> None:
        self.shard, self.n_channels = shard, n_channels
        self.n_rows = shard.count(shard.numbers.size)
        largest = np.zeros(1) if weights is None else np.abs(weights).max(initial=0.0).reshape(1)
        self._weight = 1.0
        if weights is not None:
            self._weight = max(1.0, float(shard.max(largest.astype(np.float64))[0]))

    @property
    def reduce(self) -> AllReduce | None:
        """The collective."""
        return self.shard.reduce

    def largest(self, values: NDArray[Any]) -> float:
        """Largest size of any value of all workers."""
        return float(self.shard.max(np.array([np.abs(values).max(initial=0.0)], np.float64))[0])

    def magic(
        self, largest: float, n_columns: int, curvature: float = 1.0, loss: float = 1.0
    ) -> NDArray[np.float64]:
        """Give magic numbers for the core, of shape (2 * n_columns + 1,).

        Parameters
        ----------
        largest : float
            Largest size of a value.
        n_columns : int
        curvature : float
            Largest curvature.
        loss : float
            Largest loss of an entry.
        """
        numbers = np.empty(2 * n_columns + 1)
        numbers[:n_columns] = self._magic(self._weight * largest)
        numbers[n_columns:-1] = self._magic(self._weight * curvature)
        numbers[-1] = self._magic(self._weight * loss * n_columns)
        return numbers

    def _magic(self, largest: float) -> float:
        return ExactUnit.of(largest, self.n_rows).magic

    def loss_value(self, loss: Loss, targets: LossTargets, raw: NDArray[np.float32]) -> float:
        """Sum the loss of all rows."""
        by_row = weighted_row_losses(loss, targets, raw)
        return float(exact_sums(by_row[:, None], self.shard)[0])
