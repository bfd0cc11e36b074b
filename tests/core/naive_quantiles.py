"""The naive reference of `_core.cut_into_bins` and `_core.cut_columns`."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray


def cut_into_bins(counts: NDArray[np.int64], max_bins: int) -> NDArray[np.int64]:
    """Cut a sequence of distinct values into consecutive bins of about equal counts.

    With at most `max_bins` values every value has its own bin. Otherwise there are exactly
    `max_bins` bins: frequent values have one each, and the others share the rest evenly.

    Parameters
    ----------
    counts : ndarray of shape (n_values,), int64
        How often each value occurs, in ascending order of the values; all positive.
    max_bins : int

    Returns
    -------
    ndarray of shape (n_bins,), int64
        One past the last value of each bin, strictly increasing; the last is n_values.
    """
    n_values = counts.size
    if n_values <= max_bins:
        return np.arange(1, n_values + 1)
    cumulated = np.cumsum(counts)
    total = int(cumulated[-1])
    if counts.max() * max_bins <= total:
        # No count exceeds the width of a bin, so that no two of these targets meet in one value.
        targets = np.arange(1, max_bins + 1) * total // max_bins
        return np.searchsorted(cumulated, targets) + 1
    return _cut_around_frequent(counts, cumulated, max_bins)


def _frequent_values(counts: NDArray[np.int64], n_bins: int) -> NDArray[np.bool_]:
    """Mark the values that fill a bin of their own, however the others share the rest."""
    frequent = np.zeros(counts.size, dtype=np.bool_)
    while True:
        n_rest = int(counts[~frequent].sum())
        bins_rest = n_bins - int(frequent.sum())
        found = ~frequent & (counts * bins_rest > n_rest)
        if not found.any() or bins_rest <= int(found.sum()):
            return frequent
        frequent |= found


def _cut_around_frequent(
    counts: NDArray[np.int64], cumulated: NDArray[np.int64], n_bins: int
) -> NDArray[np.int64]:
    """Walk over the values once and close a bin when it is full or a frequent value is next."""
    n_values = counts.size
    frequent = _frequent_values(counts, n_bins)
    positions = [*np.flatnonzero(frequent).tolist(), n_values]
    before = [0, *cumulated.tolist()]  # rows before each value
    rare_left = int(counts[~frequent].sum())
    ends: list[int] = []
    start = passed = 0  # `passed` counts the frequent values already binned
    for bins_left in range(n_bins, 0, -1):
        next_frequent = positions[passed]
        rare_bins = bins_left - (len(positions) - 1 - passed)
        if bins_left == 1:
            end = n_values
        elif start == next_frequent or rare_bins <= 0:
            # A frequent value; rare values join it when no bin is left for them.
            end = next_frequent + 1
        else:
            full = before[start] + rare_left / rare_bins
            end = min(max(bisect_left(before, full), start + 1), next_frequent)
        end = min(end, n_values - (bins_left - 1))  # leave a value for every further bin
        rare_left -= before[end] - before[start]
        if end > next_frequent:
            rare_left += int(counts[next_frequent])
            passed += 1
        ends.append(end)
        start = end
    return np.array(ends)


def cut_column(values: NDArray[np.float64], max_bins: int) -> tuple[NDArray, ...]:
    """Give the smallest and the largest value of each bin, and how many values it has."""
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if distinct.size == 0:
        return np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64)
    ends = cut_into_bins(counts, max_bins)
    begins = np.concatenate([[0], ends[:-1]])
    return distinct[begins], distinct[ends - 1], np.add.reduceat(counts, begins)
