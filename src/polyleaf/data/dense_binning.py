"""Bin the columns of a dense array: where they are cut, and what is stored how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.checks.threads import Pieces
from polyleaf.data.binned import (
    MISSING_U8,
    MISSING_U32,
    NUMERIC,
    TILE,
    BinnedFeatures,
    Bins,
    CodesByRow,
    ListedCodes,
    assemble,
    dense_dtype,
    is_stored_sparse,
    settle_lists,
)

#: From so many rows on, so few columns of an array are bytes, whatever they hold.
MANY_ROWS, FEW_COLUMNS = 65_536, 1024
#: From twice as many rows on, so many of them say where columns of many values are cut.
SAMPLE_ROWS = 200_000
#: Values that are sorted together, of as many columns as a cache line of X holds or more.
_VALUES_AT_A_TIME = 1 << 21
_LEAST_COLUMNS = 8
#: Values from which on sorting is worth starting threads.
_WORTH_THREADS = 1 << 16


@dataclass(frozen=True)
class Cuts:
    """The bins of some features.

    Attributes
    ----------
    features : ndarray of shape (n_cut,), ascending
    n_bins : ndarray of shape (n_cut,), int64
    low, high : ndarray of shape (n_bins.sum(),), float64
        Smallest and largest value of each bin, feature by feature.
    commonest, n_commonest : ndarray of shape (n_cut,), int64
        The first bin with the most rows, and how many these are.
    """

    features: NDArray[np.int64]
    n_bins: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    commonest: NDArray[np.int64]
    n_commonest: NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """Columns with at most two values.

    Attributes
    ----------
    features : ndarray of shape (n_pairs,), ascending
    values : ndarray of shape (n_pairs, 2), float64, ascending
        Both are the same in a constant column.
    is_sparse : ndarray of shape (n_pairs,), bool
    default : ndarray of shape (n_pairs,)
        0 or 1: the commoner value.
    n_listed : ndarray of shape (n_pairs,)
        Rows with the other one.
    """

    features: NDArray[np.int64]
    values: NDArray[np.float64]
    is_sparse: NDArray[np.bool_]
    default: NDArray[np.int64]
    n_listed: NDArray[np.int64]


def bin_dense(
    encoded: NDArray[Any], categories: NDArray[Any], max_bins: int | None, n_threads: int
) -> BinnedFeatures:
    """Bin an array of shape (n_rows, n_features).

    Parameters
    ----------
    encoded : ndarray of shape (n_rows, n_features), float32 or float64
    categories : ndarray of shape (n_features,)
        Number of categories, NUMERIC for numeric features.
    max_bins : int or None
    n_threads : int
    """
    n_rows, n_features = encoded.shape
    if encoded.dtype not in (np.float32, np.float64):
        encoded = encoded.astype(np.float64)
    encoded = np.ascontiguousarray(encoded)
    pairs = _find_pairs(encoded, categories == NUMERIC, max_bins, n_threads)
    is_pair = np.zeros(n_features, dtype=np.bool_)
    is_pair[pairs.features] = True
    numeric = np.flatnonzero(~is_pair & (categories == NUMERIC))
    cuts = (
        _cut_numeric(encoded, numeric, max_bins, n_threads),
        _cut_categorical(encoded, np.flatnonzero(categories != NUMERIC), categories),
    )
    plan = plan_dense(n_rows, categories, pairs, cuts, max_bins)
    return code_dense(encoded, plan, max_bins, n_threads)


@dataclass(frozen=True)
class DensePlan:
    """The bins of all features, and which of them are stored as lists.

    Attributes
    ----------
    categories : ndarray of shape (n_features,)
        Number of categories, NUMERIC for numeric features.
    bins : Bins
    pairs : Pairs
    is_sparse : ndarray of shape (n_features,), bool
    default : ndarray of shape (n_features,), uint32
        The commonest code.
    """

    categories: NDArray[Any]
    bins: Bins
    pairs: Pairs
    is_sparse: NDArray[np.bool_]
    default: NDArray[np.uint32]


def plan_dense(
    n_rows: int,
    categories: NDArray[Any],
    pairs: Pairs,
    cuts: Sequence[Cuts],
    max_bins: int | None,
) -> DensePlan:
    """Decide how features are stored, by what is known of all their rows.

    Parameters
    ----------
    n_rows : int
        Of all rows that are binned alike, whoever holds them.
    categories : ndarray of shape (n_features,)
    pairs : Pairs
    cuts : sequence of Cuts
        Of all other features.
    max_bins : int or None
    """
    n_features = categories.size
    is_pair = np.zeros(n_features, dtype=np.bool_)
    is_pair[pairs.features] = True
    bins = join_bins(n_features, pairs, cuts)
    is_sparse = np.zeros(n_features, dtype=np.bool_)
    is_sparse[pairs.features] = pairs.is_sparse
    for cut in cuts:
        is_sparse[cut.features] = is_stored_sparse(n_rows, cut.n_commonest, cut.n_bins, max_bins)
    if max_bins is not None and n_rows >= MANY_ROWS and n_features <= FEW_COLUMNS:
        is_sparse &= categories > MISSING_U8  # histograms of bytes are quicker than lists
    else:
        is_sparse = settle_lists(is_sparse, is_pair, n_rows, categories, max_bins)
    pairs = replace(pairs, is_sparse=is_sparse[pairs.features])
    default = np.zeros(n_features, dtype=np.uint32)
    default[pairs.features] = pairs.default
    for cut in cuts:
        default[cut.features] = cut.commonest
    return DensePlan(categories, bins, pairs, is_sparse, default)


def code_dense(
    encoded: NDArray[Any], plan: DensePlan, max_bins: int | None, n_threads: int
) -> BinnedFeatures:
    """Give rows by the codes of their bins.

    Parameters
    ----------
    encoded : ndarray of shape (n_rows, n_features), float32 or float64, C-contiguous
        All rows that the plan was made for; or some, if its pairs count those alone.
    plan : DensePlan
    max_bins : int or None
    n_threads : int
    """
    n_rows, bins, is_sparse = len(encoded), plan.bins, plan.is_sparse
    dense = np.flatnonzero(~is_sparse).astype(np.int32)
    tiles = np.zeros((-(-dense.size // TILE), n_rows, TILE), dtype=dense_dtype(max_bins))
    if dense.size and n_rows:
        _core.encode_columns(encoded, dense, bins.offsets, bins.high, tiles, n_threads)
    listed = _list_codes(encoded, is_sparse, plan.default, plan.pairs, bins)
    return assemble(n_rows, plan.categories, bins, dense, tiles, listed)


def _cut_numeric(
    encoded: NDArray[Any], features: NDArray[np.int64], max_bins: int | None, n_threads: int
) -> Cuts:
    """Cut columns of numbers: by a sample of many rows, unless a column has few values."""
    n_rows = len(encoded)
    if max_bins is None or n_rows < 2 * SAMPLE_ROWS:
        return cut_sorted(encoded, features, max_bins, n_threads)
    sample = encoded[smallest_keys(np.random.default_rng(0).random(n_rows), SAMPLE_ROWS)]
    cuts = cut_sorted(sample, features, max_bins, n_threads)
    is_exact = have_few_values(cuts, max_bins)
    exact = cut_sorted(encoded, features[is_exact], max_bins, n_threads)
    return joined_cuts(between_samples(cuts, n_rows), exact, is_exact)


def smallest_keys(keys: NDArray[np.float64], n_kept: int) -> NDArray[np.int64]:
    """Give the positions of the smallest keys, ascending.

    Rows with the smallest random keys are a sample that a stream of rows finds, too, in whatever
    batches it comes.
    """
    return np.sort(np.argpartition(keys, n_kept - 1)[:n_kept])


def have_few_values(cuts: Cuts, max_bins: int) -> NDArray[np.bool_]:
    """Tell the features of a sample for which every value has a bin of its own."""
    starts = np.cumsum(cuts.n_bins) - cuts.n_bins
    feature_of = np.repeat(np.arange(starts.size), cuts.n_bins)
    n_wide = np.bincount(feature_of, cuts.low < cuts.high, starts.size)
    has_few: NDArray[np.bool_] = (cuts.n_bins < max_bins) | (n_wide == 0)
    return has_few


def between_samples(cuts: Cuts, n_rows: int) -> Cuts:
    """Let bins of a sample meet midway, so that every other value lies in one of them."""
    low, high = cuts.low.copy(), cuts.high.copy()
    is_last = np.zeros(low.size, dtype=np.bool_)
    is_last[np.cumsum(cuts.n_bins)[cuts.n_bins > 0] - 1] = True
    inner = np.flatnonzero(~is_last)
    high[inner] = high[inner] / 2 + low[inner + 1] / 2
    low[inner + 1] = high[inner]
    n_commonest = cuts.n_commonest * n_rows // SAMPLE_ROWS
    return replace(cuts, low=low, high=high, n_commonest=n_commonest)


def joined_cuts(sampled: Cuts, exact: Cuts, is_exact: NDArray[np.bool_]) -> Cuts:
    """Take the exact cuts of some features, and the others' of a sample."""
    n_bins, commonest, n_commonest = (
        getattr(sampled, name).copy() for name in ("n_bins", "commonest", "n_commonest")
    )
    is_kept = np.repeat(~is_exact, n_bins)
    n_bins[is_exact], commonest[is_exact] = exact.n_bins, exact.commonest
    n_commonest[is_exact] = exact.n_commonest
    is_from_exact = np.repeat(is_exact, n_bins)
    low, high = np.empty((2, int(n_bins.sum())))
    for joined, of_sample, of_all in (
        (low, sampled.low, exact.low),
        (high, sampled.high, exact.high),
    ):
        joined[~is_from_exact], joined[is_from_exact] = of_sample[is_kept], of_all
    return Cuts(sampled.features, n_bins, low, high, commonest, n_commonest)


def cut_sorted(
    encoded: NDArray[Any], features: NDArray[np.int64], max_bins: int | None, n_threads: int
) -> Cuts:
    """Cut columns of numbers, some at a time: sorting them takes a copy."""
    n_rows = len(encoded)
    most = n_rows if max_bins is None else min(n_rows, max_bins)
    n_bins, commonest, n_commonest = np.empty((3, features.size), dtype=np.int64)
    lows, highs = [np.zeros(0)], [np.zeros(0)]
    n_columns = max(_LEAST_COLUMNS, _VALUES_AT_A_TIME // n_rows)
    for start in range(0, features.size, n_columns):
        some = slice(start, min(start + n_columns, features.size))
        block = np.empty((some.stop - start, n_rows), encoded.dtype)
        _core.gather_columns(encoded, features[some].astype(np.int32), block, n_threads)
        _sort_rows(block, n_threads)
        low, high = np.empty((2, len(block), most))
        counted = n_bins[some], commonest[some], n_commonest[some]
        _core.cut_columns(block, low, high, *counted, n_threads)
        is_used = np.arange(most) < n_bins[some][:, None]
        lows.append(low[is_used])
        highs.append(high[is_used])
    low, high = np.concatenate(lows), np.concatenate(highs)
    return Cuts(features, n_bins, low, high, commonest, n_commonest)


def _sort_rows(block: NDArray[Any], n_threads: int) -> None:
    """Sort every row in place; NaN comes last."""
    if n_threads <= 1 or len(block) <= 1 or block.size < _WORTH_THREADS:
        block.sort(axis=1)
        return
    parts = np.array_split(block, n_threads)
    # Sorting releases the GIL.
    pieces = Pieces(lambda i: parts[i].sort(axis=1), len(parts), n_threads, len(parts))
    try:
        list(pieces.results())
    finally:
        pieces.close()


def _cut_categorical(
    encoded: NDArray[Any], features: NDArray[np.int64], categories: NDArray[Any]
) -> Cuts:
    """Give every category a bin."""
    n_bins = categories[features].astype(np.int64)
    commonest, n_commonest = np.zeros((2, features.size), dtype=np.int64)
    for i, feature in enumerate(features.tolist()):
        values = encoded[:, feature]
        known = values[~np.isnan(values)].astype(np.int64)
        counts = np.bincount(known, minlength=max(1, int(n_bins[i])))
        commonest[i] = counts.argmax()
        n_commonest[i] = counts.max()
    codes = np.concatenate([np.zeros(0), *(np.arange(n, dtype=np.float64) for n in n_bins)])
    return Cuts(features, n_bins, codes, codes, commonest, n_commonest)


def _find_pairs(
    encoded: NDArray[Any], is_numeric: NDArray[np.bool_], max_bins: int | None, n_threads: int
) -> Pairs:
    """Find the numeric columns with at most two values, such as words, without sorting."""
    n_rows, n_features = encoded.shape
    low, high = np.empty(n_features), np.empty(n_features)
    n_high = np.empty(n_features, dtype=np.int64)
    _core.find_flags(encoded, low, high, n_high, n_threads)
    features = np.flatnonzero(is_numeric & (n_high >= 0))
    n_high = n_high[features]
    default = (2 * n_high > n_rows).astype(np.int64)
    n_listed = np.where(default == 1, n_rows - n_high, n_high)
    is_sparse = is_stored_sparse(n_rows, n_rows - n_listed, np.full(features.size, 2), max_bins)
    values = np.stack([low[features], high[features]], axis=1) + 0.0  # -0.0 is 0.0
    return Pairs(features, values, is_sparse, default, n_listed)


def join_bins(n_features: int, pairs: Pairs, cuts: Sequence[Cuts]) -> Bins:
    """Put the bins of all features one behind the other."""
    n_bins = np.ones(n_features, dtype=np.int64)
    n_bins[pairs.features] += pairs.values[:, 0] < pairs.values[:, 1]
    for cut in cuts:
        n_bins[cut.features] = cut.n_bins
    offsets = np.concatenate([[0], np.cumsum(n_bins)])
    low = np.empty(int(offsets[-1]))
    first = offsets[pairs.features]
    low[first], low[first + n_bins[pairs.features] - 1] = pairs.values[:, 0], pairs.values[:, 1]
    high = low.copy()
    for cut in cuts:
        is_cut = np.zeros(n_features, dtype=np.bool_)
        is_cut[cut.features] = True
        is_its_bin = np.repeat(is_cut, n_bins)
        low[is_its_bin], high[is_its_bin] = cut.low, cut.high
    return Bins(offsets, low, high)


def _list_codes(
    encoded: NDArray[Any],
    is_sparse: NDArray[np.bool_],
    default: NDArray[np.uint32],
    pairs: Pairs,
    bins: Bins,
) -> CodesByRow:
    """List what differs from the default of every sparse feature."""
    features = pairs.features[pairs.is_sparse].astype(np.int32)
    common = pairs.values[np.arange(pairs.features.size), pairs.default][pairs.is_sparse]
    n_listed = int(pairs.n_listed[pairs.is_sparse].sum())
    rows, places = np.empty(n_listed, np.int32), np.empty(n_listed, np.int32)
    _core.list_uncommon(encoded, features, common, rows, places)
    all_features = np.flatnonzero(is_sparse)
    if all_features.size == features.size:  # by row already
        indptr = np.searchsorted(rows, np.arange(len(encoded) + 1))
        return CodesByRow(all_features, default[is_sparse], indptr, places, None)
    codes = 1 - default[features]
    slot_of = np.cumsum(is_sparse) - 1
    listed: list[tuple[NDArray[Any], ...]] = [(rows, slot_of[features][places], codes[places])]
    for feature in np.setdiff1d(all_features, features).tolist():
        of_feature = slice(bins.offsets[feature], bins.offsets[feature + 1])
        its_rows, its_codes = list_column(
            encoded[:, feature], bins.low[of_feature], bins.high[of_feature], default[feature]
        )
        listed.append((its_rows, np.full(its_rows.size, slot_of[feature]), its_codes))
    by_feature = ListedCodes(
        all_features.astype(np.int32), default[is_sparse], *map(np.concatenate, zip(*listed))
    )
    return by_feature.by_row(len(encoded))


def list_column(
    values: NDArray[Any], low: NDArray[np.float64], high: NDArray[np.float64], default: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """List the rows with another code than the default, and their codes; MISSING_U32 is NaN."""
    rows = np.flatnonzero(~((values >= low[default]) & (values <= high[default])))
    codes = np.searchsorted(high.astype(values.dtype), values[rows]).astype(np.uint32)
    codes[np.isnan(values[rows])] = MISSING_U32
    return rows, codes
