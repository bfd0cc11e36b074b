"""Smooth losses of numbers: squared error, Huber's and Poisson's."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import shown
from polyleaf.losses._base import Loss, Quadratic
from polyleaf.losses._labels import MarginLoss, SquaredMargin
from polyleaf.losses._targets import LossTargets

#: Largest logarithm of a Poisson mean relative to the baseline that one round may add.
_LARGEST_LOG_MOVE = 5.0


class SquaredError(Loss):
    """Half the squared error: the best prediction is the mean.

    For classes and labels it fits probabilities, cut off at 0 and 1 (Brier's score).

    Examples
    --------
    >>> targets = LossTargets.of([[1.0], [3.0], [8.0]])
    >>> SquaredError().baseline(targets)
    array([4.])
    >>> SquaredError().gradient(targets, np.full((3, 1), 4.0)).ravel()
    array([ 3.,  1., -4.])
    """

    treats_outputs_alike: ClassVar[bool] = True
    tasks: ClassVar[frozenset[str]] = frozenset(
        {"regression", "binary", "multilabel", "multiclass", "multiclass-multioutput"}
    )
    learners: ClassVar[frozenset[str]] = frozenset({"boosting", "rules"})
    native_kernel: ClassVar[str | None] = "squared_error"
    margin_form: ClassVar[MarginLoss | None] = SquaredMargin()
    is_equivariant: ClassVar[bool] = True

    def losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute (y - f)^2 / 2 of every entry."""
        return np.asarray(0.5 * (targets.values - raw) ** 2)

    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute f - y of every entry."""
        return np.asarray(raw - targets.values)

    def curvature(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Give 1 for every entry."""
        return np.ones(raw.shape)

    def baseline(self, targets: LossTargets) -> NDArray[np.float64]:
        """Give the weighted means."""
        return _ratio(targets.weighted_sums(targets.values), targets.total_weights)

    def step(
        self, targets: LossTargets, raw: NDArray[Any], direction: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Give sum(r g) / sum(g^2), r the residual and g the direction (least squares)."""

        def terms(rows: slice, part: LossTargets) -> tuple[NDArray[Any], NDArray[Any]]:
            along = -self.gradient(part, raw[rows]) * direction[rows]
            return along, np.broadcast_to(direction[rows] ** 2, raw[rows].shape)

        along, squares = targets.row_sums(terms, 2)
        return _ratio(along, squares)


class Huber(Loss):
    """Squared error near zero, absolute error beyond `delta`.

    Parameters
    ----------
    delta : float, default=1.0
        Where the loss becomes linear: in standard deviations of an output if outputs are
        normalised, in the units of Y otherwise.

    Examples
    --------
    >>> Huber(delta=1.0).baseline(LossTargets.of([[0.0], [0.5], [100.0]])).round(3)
    array([0.75])
    """

    learners: ClassVar[frozenset[str]] = frozenset({"boosting", "rules"})
    treats_outputs_alike: ClassVar[bool] = True
    is_equivariant: ClassVar[bool] = True

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = delta

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""
        is_number = isinstance(self.delta, Real) and not isinstance(self.delta, bool)
        if not is_number or not 0 < self.delta < np.inf:
            raise ValueError(f"delta must be a positive number; got {shown(self.delta)}.")

    def losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the loss of every entry."""
        size = np.abs(targets.values - raw)
        near = np.minimum(size, self.delta)
        return np.asarray(near * (size - 0.5 * near))

    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute f - y, cut off at -delta and delta."""
        return np.asarray(np.clip(raw - targets.values, -self.delta, self.delta))

    def curvature(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Give 1 near zero and delta / abs(f - y) beyond: the quadratic above the loss."""
        size = np.abs(raw - targets.values)
        return np.asarray(np.minimum(1.0, self.delta / np.maximum(size, self.delta)))

    def quadratic(self, targets: LossTargets, raw: NDArray[Any]) -> Quadratic:
        """Give the parabola that touches the loss from above."""
        residual = raw - targets.values
        curvature = self.delta / np.maximum(np.abs(residual), self.delta)
        return Quadratic(residual * curvature, curvature, None)


class Poisson(Loss):
    """Counts with mean exp(f): the loss is exp(f) - y f.

    Examples
    --------
    >>> loss, targets = Poisson(), LossTargets.of([[0.0], [1.0], [5.0]])
    >>> loss.predictions(loss.baseline(targets)[None], targets.channel_offsets)
    array([[2.]])
    """

    treats_outputs_alike: ClassVar[bool] = True
    largest_move: ClassVar[float] = _LARGEST_LOG_MOVE

    def check_targets(self, targets: LossTargets) -> None:
        """Raise a ValueError if an observed target is negative."""
        counts = targets.values
        if targets.weights is not None and targets.weights.ndim == 2:
            counts = np.where(targets.weights > 0, counts, 0.0)
        if counts.min() < 0:
            raise ValueError(
                f"loss='poisson' needs counts, y >= 0; got {counts.min():g}. Use another loss."
            )

    def losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute exp(f) - y f of every entry."""
        return np.asarray(np.exp(raw) - targets.values * raw)

    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute exp(f) - y of every entry."""
        return np.asarray(np.exp(raw) - targets.values)

    def curvature(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Give exp(f) of every entry."""
        return np.asarray(np.exp(raw))

    def baseline(self, targets: LossTargets) -> NDArray[np.float64]:
        """Give the logarithms of the weighted means; of half a count where all are 0."""
        totals = targets.total_weights
        means = _ratio(targets.weighted_sums(targets.values), totals)
        least = 0.5 / (targets.n_rows + 1.0)
        return np.log(np.maximum(means, least))

    def predictions(
        self, raw: NDArray[Any], channel_offsets: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Give the means exp(f)."""
        return np.exp(np.asarray(raw, dtype=np.float64))


def _ratio(sums: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide, with 0 where there is nothing to divide by."""
    return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)
