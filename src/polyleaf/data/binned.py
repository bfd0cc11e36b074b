"""The layout of binned features, and how it is put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core

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

#: Up to this many rows are kept in the order of every dense feature.
MOST_ORDERED_ROWS = _core.MOST_ORDERED_ROWS
#: Dense features are stored in tiles of this many, as [tile][row][lane].
TILE = _core.TILE_FEATURES


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
