"""Losses of numbers whose best prediction is a median or another quantile."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import shown
from polyleaf.losses._base import Hessian, Loss, Quadratic
from polyleaf.losses._targets import LossTargets

#: Residuals below this (in standard deviations) count as this large in quadratics.
_SMALLEST_RESIDUAL = 1e-3


class _PinballLoss(Loss):
    """Losses with the slopes -a below and 1 - a above, times a scale."""

    treats_outputs_alike: ClassVar[bool] = True
    hessian: ClassVar[Hessian] = "none"
    is_equivariant: ClassVar[bool] = True
    #: Factor of the pinball loss.
    _scale = 1.0

    def _shares(self, n_channels: int) -> NDArray[np.float64]:
        """Share of the targets that lie below the best prediction of each channel."""
        raise NotImplementedError

    def losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the loss of every entry."""
        rest = targets.values - raw
        shares = self._shares(targets.n_channels)
        return np.asarray(self._scale * np.maximum(shares * rest, (shares - 1.0) * rest))

    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the slope of every entry; half way between both at the kink."""
        shares = self._shares(targets.n_channels)
        sign = np.sign(raw - targets.values)
        return np.asarray(self._scale * (0.5 * (sign + 1.0) - shares))

    def curvature(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Give 0: the loss is made of straight lines."""
        return np.zeros(raw.shape)

    def baseline(self, targets: LossTargets) -> NDArray[np.float64]:
        """Give the weighted quantiles."""
        shares = self._shares(targets.n_channels)
        return targets.quantiles(targets.values, targets.column_weights, shares)

    def step(
        self, targets: LossTargets, raw: NDArray[Any], direction: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Give weighted quantiles of residual / direction, weighted by its size.

        Where the direction is negative, what lay above lies below.
        """
        shares = self._shares(targets.n_channels)
        factors = np.zeros(targets.n_channels)
        for k in range(targets.n_channels):
            along = direction[:, min(k, direction.shape[1] - 1)].astype(np.float64)
            weights = np.abs(along)
            if targets.column_weights is not None:
                by_entry = targets.column_weights
                weights = weights * by_entry[:, min(k, by_entry.shape[1] - 1)]
            use = weights > 0
            if not targets.is_any(use):
                continue
            ratios = (targets.values[use, k] - raw[use, k]) / along[use]
            share = np.where(along[use] > 0, shares[k], 1.0 - shares[k])
            mean_share = targets.mean(share, weights[use])
            factors[k] = targets.quantiles(
                ratios[:, None], weights[use][:, None], np.array([mean_share])
            )[0]
        return factors

    def leaf_minimisers(
        self,
        targets: LossTargets,
        raw: NDArray[Any],
        rows: NDArray[np.int32],
        leaf_offsets: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Give the weighted quantiles of the residuals in every leaf."""
        shares = self._shares(targets.n_channels)
        rest = targets.values[rows] - raw[rows]
        return targets.leaf_quantiles(rest, rows, leaf_offsets, shares)


class AbsoluteError(_PinballLoss):
    """The absolute error: the best prediction is the median.

    Examples
    --------
    >>> AbsoluteError().baseline(LossTargets.of([[1.0], [3.0], [80.0]]))
    array([3.])
    """

    learners: ClassVar[frozenset[str]] = frozenset({"boosting", "rules"})
    _scale = 2.0

    def quadratic(self, targets: LossTargets, raw: NDArray[Any]) -> Quadratic:
        """Give the sign of the residual r and ``1 / |r|``, both smoothed next to zero.

        The parabola lies above the loss, so that its step lowers the loss.
        """
        residual = raw - targets.values
        curvature = 1.0 / np.maximum(np.abs(residual), _SMALLEST_RESIDUAL)
        return Quadratic(residual * curvature, curvature, None)

    def _shares(self, n_channels: int) -> NDArray[np.float64]:
        return np.full(n_channels, 0.5)


class Quantile(_PinballLoss):
    """The pinball loss: the best prediction is a quantile, or several of every output.

    Parameters
    ----------
    quantile : float or sequence of float, default=0.5
        In (0, 1). With a sequence, `predict` gives an array of shape (n, d, n_quantiles).

    Examples
    --------
    >>> loss = Quantile([0.25, 0.75])
    >>> loss.baseline(LossTargets.of([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0]]))
    array([1.5, 3.5])
    """

    def __init__(self, quantile: float | Sequence[float] = 0.5) -> None:
        self.quantile = quantile

    @property
    def quantiles(self) -> NDArray[np.float64]:
        """The quantiles, of shape (n_quantiles,)."""
        return np.atleast_1d(np.asarray(self.quantile, dtype=np.float64))

    @property
    def value_shape(self) -> tuple[int, ...]:
        """One number for a quantile, a row of them for a sequence."""
        return np.shape(self.quantile)

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""
        given: Any = [self.quantile] if isinstance(self.quantile, Real) else self.quantile
        valid = isinstance(given, list | tuple | np.ndarray) and len(given) > 0
        if not valid or not all(isinstance(q, Real) and 0 < float(q) < 1 for q in given):
            raise ValueError(
                f"quantile must be a number in (0, 1) or several; got {shown(self.quantile)}."
            )

    def _shares(self, n_channels: int) -> NDArray[np.float64]:
        return np.resize(self.quantiles, n_channels)
