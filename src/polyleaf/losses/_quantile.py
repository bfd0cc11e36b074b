"""Losses of numbers whose best prediction is a median or another quantile."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polyleaf.losses._base import Hessian, Loss, LossTargets, Quadratic

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
        return weighted_quantiles(targets.values, targets.column_weights, shares)

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
            if not use.any():
                continue
            ratios = (targets.values[use, k] - raw[use, k]) / along[use]
            share = np.where(along[use] > 0, shares[k], 1.0 - shares[k])
            mean_share = np.average(share, weights=weights[use])
            factors[k] = weighted_quantiles(
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
        values = []
        for start, stop in pairwise(leaf_offsets):
            part = targets.at(rows[start:stop])
            rest = part.values - raw[rows[start:stop]]
            values.append(weighted_quantiles(rest, part.column_weights, shares))
        return np.array(values)


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
                f"quantile must be a number in (0, 1) or several; got {self.quantile!r}."
            )

    def _shares(self, n_channels: int) -> NDArray[np.float64]:
        return np.resize(self.quantiles, n_channels)


def weighted_quantiles(
    values: NDArray[Any], weights: NDArray[Any] | None, shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Find the middle of the points at which a share of the weight lies on the left.

    Parameters
    ----------
    values : ndarray of shape (n, d)
    weights : ndarray of shape (n, d) or (n, 1), or None
    shares : ndarray of shape (d,)

    Returns
    -------
    ndarray of shape (d,), float64
        0 for a column without weight.
    """
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0).astype(np.float64)
    if weights is None:
        mass = np.broadcast_to(np.arange(1.0, len(values) + 1)[:, None], values.shape)
    else:
        by_entry = np.broadcast_to(weights, values.shape)
        mass = np.cumsum(np.take_along_axis(by_entry, order, axis=0), axis=0, dtype=np.float64)
    wanted = shares * mass[-1]
    slack = 1e-12 * mass[-1]
    last = len(values) - 1
    # Ties of the running total leave an interval of minimisers: its middle.
    first = np.minimum((mass < wanted - slack).sum(axis=0), last)
    after = np.minimum((mass <= wanted + slack).sum(axis=0), last)
    columns = np.arange(values.shape[1])
    middle = 0.5 * (ordered[first, columns] + ordered[after, columns])
    return np.where(mass[-1] > 0, middle, 0.0)
