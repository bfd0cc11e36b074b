"""The layout of binned features, how it is put together, and how dense columns are binned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.checks.threads import Pieces

#: Codes of missing values: in tiles of bytes, and everywhere else.
MISSING_U8 = _core.MISSING_U8
MISSING_U32 = _core.MISSING_U32

#: Number of categories of a numeric feature, which has none.
NUMERIC = -1
#: A feature is stored sparse if at most this share of rows differs from its commonest code.
SPARSE_SHARE = 0.2
#: With this many sparse features to a dense one, trees read what rows list, and features of two
#: values are listed, too.
SPARSE_PER_DENSE = _core.SPARSE_PER_DENSE

#: From so many rows on, so few columns of an array are bytes, whatever they hold.
MANY_ROWS, FEW_COLUMNS = 65_536, 1024
#: Up to this many rows are kept in the order of every dense feature.
MOST_ORDERED_ROWS = _core.MOST_ORDERED_ROWS
#: Dense features are stored in tiles of this many, as [tile][row][lane].
TILE = _core.TILE_FEATURES

#: Values that are sorted together, of as many columns as a cache line of X holds or more.
_VALUES_AT_A_TIME = 1 << 21
_LEAST_COLUMNS = 8
#: Values from which on sorting is worth starting threads.
_WORTH_THREADS = 1 << 16


@dataclass(frozen=True, eq=False)
class BinnedFeatures:
    """Binned features, as the grower reads them.

    Attributes
    ----------
    n_rows, n_features : int
    is_categorical : ndarray of shape (n_features,), uint8
    bin_offsets : ndarray of shape (n_features + 1,), int64
        The bins of feature f are bin_offsets[f] up to bin_offsets[f + 1]; the code of a value is
        relative to that. Missing has no bin, so that a feature without values has none.
    bin_low, bin_high : ndarray of shape (n_bins,), float64
        Smallest and largest training value in each bin, ascending within a feature. The bins of a
        categorical feature are its category codes.
    dense_features : ndarray of shape (n_dense,), int32
    dense_codes : ndarray of shape (ceil(n_dense / 4), n_rows, 4), uint8 or uint32
        Feature dense_features[4 t + j] is [t, :, j]; unused lanes are 0; the largest number of
        the dtype is missing.
    sparse_features : ndarray of shape (n_sparse,), int32
    sparse_default : ndarray of shape (n_sparse,), uint32
        Code of the rows that are not listed.
    sparse_indptr : ndarray of shape (n_rows + 1,), int64
    sparse_slot : ndarray of shape (n_listed,), int32
        Position in sparse_features, ascending within a row.
    sparse_code : ndarray of shape (n_listed,), uint32, or None
        Never the default; MISSING_U32 is missing. None if every sparse feature has two values at
        most, such as words: what is listed then has the one that is not the default.
    """

    n_rows: int
    n_features: int
    is_categorical: NDArray[np.uint8]
    bin_offsets: NDArray[np.int64]
    bin_low: NDArray[np.float64]
    bin_high: NDArray[np.float64]
    dense_features: NDArray[np.int32]
    dense_codes: NDArray[np.uint8] | NDArray[np.uint32]
    sparse_features: NDArray[np.int32]
    sparse_default: NDArray[np.uint32]
    sparse_indptr: NDArray[np.int64]
    sparse_slot: NDArray[np.int32]
    sparse_code: NDArray[np.uint32] | None

    def at(self, rows: NDArray[Any]) -> BinnedFeatures:
        """Give the features of some rows, in the bins of all."""
        counts = np.diff(self.sparse_indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        entries = np.arange(indptr[-1]) + np.repeat(
            self.sparse_indptr[:-1][rows] - indptr[:-1], counts
        )
        codes: NDArray[Any] = np.ascontiguousarray(self.dense_codes[:, rows])
        return replace(
            self,
            n_rows=len(rows),
            dense_codes=codes,
            sparse_indptr=indptr,
            sparse_slot=self.sparse_slot[entries],
            sparse_code=None if self.sparse_code is None else self.sparse_code[entries],
        )


@dataclass(frozen=True)
class Bins:
    """The bins of all features, one feature after the other.

    Attributes
    ----------
    offsets : ndarray of shape (n_features + 1,), int64
    low, high : ndarray of shape (n_bins,), float64
    """

    offsets: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True)
class ListedCodes:
    """Codes that differ from their feature's default, in any order.

    Attributes
    ----------
    features : ndarray of shape (n_sparse,), ascending
    default : ndarray of shape (n_sparse,)
    rows, slots, codes : ndarray of shape (n_listed,)
        A slot is a position in `features`.
    """

    features: NDArray[Any]
    default: NDArray[Any]
    rows: NDArray[Any]
    slots: NDArray[Any]
    codes: NDArray[Any]

    def by_row(self, n_rows: int) -> CodesByRow:
        """Sort the codes by row and slot."""
        if self.features.size == 0:
            nothing = np.zeros(n_rows + 1), np.zeros(0), np.zeros(0)
            return CodesByRow(self.features, self.default, *nothing)
        by_row = sparse.coo_array(
            (self.codes.astype(np.uint32), (self.rows, self.slots)),
            shape=(n_rows, self.features.size),
        ).tocsr()
        return CodesByRow(self.features, self.default, by_row.indptr, by_row.indices, by_row.data)


@dataclass(frozen=True)
class CodesByRow:
    """Codes that differ from their feature's default, row by row and slot by slot.

    Attributes
    ----------
    features : ndarray of shape (n_sparse,), ascending
    default : ndarray of shape (n_sparse,)
    indptr : ndarray of shape (n_rows + 1,)
    slots, codes : ndarray of shape (n_listed,)
        A slot is a position in `features`. The codes are None if every feature has two at most.
    """

    features: NDArray[Any]
    default: NDArray[Any]
    indptr: NDArray[Any]
    slots: NDArray[Any]
    codes: NDArray[Any] | None


def is_stored_sparse(
    n_rows: int, n_default: NDArray[Any], n_bins: NDArray[Any], max_bins: int | None
) -> NDArray[np.bool_]:
    """Tell which features are stored as a list of what differs from their commonest code.

    Parameters
    ----------
    n_rows : int
    n_default : ndarray of shape (n_features,)
        Rows with the commonest code.
    n_bins : ndarray of shape (n_features,)
        A feature with too many bins (categories) for a byte is listed in any case.
    max_bins : int or None
    """
    few_differ = n_rows - n_default <= SPARSE_SHARE * n_rows
    return few_differ | (n_bins > MISSING_U8) if max_bins is not None else few_differ


def settle_lists(
    is_listed: NDArray[np.bool_],
    is_pair: NDArray[np.bool_],
    n_rows: int,
    categories: NDArray[Any],
    max_bins: int | None,
) -> NDArray[np.bool_]:
    """Tell which features are listed after all, by what the others are.

    Where most are not, none is: boosted trees then find all rows in the order of every feature,
    which is quicker than two ways of storage in one tree. Where nearly all are, features of two
    values are, too: all of them are then searched together.

    Parameters
    ----------
    is_listed : ndarray of shape (n_features,), bool
    is_pair : ndarray of shape (n_features,), bool
        Numeric features of at most two values, none of them missing.
    n_rows : int
    categories : ndarray of shape (n_features,)
        Number of categories, NUMERIC for numeric features.
    max_bins : int or None
    """
    n_listed = int(is_listed.sum())
    can_be_ordered = max_bins is not None and n_rows <= MOST_ORDERED_ROWS
    if can_be_ordered and (categories == NUMERIC).all() and 2 * n_listed <= is_listed.size:
        return np.zeros_like(is_listed)
    if n_listed >= SPARSE_PER_DENSE * (is_listed.size - n_listed):
        return is_listed | is_pair
    return is_listed


def dense_dtype(max_bins: int | None) -> Any:
    """Give the type of dense codes; casting a uint32 code to it keeps missing the largest."""
    return np.uint32 if max_bins is None else np.uint8


def assemble(
    n_rows: int,
    categories: NDArray[Any],
    bins: Bins,
    dense_features: NDArray[np.int32],
    tiles: NDArray[Any],
    listed: CodesByRow,
) -> BinnedFeatures:
    """Put bins, tiles of dense codes and listed codes together.

    Parameters
    ----------
    n_rows : int
    categories : ndarray of shape (n_features,)
        Number of categories, NUMERIC for numeric features.
    bins : Bins
    dense_features : ndarray of shape (n_dense,), int32, ascending
    tiles : ndarray of shape (ceil(n_dense / 4), n_rows, 4)
    listed : CodesByRow
    """
    codes = None if _have_two_codes(bins, listed) else listed.codes
    return BinnedFeatures(
        n_rows=n_rows,
        n_features=categories.size,
        is_categorical=(categories != NUMERIC).astype(np.uint8),
        bin_offsets=bins.offsets,
        bin_low=bins.low,
        bin_high=bins.high,
        dense_features=dense_features,
        dense_codes=tiles,
        sparse_features=listed.features.astype(np.int32),
        sparse_default=listed.default.astype(np.uint32),
        sparse_indptr=listed.indptr.astype(np.int64, copy=False),
        sparse_slot=listed.slots.astype(np.int32, copy=False),
        sparse_code=None if codes is None else codes.astype(np.uint32, copy=False),
    )


def _have_two_codes(bins: Bins, listed: CodesByRow) -> bool:
    """Tell whether all listed features have two codes at most and are never missing."""
    if listed.codes is None:
        return True
    n_bins = np.diff(bins.offsets)[listed.features]
    codes_and_defaults = (listed.codes, listed.default)
    is_known = all((codes != MISSING_U32).all() for codes in codes_and_defaults)
    return bool(is_known and (n_bins <= 2).all())


def tile_columns(columns: Sequence[NDArray[Any]], n_rows: int, dtype: Any) -> NDArray[Any]:
    """Arrange dense code columns, each of shape (n_rows,), in tiles of four."""
    tiles = np.zeros((-(-len(columns) // TILE), n_rows, TILE), dtype=dtype)
    for place, codes in enumerate(columns):
        tiles[place // TILE, :, place % TILE] = codes
    return tiles


# Columns of a dense array ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cuts:
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
    is_pair = np.zeros(n_features, dtype=np.bool_)
    is_pair[pairs.features] = True
    numeric = np.flatnonzero(~is_pair & (categories == NUMERIC))
    cuts = (
        _cut_numeric(encoded, numeric, max_bins, n_threads),
        _cut_categorical(encoded, np.flatnonzero(categories != NUMERIC), categories),
    )
    bins = _join_bins(n_features, pairs, cuts)
    is_sparse = np.zeros(n_features, dtype=np.bool_)
    is_sparse[pairs.features] = pairs.is_sparse
    for cut in cuts:
        is_sparse[cut.features] = is_stored_sparse(n_rows, cut.n_commonest, cut.n_bins, max_bins)
    if max_bins is not None and n_rows >= MANY_ROWS and n_features <= FEW_COLUMNS:
        is_sparse &= categories > MISSING_U8  # histograms of bytes are quicker than lists
    else:
        is_sparse = settle_lists(is_sparse, is_pair, n_rows, categories, max_bins)
    pairs = replace(pairs, is_sparse=is_sparse[pairs.features])
    dense = np.flatnonzero(~is_sparse).astype(np.int32)
    tiles = np.zeros((-(-dense.size // TILE), n_rows, TILE), dtype=dense_dtype(max_bins))
    if dense.size:
        _core.encode_columns(encoded, dense, bins.offsets, bins.high, tiles, n_threads)
    default = np.zeros(n_features, dtype=np.uint32)
    default[pairs.features] = pairs.default
    for cut in cuts:
        default[cut.features] = cut.commonest
    listed = _list_codes(encoded, is_sparse, default, pairs, bins)
    return assemble(n_rows, categories, bins, dense, tiles, listed)


def _cut_numeric(
    encoded: NDArray[Any], features: NDArray[np.int64], max_bins: int | None, n_threads: int
) -> _Cuts:
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
    return _Cuts(features, n_bins, low, high, commonest, n_commonest)


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
) -> _Cuts:
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
    return _Cuts(features, n_bins, codes, codes, commonest, n_commonest)


def _find_pairs(
    encoded: NDArray[Any], is_numeric: NDArray[np.bool_], max_bins: int | None, n_threads: int
) -> _Pairs:
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
    return _Pairs(features, values, is_sparse, default, n_listed)


def _join_bins(n_features: int, pairs: _Pairs, cuts: Sequence[_Cuts]) -> Bins:
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
    pairs: _Pairs,
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
        its_rows, its_codes = _list_column(
            encoded[:, feature], bins.low[of_feature], bins.high[of_feature], default[feature]
        )
        listed.append((its_rows, np.full(its_rows.size, slot_of[feature]), its_codes))
    by_feature = ListedCodes(
        all_features.astype(np.int32), default[is_sparse], *map(np.concatenate, zip(*listed))
    )
    return by_feature.by_row(len(encoded))


def _list_column(
    values: NDArray[Any], low: NDArray[np.float64], high: NDArray[np.float64], default: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """List the rows with another code than the default, and their codes; MISSING_U32 is NaN."""
    rows = np.flatnonzero(~((values >= low[default]) & (values <= high[default])))
    codes = np.searchsorted(high.astype(values.dtype), values[rows]).astype(np.uint32)
    codes[np.isnan(values[rows])] = MISSING_U32
    return rows, codes
