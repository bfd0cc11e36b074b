"""Rows that are divided between workers, and sums that do not depend on how.

Each worker holds some rows of a problem, a shard. Workers take the same steps, and all that they
decide depends on sums and maxima over the rows of all workers. A collective makes these out of
their own, with the same bits on every worker. Sums in floating point depend on the order of their
summands, so those that cross workers are sums of integers, or of float64 multiples of a power of
two that are so few that no sum is rounded (`ExactUnit`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Entries per block of rows (512 KB).
_BLOCK_ENTRIES = 2**16
#: Replaces numbers by those of all workers, in place: their ``"sum"`` or their ``"max"``.
AllReduce: TypeAlias = Callable[[NDArray[Any], str], None]


@dataclass(frozen=True, eq=False)
class Shard:
    """The rows of one worker.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows,), int64
        The number of each row among those of all workers; ascending.
    reduce : callable or None
        The collective; None: there is one worker.

    Examples
    --------
    >>> shard = Shard.alone(3)
    >>> shard.sum(np.array([1.0, 2.0]))
    array([1., 2.])
    """

    numbers: NDArray[np.int64]
    reduce: AllReduce | None = None

    @classmethod
    def alone(cls, n_rows: int) -> Shard:
        """Give the shard of the only worker."""
        return cls(np.arange(n_rows))

    def sum(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Sum over workers; integers, or multiples of an `ExactUnit`, for the same bits on all."""
        return self._reduced(numbers, "sum")

    def max(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Largest of all workers."""
        return self._reduced(numbers, "max")

    def _reduced(self, numbers: NDArray[Any], by: str) -> NDArray[Any]:
        if self.reduce is None:
            return numbers
        reduced = np.array(numbers, order="C")
        self.reduce(reduced, by)
        return reduced

    def at(self, rows: NDArray[Any]) -> Shard:
        """Give the shard of some of the rows."""
        return Shard(self.numbers[rows], self.reduce)

    def unit(self, unit: float, counts: bool) -> float:
        """Give the largest unit of all workers whose rows count; each is a power of two."""
        return float(self.max(np.array([unit if counts else 0.0]))[0]) or 1.0

    def count(self, n_rows: int) -> int:
        """Sum a number of rows over workers."""
        return int(self.sum(np.array([n_rows], np.int64))[0])


@dataclass(frozen=True)
class ExactUnit:
    """Rounds numbers so that sums of them are exact, hence the same in any order.

    Attributes
    ----------
    magic : float
        1.5 * 2**52 units: adding and taking it off rounds to a multiple of the unit.

    Examples
    --------
    >>> unit = ExactUnit.of(1.0, 1000)
    >>> rounded = unit.rounded(np.random.default_rng(0).random(1000))
    >>> float(rounded.sum()) == float(rounded[::-1].cumsum()[-1])
    True
    """

    magic: float

    @classmethod
    def of(cls, largest: float, n: int) -> ExactUnit:
        """Choose the unit for sums of n numbers of at most this size."""
        if not largest > 0:
            return cls(0.0)
        return cls(math.ldexp(1.5, 1 + math.frexp(largest * max(n, 1))[1]))

    def rounded(self, numbers: NDArray[Any]) -> NDArray[np.float64]:
        """Round to the nearest multiple of the unit."""
        shifted = numbers.astype(np.float64) + self.magic
        shifted -= self.magic
        return shifted


def exact_sums(entries: NDArray[Any], shard: Shard) -> NDArray[np.float64]:
    """Sum the rows of all workers, of shape (n_columns,); the same bits however they are divided.

    Parameters
    ----------
    entries : ndarray of shape (n_rows, n_columns)
    shard : Shard
    """
    n_rows, n_columns = entries.shape
    largest, sums = np.zeros((2, n_columns))
    step = max(1, _BLOCK_ENTRIES // max(1, n_columns))
    blocks = [slice(start, start + step) for start in range(0, n_rows, step)]
    for rows in blocks:
        np.maximum(largest, np.abs(entries[rows]).max(axis=0), out=largest)
    n_all = shard.count(n_rows)
    magic = np.array([ExactUnit.of(float(size), n_all).magic for size in shard.max(largest)])
    for rows in blocks:
        rounded = entries[rows] + magic
        rounded -= magic
        sums += rounded.sum(axis=0)
    return shard.sum(sums)


# Draws of rows ---------------------------------------------------------------------------------


def row_uniforms(seed: int, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Draw a number in [0, 1) for each row: a hash of the seed and of the row's number.

    Parameters
    ----------
    seed : int
        Of 64 bits.
    numbers : ndarray of shape (n_rows,), int64
        `Shard.numbers`.

    Examples
    --------
    >>> drawn = row_uniforms(7, np.arange(1000))
    >>> bool(np.array_equal(drawn[300:], row_uniforms(7, np.arange(300, 1000))))
    True
    """
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        bits = (numbers.astype(np.uint64) + np.uint64(1)) * golden
        bits = _mixed(bits ^ _mixed(np.array([seed % 2**64], np.uint64) + golden))
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def draw_share(seed: int, numbers: NDArray[np.int64], share: float) -> NDArray[np.bool_]:
    """Draw each row with the same probability, whoever holds the others.

    Parameters
    ----------
    seed, numbers
        As for `row_uniforms`.
    share : float
        The probability.
    """
    return np.asarray(row_uniforms(seed, numbers) < share)


#: Share of a sample that has the largest sizes, as in LightGBM's defaults (0.2 and 0.1).
_LARGEST_SHARE = 2.0 / 3.0
#: Sizes are ranked by the first bits of float32: sign, exponent and seven bits more.
_RANK_BITS = 16


def draw_by_size(
    seed: int, shard: Shard, sizes: NDArray[np.float32], share: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], float]:
    """Draw the rows of the largest sizes, and some of the others, whoever holds them.

    Two thirds of the sample are the largest (rows that differ by less than one per cent from the
    smallest of them may be left to chance). The others have the same probability.

    Parameters
    ----------
    seed : int
        As for `row_uniforms`.
    shard : Shard
        Whose rows have these sizes.
    sizes : ndarray of shape (n_rows,), float32
        Not negative.
    share : float
        Of the rows of all workers that are drawn, below 1.

    Returns
    -------
    is_drawn : ndarray of shape (n_rows,), bool
    is_other : ndarray of shape (n_rows,), bool
        Drawn rows that are not among the largest.
    factor : float
        What each of them stands for: 1 over their probability.

    Examples
    --------
    >>> sizes = np.arange(1000, dtype=np.float32)
    >>> is_drawn, is_other, factor = draw_by_size(0, Shard.alone(1000), sizes, 0.3)
    >>> bool(is_drawn[810:].all()), round(factor, 1)
    (True, 7.7)
    """
    ranks = np.ascontiguousarray(sizes, np.float32).view(np.uint32) >> np.uint32(_RANK_BITS)
    counts = shard.sum(np.bincount(ranks, minlength=2**_RANK_BITS))
    n_rows = int(counts.sum())
    n_above = np.cumsum(counts[::-1])[::-1]  # of this rank or a higher one
    fitting = np.flatnonzero(n_above <= _LARGEST_SHARE * share * n_rows)
    least = int(fitting[0]) if fitting.size else counts.size
    n_largest = int(n_above[least]) if fitting.size else 0
    probability = min(1.0, (share * n_rows - n_largest) / max(n_rows - n_largest, 1))
    is_largest = ranks >= least
    is_other = ~is_largest & draw_share(seed, shard.numbers, probability)
    is_drawn = is_largest | is_other
    if shard.count(int(is_drawn.sum())) == 0:  # so few rows that chance took none
        return ~is_drawn, is_other, 1.0
    return is_drawn, is_other, 1.0 / probability


def draw_counts(seed: int, numbers: NDArray[np.int64], mean: float) -> NDArray[np.int64]:
    """Draw how often each row is in a bootstrap sample: Poisson numbers, whoever holds the others.

    Numbers of a sample of fixed size are nearly Poisson, and depend on each other.

    Parameters
    ----------
    seed, numbers
        As for `row_uniforms`.
    mean : float
        The size of the sample over the number of rows.
    """
    uniforms = row_uniforms(seed, numbers)
    counts = np.zeros(uniforms.size, np.int64)
    term = total = math.exp(-mean)
    k = 0
    while (more := uniforms >= total).any() and term > 0:
        counts += more
        k += 1
        term *= mean / k
        total += term
    return counts
