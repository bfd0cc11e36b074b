"""Bins that workers agree on: those that one machine with all rows would find.

The values of a column and how often each occurs go to one worker, which cuts it; columns are
divided between workers, some at a time. From `2 * SAMPLE_ROWS` rows on, only rows of a sample do:
rows with the smallest random keys, which follow from their numbers. So the bins depend neither on
the workers nor on how rows are divided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.data import dense_binning
from polyleaf.data.binned import NUMERIC, BinnedFeatures, is_stored_sparse
from polyleaf.data.dense_binning import (
    Cuts,
    DensePlan,
    Pairs,
    between_samples,
    code_dense,
    have_few_values,
    joined_cuts,
    plan_dense,
)
from polyleaf.data.sparse_binning import bin_sparse
from polyleaf.distributed.collectives import Collective
from polyleaf.distributed.gathering import Gathering

#: Values of a block of columns that a worker cuts at a time.
_BLOCK_VALUES = 1 << 22


def bin_divided(
    encoded: Any,
    numbers: NDArray[np.int64],
    categories: NDArray[Any],
    max_bins: int,
    n_threads: int,
    collective: Collective,
) -> BinnedFeatures:
    """Bin the rows of one worker in bins that are those of all rows.

    Parameters
    ----------
    encoded : ndarray or csr_array of shape (n_rows, n_features), float32 or float64
        Of one type on all workers. A sparse matrix is gathered by every worker, to be binned as
        a whole.
    numbers : ndarray of shape (n_rows,), int64
        Number of each row among those of all workers.
    categories : ndarray of shape (n_features,)
        Number of categories, NUMERIC for numeric features.
    max_bins : int from 2 to 255
    n_threads : int
    collective : Collective
    """
    if sparse.issparse(encoded):
        whole = Gathering(collective, numbers).matrix(encoded)
        return bin_sparse(whole, categories, max_bins).at(numbers)
    encoded = np.ascontiguousarray(encoded)
    n_rows = sum(int(part[0]) for part in collective.allgather(np.array([len(encoded)])))
    pairs = _agree_on_pairs(encoded, categories == NUMERIC, max_bins, n_threads, collective)
    is_pair = np.zeros(categories.size, np.bool_)
    is_pair[pairs.features] = True
    numeric = np.flatnonzero(~is_pair & (categories == NUMERIC))
    cuts = (
        _cut_numeric(encoded, numbers, n_rows, numeric, max_bins, collective),
        _cut_categorical(encoded, np.flatnonzero(categories != NUMERIC), categories, collective),
    )
    plan = plan_dense(n_rows, categories, pairs, cuts, max_bins)
    return code_dense(encoded, _with_own_counts(plan, encoded), max_bins, n_threads)


def _with_own_counts(plan: DensePlan, encoded: NDArray[Any]) -> DensePlan:
    """Count the rows of this worker that differ from the commoner of two values."""
    pairs = plan.pairs
    common = pairs.values[np.arange(pairs.features.size), pairs.default]
    n_listed = np.zeros(pairs.features.size, np.int64)
    for i in np.flatnonzero(pairs.is_sparse).tolist():
        n_listed[i] = np.count_nonzero(encoded[:, pairs.features[i]] != common[i])
    return replace(plan, pairs=replace(pairs, n_listed=n_listed))


def _agree_on_pairs(
    encoded: NDArray[Any],
    is_numeric: NDArray[np.bool_],
    max_bins: int,
    n_threads: int,
    collective: Collective,
) -> Pairs:
    """Find the numeric columns with at most two values, none of them missing."""
    n_own, n_features = encoded.shape
    low, high = np.zeros((2, n_features))
    n_high = np.zeros(n_features, np.int64)
    if n_own:
        _core.find_flags(encoded, low, high, n_high, n_threads)
    facts = np.stack([low, high, n_high, np.full(n_features, n_own)])
    found = np.stack(collective.allgather(facts[None])).reshape(-1, 4, n_features)
    found = found[found[:, 3, 0] > 0]  # workers with rows
    lowest, highest = found[:, 0].min(axis=0), found[:, 1].max(axis=0)
    is_one = (found[:, :2] == lowest) | (found[:, :2] == highest)
    is_pair = is_numeric & (found[:, 2] >= 0).all(axis=0) & is_one.all(axis=(0, 1))
    # A worker with one value has no row of the larger of its two, but of the larger of all.
    has_only_high = (found[:, 0] == highest) & (lowest < highest)
    counts = np.where(has_only_high, found[:, 3], found[:, 2]).sum(axis=0).astype(np.int64)
    features, n_rows = np.flatnonzero(is_pair), int(found[:, 3, 0].sum())
    n_high = counts[features]
    default = (2 * n_high > n_rows).astype(np.int64)
    n_listed = np.where(default == 1, n_rows - n_high, n_high)
    is_sparse = is_stored_sparse(n_rows, n_rows - n_listed, np.full(features.size, 2), max_bins)
    values = np.stack([lowest[features], highest[features]], axis=1) + 0.0  # -0.0 is 0.0
    return Pairs(features, values, is_sparse, default, n_listed)


def _cut_categorical(
    encoded: NDArray[Any],
    features: NDArray[np.int64],
    categories: NDArray[Any],
    collective: Collective,
) -> Cuts:
    """Give every category a bin."""
    n_bins = categories[features].astype(np.int64)
    widths = np.maximum(n_bins, 1)
    counts = []
    for feature, width in zip(features.tolist(), widths.tolist()):
        values = encoded[:, feature]
        known = values[~np.isnan(values)].astype(np.int64)
        counts.append(np.bincount(known, minlength=width))
    joined = np.concatenate([np.zeros(0, np.int64), *counts])
    collective.allreduce(joined)
    parts = np.split(joined, np.cumsum(widths)[:-1]) if features.size else []
    codes = np.concatenate([np.zeros(0), *(np.arange(n, dtype=np.float64) for n in n_bins)])
    return Cuts(
        features,
        n_bins,
        codes,
        codes,
        np.array([part.argmax() for part in parts], np.int64),
        np.array([part.max() for part in parts], np.int64),
    )


def _cut_numeric(
    encoded: NDArray[Any],
    numbers: NDArray[np.int64],
    n_rows: int,
    features: NDArray[np.int64],
    max_bins: int,
    collective: Collective,
) -> Cuts:
    """Cut columns of numbers: by a sample of many rows, unless a column has few values."""
    n_sample = dense_binning.SAMPLE_ROWS
    if n_rows < 2 * n_sample:
        return _cut_counted(encoded, n_rows, features, max_bins, collective)
    sample = encoded[_smallest_keys(row_keys(numbers), n_rows, n_sample, collective)]
    cuts = _cut_counted(sample, n_sample, features, max_bins, collective)
    is_exact = have_few_values(cuts, max_bins)
    exact = _cut_counted(encoded, n_rows, features[is_exact], max_bins, collective)
    return joined_cuts(between_samples(cuts, n_rows), exact, is_exact)


def row_keys(numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give the keys of rows: those that ``default_rng(0).random(n)`` has at their numbers.

    Parameters
    ----------
    numbers : ndarray of shape (n_rows,), int64
        Ascending.

    Examples
    --------
    >>> keys = np.random.default_rng(0).random(9)
    >>> bool(np.array_equal(row_keys(np.array([2, 3, 7])), keys[[2, 3, 7]]))
    True
    """
    keys = np.empty(numbers.size)
    starts = np.flatnonzero(np.diff(numbers, prepend=-2) != 1)
    for start, stop in zip(starts, [*starts[1:], numbers.size]):
        bits = np.random.PCG64(0)
        bits.advance(int(numbers[start]))
        keys[start:stop] = np.random.Generator(bits).random(stop - start)
    return keys


def _smallest_keys(
    keys: NDArray[np.float64], n_rows: int, n_kept: int, collective: Collective
) -> NDArray[np.int64]:
    """Find the rows of this worker that have some of the smallest keys of all."""
    limit = (n_kept + 10.0 * n_kept**0.5) / n_rows
    while True:
        candidates = np.concatenate(collective.allgather(keys[keys <= limit]))
        if candidates.size >= n_kept:
            break
        limit *= 2
    largest = np.partition(candidates, n_kept - 1)[n_kept - 1]
    return np.flatnonzero(keys <= largest)


def _cut_counted(
    encoded: NDArray[Any],
    n_rows: int,
    features: NDArray[np.int64],
    max_bins: int,
    collective: Collective,
) -> Cuts:
    """Cut columns by their values and how often each occurs, each column on one worker."""
    world = collective.world
    at_once = max(world, _BLOCK_VALUES * world // max(1, n_rows))
    own: list[tuple[NDArray[np.float64], NDArray[np.float64], int, int]] = []
    for start in range(0, features.size, at_once):
        block = features[start : start + at_once]
        for values, counts in _deal_columns(encoded, block, collective):
            own.append(_cut(values, counts, max_bins))
    return _joined(own, features, at_once, collective)


def _deal_columns(
    encoded: NDArray[Any], features: NDArray[np.int64], collective: Collective
) -> list[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Send distinct values to the owners of columns; give those of the own ones."""
    world = collective.world
    columns = [np.unique(_known(encoded[:, f]), return_counts=True) for f in features.tolist()]
    values, counts, sizes = [], [], []
    for owner in range(world):
        theirs = columns[owner::world]
        values.append(np.concatenate([np.zeros(0), *(v.astype(np.float64) for v, _ in theirs)]))
        counts.append(np.concatenate([np.zeros(0, np.int64), *(c for _, c in theirs)]))
        sizes.append(np.array([v.size for v, _ in theirs], np.int64))
    got_values, got_counts = collective.deal(values), collective.deal(counts)
    got_sizes = collective.deal(sizes)
    n_owned = got_sizes[0].size
    pieces = [
        (np.split(v, np.cumsum(s)), np.split(c, np.cumsum(s)))
        for v, c, s in zip(got_values, got_counts, got_sizes)
    ]
    return [
        _merged([of_worker[0][i] for of_worker in pieces], [p[1][i] for p in pieces])
        for i in range(n_owned)
    ]


def _known(column: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(column[~np.isnan(column)] + column.dtype.type(0))  # -0.0 is 0.0


def _merged(
    values: Sequence[NDArray[np.float64]], counts: Sequence[NDArray[np.int64]]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Add up how often each value occurs."""
    joined = np.concatenate(values)
    order = np.argsort(joined, kind="stable")
    joined, repeated = joined[order], np.concatenate(counts)[order]
    if not joined.size:
        return joined, repeated
    starts = np.flatnonzero(np.concatenate([[True], joined[1:] != joined[:-1]]))
    return joined[starts], np.add.reduceat(repeated, starts)


def _cut(
    values: NDArray[np.float64], counts: NDArray[np.int64], max_bins: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], int, int]:
    """Cut one column: lowest and highest values of its bins, the commonest, and its rows."""
    ends = np.empty(min(values.size, max_bins), np.int64)
    if not ends.size:
        return np.zeros(0), np.zeros(0), 0, 0
    _core.cut_into_bins(counts, ends)
    starts = np.append(0, ends[:-1])
    in_bins = np.add.reduceat(counts, starts)
    return values[starts], values[ends - 1], int(in_bins.argmax()), int(in_bins.max())


def _joined(
    own: Sequence[tuple[NDArray[np.float64], NDArray[np.float64], int, int]],
    features: NDArray[np.int64],
    at_once: int,
    collective: Collective,
) -> Cuts:
    """Gather the cuts of all workers, in the order of the features."""
    nothing = np.zeros(0)
    low = collective.allgather(np.concatenate([nothing, *(cut[0] for cut in own)]))
    high = collective.allgather(np.concatenate([nothing, *(cut[1] for cut in own)]))
    facts = np.array([[cut[0].size, cut[2], cut[3]] for cut in own], np.int64).reshape(-1, 3)
    gathered = collective.allgather(facts)
    world = collective.world
    owners = (np.arange(features.size) % at_once) % world
    lows, highs = [nothing], [nothing]
    n_bins, commonest, n_commonest = np.zeros((3, features.size), np.int64)
    offsets = [np.concatenate([[0], np.cumsum(part[:, 0])]) for part in gathered]
    place = [0] * world
    for i, owner in enumerate(owners.tolist()):
        at = place[owner]
        place[owner] += 1
        n_bins[i], commonest[i], n_commonest[i] = gathered[owner][at]
        some = slice(offsets[owner][at], offsets[owner][at + 1])
        lows.append(low[owner][some])
        highs.append(high[owner][some])
    return Cuts(
        features, n_bins, np.concatenate(lows), np.concatenate(highs), commonest, n_commonest
    )
