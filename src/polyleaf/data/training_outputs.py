"""Training outputs that live in a model whose leaves hold training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.files.arrays import expect_array, expect_below, expect_offsets

if TYPE_CHECKING:
    from collections.abc import Mapping

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]


@dataclass(frozen=True, eq=False)
class TrainingOutputs:
    """Outputs and weights of the training rows.

    Attributes
    ----------
    values : ndarray of shape (n_train, n_channels), float64, or csr_array
        0 where not observed.
    observed : ndarray of shape (n_train, n_channels), bool, or None
        None if everything is.
    weights : ndarray of shape (n_train,) or (n_train, n_channels), float64, or None
    """

    values: NDArray[np.float64] | CSR
    observed: NDArray[np.bool_] | None = None
    weights: NDArray[np.float64] | None = None

    @property
    def n_train(self) -> int:
        """Number of training rows."""
        return int(self.values.shape[0])

    @property
    def n_channels(self) -> int:
        """Number of channels of the outputs."""
        return int(self.values.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether the values are a sparse matrix."""
        return not isinstance(self.values, np.ndarray)

    @property
    def share_weights(self) -> bool:
        """Whether all channels of a row weigh the same."""
        return self.observed is None and (self.weights is None or self.weights.ndim == 1)

    def equals(self, other: TrainingOutputs) -> bool:
        """Tell whether values, mask and weights are the same."""
        if self.is_sparse != other.is_sparse or self.values.shape != other.values.shape:
            return False
        different: Any = self.values != other.values
        n_different = different.nnz if self.is_sparse else np.count_nonzero(different)
        return (
            n_different == 0
            and _both_none_or_equal(self.observed, other.observed)
            and _both_none_or_equal(self.weights, other.weights)
        )

    def channel_weights(self, channel: int) -> NDArray[np.float64]:
        """Weight of every row in one channel, 0 where it is not observed; of shape (n_train,)."""
        weights = np.ones(self.n_train)
        if self.weights is not None:
            weights = weights * (
                self.weights if self.weights.ndim == 1 else self.weights[:, channel]
            )
        return weights if self.observed is None else weights * self.observed[:, channel]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Name the arrays, for a model file."""
        arrays: dict[str, NDArray[Any]] = {}
        if isinstance(self.values, np.ndarray):
            arrays["output_values"] = self.values
        else:
            arrays |= {
                "output_indptr": self.values.indptr.astype(np.int64),
                "output_indices": self.values.indices.astype(np.int32),
                "output_data": self.values.data.astype(np.float64),
                "output_shape": np.array(self.values.shape, dtype=np.int64),
            }
        if self.observed is not None:
            arrays["output_observed"] = self.observed.view(np.uint8)
        if self.weights is not None:
            name = "row_weights" if self.weights.ndim == 1 else "entry_weights"
            arrays[name] = self.weights
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> TrainingOutputs:
        """Rebuild and check outputs from named arrays.

        Raises
        ------
        ValueError
            If anything is absent, of another type or shape, or out of range.
        """
        values: NDArray[np.float64] | CSR
        if "output_values" in arrays:
            values = expect_array(arrays, "output_values", np.float64, 2)
            entries = values
        else:
            values = _sparse_from_arrays(arrays)
            entries = values.data
        if min(values.shape) < 1 or not np.all(np.isfinite(entries)):
            raise ValueError("Expected at least one training output, and only finite ones.")
        observed = None
        if "output_observed" in arrays:
            mask = expect_array(arrays, "output_observed", np.uint8, 2)
            if "output_values" not in arrays or mask.shape != values.shape or mask.max() > 1:
                raise ValueError("Expected 0 or 1 for every training output that is or is not.")
            observed = mask.view(np.bool_)
        return cls(values, observed, _weights_from_arrays(arrays, values.shape))


def _both_none_or_equal(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def _sparse_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> CSR:
    shape = expect_array(arrays, "output_shape", np.int64, 1)
    indptr = expect_array(arrays, "output_indptr", np.int64, 1)
    indices = expect_array(arrays, "output_indices", np.int32, 1)
    data = expect_array(arrays, "output_data", np.float64, 1)
    if shape.size != 2 or not 1 <= shape.min() <= shape.max() < 2**31:
        raise ValueError("Expected the shape of the training outputs: two positive numbers.")
    n_rows, n_channels = shape.tolist()
    expect_offsets(indptr, n_rows, indices.size, "output_indptr", least=0)
    expect_below(indices, n_channels, "output_indices")
    if data.size != indices.size:
        raise ValueError("Expected as many training outputs as there are indices of them.")
    return sparse.csr_array((data, indices, indptr), shape=(n_rows, n_channels))


def _weights_from_arrays(
    arrays: Mapping[str, NDArray[Any]], shape: tuple[int, ...]
) -> NDArray[np.float64] | None:
    for name, expected in (("row_weights", shape[:1]), ("entry_weights", shape)):
        if name not in arrays:
            continue
        weights = expect_array(arrays, name, np.float64, len(expected))
        if weights.shape != expected or not np.all((weights >= 0) & np.isfinite(weights)):
            raise ValueError(f"Expected {name} of shape {expected}, finite and not negative.")
        return weights
    return None
