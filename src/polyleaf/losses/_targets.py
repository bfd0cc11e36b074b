"""Targets of some rows, what losses ask about all of them, and checks of what losses answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from polyleaf.losses._base import Loss

#: Entries of a block of rows, so that temporary arrays stay in cache.
_BLOCK_ENTRIES = 2**16


#: Gives arrays of shape (n_rows, n_channels) for a block of rows.
Terms: TypeAlias = "Callable[[slice, LossTargets], Sequence[NDArray[Any]]]"


@dataclass(frozen=True, eq=False)
class LossTargets:
    """Targets of some rows.

    A loss that asks about all rows by the methods here, and in no other way, can be minimised on
    rows that are divided between workers: there, the answers are those of the rows of all.

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

    # What losses ask about all rows ------------------------------------------------------------

    def row_sums(self, terms: Terms, n_terms: int) -> list[NDArray[np.float64]]:
        """Sum weighted entries over rows, block by block; each of shape (n_channels,).

        Parameters
        ----------
        terms : callable
        n_terms : int
            How many arrays it gives.
        """
        sums = [np.zeros(self.n_channels) for _ in range(n_terms)]
        for rows, part in self.blocks():
            for total, entries in zip(sums, terms(rows, part)):
                total += part.weighted_sums(entries)
        return sums

    def total(self, numbers: NDArray[Any]) -> float:
        """Sum a number of every row."""
        return float(numbers.sum())

    def loss_of(self, loss: Loss, raw: NDArray[Any]) -> float:
        """Sum the weighted loss of all rows; see `Loss.value`."""
        return loss.value(self, raw)

    def largest(self, entries: NDArray[Any]) -> NDArray[Any]:
        """Give the largest size of any entry in every column, of shape (n_columns,)."""
        return np.asarray(np.abs(entries).max(axis=0, initial=0.0))

    def is_any(self, found: NDArray[np.bool_]) -> bool:
        """Tell whether something is true of any row."""
        return bool(found.any())

    def mean(self, values: NDArray[Any], weights: NDArray[Any]) -> float:
        """Average the numbers of some rows; some weight is positive."""
        return float(np.average(values, weights=weights))

    def quantiles(
        self, values: NDArray[Any], weights: NDArray[Any] | None, shares: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Find quantiles of some rows; see `weighted_quantiles`."""
        return weighted_quantiles(values, weights, shares)

    def leaf_quantiles(
        self,
        values: NDArray[Any],
        rows: NDArray[np.int32],
        leaf_offsets: NDArray[np.int64],
        shares: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Find weighted quantiles of the rows in every leaf, of shape (n_leaves, n_channels).

        Parameters
        ----------
        values : ndarray of shape (rows.size, n_channels)
        rows : ndarray of int32
            Rows, leaf after leaf.
        leaf_offsets : ndarray of shape (n_leaves + 1,), int64
        shares : ndarray of shape (n_channels,)
        """
        found = []
        for start, stop in pairwise(leaf_offsets):
            weights = self.at(rows[start:stop]).column_weights
            found.append(weighted_quantiles(values[start:stop], weights, shares))
        return np.array(found)


def weighted_quantiles(
    values: NDArray[Any], weights: NDArray[Any] | None, shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Find the middle of the points at which a share of the weight lies on the left.

    Parameters
    ----------
    values : ndarray of shape (n, d)
    weights : ndarray of shape (n, d) or (n, 1), or None
    shares : ndarray of shape (d,)

    Returns
    -------
    ndarray of shape (d,), float64
        0 for a column without weight.
    """
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0).astype(np.float64)
    if weights is None:
        mass = np.broadcast_to(np.arange(1.0, len(values) + 1)[:, None], values.shape)
    else:
        by_entry = np.broadcast_to(weights, values.shape)
        mass = np.cumsum(np.take_along_axis(by_entry, order, axis=0), axis=0, dtype=np.float64)
    wanted = shares * mass[-1]
    slack = 1e-12 * mass[-1]
    last = len(values) - 1
    # Ties of the running total leave an interval of minimisers: its middle.
    first = np.minimum((mass < wanted - slack).sum(axis=0), last)
    after = np.minimum((mass <= wanted + slack).sum(axis=0), last)
    columns = np.arange(values.shape[1])
    middle = 0.5 * (ordered[first, columns] + ordered[after, columns])
    return np.where(mass[-1] > 0, middle, 0.0)


# Whether a loss answers as it has to ---------------------------------------------------------


def check_shapes(loss: Loss, targets: LossTargets) -> None:
    """Raise a ValueError if a loss does not give one number per entry.

    Parameters
    ----------
    loss : Loss
    targets : LossTargets
        The first rows are tried, with raw predictions of 0.

    Examples
    --------
    >>> from polyleaf.losses import LossTargets, SquaredError, check_shapes
    >>> class Forgetful(SquaredError):
    ...     def gradient(self, targets, raw):
    ...         return super().gradient(targets, raw).sum(axis=1)
    >>> check_shapes(Forgetful(), LossTargets.of([[1.0, 2.0], [3.0, 4.0]]))
    Traceback (most recent call last):
        ...
    ValueError: Forgetful.gradient must return an array of shape (2, 2), ...; got (2,).
    """
    with np.errstate(all="ignore"):
        for where, answer, part, _ in _answers(loss, targets, np.zeros(targets.n_channels)):
            if not isinstance(answer, np.ndarray) or answer.shape != part.values.shape:
                got = getattr(answer, "shape", type(answer).__name__)
                raise ValueError(
                    f"{where} must return an array of shape {part.values.shape}, like the raw "
                    f"predictions that it is given; got {got}."
                )


def check_finite(loss: Loss, targets: LossTargets, baseline: NDArray[np.float64]) -> None:
    """Raise a ValueError if a loss or its gradient is not finite where boosting starts.

    Parameters
    ----------
    loss : Loss
    targets : LossTargets
        The first rows are tried.
    baseline : ndarray of shape (n_channels,)
        Raw predictions of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.losses import LossTargets, SquaredError, check_finite
    >>> class Reciprocal(SquaredError):
    ...     def losses(self, targets, raw):
    ...         with np.errstate(divide="ignore"):
    ...             return 1.0 / (raw - targets.values)
    >>> check_finite(Reciprocal(), LossTargets.of([[1.0], [3.0]]), np.array([3.0]))
    Traceback (most recent call last):
        ...
    ValueError: Reciprocal.losses must be finite; it is inf for the target 3 ...
    """
    for where, answer, part, raw in _answers(loss, targets, baseline):
        counts = part.column_weights
        wrong = ~np.isfinite(answer) if counts is None else ~np.isfinite(answer) & (counts > 0)
        if wrong.any():
            row, channel = np.argwhere(wrong)[0]
            raise ValueError(
                f"{where} must be finite; it is {answer[row, channel]} for the target "
                f"{part.values[row, channel]:g} and the raw prediction {raw[row, channel]:g}."
            )


def _answers(
    loss: Loss, targets: LossTargets, raw: NDArray[np.float64]
) -> Iterator[tuple[str, Any, LossTargets, NDArray[np.float64]]]:
    """Yield what the methods of a loss say about some rows, and what they were asked."""
    if not targets.n_rows:  # all rows are with other workers, who look
        return
    _, part = next(targets.blocks())
    shown = np.tile(raw, (part.n_rows, 1))
    for name in ("losses", "gradient") if loss.decomposable else ("gradient",):
        answer = getattr(loss, name)(part, shown)
        yield f"{type(loss).__name__}.{name}", answer, part, shown
