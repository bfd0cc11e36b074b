"""Leaves that are averaged once, where many rows to predict would average them again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.trees.leaves import DenseLeaves

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyleaf.trees.model import Trees

#: Leaves with more rows are averaged beforehand.
_MOST_ROWS_ADDED = 8


@dataclass(frozen=True, eq=False)
class CondensedLeaves:
    """What the core averages for a prediction: the mean of a leaf is the sum of shares * values.

    Attributes
    ----------
    leaf_offsets : ndarray of shape (n_leaves + 2,), int64
        Behind the last leaf there is one without rows.
    leaf_rows : ndarray of shape (n_entries,), int32
        Rows of `values`.
    shares : ndarray of shape (n_entries,), float64
    values : ndarray of shape (n_values, n_channels), float64
    """

    leaf_offsets: NDArray[np.int64]
    leaf_rows: NDArray[np.int32]
    shares: NDArray[np.float64]
    values: NDArray[np.float64]

    @cached_property
    def core_leaves(self) -> _core.LeafAverages:
        """The same as the core reads it, every index checked."""
        return _core.LeafAverages(self.leaf_offsets, self.leaf_rows, self.shares, self.values)

    @classmethod
    def of_means(cls, trees: Iterable[Trees]) -> CondensedLeaves:
        """Take the means of all leaves of trees with dense leaves; what is NaN becomes 0."""
        means = np.vstack(
            [tree.leaves.leaf_values for tree in trees if isinstance(tree.leaves, DenseLeaves)]
        )
        n_leaves = means.shape[0]
        rows = np.arange(n_leaves, dtype=np.int32)
        offsets = np.append(np.arange(n_leaves + 1), n_leaves)
        return cls(offsets, rows, np.ones(n_leaves), np.nan_to_num(means))

    @classmethod
    def of_rows(
        cls,
        leaf_offsets: NDArray[np.int64],
        leaf_rows: NDArray[np.int32],
        shares: NDArray[np.float64],
        values: NDArray[np.float64],
    ) -> CondensedLeaves:
        """Keep the rows of small leaves, and the mean of the rows of large ones."""
        sizes = np.diff(leaf_offsets)
        is_large = sizes > _MOST_ROWS_ADDED
        if not is_large.any():
            return cls(np.append(leaf_offsets, leaf_rows.size), leaf_rows, shares, values)
        by_leaf: Any = sparse.csr_array(
            (shares, leaf_rows, leaf_offsets), shape=(sizes.size, values.shape[0])
        )
        means = by_leaf[np.flatnonzero(is_large)] @ values
        first = leaf_offsets[:-1][is_large]
        is_kept = np.repeat(~is_large, sizes)
        is_kept[first] = True
        rows, shares = leaf_rows.copy(), shares.copy()
        rows[first] = values.shape[0] + np.arange(first.size)
        shares[first] = 1.0
        offsets = np.concatenate([[0], np.cumsum(np.where(is_large, 1, sizes))])
        offsets = np.append(offsets, offsets[-1])
        return cls(offsets, rows[is_kept], shares[is_kept], np.vstack([values, means]))
