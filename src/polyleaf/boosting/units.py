"""The units of boosting: targets are standardised where the loss allows that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.losses import Loss, LossTargets
from polyleaf.trees.moments import Moments, row_blocks

if TYPE_CHECKING:
    from polyleaf.data import Targets, TrainingData

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
    def of(
        cls, data: TrainingData, moments: Moments, loss: Loss, repeats: int, normalize: bool
    ) -> Units:
        """Choose the units: mean 0 and standard deviation 1 if wanted and possible."""
        n_channels = moments.mean.size
        shift, scale = np.zeros(n_channels), np.ones(n_channels)
        if data.targets.schema.kind == "regression":
            if loss.is_equivariant:
                shift = moments.mean
                scale = _scale(moments.std, normalize)
            else:
                _check_counts(data.targets)
        return cls(
            np.repeat(shift, repeats),
            np.repeat(scale, repeats),
            repeats,
            np.repeat(_is_observed(data, n_channels), repeats),
        )

    def loss_targets(self, targets: Targets) -> LossTargets:
        """Give targets and weights to a loss, in these units."""
        offsets = targets.schema.channel_offsets
        values, weights = self._scaled(targets.values), self._weights(targets)
        # The quantiles of an output are a group: whoever looks at one sees all of them.
        return LossTargets(values, weights, (offsets * self.repeats).astype(np.int32))

    def _scaled(self, values: Any) -> NDArray[np.float32]:
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

    def _weights(self, targets: Targets) -> NDArray[np.float32] | None:
        """Weights in their unit, 0 where a target is not observed."""
        scaled: NDArray[np.float32] | None = None
        if targets.weights is not None:
            scaled = (targets.weights / targets.weight_unit).astype(np.float32)
        if targets.observed is not None:
            mask = targets.observed.astype(np.float32)
            if scaled is not None:
                mask *= scaled if scaled.ndim == 2 else scaled[:, None]
            scaled = mask
        if scaled is not None and scaled.ndim == 2 and self.repeats > 1:
            scaled = np.repeat(scaled, self.repeats, axis=1)
        return scaled


def _is_observed(data: TrainingData, n_channels: int) -> NDArray[np.bool_]:
    """Whether any row tells something about a channel, of shape (n_channels,)."""
    observed, weights = data.targets.observed, data.targets.weights
    if weights is None or weights.ndim == 1:
        if observed is None:
            return np.ones(n_channels, np.bool_)
        return np.asarray(observed[data.weighted_rows].any(axis=0))
    counts = weights > 0
    return np.asarray((counts if observed is None else counts & observed).any(axis=0))


def _scale(std: NDArray[np.float64], normalize: bool) -> NDArray[np.float64]:
    if normalize:
        return np.where(std > 0, std, 1.0)
    unit = 1.0
    if std.max() > 0:
        unit = math.ldexp(1.0, math.frexp(float(std.max()))[1])
    return np.full(std.size, unit)


def check_size(targets: LossTargets) -> None:
    """Raise a ValueError if targets are far from what these units were made for."""
    largest = float(np.abs(targets.values).max())
    if largest > _LARGEST_COUNT:
        raise ValueError(
            f"y lies {largest:g} standard deviations from what the model was first fitted to, "
            f"which is more than {_LARGEST_COUNT:g}. Use warm_start=False to start anew."
        )


def _check_counts(targets: Targets) -> None:
    largest = float(np.abs(np.asarray(targets.values)).max())
    if largest > _LARGEST_COUNT:
        raise ValueError(
            f"Targets of this loss must lie between -{_LARGEST_COUNT:g} and {_LARGEST_COUNT:g}, "
            f"because it cannot be rescaled; got {largest:g}. Divide y by a constant."
        )
