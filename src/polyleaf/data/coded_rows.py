"""Rows of X that exist only as codes, given as numbers some at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.memory import check_memory
from polyleaf.data.binned import MISSING_U32, TILE, BinnedFeatures

#: Rows that are numbers at the same time.
BLOCK_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Stand in for the encoded X of binned features whose numbers were not kept.

    A row has, for each feature, the largest value of its bin. No split separates the values of a
    bin among the rows of its node, so trees send the rows that they were grown on where they sent
    the original ones. Other rows of the same bins may go another way where a threshold lies
    within a bin of which the node has no row.

    Attributes
    ----------
    features : BinnedFeatures
        With codes in bytes.
    """

    features: BinnedFeatures

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features)."""
        return self.features.n_rows, self.features.n_features

    def __len__(self) -> int:
        return self.features.n_rows

    def __getitem__(self, rows: Any) -> NDArray[np.float64]:
        """Give some rows, by a slice, indices or a mask, as an array (n_chosen, n_features)."""
        features = self.features
        index = np.arange(features.n_rows)[rows]
        decoded = np.full((index.size, features.n_features), np.nan)
        # A slice copies bytes one behind the other; an index gathers them.
        chosen = rows if isinstance(rows, slice) else index
        for place, feature in enumerate(features.dense_features.tolist()):
            codes = features.dense_codes[place // TILE, chosen, place % TILE]
            decoded[:, feature] = self._values_of(feature)[codes]
        if features.sparse_features.size:
            self._decode_listed(index, decoded)
        return decoded

    def _values_of(self, feature: int) -> NDArray[np.float64]:
        """Give the value of every code of a byte; those that are no bin are missing."""
        offsets = self.features.bin_offsets
        high = self.features.bin_high[offsets[feature] : offsets[feature + 1]]
        return np.concatenate([high, np.full(max(0, 256 - high.size), np.nan)])

    def _decode_listed(self, index: NDArray[Any], decoded: NDArray[np.float64]) -> None:
        features = self.features
        default = features.sparse_default
        for slot, feature in enumerate(features.sparse_features.tolist()):
            if default[slot] != MISSING_U32:
                decoded[:, feature] = self._values_of(feature)[default[slot]]
        first, last = features.sparse_indptr[index], features.sparse_indptr[index + 1]
        counts = last - first
        starts = np.cumsum(counts) - counts
        entries = np.arange(counts.sum()) + np.repeat(first - starts, counts)
        slots = features.sparse_slot[entries]
        codes = (
            1 - default[slots] if features.sparse_code is None else features.sparse_code[entries]
        )
        listed = features.sparse_features[slots]
        is_known = codes != MISSING_U32
        at = features.bin_offsets[listed] + np.where(is_known, codes, 0)
        values = np.where(is_known, features.bin_high[at], np.nan)
        decoded[np.repeat(np.arange(index.size), counts), listed] = values


def by_blocks(encoded: Any, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
    """Apply a function of rows to encoded rows; to coded ones, block by block.

    Parameters
    ----------
    encoded : ndarray, csr_array or CodedRows of shape (n_rows, n_features)
    function : callable
        From encoded rows to an array with as many rows.
    """
    if not isinstance(encoded, CodedRows):
        return function(encoded)
    starts = range(0, len(encoded), BLOCK_ROWS)
    return np.concatenate([function(encoded[at : at + BLOCK_ROWS]) for at in starts])


def whole_rows(encoded: Any) -> Any:
    """Give encoded rows as they are, and coded ones as an array, if it fits into the memory."""
    if not isinstance(encoded, CodedRows):
        return encoded
    n_rows, n_features = encoded.shape
    check_memory(
        8 * n_rows * n_features,
        f"All {n_rows} rows of X as numbers, which this needs, take",
        "Leave out what asks for predictions of all training rows at once, such as oob_score, or "
        "predict X batch by batch.",
    )
    return encoded[:]
