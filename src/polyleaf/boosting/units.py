"""The units in which boosting works: standardised outputs where the loss allows that."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.data.moments import channel_moments, row_blocks
from polyleaf.losses import Loss, LossTargets

if TYPE_CHECKING:
    from polyleaf.data import Targets
    from polyleaf.data.training import TargetRows, TrainingData

#: Outputs in float32 beyond this would make gradients that cannot be squared.
_LARGEST_COUNT = 1e12


@dataclass(frozen=True, eq=False)
class Units:
    """How raw predictions relate to targets: target = shift + scale * raw.

    Attributes
    ----------
    shift, scale : ndarray of shape (n_channels,), float64
        Of the channels of raw predictions: several per target for several quantiles.
    repeats : int
        Raw channels per channel of the targets.
    is_observed : ndarray of shape (n_channels,), bool
        Whether a channel was observed at all.
    """

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    repeats: int
    is_observed: NDArray[np.bool_]

    @classmethod
    def of(cls, data: TrainingData, loss: Loss, normalize: bool) -> Units:
        """Choose the units: mean 0 and standard deviation 1 if wanted and possible."""
        moments = channel_moments(data.targets, data.weights)
        n_channels = moments.mean.size
        shift, scale = np.zeros(n_channels), np.ones(n_channels)
        if data.targets.schema.kind == "regression":
            if loss.is_equivariant:
                shift = moments.mean
                scale = _scale(moments.std, normalize)
            else:
                _check_size(data.targets)
        repeats = loss.n_values_per_output
        return cls(
            np.repeat(shift, repeats),
            np.repeat(scale, repeats),
            repeats,
            np.repeat(_is_observed(data), repeats),
        )

    def kept(self, shift: NDArray[np.float64], scale: NDArray[np.float64]) -> Units:
        """Give the same with the shift and scale of an earlier fit, whose trees speak in them."""
        return replace(self, shift=shift, scale=scale)

    def loss_targets(self, data: TrainingData | TargetRows) -> LossTargets:
        """Give targets and weights to a loss, in these units.

        Parameters
        ----------
        data : TrainingData or TargetRows
        """
        weights = self._weights(data)
        offsets = data.targets.schema.channel_offsets
        values = self.scaled(data.targets.values)
        # The quantiles of an output are a group: whoever looks at one sees all of them.
        return LossTargets(values, weights, (offsets * self.repeats).astype(np.int32))

    def scaled(self, values: Any) -> NDArray[np.float32]:
        """Bring targets of shape (n_rows, n_targets) to these units."""
        if not isinstance(values, np.ndarray):
            values = values.toarray()
        scaled = np.empty((values.shape[0], self.shift.size), dtype=np.float32)
        for rows in row_blocks(*scaled.shape):
            block = values[rows]
            if self.repeats > 1:
                block = np.repeat(block, self.repeats, axis=1)
            scaled[rows] = (block - self.shift) / self.scale
        return scaled

    def row_weights(self, data: TrainingData) -> NDArray[np.float32] | None:
        """Give what a row counts where channels are mixed, None if all count the same.

        Weights of entries are averaged, whether these are observed or not, so that equal ones
        say the same as one weight per row.
        """
        if data.weights is None:
            return None
        by_row = data.weights if data.weights.ndim == 1 else data.weights.mean(axis=1)
        # A row with a weight in one output counts, however many outputs there are.
        least = np.where(by_row > 0, np.finfo(np.float32).tiny, 0.0)
        return np.maximum(by_row / data.weight_unit, least).astype(np.float32)

    def _weights(self, data: TrainingData | TargetRows) -> NDArray[np.float32] | None:
        """Weights in their unit, 0 where a target is not observed."""
        scaled: NDArray[np.float32] | None = None
        if data.weights is not None:
            scaled = (data.weights / data.weight_unit).astype(np.float32)
        if data.targets.observed is not None:
            mask = data.targets.observed.astype(np.float32)
            if scaled is not None:
                mask *= scaled if scaled.ndim == 2 else scaled[:, None]
            scaled = mask
        if scaled is not None and scaled.ndim == 2 and self.repeats > 1:
            scaled = np.repeat(scaled, self.repeats, axis=1)
        return scaled


def _is_observed(data: TrainingData) -> NDArray[np.bool_]:
    """Whether any row tells something about a channel, of shape (n_channels,)."""
    observed, weights = data.targets.observed, data.weights
    if weights is None or weights.ndim == 1:
        n_channels = data.targets.schema.n_channels
        rows = data.weighted_rows
        if observed is None:
            return np.ones(n_channels, np.bool_)
        return np.asarray(observed[rows].any(axis=0))
    counts = weights > 0
    return np.asarray((counts if observed is None else counts & observed).any(axis=0))


def _scale(std: NDArray[np.float64], normalize: bool) -> NDArray[np.float64]:
    if normalize:
        return np.where(std > 0, std, 1.0)
    unit = 1.0
    if std.max() > 0:
        unit = math.ldexp(1.0, math.frexp(float(std.max()))[1])
    return np.full(std.size, unit)


def check_kept_units(targets: LossTargets) -> None:
    """Raise a ValueError if targets are far from what these units were made for."""
    largest = float(np.abs(targets.values).max())
    if largest > _LARGEST_COUNT:
        raise ValueError(
            f"y lies {largest:g} standard deviations from what the model was first fitted to, "
            f"which is more than {_LARGEST_COUNT:g}. Use warm_start=False to start anew."
        )


def _check_size(targets: Targets) -> None:
    largest = float(np.abs(np.asarray(targets.values)).max())
    if largest > _LARGEST_COUNT:
        raise ValueError(
            f"Targets of this loss must lie between -{_LARGEST_COUNT:g} and {_LARGEST_COUNT:g}, "
            f"because it cannot be rescaled; got {largest:g}. Divide y by a constant."
        )
