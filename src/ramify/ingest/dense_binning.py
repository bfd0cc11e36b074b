"""Bin the columns of a dense array."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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
    ListedCodes,
    assemble,
    dense_dtype,
    is_stored_sparse,
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

    def bin_columns(start: int) -> list[_Column]:
        stop = min(start + _COLUMNS_AT_A_TIME, n_features)
        block = np.ascontiguousarray(encoded[:, start:stop].T)
        two_valued = _bin_two_valued(block, categories[start:stop] == NUMERIC, max_bins)
        return [
            found or _bin_values(values, int(categories[feature]), max_bins)
            for feature, (values, found) in enumerate(zip(block, two_valued), start)
        ]

    n_rows, n_features = encoded.shape
    if encoded.dtype not in (np.float32, np.float64):
        encoded = encoded.astype(np.float64)
    encoded = np.ascontiguousarray(encoded)
    starts = range(0, n_features, _COLUMNS_AT_A_TIME)
    if n_threads <= 1 or len(starts) == 1:
        blocks = [bin_columns(start) for start in starts]
    else:
        with ThreadPoolExecutor(n_threads) as pool:  # sorting releases the GIL
            blocks = list(pool.map(bin_columns, starts))
    columns = [column for block in blocks for column in block]
    bins = Bins(
        np.cumsum([0, *(column.low.size for column in columns)]),
        np.concatenate([column.low for column in columns]),
        np.concatenate([column.high for column in columns]),
    )
    dense = np.flatnonzero([not column.is_sparse for column in columns]).astype(np.int32)
    tiles = np.zeros((-(-dense.size // TILE), n_rows, TILE), dtype=dense_dtype(max_bins))
    if dense.size:
        _core.encode_columns(encoded, dense, bins.offsets, bins.high, tiles, n_threads)
    return assemble(n_rows, categories, bins, dense, tiles, _listed(columns))


def _listed(columns: list[_Column]) -> ListedCodes:
    features = [f for f, column in enumerate(columns) if column.is_sparse]
    sizes = [columns[f].codes.size for f in features]
    nothing = np.zeros(0, dtype=np.int64)
    return ListedCodes(
        features=np.array(features, dtype=np.int32),
        default=np.array([columns[f].default for f in features], dtype=np.uint32),
        rows=np.concatenate([nothing, *(columns[f].rows for f in features)]),
        slots=np.repeat(np.arange(len(features)), sizes),
        codes=np.concatenate([nothing, *(columns[f].codes for f in features)]),
    )


def _bin_two_valued(
    block: NDArray[Any], is_numeric: NDArray[np.bool_], max_bins: int | None
) -> list[_Column | None]:
    """Bin the columns with two values, such as words and flags, without sorting them."""
    low, high = block.min(axis=1), block.max(axis=1)  # NaN if there is one
    is_high = block == high[:, np.newaxis]
    is_either = (is_high | (block == low[:, np.newaxis])).all(axis=1)
    n_high, n_rows = is_high.sum(axis=1), block.shape[1]
    default = (2 * n_high > n_rows).astype(np.int64)
    n_default = np.where(default == 1, n_high, n_rows - n_high)
    is_sparse = is_stored_sparse(n_rows, n_default, np.full(len(block), 2), max_bins)
    nothing = np.zeros(0, dtype=np.int64)
    found: list[_Column | None] = []
    for i in range(len(block)):
        if not (is_numeric[i] and is_either[i] and low[i] < high[i]):
            found.append(None)
            continue
        values = np.array([low[i], high[i]], dtype=np.float64) + 0.0  # -0.0 is 0.0
        rows = codes = nothing
        if is_sparse[i]:
            rows = np.flatnonzero(is_high[i] != (default[i] == 1))
            codes = np.full(rows.size, 1 - default[i], dtype=np.uint32)
        found.append(_Column(values, values, bool(is_sparse[i]), rows, codes, int(default[i])))
    return found


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
