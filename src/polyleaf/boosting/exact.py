"""Sums of boosting that do not depend on how rows are divided between workers.

See `polyleaf.trees.shards` for what shards and exact units are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.boosting.exact_quantiles import exact_quantiles
from polyleaf.losses import Loss, LossTargets
from polyleaf.losses._targets import Terms
from polyleaf.trees.moments import largest_size
from polyleaf.trees.shards import AllReduce, ExactUnit, Shard, exact_sums

#: Groups of rows whose losses tell how sure a mean loss is.
MOST_GROUPS = 32


@dataclass(frozen=True, eq=False)
class ShardTargets(LossTargets):
    """Targets of one worker whose sums are those of all workers.

    What a loss makes of the answers is thereby that of all rows: baselines, steps, leaf values.

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

    def at(self, rows: Any) -> ShardTargets:
        """Give the targets of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return ShardTargets(self.values[rows], weights, self.channel_offsets, self.shard.at(rows))

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

    def row_sums(self, terms: Terms, n_terms: int) -> list[NDArray[np.float64]]:
        """Sum weighted entries over the rows of all workers; see `LossTargets.row_sums`.

        Entries are computed twice, for their sizes and for their sums, and never kept.
        """
        largest, sums = np.zeros((2, n_terms, self.n_channels))
        for rows, part in self.blocks():
            for most, entries in zip(largest, terms(rows, part)):
                np.maximum(most, np.abs(part.weighted(entries)).max(axis=0), out=most)
        n_rows = self.n_rows
        units = [
            [ExactUnit.of(float(m), n_rows) for m in each] for each in self.shard.max(largest)
        ]
        magic = np.array([[unit.magic for unit in each] for each in units])
        for rows, part in self.blocks():
            for total, entries, shift in zip(sums, terms(rows, part), magic):
                total += ((part.weighted(entries) + shift) - shift).sum(axis=0)
        return list(self.shard.sum(sums))

    def total(self, numbers: NDArray[Any]) -> float:
        """Sum a number of every row of all workers."""
        return float(exact_sums(numbers[:, None], self.shard)[0])

    def loss_of(self, loss: Loss, raw: NDArray[Any]) -> float:
        """Sum the weighted loss of the rows of all workers."""
        by_row = weighted_row_losses(loss, self, raw)
        return float(exact_sums(by_row[:, None], self.shard)[0])

    def largest(self, entries: NDArray[Any]) -> NDArray[Any]:
        """Give the largest size of any entry of all workers, of shape (n_columns,)."""
        return np.asarray(self.shard.max(super().largest(entries)))

    def is_any(self, found: NDArray[np.bool_]) -> bool:
        """Tell whether something is true of any row of any worker."""
        return self.shard.count(int(found.sum())) > 0

    def mean(self, values: NDArray[Any], weights: NDArray[Any]) -> float:
        """Average the numbers of rows of all workers."""
        sums = exact_sums(np.stack([values * weights, weights], axis=1), self.shard)
        return float(sums[0] / sums[1])

    def quantiles(
        self, values: NDArray[Any], weights: NDArray[Any] | None, shares: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Find quantiles of rows of all workers."""
        everywhere = np.zeros(len(values), np.int64)
        found = exact_quantiles(values, weights, shares, everywhere, 1, self.shard)
        return found.reshape(-1)

    def leaf_quantiles(
        self,
        values: NDArray[Any],
        rows: NDArray[np.int32],
        leaf_offsets: NDArray[np.int64],
        shares: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Find quantiles of the rows of all workers in every leaf."""
        n_leaves = leaf_offsets.size - 1
        leaves = np.repeat(np.arange(n_leaves), np.diff(leaf_offsets))
        weights = self.column_weights
        own = None if weights is None else weights[rows]
        return exact_quantiles(values, own, shares, leaves, n_leaves, self.shard)


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
    by_row = np.zeros(targets.values.shape[0])
    for rows, part in targets.blocks():
        by_row[rows] = loss.row_losses(part, raw[rows])
        if part.weights is not None and part.weights.ndim == 1:
            by_row[rows] *= part.weights
        elif part.weights is not None and loss.is_joint_over_outputs:
            by_row[rows] *= part.weights.max(axis=1)
    return by_row


def exact_group_losses(
    loss: Loss, targets: LossTargets, raw: NDArray[np.float32], shard: Shard
) -> NDArray[np.float64]:
    """Sum the loss over each of `MOST_GROUPS` groups of rows, whoever holds them."""
    by_group = np.zeros((targets.n_rows, MOST_GROUPS))
    at = np.arange(targets.n_rows), shard.numbers % MOST_GROUPS
    by_group[at] = weighted_row_losses(loss, targets, raw)
    return exact_sums(by_group, shard)


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
        return float(self.shard.max(np.array([largest_size(values)]))[0])

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
