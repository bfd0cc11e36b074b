"""What leaves hold: dense vectors of outputs, or the training rows that fell into them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.data.targets import Targets
from polyleaf.files.arrays import StoredArray, StoredArrays, expect_below, expect_offsets

if TYPE_CHECKING:
    from collections.abc import Mapping

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]


_DENSE_ARRAYS = StoredArrays(
    "Leaves of a single tree: dense",
    {
        "leaf_values": StoredArray(np.float64, "n_leaves, n_channels", "Means of every channel."),
        "leaf_weights": StoredArray(
            np.float64, "n_leaves, n_channels or 1", "Weight that each mean is of."
        ),
    },
)
_ROW_ARRAYS = StoredArrays(
    "Leaves of a single tree: rows",
    {
        "leaf_offsets": StoredArray(np.int64, "n_leaves + 1", "First entry of each leaf."),
        "leaf_rows": StoredArray(np.int32, "n_entries", "Training rows, leaf after leaf."),
        "leaf_row_weights": StoredArray(np.float64, "n_entries", "Their weights, positive."),
    },
)


@dataclass(frozen=True, eq=False)
class DenseLeaves:
    """One vector of outputs per leaf.

    Attributes
    ----------
    leaf_values : ndarray of shape (n_leaves, n_channels), float64
    leaf_weights : ndarray of shape (n_leaves, n_channels) or (n_leaves, 1), float64
        Sum of the training weights behind each value; one column if all channels share it.
    """

    leaf_values: NDArray[np.float64]
    leaf_weights: NDArray[np.float64]

    kind = "dense"

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.leaf_values.shape[0])

    @property
    def n_channels(self) -> int:
        """Number of channels of the outputs."""
        return int(self.leaf_values.shape[1])

    def predict(self, leaves: NDArray[Any]) -> NDArray[np.float64]:
        """Give the outputs of rows by their leaves, of shape (n_rows, n_channels)."""
        return np.take(self.leaf_values, leaves, axis=0)

    def means(self) -> NDArray[np.float64]:
        """Give the outputs of every leaf, of shape (n_leaves, n_channels)."""
        return self.leaf_values

    def leaf_sums(self, start: int, stop: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sum weights and weighted outputs, each of shape (n_leaves, stop - start)."""
        values = self.leaf_values[:, start:stop]
        shared = self.leaf_weights.shape[1] == 1
        weights = self.leaf_weights if shared else self.leaf_weights[:, start:stop]
        weights = np.broadcast_to(weights, values.shape)
        return weights, np.where(weights > 0, weights * values, 0.0)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Name the arrays, for a model file."""
        return {"leaf_values": self.leaf_values, "leaf_weights": self.leaf_weights}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_leaves: int) -> DenseLeaves:
        """Rebuild and check leaves from named arrays."""
        values = _DENSE_ARRAYS.read(arrays, "leaf_values")
        weights = _DENSE_ARRAYS.read(arrays, "leaf_weights")
        if values.shape[0] != n_leaves or values.shape[1] < 1 or np.isinf(values).any():
            raise ValueError(
                f"Expected finite values (or NaN) of {n_leaves} leaves; got the shape "
                f"{values.shape}."
            )
        if weights.shape not in (values.shape, (n_leaves, 1)):
            raise ValueError(
                f"Expected leaf weights of shape {values.shape}; got {weights.shape}."
            )
        if not np.all((weights >= 0) & np.isfinite(weights)):
            raise ValueError("Expected leaf weights to be finite and not negative.")
        return cls(values, weights)


@dataclass(frozen=True, eq=False)
class RowLeaves:
    """The training rows of each leaf, and the training outputs they point to.

    A prediction is the weighted mean of the outputs of a leaf's rows. The training outputs are
    part of the model and of its file.

    Attributes
    ----------
    leaf_offsets : ndarray of shape (n_leaves + 1,), int64
    leaf_rows : ndarray of shape (n_entries,), int32
        Leaf l has the rows leaf_rows[leaf_offsets[l]:leaf_offsets[l + 1]].
    leaf_row_weights : ndarray of shape (n_entries,), float64
        Positive weights of those rows.
    outputs : Targets
        All observed.
    """

    leaf_offsets: NDArray[np.int64]
    leaf_rows: NDArray[np.int32]
    leaf_row_weights: NDArray[np.float64]
    outputs: Targets

    kind = "rows"

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.leaf_offsets.size - 1

    @property
    def n_channels(self) -> int:
        """Number of channels of the outputs."""
        return self.outputs.n_channels

    @cached_property
    def leaf_totals(self) -> NDArray[np.float64]:
        """Weight of each leaf, of shape (n_leaves,)."""
        return np.add.reduceat(self.leaf_row_weights, self.leaf_offsets[:-1])

    @cached_property
    def row_shares(self) -> CSR:
        """Shares by which a leaf averages the training rows: csr (n_leaves, n_train)."""
        shares = self.leaf_row_weights / np.repeat(self.leaf_totals, np.diff(self.leaf_offsets))
        return sparse.csr_array(
            (shares, self.leaf_rows, self.leaf_offsets),
            shape=(self.n_leaves, self.outputs.n_rows),
        )

    def predict(self, leaves: NDArray[Any]) -> Any:
        """Give the outputs of rows by their leaves: (n_rows, n_channels), sparse if Y was."""
        hit, place = np.unique(leaves, return_inverse=True)
        means = self.row_shares[hit] @ self.outputs.values
        return (sparse.csr_array(means) if self.outputs.is_sparse else means)[place]

    def means(self) -> Any:
        """Give the outputs of every leaf: (n_leaves, n_channels), sparse if Y was."""
        means = self.row_shares @ self.outputs.values
        return sparse.csr_array(means) if self.outputs.is_sparse else means

    def leaf_sums(self, start: int, stop: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sum weights and weighted outputs, each of shape (n_leaves, stop - start)."""
        means: Any = self.row_shares @ self.outputs.values[:, start:stop]
        if self.outputs.is_sparse:
            means = means.toarray()
        totals = self.leaf_totals[:, None]
        return np.broadcast_to(totals, means.shape), means * totals

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Name the arrays, for a model file."""
        return {
            "leaf_offsets": self.leaf_offsets,
            "leaf_rows": self.leaf_rows,
            "leaf_row_weights": self.leaf_row_weights,
            **self.outputs.to_arrays(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_leaves: int) -> RowLeaves:
        """Rebuild and check leaves from named arrays."""
        outputs = Targets.from_arrays(arrays)
        if not outputs.share_weights:
            raise ValueError("Expected leaves that hold rows to have all outputs observed.")
        offsets = _ROW_ARRAYS.read(arrays, "leaf_offsets")
        rows = _ROW_ARRAYS.read(arrays, "leaf_rows")
        weights = _ROW_ARRAYS.read(arrays, "leaf_row_weights")
        expect_offsets(offsets, n_leaves, rows.size, "leaf_offsets", least=1)
        expect_below(rows, outputs.n_rows, "leaf_rows")
        if weights.size != rows.size or not np.all((weights > 0) & np.isfinite(weights)):
            raise ValueError("Expected the rows in leaves to have positive, finite weights.")
        return cls(offsets, rows, weights, outputs)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


Leaves: TypeAlias = DenseLeaves | RowLeaves
