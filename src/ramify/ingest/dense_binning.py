"""Bin the columns of a dense array."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify import _core
from ramify.ingest.binned import (
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
from ramify.ingest.quantiles import cut_into_bins

#: Columns that are read together: a cache line holds eight numbers of a row.
_COLUMNS_AT_A_TIME = 8


@dataclass(frozen=True)
class _Column:
    """The bins of one feature, and where it is stored.

    Attributes
    ----------
    low, high : ndarray of shape (n_bins,), float64
    is_sparse : bool
    rows, codes : ndarray of shape (n_listed,)
        Rows whose code is not the default; none unless `is_sparse`.
    default : int
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    is_sparse: bool
    rows: NDArray[Any]
    codes: NDArray[Any]
    default: int


@dataclass(frozen=True)
class _Pairs:
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
    others = np.setdiff1d(np.arange(n_features), pairs.features)
    columns = _bin_columns(encoded, others, categories, max_bins, n_threads)
    bins = _join_bins(n_features, pairs, others, columns)
    is_sparse = np.zeros(n_features, dtype=np.bool_)
    is_sparse[pairs.features] = pairs.is_sparse
    is_sparse[others] = [column.is_sparse for column in columns]
    is_pair = np.isin(np.arange(n_features), pairs.features)
    is_sparse = settle_lists(is_sparse, is_pair, n_rows, categories, max_bins)
    pairs = replace(pairs, is_sparse=is_sparse[pairs.features])
    columns = [
        column if column.is_sparse == listed else replace(column, is_sparse=listed)
        for column, listed in zip(columns, is_sparse[others].tolist())
    ]
    dense = np.flatnonzero(~is_sparse).astype(np.int32)
    tiles = np.zeros((-(-dense.size // TILE), n_rows, TILE), dtype=dense_dtype(max_bins))
    if dense.size:
        _core.encode_columns(encoded, dense, bins.offsets, bins.high, tiles, n_threads)
    listed = _list_codes(encoded, is_sparse, pairs, others, columns)
    return assemble(n_rows, categories, bins, dense, tiles, listed)


def _bin_columns(
    encoded: NDArray[Any],
    features: NDArray[np.int64],
    categories: NDArray[Any],
    max_bins: int | None,
    n_threads: int,
) -> list[_Column]:
    def bin_some(some: NDArray[np.int64]) -> list[_Column]:
        block = np.ascontiguousarray(encoded[:, some].T)
        return [
            _bin_values(values, int(categories[feature]), max_bins)
            for feature, values in zip(some, block)
        ]

    starts = range(0, features.size, _COLUMNS_AT_A_TIME)
    parts = [features[start : start + _COLUMNS_AT_A_TIME] for start in starts]
    if n_threads <= 1 or len(parts) <= 1:
        blocks = [bin_some(part) for part in parts]
    else:
        with ThreadPoolExecutor(n_threads) as pool:  # sorting releases the GIL
            blocks = list(pool.map(bin_some, parts))
    return [column for block in blocks for column in block]


def _find_pairs(
    encoded: NDArray[Any], is_numeric: NDArray[np.bool_], max_bins: int | None, n_threads: int
) -> _Pairs:
    """Find the numeric columns with at most two values, such as words, without sorting."""
    n_rows, n_features = encoded.shape
    low, high = np.empty(n_features), np.empty(n_features)
    n_high = np.empty(n_features, dtype=np.int64)
    _core.find_two_values(encoded, low, high, n_high, n_threads)
    features = np.flatnonzero(is_numeric & (n_high >= 0))
    n_high = n_high[features]
    default = (2 * n_high > n_rows).astype(np.int64)
    n_listed = np.where(default == 1, n_rows - n_high, n_high)
    is_sparse = is_stored_sparse(n_rows, n_rows - n_listed, np.full(features.size, 2), max_bins)
    values = np.stack([low[features], high[features]], axis=1) + 0.0  # -0.0 is 0.0
    return _Pairs(features, values, is_sparse, default, n_listed)


def _join_bins(
    n_features: int, pairs: _Pairs, others: NDArray[np.int64], columns: list[_Column]
) -> Bins:
    n_bins = np.ones(n_features, dtype=np.int64)
    n_bins[pairs.features] += pairs.values[:, 0] < pairs.values[:, 1]
    n_bins[others] = [column.low.size for column in columns]
    offsets = np.concatenate([[0], np.cumsum(n_bins)])
    low = np.empty(int(offsets[-1]))
    first = offsets[pairs.features]
    low[first], low[first + n_bins[pairs.features] - 1] = pairs.values[:, 0], pairs.values[:, 1]
    high = low.copy()
    for feature, column in zip(others, columns):
        low[offsets[feature] : offsets[feature + 1]] = column.low
        high[offsets[feature] : offsets[feature + 1]] = column.high
    return Bins(offsets, low, high)


def _list_codes(
    encoded: NDArray[Any],
    is_sparse: NDArray[np.bool_],
    pairs: _Pairs,
    others: NDArray[np.int64],
    columns: list[_Column],
) -> CodesByRow:
    slot_of, default = np.cumsum(is_sparse) - 1, np.zeros(is_sparse.size, dtype=np.uint32)
    default[pairs.features] = pairs.default
    default[others] = [column.default for column in columns]
    listed = [(f, column) for f, column in zip(others, columns) if column.is_sparse]

    features = pairs.features[pairs.is_sparse].astype(np.int32)
    common = pairs.values[np.arange(pairs.features.size), pairs.default][pairs.is_sparse]
    n_listed = int(pairs.n_listed[pairs.is_sparse].sum())
    rows, places = np.empty(n_listed, np.int32), np.empty(n_listed, np.int32)
    _core.list_uncommon(encoded, features, common, rows, places)
    codes = 1 - default[features]
    if not listed:  # by row already
        indptr = np.searchsorted(rows, np.arange(len(encoded) + 1))
        all_features = np.flatnonzero(is_sparse)
        return CodesByRow(all_features, default[is_sparse], indptr, places, codes[places])
    sizes = [column.codes.size for _, column in listed]
    by_feature = ListedCodes(
        features=np.flatnonzero(is_sparse).astype(np.int32),
        default=default[is_sparse],
        rows=np.concatenate([rows, *(column.rows for _, column in listed)]),
        slots=np.concatenate(
            [slot_of[features][places], np.repeat(slot_of[[f for f, _ in listed]], sizes)]
        ),
        codes=np.concatenate([codes[places], *(column.codes for _, column in listed)]),
    )
    return by_feature.by_row(len(encoded))


def _bin_values(values: NDArray[Any], n_categories: int, max_bins: int | None) -> _Column:
    ordered = np.sort(values)  # NaN comes last
    n_known = int(np.searchsorted(ordered, np.nan)) if np.isnan(ordered[-1]) else ordered.size
    known = ordered[:n_known]
    if n_categories == NUMERIC:
        low, high, counts = _find_bins(known, max_bins)
    else:
        low = high = np.arange(n_categories, dtype=np.float64)
        counts = np.bincount(known.astype(np.int64), minlength=n_categories)
    default = int(np.argmax(counts)) if counts.size else 0
    n_default = np.asarray(counts[default] if counts.size else 0)
    nothing = np.zeros(0, dtype=np.int64)
    if not is_stored_sparse(values.size, n_default, np.asarray(low.size), max_bins):
        return _Column(low, high, False, nothing, nothing, default)
    rows = np.flatnonzero(~((values >= low[default]) & (values <= high[default])))
    return _Column(low, high, True, rows, look_up_codes(values[rows], high), default)


def _find_bins(
    ordered: NDArray[Any], max_bins: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Give the smallest and the largest value of each bin, and how many values it has."""
    if ordered.size == 0:
        return np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64)
    if max_bins is not None and ordered.size > max_bins:
        # Without frequent values and ties at the quantiles there is nothing to weigh up.
        starts, stops = _quantile_bounds(ordered.size, max_bins)
        width = ordered.size // max_bins
        if (ordered[stops[:-1] - 1] != ordered[stops[:-1]]).all() and (
            ordered[width:] != ordered[:-width]
        ).all():
            return _as_bins(ordered[starts], ordered[stops - 1], stops - starts)
    first = np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1])
    ends = cut_into_bins(np.diff(first, append=ordered.size), max_bins)
    begins = np.concatenate([[0], ends[:-1]])
    counts = np.diff(first[begins], append=ordered.size)
    return _as_bins(ordered[first[begins]], ordered[first[ends - 1]], counts)


@lru_cache(maxsize=8)
def _quantile_bounds(n_values: int, n_bins: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the first value of each bin and the one after its last, for bins of equal counts."""
    bounds = np.arange(n_bins + 1) * n_values // n_bins
    return bounds[:-1], bounds[1:]


def _as_bins(
    low: NDArray[Any], high: NDArray[Any], counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    return low.astype(np.float64) + 0.0, high.astype(np.float64) + 0.0, counts  # -0.0 is 0.0


def look_up_codes(values: NDArray[Any], bin_high: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Find the first bin whose largest value is not below each value; MISSING_U32 where NaN."""
    codes = np.searchsorted(bin_high.astype(values.dtype), values).astype(np.uint32)
    codes[np.isnan(values)] = MISSING_U32
    return codes
