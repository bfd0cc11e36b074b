"""What a training loop works on: binned features, targets and weights, and who carries weight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.data.training_outputs import TrainingOutputs

if TYPE_CHECKING:
    from polyleaf.data import BinnedFeatures, EncodedX, Targets

#: Sums of weights between these bounds leave room for squares of outputs in double precision.
LEAST_TOTAL_WEIGHT, LARGEST_TOTAL_WEIGHT = 1e-100, 1e100


@dataclass(frozen=True, eq=False)
class TargetRows:
    """Targets and weights of some training rows.

    Attributes
    ----------
    targets : Targets
    weights : ndarray of shape (n_rows,) or (n_rows, n_channels), float64, or None
    weight_unit : float
        That of all training rows, or of these if they are no such rows.
    """

    targets: Targets
    weights: NDArray[np.float64] | None
    weight_unit: float

    @classmethod
    def of(cls, targets: Targets, weights: NDArray[np.float64] | None) -> TargetRows:
        """Take rows that are not trained on, with a unit of their own."""
        return cls(targets, weights, unit_of(weights))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.targets.values.shape[0])


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Validated training data, binned once and shared by any number of trees.

    Attributes
    ----------
    features : BinnedFeatures
    encoded : ndarray or csr_array of shape (n_rows, n_features)
        What the features were binned from.
    n_categories : ndarray of shape (n_features,), int32
    targets : Targets
    weights : ndarray of shape (n_rows,) or (n_rows, n_channels), float64, or None

    Raises
    ------
    ValueError
        If the weights add up to zero, to next to nothing or to more than sums can hold, or if no
        row with a weight has an observed output.
    """

    features: BinnedFeatures
    encoded: EncodedX
    n_categories: NDArray[np.int32]
    targets: Targets
    weights: NDArray[np.float64] | None

    def __post_init__(self) -> None:
        if self.weights is not None:
            _check_total(self.weights)
        if not self.weighted_rows.size:
            raise ValueError(
                "At least one row must have both a positive weight and an observed output; got "
                "none. Check sample_weight, class_weight and the NaN in y."
            )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.features.n_rows

    def at(self, rows: NDArray[np.int32]) -> TargetRows:
        """Targets and weights of the given rows."""
        weights = None if self.weights is None else self.weights[rows]
        return TargetRows(self.targets.at(rows), weights, self.weight_unit)

    @property
    def outputs(self) -> TrainingOutputs:
        """Targets and weights as a model keeps them."""
        return TrainingOutputs(self.targets.values, self.targets.observed, self.weights)

    @cached_property
    def weight_unit(self) -> float:
        """A power of two near the largest weight, in which float32 weights are given."""
        return unit_of(self.weights)

    @cached_property
    def weighted_rows(self) -> NDArray[np.int32]:
        """Rows with some weight in some observed output, ascending."""
        if self.targets.observed is None and self.weights is None:
            return np.arange(self.features.n_rows, dtype=np.int32)
        counts = np.ones((self.features.n_rows, 1), dtype=np.bool_)
        if self.targets.observed is not None:
            counts = self.targets.observed
        if self.weights is not None:
            # What is no float32 beside the largest weight weighs nothing.
            positive = self.weights > self.weight_unit * float(np.finfo(np.float32).tiny)
            counts = counts & (positive[:, None] if positive.ndim == 1 else positive)
        return np.flatnonzero(counts.any(axis=1)).astype(np.int32)

    @cached_property
    def binned(self) -> _core.Binned:
        """The binned features as the core reads them, every index checked."""
        f = self.features
        codes = f.dense_codes
        return _core.Binned(
            n_rows=f.n_rows,
            is_categorical=f.is_categorical,
            bin_offsets=f.bin_offsets,
            bin_low=f.bin_low,
            bin_high=f.bin_high,
            dense_features=f.dense_features,
            codes_u8=codes.view(np.uint8) if codes.dtype == np.uint8 else None,
            codes_u32=codes.view(np.uint32) if codes.dtype == np.uint32 else None,
            sparse_features=f.sparse_features,
            sparse_default=f.sparse_default,
            sparse_indptr=f.sparse_indptr,
            sparse_slot=f.sparse_slot,
            sparse_code=f.sparse_code,
        )


def unit_of(weights: NDArray[np.float64] | None) -> float:
    """Give a power of two near the largest weight."""
    if weights is None or not weights.max() > 0:
        return 1.0
    return math.ldexp(1.0, math.frexp(float(weights.max()))[1] - 1)


def _check_total(weights: NDArray[np.float64]) -> None:
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not LEAST_TOTAL_WEIGHT <= total <= LARGEST_TOTAL_WEIGHT:
        raise ValueError(
            f"The weights (sample_weight times class_weight) must add up to a number between "
            f"{LEAST_TOTAL_WEIGHT:g} and {LARGEST_TOTAL_WEIGHT:g}; got {total:g}. Multiply "
            "all of them, and l2_regularization where there is one, by the same factor."
        )
