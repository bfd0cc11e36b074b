"""Mean and standard deviation of each channel, without a second array of the size of Y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.trees.shards import ExactUnit, Shard, exact_sums

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy import sparse

    from polyleaf.data import Targets

#: Entries per block of rows (512 KB). Fixed, so that sums have a fixed order.
_BLOCK_ENTRIES = 2**16
#: Entries whose exact moments are computed at a time (32 MB).
_EXACT_ENTRIES = 2**22
#: Larger outputs have squares that double precision cannot add up.
LARGEST_OUTPUT = 1e100
#: A standard deviation this far below the largest value is rounding.
_ROUNDING = 1e-15
#: The squares of smaller deviations vanish.
_LEAST_STD = 1e-150


@dataclass(frozen=True)
class Moments:
    """Weighted moments of the observed entries of each channel.

    Attributes
    ----------
    mean : ndarray of shape (n_channels,), float64
        0 for a channel without any weight.
    std : ndarray of shape (n_channels,), float64
        0 for a channel that does not vary by more than rounding.
    """

    mean: NDArray[np.float64]
    std: NDArray[np.float64]


def row_blocks(n_rows: int, n_channels: int) -> Iterator[slice]:
    """Cut rows into blocks small enough that a float64 copy of one costs nothing."""
    step = max(1, _BLOCK_ENTRIES // n_channels)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def largest_size(values: NDArray[Any]) -> float:
    """Give the largest absolute value, 0 if there is none, without a copy of that size.

    Parameters
    ----------
    values : ndarray

    Examples
    --------
    >>> largest_size(np.array([[1.0, -3.0], [2.0, 0.0]]))
    3.0
    """
    return max(float(values.max(initial=0)), -float(values.min(initial=0)))


def channel_moments(targets: Targets, shard: Shard | None = None, n_threads: int = 1) -> Moments:
    """Compute the moments of all channels.

    Parameters
    ----------
    targets : Targets
    shard : Shard, optional
        Whose workers have the other rows: the moments do not depend on how they are divided.
    n_threads : int

    Raises
    ------
    ValueError
        If a value is too large to be squared.
    """
    weights = targets.weights
    if shard is not None and shard.reduce is None and _are_plain(targets):
        plain: Any = targets.values
        largest, mean, variance = _exact_moments_of_all(plain, n_threads)
    elif shard is not None:
        largest, mean, variance = _exact_moments(targets, shard)
    elif isinstance(targets.values, np.ndarray):
        largest, mean, variance = _dense_moments(targets.values, targets.observed, weights)
    else:
        largest, mean, variance = _sparse_moments(targets.values, weights)
    if largest.max() > LARGEST_OUTPUT:
        output = int(np.argmax(largest))
        raise ValueError(
            f"Outputs must lie between -{LARGEST_OUTPUT:g} and {LARGEST_OUTPUT:g}, because their "
            f"squares are summed; output {output} of y holds {largest[output]:g} in absolute "
            "value. Divide it by a constant."
        )
    std = np.sqrt(variance)
    varies = std > np.maximum(_ROUNDING * largest, _LEAST_STD)
    return Moments(mean, np.where(varies, std, 0.0))


def _dense_moments(
    values: NDArray[np.float64],
    observed: NDArray[np.bool_] | None,
    weights: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Largest absolute value, mean and variance of each channel, in two passes."""
    n_rows, n_channels = values.shape
    total, gross, squares, largest = np.zeros((4, n_channels))
    is_plain = observed is None and weights is None
    # Unobserved entries are 0 and add nothing; NumPy's einsum does not depend on BLAS's threads.
    for rows, weight in _entry_weights((n_rows, n_channels), observed, weights):
        np.maximum(largest, np.abs(values[rows]).max(axis=0), out=largest)
        total += weight.sum(axis=0) if weight.shape[1] > 1 else weight.sum()
        gross += np.einsum("ij,ij->j", np.broadcast_to(weight, values[rows].shape), values[rows])
    safe = np.where(total > 0, total, 1.0)
    mean, rest = gross / safe, np.zeros(n_channels)
    with np.errstate(over="ignore", invalid="ignore"):  # too large values are refused later
        for rows, weight in _entry_weights((n_rows, n_channels), observed, weights):
            deviations = values[rows] - mean
            weighted = deviations if is_plain else weight * deviations
            rest += weighted.sum(axis=0)
            squares += np.einsum("ij,ij->j", weighted, deviations)
        return largest, *_corrected(mean, rest / safe, squares / safe)


def _exact_moments(
    targets: Targets, shard: Shard
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Largest absolute value, mean and variance of each channel, by exact sums over all workers.

    Some channels at a time, so that copies of them stay small.
    """
    width = max(1, _EXACT_ENTRIES // max(1, targets.n_rows))
    width = min(targets.n_channels, -int(shard.max(np.array([-width], np.int64))[0]))
    found = [
        _exact_block(targets, slice(start, min(start + width, targets.n_channels)), shard)
        for start in range(0, targets.n_channels, width)
    ]
    largest, mean, variance = (np.concatenate(parts) for parts in zip(*found))
    return largest, mean, variance


def _are_plain(targets: Targets) -> bool:
    values = targets.values
    is_whole = isinstance(values, np.ndarray) and values.flags.c_contiguous
    return is_whole and targets.weights is None and targets.observed is None


def _exact_moments_of_all(
    values: NDArray[np.float64], n_threads: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Do as `_exact_moments` where every entry counts alike, in the core: the same bits."""
    n_rows, n_channels = values.shape
    shift, largest = np.zeros((2, n_channels))

    def sums(shift: NDArray[np.float64], largest: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.empty((2, n_channels))
        magic = np.empty((2, n_channels))
        for row, sizes in zip(magic, (largest, largest**2)):
            row[:] = [ExactUnit.of(float(size), n_rows).magic for size in sizes]
        _core.sum_deviations(values, shift, magic, found, n_threads)
        return found

    with np.errstate(over="ignore", invalid="ignore"):  # too large values are refused later
        _core.largest_deviations(values, shift, largest, n_threads)
        mean, deviation = sums(shift, largest)[0] / n_rows, np.empty(n_channels)
        _core.largest_deviations(values, mean, deviation, n_threads)
        rest, squares = sums(mean, deviation) / n_rows
        return largest, *_corrected(mean, rest, squares)


def _exact_block(
    targets: Targets, channels: slice, shard: Shard
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    part: Any = targets.values[:, channels]
    values: NDArray[np.float64] = part if isinstance(part, np.ndarray) else part.toarray()
    weights, observed = targets.weights, targets.observed
    if weights is None:
        shown = np.ones((values.shape[0], 1))
    else:
        shown = weights[:, channels] if weights.ndim == 2 else weights[:, None]
    if observed is not None:
        shown = shown * observed[:, channels]
    largest = shard.max(np.abs(values).max(axis=0, initial=0.0))
    total = np.broadcast_to(exact_sums(shown, shard), largest.shape)
    safe = np.where(total > 0, total, 1.0)
    mean = exact_sums(shown * values, shard) / safe
    with np.errstate(over="ignore", invalid="ignore"):  # too large values are refused later
        deviations = values - mean
        rest = exact_sums(shown * deviations, shard) / safe
        squares = exact_sums(shown * deviations**2, shard) / safe
        return largest, *_corrected(mean, rest, squares)


def _corrected(
    mean: NDArray[np.float64], rest: NDArray[np.float64], square: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance, from a rounded mean and the moments of the deviations from it."""
    return mean + rest, np.maximum(square - rest**2, 0.0)


def _entry_weights(
    shape: tuple[int, int],
    observed: NDArray[np.bool_] | None,
    weights: NDArray[np.float64] | None,
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield blocks of rows and their weights, of shape (n_block, 1) or (n_block, n_channels)."""
    for rows in row_blocks(*shape):
        n_block = rows.stop - rows.start
        block: NDArray[Any] = np.ones((n_block, 1)) if weights is None else weights[rows]
        if block.ndim == 1:
            block = block[:, None]
        yield rows, block if observed is None else block * observed[rows]


def _sparse_moments(
    values: sparse.csr_array[Any, tuple[int, int]], weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Largest absolute value, mean and variance of each channel; absent entries are zeros."""
    n_rows, n_channels = values.shape
    row_weights = np.ones(n_rows) if weights is None else weights
    entry_weights = np.repeat(row_weights, np.diff(values.indptr))
    total = row_weights.sum()
    channel = values.indices

    def summed(entries: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(channel, weights=entries, minlength=n_channels).astype(np.float64)

    largest = np.zeros(n_channels)
    np.maximum.at(largest, channel, np.abs(values.data))
    mean = summed(entry_weights * values.data) / total
    with np.errstate(over="ignore", invalid="ignore"):  # too large values are refused later
        deviations = values.data - mean[channel]
        absent = np.maximum(total - summed(entry_weights), 0.0)
        absent[np.bincount(channel, minlength=n_channels) == n_rows] = 0.0
        rest = summed(entry_weights * deviations) - absent * mean
        square = summed(entry_weights * deviations**2) + absent * mean**2
        return largest, *_corrected(mean, rest / total, square / total)
