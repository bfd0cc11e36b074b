"""Bin the columns of a sparse matrix without densifying it.

All entries are sorted by feature and value at once, with one more entry per feature for its
implicit zeros. Only features that few rows leave out, or that are stored dense, are then visited
one at a time; a matrix has few of those for the memory it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.data.binned import (
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
    tile_columns,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    Sparse: TypeAlias = sparse.csr_array[Any, tuple[int, int]]


@dataclass(frozen=True)
class _DistinctValues:
    """The distinct values of all features, ascending within a feature.

    Attributes
    ----------
    feature, value, count : ndarray of shape (n_distinct,)
    of_entry : ndarray of shape (n_stored,), int64
        Position of each stored entry's value, -1 where it is missing.
    of_zero : ndarray of shape (n_features,), int64
        Position of the implicit zeros' value, -1 where a feature has none.
    """

    feature: NDArray[np.int64]
    value: NDArray[np.float64]
    count: NDArray[np.int64]
    of_entry: NDArray[np.int64]
    of_zero: NDArray[np.int64]


def bin_sparse(encoded: Sparse, categories: NDArray[Any], max_bins: int | None) -> BinnedFeatures:
    """Bin a sparse matrix of shape (n_rows, n_features).

    Parameters
    ----------
    encoded : csr_array of shape (n_rows, n_features), float32 or float64
    categories : ndarray of shape (n_features,)
        Number of categories, NUMERIC for numeric features.
    max_bins : int or None
    """
    known = _bin_alike(encoded, categories, max_bins)
    if known is not None:
        return known
    by_column = encoded.tocsc()
    n_rows, n_features = encoded.shape
    feature = np.repeat(np.arange(n_features), np.diff(by_column.indptr))
    distinct = _sort_values(feature, by_column.data, n_rows, n_features)
    local_bin, n_bins = _cut_features(distinct, categories, max_bins)
    bins, counts = _collect_bins(distinct, local_bin, n_bins)
    default, n_default = _commonest(counts, bins.offsets)

    # One more place at the end, so that the position -1 stands for missing.
    code_of = np.append(local_bin, MISSING_U32)
    codes, zero_code = code_of[distinct.of_entry], code_of[distinct.of_zero]
    is_listed = is_stored_sparse(n_rows, n_default, n_bins, max_bins)
    is_pair = _are_pairs(distinct, n_rows, categories)
    is_listed = settle_lists(is_listed, is_pair, n_rows, categories, max_bins)
    has_implicit = distinct.of_zero >= 0
    lists_zeros = is_listed & has_implicit & (zero_code != default)

    def column(f: int) -> NDArray[Any]:
        entries = slice(by_column.indptr[f], by_column.indptr[f + 1])
        full = np.full(n_rows, zero_code[f], dtype=np.uint32)
        full[by_column.indices[entries]] = codes[entries]
        return full

    kept = (is_listed & ~lists_zeros)[feature] & (codes != default[feature])
    rows, features, listed = [by_column.indices[kept]], [feature[kept]], [codes[kept]]
    for f in np.flatnonzero(lists_zeros).tolist():
        full = column(f)
        rows.append(np.flatnonzero(full != default[f]))
        features.append(np.full(rows[-1].size, f))
        listed.append(full[rows[-1]])
    slot_of = np.cumsum(is_listed) - 1
    listed_codes = ListedCodes(
        features=np.flatnonzero(is_listed),
        default=default[is_listed],
        rows=np.concatenate(rows),
        slots=slot_of[np.concatenate(features)],
        codes=np.concatenate(listed),
    )
    dtype = dense_dtype(max_bins)
    dense = [(f, column(f).astype(dtype)) for f in np.flatnonzero(~is_listed).tolist()]
    dense_features = np.array([feature for feature, _ in dense], dtype=np.int32)
    tiles = tile_columns([codes for _, codes in dense], n_rows, dense_dtype(max_bins))
    return assemble(n_rows, categories, bins, dense_features, tiles, listed_codes.by_row(n_rows))


def _bin_alike(
    encoded: Sparse, categories: NDArray[Any], max_bins: int | None
) -> BinnedFeatures | None:
    """Bin a matrix whose stored entries are all alike, such as words that occur, as it stands.

    None if there are categories. Features with the stored value in most rows list their zeros.
    """
    n_rows, n_features = encoded.shape
    value = float(encoded.data[0]) if encoded.nnz else 1.0
    if value == 0.0 or not (encoded.data == value).all() or (categories != NUMERIC).any():
        return None
    indices = encoded.indices.astype(np.int32, copy=False)
    n_stored = np.empty(n_features, np.int64)
    _core.count_entries(indices, n_stored)
    n_bins = 1 + ((n_stored > 0) & (n_stored < n_rows))
    zero_code = n_bins - 1 if value < 0 else np.zeros_like(n_bins)
    code = n_bins - 1 - zero_code  # of the stored value
    n_default = np.maximum(n_stored, n_rows - n_stored)
    every = np.ones(n_features, dtype=np.bool_)
    is_listed = is_stored_sparse(n_rows, n_default, n_bins, max_bins)
    is_listed = settle_lists(is_listed, every, n_rows, categories, max_bins)
    is_stored_default = (2 * n_stored > n_rows) | ((2 * n_stored == n_rows) & (code == 0))
    lists_zeros = is_listed & is_stored_default
    offsets = np.concatenate([[0], np.cumsum(n_bins)])
    edges = np.zeros(int(offsets[-1]))
    has_value = n_stored > 0
    edges[(offsets[:-1] + code)[has_value]] = value
    dense = np.flatnonzero(~is_listed).astype(np.int32)
    tiles = np.zeros((-(-dense.size // TILE), n_rows, TILE), dtype=dense_dtype(max_bins))
    for at in np.flatnonzero(zero_code[dense]).tolist():
        tiles[at // TILE, :, at % TILE] = zero_code[dense[at]]
    place = np.cumsum(is_listed) - 1
    if dense.size:
        place[dense] = -1 - np.arange(dense.size)
    n_listed = int((n_rows - n_default)[is_listed].sum())
    indptr = np.empty(n_rows + 1, np.int64)
    slots = np.empty(n_listed, np.int32)
    _core.split_entries(
        encoded.indptr.astype(np.int64),
        indices,
        place.astype(np.int32),
        code.astype(np.uint32),
        np.flatnonzero(lists_zeros).astype(np.int32),
        indptr,
        slots,
        tiles,
    )
    listed = CodesByRow(
        np.flatnonzero(is_listed),
        np.where(lists_zeros, code, zero_code)[is_listed],
        indptr,
        slots,
        None,
    )
    bins = Bins(offsets, edges, edges.copy())
    return assemble(n_rows, categories, bins, dense, tiles, listed)


def _sort_values(
    feature: NDArray[np.int64], stored: NDArray[Any], n_rows: int, n_features: int
) -> _DistinctValues:
    n_implicit = n_rows - np.bincount(feature, minlength=n_features)
    with_implicit = np.flatnonzero(n_implicit)
    present = np.flatnonzero(~np.isnan(stored))
    features = np.concatenate([feature[present], with_implicit])
    values = np.concatenate([stored[present].astype(np.float64), np.zeros(with_implicit.size)])
    values += 0.0  # -0.0 is 0.0
    counts = np.concatenate([np.ones(present.size, np.int64), n_implicit[with_implicit]])
    order = np.lexsort((values, features))
    features, values = features[order], values[order]
    is_new = np.ones(order.size, dtype=np.bool_)
    is_new[1:] = (features[1:] != features[:-1]) | (values[1:] != values[:-1])
    first = np.flatnonzero(is_new)
    position = np.empty(order.size, dtype=np.int64)
    position[order] = np.cumsum(is_new) - 1
    of_entry = np.full(stored.size, -1)
    of_entry[present] = position[: present.size]
    of_zero = np.full(n_features, -1)
    of_zero[with_implicit] = position[present.size :]
    total = np.add.reduceat(counts[order], first) if first.size else np.zeros(0, np.int64)
    return _DistinctValues(features[first], values[first], total, of_entry, of_zero)


def _are_pairs(
    distinct: _DistinctValues, n_rows: int, categories: NDArray[Any]
) -> NDArray[np.bool_]:
    """Tell which features are numeric, have at most two values and are never missing."""
    n_distinct = np.bincount(distinct.feature, minlength=categories.size)
    n_known = np.bincount(distinct.feature, distinct.count, categories.size)
    is_pair: NDArray[np.bool_] = (n_distinct <= 2) & (n_known == n_rows)
    is_pair &= categories == NUMERIC
    return is_pair


def _cut_features(
    distinct: _DistinctValues, categories: NDArray[Any], max_bins: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the bin of each distinct value within its feature, and the bins per feature."""
    n_distinct = np.bincount(distinct.feature, minlength=categories.size)
    offsets = np.concatenate([[0], np.cumsum(n_distinct)])
    local_bin = np.arange(distinct.feature.size) - offsets[distinct.feature]
    is_category = (categories != NUMERIC)[distinct.feature]
    local_bin[is_category] = distinct.value[is_category].astype(np.int64)
    n_bins = np.where(categories == NUMERIC, n_distinct, categories).astype(np.int64)
    if max_bins is not None:
        for f in np.flatnonzero((n_distinct > max_bins) & (categories == NUMERIC)):
            values = slice(offsets[f], offsets[f + 1])
            ends = np.empty(max_bins, dtype=np.int64)
            _core.cut_into_bins(distinct.count[values], ends)
            local_bin[values] = np.searchsorted(ends, np.arange(n_distinct[f]), side="right")
            n_bins[f] = ends.size
    return local_bin, n_bins


def _collect_bins(
    distinct: _DistinctValues, local_bin: NDArray[np.int64], n_bins: NDArray[np.int64]
) -> tuple[Bins, NDArray[np.int64]]:
    """Give the bins of all features and the number of rows in each."""
    offsets = np.concatenate([[0], np.cumsum(n_bins)])
    low = (np.arange(offsets[-1]) - np.repeat(offsets[:-1], n_bins)).astype(np.float64)
    high = low.copy()  # the codes of categories stay so; numeric bins are overwritten
    place = offsets[distinct.feature] + local_bin
    high[place] = distinct.value
    low[place[::-1]] = distinct.value[::-1]  # the last assignment to a bin is what stays
    counts = np.zeros(low.size, dtype=np.int64)
    np.add.at(counts, place, distinct.count)
    return Bins(offsets, low, high), counts


def _commonest(
    counts: NDArray[np.int64], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the first commonest code of each feature, and its number of rows."""
    n_features = offsets.size - 1
    n_default = np.zeros(n_features, dtype=np.int64)
    default = np.zeros(n_features, dtype=np.int64)
    has_bins = np.flatnonzero(np.diff(offsets))
    if has_bins.size:
        n_default[has_bins] = np.maximum.reduceat(counts, offsets[:-1][has_bins])
    feature = np.repeat(np.arange(n_features), np.diff(offsets))
    best = np.flatnonzero(counts == n_default[feature])[::-1]  # the first of equals stays
    default[feature[best]] = best - offsets[feature[best]]
    return default, n_default
