"""Weighted quantiles of rows that are divided between workers, the same however they are.

Numbers are compared as unsigned integers in the same order, eight bits at a time from the highest:
workers add up how much weight each of the 256 continuations of a prefix has, and all of them go on
with the one that holds the quantile. Sums of weights are exact, so that the answer is one of the
numbers (or the middle between two), to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.trees.shards import ExactUnit, Shard

_DIGITS = 256
#: Numbers of a table of weights, two per continuation: 64 MB.
_TABLE_NUMBERS = 1 << 23


def exact_quantiles(
    values: NDArray[Any],
    weights: NDArray[Any] | None,
    shares: NDArray[np.float64],
    groups: NDArray[np.int64],
    n_groups: int,
    shard: Shard,
) -> NDArray[np.float64]:
    """Find, in every group of rows, the middle of the points with a share of the weight below.

    Parameters
    ----------
    values : ndarray of shape (n, d), float32 or float64
        Of the rows of this worker.
    weights : ndarray of shape (n, d) or (n, 1), or None
    shares : ndarray of shape (d,)
    groups : ndarray of shape (n,), int64
        The group of each row.
    n_groups : int
    shard : Shard

    Returns
    -------
    ndarray of shape (n_groups, d), float64
        0 where there is no weight.

    Examples
    --------
    >>> values = np.array([[1.0], [5.0], [2.0]])
    >>> middle = np.array([0.5])
    >>> exact_quantiles(values, None, middle, np.zeros(3, np.int64), 1, Shard.alone(3))
    array([[2.]])
    """
    n_columns = values.shape[1]
    found = np.zeros((n_groups, n_columns))
    unit = _weight_unit(values.shape[0], weights, shard)
    step = max(1, _TABLE_NUMBERS // (2 * _DIGITS * n_groups))
    for start in range(0, n_columns, step):
        some = slice(start, start + step)
        own = weights if weights is None or weights.shape[1] == 1 else weights[:, some]
        keys = _keys(values[:, some])
        width = keys.shape[1]
        places = groups[:, None] * width + np.arange(width)
        mass = np.ones(keys.shape)
        if own is not None and unit is not None:
            mass = np.array(np.broadcast_to(unit.rounded(own), keys.shape))
        ends = _search(
            keys.ravel(), places.ravel(), mass.ravel(), np.tile(shares[some], n_groups), shard
        )
        low, high = (_numbers(end, values.dtype).reshape(n_groups, -1) for end in ends[:2])
        found[:, some] = np.where(ends[2].reshape(n_groups, -1), 0.5 * (low + high), 0.0)
    return found


def _weight_unit(n_rows: int, weights: NDArray[Any] | None, shard: Shard) -> ExactUnit | None:
    """Choose a unit in which weights add up exactly; None if all are 1."""
    if weights is None:
        return None
    largest = np.abs(weights).max(initial=0.0)
    return ExactUnit.of(float(shard.max(np.array([largest], np.float64))[0]), shard.count(n_rows))


def _search(
    keys: NDArray[Any],
    places: NDArray[np.int64],
    mass: NDArray[np.float64],
    shares: NDArray[np.float64],
    shard: Shard,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
    """Find both ends of the interval of quantiles at every place, and where there is weight."""
    n_places, n_bits = shares.size, 8 * keys.dtype.itemsize
    use = mass > 0
    keys, places, mass = keys[use], places[use], mass[use]
    prefixes = np.zeros((2, n_places), keys.dtype)
    below = np.zeros((2, n_places))
    totals, wanted = np.zeros(n_places), np.zeros((2, n_places))
    active = [np.arange(keys.size)] * 2
    for shift in range(n_bits - 8, -1, -8):
        table = np.empty((2, n_places, _DIGITS))
        digits = [((keys[at] >> keys.dtype.type(shift)) & keys.dtype.type(0xFF)) for at in active]
        for end, (at, digit) in enumerate(zip(active, digits)):
            flat = places[at] * _DIGITS + digit.astype(np.int64)
            counts = np.bincount(flat, mass[at], minlength=n_places * _DIGITS)
            table[end] = counts.reshape(n_places, _DIGITS)
        mass_of = shard.sum(table)
        if shift == n_bits - 8:
            totals = mass_of[0].sum(axis=1)
            slack = 1e-12 * totals
            wanted = np.stack([shares * totals - slack, shares * totals + slack])
        reached = below[:, :, None] + np.cumsum(mass_of, axis=2)
        is_there = mass_of > 0
        is_there[0] &= reached[0] >= wanted[0][:, None]
        is_there[1] &= reached[1] > wanted[1][:, None]
        # Beyond the whole weight there is nothing: its last number is meant.
        last = _DIGITS - 1 - (mass_of[:, :, ::-1] > 0).argmax(axis=2)
        chosen = np.where(is_there.any(axis=2), is_there.argmax(axis=2), last)
        before = np.take_along_axis(reached - mass_of, chosen[:, :, None], axis=2)[:, :, 0]
        below = before
        prefixes |= chosen.astype(keys.dtype) << keys.dtype.type(shift)
        active = [
            at[digit == chosen[end][places[at]]]
            for end, (at, digit) in enumerate(zip(active, digits))
        ]
    return prefixes[0], prefixes[1], totals > 0


def _keys(values: NDArray[Any]) -> NDArray[Any]:
    """Turn numbers into unsigned integers in the same order."""
    positive = np.ascontiguousarray(values + values.dtype.type(0))  # -0.0 is 0.0
    bits: NDArray[Any] = positive.view(_unsigned(values.dtype))
    top = bits.dtype.type(1 << (8 * bits.dtype.itemsize - 1))
    return np.asarray(np.where(bits & top, np.invert(bits), bits | top))


def _numbers(keys: NDArray[Any], dtype: Any) -> NDArray[np.float64]:
    """Turn integers of `_keys` back into numbers."""
    top = keys.dtype.type(1 << (8 * keys.dtype.itemsize - 1))
    bits = np.where(keys & top, keys & np.invert(top), np.invert(keys))
    return np.asarray(bits.view(dtype), np.float64)


def _unsigned(dtype: Any) -> Any:
    return np.uint32 if dtype == np.float32 else np.uint64
