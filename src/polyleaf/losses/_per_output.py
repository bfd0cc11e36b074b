"""A loss per output: what boosting minimises where outputs are of several kinds.

The sum over outputs of s_j L_j, with a scale s_j by which the gradients of outputs in different
units count alike in the choice of splits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import shown
from polyleaf.losses._base import Hessian, Loss
from polyleaf.losses._targets import LossTargets

#: It takes what its parts take; who makes one has checked that.
_ALL_TASKS = frozenset(
    {"regression", "binary", "multilabel", "multiclass", "multiclass-multioutput", "mixed"}
)


class Block(NamedTuple):
    """Outputs that share a loss.

    Attributes
    ----------
    loss : Loss
    outputs : ndarray of int
    channels : ndarray of int
    offsets : ndarray of shape (n_block_outputs + 1,), int32
        Of their channels among those of the block.
    scales : ndarray of shape (n_block_channels,), float64
    """

    loss: Loss
    outputs: NDArray[np.intp]
    channels: NDArray[np.intp]
    offsets: NDArray[np.int32]
    scales: NDArray[np.float64]


class LossPerOutput(Loss):
    """A loss for every output, times a scale.

    Losses that take all outputs of a row together, and those with several predictions per output,
    cannot be parts.

    Parameters
    ----------
    parts : sequence of Loss
        One per output.
    scales : sequence of float, optional
        One per output; 1 by default. Leaf values do not depend on them, the choice of splits does.

    Examples
    --------
    >>> from polyleaf.losses import Logistic, SquaredError
    >>> targets = LossTargets.of([[1.0, 1.0], [3.0, 0.0]])
    >>> loss = LossPerOutput([SquaredError(), Logistic()])
    >>> loss.baseline(targets)
    array([2., 0.])
    >>> loss.gradient(targets, np.array([[2.0, 0.0], [2.0, 0.0]]))
    array([[ 1. , -0.5],
           [-1. ,  0.5]])
    """

    tasks = _ALL_TASKS

    def __init__(self, parts: Sequence[Loss] = (), scales: Sequence[float] | None = None) -> None:
        self.parts = parts
        self.scales = scales

    @property
    def decomposable(self) -> bool:  # type: ignore[override]
        """Whether all losses are sums of functions of one raw prediction each."""
        return all(loss.decomposable for loss in self.parts)

    @property
    def hessian(self) -> Hessian:  # type: ignore[override]
        """That of losses without second derivatives if there are no others."""
        has_none = all(loss.hessian == "none" for loss in self.parts)
        return "none" if has_none else "diagonal"

    @property
    def is_joint_over_outputs(self) -> bool:
        """No: the parts are not."""
        return False

    @property
    def equivariant_outputs(self) -> NDArray[np.bool_]:
        """Which outputs may be standardised, of shape (n_outputs,)."""
        return np.array([loss.is_equivariant for loss in self.parts], dtype=np.bool_)

    def blocks(self, channel_offsets: NDArray[np.int32]) -> list[Block]:
        """Give the outputs that share a loss, each loss once.

        Parameters
        ----------
        channel_offsets : ndarray of shape (n_outputs + 1,), int32
        """
        parts = list(self.parts)
        key = [id(part) for part in parts], self.scales, channel_offsets.tolist()
        known = self.__dict__.get("_blocks")
        if known is not None and known[0] == key:
            return known[1]  # type: ignore[no-any-return]
        widths = np.diff(channel_offsets)
        if widths.size != len(parts):
            raise ValueError(
                f"A loss for each of {len(parts)} outputs cannot be asked about {widths.size}."
            )
        scales = np.ones(len(parts)) if self.scales is None else np.asarray(self.scales)
        groups: list[list[int]] = []
        for j, part in enumerate(parts):
            group = next((group for group in groups if parts[group[0]] == part), None)
            if group is None:
                groups.append([j])
            else:
                group.append(j)
        found = [_block(parts[own[0]], own, scales, channel_offsets) for own in groups]
        self.__dict__["_blocks"] = key, found
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_blocks"}

    def _split(self, targets: LossTargets) -> Iterator[tuple[Block, LossTargets]]:
        """Yield blocks and their targets."""
        weights = targets.weights
        for block in self.blocks(targets.channel_offsets):
            by_entry = weights is not None and weights.ndim == 2
            own = weights[:, block.channels] if weights is not None and by_entry else weights
            yield block, LossTargets(targets.values[:, block.channels], own, block.offsets)

    def losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the scaled loss of every entry."""
        found = np.empty(raw.shape)
        for block, part in self._split(targets):
            found[:, block.channels] = (
                block.loss.losses(part, raw[:, block.channels]) * block.scales
            )
        return found

    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Differentiate the scaled losses by the raw predictions."""
        found = np.empty(raw.shape)
        for block, part in self._split(targets):
            found[:, block.channels] = (
                block.loss.gradient(part, raw[:, block.channels]) * block.scales
            )
        return found

    def curvature(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Give the scaled diagonal of the Hessian; the scale where a loss has none."""
        found = np.empty(raw.shape)
        for block, part in self._split(targets):
            if block.loss.hessian == "none":
                found[:, block.channels] = block.scales
            else:
                found[:, block.channels] = (
                    block.loss.curvature(part, raw[:, block.channels]) * block.scales
                )
        return found

    def channel_scales(self, channel_offsets: NDArray[np.int32]) -> NDArray[np.float64]:
        """Give the scale of every channel, of shape (n_channels,)."""
        found = np.empty(int(channel_offsets[-1]))
        for block in self.blocks(channel_offsets):
            found[block.channels] = block.scales
        return found

    def total_weight(self, targets: LossTargets) -> float:
        """Sum the weights of what the losses add up."""
        return float(sum(block.loss.total_weight(part) for block, part in self._split(targets)))

    def baseline(self, targets: LossTargets) -> NDArray[np.float64]:
        """Find the best constant raw prediction of every loss."""
        found = np.empty(targets.n_channels)
        for block, part in self._split(targets):
            found[block.channels] = block.loss.baseline(part)
        return found

    def step(
        self, targets: LossTargets, raw: NDArray[Any], direction: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Find the factor of a direction for every channel, by each loss for its own."""
        found = np.empty(targets.n_channels)
        for block, part in self._split(targets):
            along = direction if direction.shape[1] == 1 else direction[:, block.channels]
            found[block.channels] = block.loss.step(part, raw[:, block.channels], along)
        return found

    def leaf_minimisers(
        self,
        targets: LossTargets,
        raw: NDArray[Any],
        rows: NDArray[np.int32],
        leaf_offsets: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Find the best constant to add in every leaf, by each loss for its own channels."""
        found = np.empty((leaf_offsets.size - 1, targets.n_channels))
        for block, part in self._split(targets):
            found[:, block.channels] = block.loss.leaf_minimisers(
                part, raw[:, block.channels], rows, leaf_offsets
            )
        return found

    def finish_newton(
        self,
        values: NDArray[np.float64],
        targets: LossTargets,
        raw: NDArray[Any],
        rows: NDArray[np.int32],
        leaf_offsets: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Bound Newton steps of leaves, and replace those of losses without second derivatives.

        Parameters
        ----------
        values : ndarray of shape (n_leaves, n_channels)
            Changed in place.
        targets, raw, rows, leaf_offsets
            See `leaf_minimisers`.
        """
        for block, part in self._split(targets):
            if block.loss.hessian == "none":
                values[:, block.channels] = block.loss.leaf_minimisers(
                    part, raw[:, block.channels], rows, leaf_offsets
                )
            else:
                bound = block.loss.largest_move
                values[:, block.channels] = np.clip(values[:, block.channels], -bound, bound)
        return values

    def predictions(
        self, raw: NDArray[Any], channel_offsets: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Turn raw predictions into means, quantiles or probabilities, by each loss."""
        found = np.empty(raw.shape)
        for block in self.blocks(channel_offsets):
            found[:, block.channels] = block.loss.predictions(
                raw[:, block.channels], block.offsets
            )
        return found

    def check_targets(self, targets: LossTargets) -> None:
        """Raise a ValueError if an observed target lies outside of the domain of its loss."""
        for block, part in self._split(targets):
            block.loss.check_targets(part)

    def check_params(self) -> None:
        """Raise a ValueError if a parameter of a loss has an invalid value."""
        for loss in self.parts:
            loss.check_params()
        if self.scales is not None:
            scales = np.asarray(self.scales, dtype=np.float64)
            is_fine = scales.shape == (len(self.parts),) and np.isfinite(scales).all()
            if not is_fine or not (scales > 0).all():
                raise ValueError(
                    f"scales must be a positive number for each of {len(self.parts)} losses; got "
                    f"{shown(self.scales, 80)}."
                )


def _block(
    loss: Loss, own: list[int], scales: NDArray[np.float64], channel_offsets: NDArray[np.int32]
) -> Block:
    outputs = np.array(own, dtype=np.intp)
    widths = np.diff(channel_offsets)[outputs]
    channels = np.concatenate([np.arange(*channel_offsets[j : j + 2], dtype=np.intp) for j in own])
    offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.int32)
    return Block(loss, outputs, channels, offsets, np.repeat(scales[outputs], widths))
