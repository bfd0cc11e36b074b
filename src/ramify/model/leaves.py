"""What leaves hold: dense vectors of outputs, or the training rows that fell into them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ramify.model.arrays import expect_array, expect_below, expect_offsets

if TYPE_CHECKING:
    from collections.abc import Mapping

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]


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
        values = expect_array(arrays, "leaf_values", np.float64, 2)
        weights = expect_array(arrays, "leaf_weights", np.float64, 2)
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
    """The training rows of each leaf, and the sparse training outputs they point to.

    A prediction is the weighted mean of the outputs of a leaf's rows. The training outputs are
    part of the model and of its file.

    Attributes
    ----------
    leaf_offsets : ndarray of shape (n_leaves + 1,), int64
    leaf_rows : ndarray, int32
        Leaf l has the rows leaf_rows[leaf_offsets[l]:leaf_offsets[l + 1]].
    row_weights : ndarray of shape (n_train,), float64
    targets : csr_array of shape (n_train, n_channels), float64
    """

    leaf_offsets: NDArray[np.int64]
    leaf_rows: NDArray[np.int32]
    row_weights: NDArray[np.float64]
    targets: CSR

    kind = "rows"

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.leaf_offsets.size - 1

    @property
    def n_channels(self) -> int:
        """Number of channels of the outputs."""
        return int(self.targets.shape[1])

    @cached_property
    def _row_means(self) -> CSR:
        """Weights by which a leaf averages the training rows: (n_leaves, n_train)."""
        weights = self.row_weights[self.leaf_rows]
        totals = np.add.reduceat(weights, self.leaf_offsets[:-1])
        means = weights / np.repeat(totals, np.diff(self.leaf_offsets))
        return sparse.csr_array(
            (means, self.leaf_rows, self.leaf_offsets),
            shape=(self.n_leaves, self.targets.shape[0]),
        )

    def predict(self, leaves: NDArray[Any]) -> CSR:
        """Give the outputs of rows by their leaves: csr (n_rows, n_channels)."""
        hit, place = np.unique(leaves, return_inverse=True)
        values: CSR = sparse.csr_array(self._row_means[hit] @ self.targets)
        return values[place]

    def leaf_sums(self, start: int, stop: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sum weights and weighted outputs, each of shape (n_leaves, stop - start)."""
        weights = self.row_weights[self.leaf_rows]
        totals = np.add.reduceat(weights, self.leaf_offsets[:-1])
        means = (self._row_means @ self.targets[:, start:stop]).toarray()
        return np.broadcast_to(totals[:, None], means.shape), means * totals[:, None]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Name the arrays, for a model file."""
        return {
            "leaf_offsets": self.leaf_offsets,
            "leaf_rows": self.leaf_rows,
            "row_weights": self.row_weights,
            "target_indptr": self.targets.indptr.astype(np.int64),
            "target_indices": self.targets.indices.astype(np.int32),
            "target_data": self.targets.data.astype(np.float64),
            "target_shape": np.array(self.targets.shape, dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_leaves: int) -> RowLeaves:
        """Rebuild and check leaves from named arrays."""
        offsets = expect_array(arrays, "leaf_offsets", np.int64, 1)
        rows = expect_array(arrays, "leaf_rows", np.int32, 1)
        weights = expect_array(arrays, "row_weights", np.float64, 1)
        shape = expect_array(arrays, "target_shape", np.int64, 1)
        indptr = expect_array(arrays, "target_indptr", np.int64, 1)
        indices = expect_array(arrays, "target_indices", np.int32, 1)
        data = expect_array(arrays, "target_data", np.float64, 1)
        if shape.size != 2 or shape.min() < 1 or shape[0] != weights.size:
            raise ValueError("Expected the shape of the training outputs to fit their weights.")
        expect_offsets(offsets, n_leaves, rows.size, "leaf_offsets", least=1)
        expect_offsets(indptr, int(shape[0]), indices.size, "target_indptr", least=0)
        if data.size != indices.size or not np.all(np.isfinite(data)):
            raise ValueError("Expected as many finite target values as target indices.")
        expect_below(rows, int(shape[0]), "leaf_rows")
        expect_below(indices, int(shape[1]), "target_indices")
        if not np.all((weights[rows] > 0) & np.isfinite(weights[rows])):
            raise ValueError("Expected the rows in leaves to have positive, finite weights.")
        targets: CSR = sparse.csr_array(
            (data, indices, indptr), shape=(int(shape[0]), int(shape[1]))
        )
        return cls(offsets, rows, weights, targets)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


Leaves: TypeAlias = DenseLeaves | RowLeaves
