"""What boosting keeps of every training row: targets, raw predictions and gradients, in float32.

All gradients here are negative ones, not weighted, of shape (n_rows, n_channels). The squared
error needs no raw predictions: its negative gradient is the residual.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.boosting.exact import ExactSums, ShardTargets
from polyleaf.losses import Logistic, Loss, LossPerOutput, LossTargets, SquaredError

#: Down to this share of the first one, a loss is followed by what every round takes off it.
_FOLLOWED = 1e-4


@dataclass(frozen=True, eq=False)
class LeafRows:
    """Rows, leaf after leaf.

    Attributes
    ----------
    rows : ndarray of int32
    offsets : ndarray of shape (n_leaves + 1,), int64
    """

    rows: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.offsets.size - 1

    def leaf_of_rows(self, n_rows: int) -> NDArray[np.int32]:
        """Leaf of every row, 0 for rows in no leaf; of shape (n_rows,)."""
        leaves = np.zeros(n_rows, np.int32)
        leaves[self.rows] = np.repeat(
            np.arange(self.n_leaves, dtype=np.int32), np.diff(self.offsets)
        )
        return leaves


class BoostingState:
    """Raw predictions and gradients for any loss, in NumPy.

    Parameters
    ----------
    loss : Loss
    targets : LossTargets
        With float32 weights, or None.
    raw : ndarray of shape (n_rows, n_channels), float32
        Changed in place from now on.
    n_threads : int
    exact : ExactSums, optional
        How sums are kept that must not depend on the order of the rows.
    """

    def __init__(
        self,
        loss: Loss,
        targets: LossTargets,
        raw: NDArray[np.float32],
        n_threads: int,
        exact: ExactSums | None = None,
    ) -> None:
        self._take(loss, targets, n_threads, exact)
        self.raw = raw
        self.gradient: NDArray[np.float32] = np.zeros(raw.shape, np.float32)
        self.refresh()

    def _take(
        self, loss: Loss, targets: LossTargets, n_threads: int, exact: ExactSums | None
    ) -> None:
        """Keep the targets and their weights: shared by the channels of a row, or of entries."""
        self.loss, self.targets, self.n_threads = loss, targets, n_threads
        self.exact = exact
        weights = targets.weights
        is_shared = weights is not None and weights.ndim == 1
        self.row_weights: NDArray[np.float32] | None = weights if is_shared else None
        self.entry_weights: NDArray[np.float32] | None = None if is_shared else weights

    def refresh(self) -> None:
        """Compute the gradients of the raw predictions again."""
        for rows, part in self.targets.blocks():
            np.negative(self.loss.gradient(part, self.raw[rows]), out=self.gradient[rows])

    def value(self) -> float:
        """Weighted sum of the loss."""
        if self.exact is not None:
            return self.exact.loss_value(self.loss, self.targets, self.raw)
        return self.loss.value(self.targets, self.raw)

    def sums(self, values: NDArray[np.float32], leaves: LeafRows) -> NDArray[np.float64]:
        """Weighted sums of values (n_rows, k) in every leaf, of shape (n_leaves, k)."""
        found = np.empty((leaves.n_leaves, values.shape[1]))
        by_entry = self.entry_weights
        _core.leaf_sums(
            values,
            self.row_weights,
            by_entry if by_entry is not None and by_entry.shape == values.shape else None,
            leaves.rows,
            leaves.offsets,
            found,
            self.n_threads,
            *self._exact_arguments(values),
        )
        return found

    def _exact_arguments(self, values: NDArray[np.float32]) -> tuple[Any, Any]:
        """Magic numbers and the collective of sums over leaves; nothing if order may matter."""
        if self.exact is None:
            return None, None
        return self.exact.magic(self.exact.largest(values), values.shape[1]), self.exact.reduce

    def plain_sums(self, values: NDArray[np.float32], leaves: LeafRows) -> NDArray[np.float64]:
        """Sum values (n_rows,) in every leaf without a weight, of shape (n_leaves,)."""
        if self.exact is None:
            entries = values[leaves.rows].astype(np.float64)
            return np.asarray(np.add.reduceat(entries, leaves.offsets[:-1]))
        found = np.empty((leaves.n_leaves, 1))
        column = np.ascontiguousarray(values[:, None])
        magic, reduce = self.exact.magic(self.exact.largest(column), 1), self.exact.reduce
        _core.leaf_sums(
            column, None, None, leaves.rows, leaves.offsets, found, self.n_threads, magic, reduce
        )
        return found[:, 0]

    def leaf_weights(self, leaves: LeafRows) -> NDArray[np.float64]:
        """Weight of every leaf in every channel, of shape (n_leaves, n_channels)."""
        if self.targets.weights is None:
            sizes = np.diff(leaves.offsets).astype(np.float64)
            if self.exact is not None:
                sizes = self.exact.shard.sum(sizes)
            return np.repeat(sizes[:, None], self.gradient.shape[1], axis=1)
        if self.targets.weights.ndim == 1:
            by_leaf = self.plain_sums(self.targets.weights, leaves)
            return np.repeat(by_leaf[:, None], self.gradient.shape[1], axis=1)
        return self.sums(np.ones(self.gradient.shape, np.float32), leaves)

    def leaf_curvatures(self, leaves: LeafRows) -> NDArray[np.float64]:
        """Sum the loss's curvature in every leaf, of shape (n_leaves, n_channels)."""
        curvature = np.empty(self.raw.shape, np.float32)
        for rows, part in self.targets.blocks():
            curvature[rows] = self.loss.curvature(part, self.raw[rows])
        return self.sums(curvature, leaves)

    @property
    def _all_targets(self) -> LossTargets:
        """Targets whose sums and quantiles are those of the rows of all workers."""
        if self.exact is None:
            return self.targets
        return ShardTargets.around(self.targets, self.exact.shard)

    def step(self, direction: NDArray[Any]) -> NDArray[np.float64]:
        """Best factors of a direction, of shape (n_channels,); see `Loss.step`."""
        return self.loss.step(self._all_targets, self.raw, direction)

    def leaf_minimisers(self, leaves: LeafRows) -> NDArray[np.float64]:
        """Best values of all leaves, of shape (n_leaves, n_channels)."""
        targets = self._all_targets
        return self.loss.leaf_minimisers(targets, self.raw, leaves.rows, leaves.offsets)

    def move(self, leaves: LeafRows, values: NDArray[np.float32]) -> None:
        """Add leaf values of shape (n_leaves, n_channels) to the rows' raw predictions."""
        _core.move_rows(self.raw, leaves.rows, leaves.offsets, values, self.n_threads)
        self.refresh()

    def add(self, moves: NDArray[Any]) -> None:
        """Add moves of shape (n_rows, n_channels) to the raw predictions."""
        self.raw += moves
        self.refresh()

    def newton_step(
        self, leaves: LeafRows, learning_rate: float, l2_regularization: float
    ) -> NDArray[np.float32]:
        """Move all rows by one Newton step per leaf; gives the shrunk leaf values."""
        values = learning_rate * self.newton_values(leaves, l2_regularization)
        shrunk = values.astype(np.float32)
        self.move(leaves, shrunk)
        return shrunk

    def newton_values(self, leaves: LeafRows, l2_regularization: float) -> NDArray[np.float64]:
        """Newton steps of all leaves, of shape (n_leaves, n_channels)."""
        sums = self.sums(self.gradient, leaves)
        totals = self.leaf_curvatures(leaves) + l2_regularization
        values = np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)
        return np.clip(values, -self.loss.largest_move, self.loss.largest_move)

    def columns(self, channels: NDArray[np.intp]) -> BoostingState:
        """Give a state of some channels alone, whose changes `write_back` takes over."""
        part = object.__new__(type(self))
        part._take(self.loss, _columns_of(self.targets, channels), self.n_threads, self.exact)
        part.raw = np.ascontiguousarray(self.raw[:, channels])
        part.gradient = np.ascontiguousarray(self.gradient[:, channels])
        return part

    def write_back(self, part: BoostingState, channels: NDArray[np.intp]) -> None:
        """Take over the columns that `columns` gave out."""
        self.raw[:, channels] = part.raw
        self.gradient[:, channels] = part.gradient


class SquaredState(BoostingState):
    """Residuals alone: gradients of the squared error.

    Parameters
    ----------
    targets : LossTargets
        Whose values are the residuals, float32, changed in place from now on.
    n_threads : int
    value : float, optional
        Their loss, if it is known.
    exact : ExactSums, optional
    """

    def __init__(
        self,
        targets: LossTargets,
        n_threads: int,
        value: float | None = None,
        exact: ExactSums | None = None,
    ) -> None:
        self._take(SquaredError(), targets, n_threads, exact)
        self.gradient = targets.values
        #: No residual is larger; what leaves add is added to it.
        self._largest = 0.0 if exact is None else exact.largest(self.gradient)
        self._first = self._value = self._measured() if value is None else value

    def _measured(self) -> float:
        if self.exact is not None:
            zeros = np.zeros((self.targets.n_rows, 1), np.float32)
            return self.exact.loss_value(self.loss, self.targets, zeros)
        return self.loss.value(self.targets, np.zeros((self.targets.n_rows, 1), np.float32))

    @property
    def raw(self) -> NDArray[np.float32]:  # type: ignore[override]
        """Zeros: residuals are targets whose prediction is 0."""
        return np.broadcast_to(np.float32(0.0), self.gradient.shape)

    def refresh(self) -> None:
        """Do nothing: residuals are gradients."""

    def value(self) -> float:
        """Weighted sum of the loss; followed through the rounds while it is no mere rounding."""
        if self._value < _FOLLOWED * self._first:
            self._value = self._measured()
        return self._value

    def leaf_curvatures(self, leaves: LeafRows) -> NDArray[np.float64]:
        """Weight of every leaf."""
        return self.leaf_weights(leaves)

    def move(self, leaves: LeafRows, values: NDArray[np.float32]) -> None:
        """Take leaf values off the rows' residuals."""
        sums, weights = self.sums(self.gradient, leaves), self.leaf_weights(leaves)
        self._value -= float((values * (sums - 0.5 * values * weights)).sum())
        self._largest += float(np.abs(values).max(initial=0.0))
        _core.move_rows(self.gradient, leaves.rows, leaves.offsets, -values, self.n_threads)

    def add(self, moves: NDArray[Any]) -> None:
        """Take moves off the residuals."""
        self.gradient -= moves
        self._value = self._measured()
        self._largest = 0.0 if self.exact is None else self.exact.largest(self.gradient)

    def _exact_arguments(self, values: NDArray[np.float32]) -> tuple[Any, Any]:
        if self.exact is None or values is not self.gradient:
            return super()._exact_arguments(values)
        return self.exact.magic(self._largest, values.shape[1]), self.exact.reduce

    def newton_step(
        self, leaves: LeafRows, learning_rate: float, l2_regularization: float
    ) -> NDArray[np.float32]:
        """Take mean residuals off, leaf by leaf in one pass."""
        values = np.empty((leaves.n_leaves, self.gradient.shape[1]), np.float32)
        self._value -= _core.squared_step(
            self.gradient,
            self.row_weights,
            self.entry_weights,
            leaves.rows,
            leaves.offsets,
            learning_rate,
            l2_regularization,
            values,
            self.n_threads,
            *self._exact_arguments(self.gradient),
        )
        self._largest += float(np.abs(values).max(initial=0.0))
        return values

    def columns(self, channels: NDArray[np.intp]) -> SquaredState:
        """Give a state of some channels alone, whose changes `write_back` takes over."""
        part = object.__new__(SquaredState)
        part._take(self.loss, _columns_of(self.targets, channels), self.n_threads, self.exact)
        part.gradient, part._value = part.targets.values, 0.0
        part._largest = self._largest
        return part

    def write_back(self, part: BoostingState, channels: NDArray[np.intp]) -> None:
        """Take over the columns that `columns` gave out."""
        self.gradient[:, channels] = part.gradient
        assert isinstance(part, SquaredState)
        self._value += part._value
        self._largest = max(self._largest, part._largest)


class LogisticState(BoostingState):
    """The logistic loss with a kernel of its own for Newton steps.

    Parameters
    ----------
    targets : LossTargets
        With uint8 labels.
    raw : ndarray of shape (n_rows, n_channels), float32
        Changed in place from now on.
    rows : ndarray of int32
        The rows that count; gradients of others are not kept up to date.
    n_threads : int
    """

    def __init__(
        self,
        targets: LossTargets,
        raw: NDArray[np.float32],
        rows: NDArray[np.int32],
        n_threads: int,
        exact: ExactSums | None = None,
    ) -> None:
        self._largest = 0.0 if exact is None else exact.largest(raw)
        # Small blocks, so that several threads share them; exact sums are shared anyway.
        n_blocks = 1 if exact is not None else max(1, rows.size // 256)
        bounds = np.linspace(0, rows.size, n_blocks + 1).astype(np.int64)
        self._all = LeafRows(rows, bounds)
        super().__init__(Logistic(), targets, raw, n_threads, exact)

    def refresh(self) -> None:
        """Compute the gradients of the raw predictions again."""
        self._step(self._all, 0.0, 1.0)

    def value(self) -> float:
        """Weighted sum of the loss, as the last step left it."""
        return self._value

    def newton_step(
        self, leaves: LeafRows, learning_rate: float, l2_regularization: float
    ) -> NDArray[np.float32]:
        """Move all rows by one Newton step per leaf, leaf by leaf in one pass."""
        return self._step(leaves, learning_rate, l2_regularization)

    def _step(
        self, leaves: LeafRows, learning_rate: float, l2_regularization: float
    ) -> NDArray[np.float32]:
        values = np.empty((leaves.n_leaves, self.raw.shape[1]), np.float32)
        self._value = _core.logistic_step(
            self.raw,
            self.gradient,
            self.targets.values,
            self.row_weights,
            self.entry_weights,
            leaves.rows,
            leaves.offsets,
            learning_rate,
            l2_regularization,
            self.loss.largest_move,
            values,
            self.n_threads,
            *self._exact_arguments(self.gradient),
        )
        self._largest += float(np.abs(values).max(initial=0.0))
        return values

    def _exact_arguments(self, values: NDArray[np.float32]) -> tuple[Any, Any]:
        if self.exact is None or values is not self.gradient:
            return super()._exact_arguments(values)
        # A gradient is at most 1, a curvature at most 1/4; a leaf adds at most `largest_move`.
        loss = self._largest + float(self.loss.largest_move) + 1.0
        return self.exact.magic(1.0, values.shape[1], 0.25, loss), self.exact.reduce

    def columns(self, channels: NDArray[np.intp]) -> LogisticState:
        """Give a state of some channels alone, whose changes `write_back` takes over."""
        part = super().columns(channels)
        assert isinstance(part, LogisticState)
        part._all, part._largest = self._all, self._largest
        if self.exact is not None:
            part._value = self.exact.loss_value(self.loss, part.targets, part.raw)
        else:
            rows = self._all.rows
            part._value = self.loss.value(part.targets.at(rows), part.raw[rows])
        part._start_value = part._value
        return part

    def write_back(self, part: BoostingState, channels: NDArray[np.intp]) -> None:
        """Take over the columns that `columns` gave out."""
        super().write_back(part, channels)
        assert isinstance(part, LogisticState)
        self._value += part._value - part._start_value

    _value: float
    _start_value: float


class PerOutputState(BoostingState):
    """A loss per output: each takes the Newton steps of its own channels."""

    loss: LossPerOutput

    def newton_values(self, leaves: LeafRows, l2_regularization: float) -> NDArray[np.float64]:
        """Newton steps of all leaves, of shape (n_leaves, n_channels).

        Regularisation is scaled like the losses, so that scales change no value.
        """
        loss, targets = self.loss, self.targets
        sums = self.sums(self.gradient, leaves)
        scaled = l2_regularization * loss.channel_scales(targets.channel_offsets)
        totals = self.leaf_curvatures(leaves) + scaled
        values = np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)
        return loss.finish_newton(values, targets, self.raw, leaves.rows, leaves.offsets)


def make_state(
    loss: Loss,
    targets: LossTargets,
    raw: NDArray[np.float32],
    rows: NDArray[np.int32],
    n_threads: int,
    value: float | None = None,
    exact: ExactSums | None = None,
) -> BoostingState:
    """Choose the state for a loss: the quickest there is.

    Parameters
    ----------
    loss : Loss
    targets : LossTargets
        In the units of the raw predictions.
    raw : ndarray of shape (n_rows, n_channels) or (n_channels,), float32
        Where to start from.
    rows : ndarray of int32
        The rows that count.
    n_threads : int
    value : float, optional
        The weighted sum of the squared error, if that is the loss and it is known.
    exact : ExactSums, optional
        How sums are kept that must not depend on the order of the rows.
    """
    if isinstance(loss, LossPerOutput):
        everywhere = np.array(np.broadcast_to(raw, targets.values.shape), np.float32, order="C")
        return PerOutputState(loss, targets, everywhere, n_threads, exact)
    if loss.native_kernel == "squared_error":
        rest = np.subtract(targets.values, raw, dtype=np.float32, casting="same_kind")
        rest_targets = LossTargets(rest, targets.weights, targets.channel_offsets)
        return SquaredState(rest_targets, n_threads, value, exact)
    everywhere = np.array(np.broadcast_to(raw, targets.values.shape), np.float32, order="C")
    if loss.native_kernel == "logistic":
        labels = np.ascontiguousarray(targets.values, dtype=np.uint8)
        with_labels = LossTargets(labels, targets.weights, targets.channel_offsets)
        return LogisticState(with_labels, everywhere, rows, n_threads, exact)
    return BoostingState(loss, targets, everywhere, n_threads, exact)


def _columns_of(targets: LossTargets, channels: NDArray[np.intp]) -> LossTargets:
    weights = targets.weights
    if weights is not None and weights.ndim == 2:
        weights = np.ascontiguousarray(weights[:, channels])
    starts = np.flatnonzero(np.isin(channels, targets.channel_offsets[:-1]))
    offsets = np.append(starts, channels.size).astype(np.int32)
    return LossTargets(np.ascontiguousarray(targets.values[:, channels]), weights, offsets)
