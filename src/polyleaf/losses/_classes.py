"""The loss of classes that exclude each other."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polyleaf.losses._base import Hessian, Loss
from polyleaf.losses._targets import LossTargets


class Softmax(Loss):
    """Minus the log-probability of the true class, summed over outputs.

    The probability of class k of an output is exp(f_k) / sum_j exp(f_j) over its classes.

    Examples
    --------
    >>> one_hot = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> targets = LossTargets(one_hot, None, np.array([0, 3], dtype=np.int32))
    >>> Softmax().gradient(targets, np.zeros((2, 3))).round(2)
    array([[-0.67,  0.33,  0.33],
           [ 0.33, -0.67,  0.33]])
    """

    treats_outputs_alike: ClassVar[bool] = True
    tasks: ClassVar[frozenset[str]] = frozenset({"multiclass", "multiclass-multioutput"})
    decomposable: ClassVar[bool] = False
    hessian: ClassVar[Hessian] = "diagonal minus rank one"
    largest_move: ClassVar[float] = 8.0

    @property
    def is_joint_over_outputs(self) -> bool:
        """No: classes depend on each other within an output only."""
        return False

    def check_targets(self, targets: LossTargets) -> None:
        """Raise a ValueError if a target is neither 0 nor 1."""
        if not np.all((targets.values == 0) | (targets.values == 1)):
            raise ValueError("loss='softmax' needs one channel per class, 0 or 1.")

    def _log_totals(self, raw: NDArray[Any], offsets: NDArray[np.int32]) -> NDArray[Any]:
        """Logarithm of the sum of exponentials over each output, repeated over its classes."""
        largest = np.maximum.reduceat(raw, offsets[:-1], axis=1)
        sizes = np.diff(offsets)
        shifted = np.exp(raw - np.repeat(largest, sizes, axis=1))
        totals = largest + np.log(np.add.reduceat(shifted, offsets[:-1], axis=1))
        return np.repeat(totals, sizes, axis=1)

    def losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the loss of every output, at the channel of its true class."""
        totals = self._log_totals(raw, targets.channel_offsets)
        return np.asarray(targets.values * (totals - raw))

    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute p - y of every entry."""
        p = np.exp(raw - self._log_totals(raw, targets.channel_offsets))
        return np.asarray(p - targets.values)

    def curvature(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute p (1 - p) c / (c - 1), c the number of classes (Friedman, 2001, eq. 34)."""
        p = np.exp(raw - self._log_totals(raw, targets.channel_offsets))
        sizes = np.diff(targets.channel_offsets)
        factor = np.repeat(sizes / np.maximum(sizes - 1, 1), sizes)
        return np.asarray(p * (1.0 - p) * factor)

    def total_weight(self, targets: LossTargets) -> float:
        """Sum the weights of all rows and outputs."""
        return float(targets.total_weights[targets.channel_offsets[:-1]].sum())

    def baseline(self, targets: LossTargets) -> NDArray[np.float64]:
        """Give the logarithms of the shares of the classes; of half a row where there is none."""
        counts = targets.weighted_sums(targets.values)
        starts, sizes = targets.channel_offsets[:-1], np.diff(targets.channel_offsets)
        totals = np.repeat(np.add.reduceat(counts, starts), sizes)
        share = np.divide(counts, totals, out=np.ones_like(counts), where=totals > 0)
        return np.asarray(np.log(np.maximum(share, 0.5 / (targets.n_rows + 1.0))))

    def predictions(
        self, raw: NDArray[Any], channel_offsets: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Give the probabilities of all classes of all outputs."""
        raw = np.asarray(raw, dtype=np.float64)
        return np.asarray(np.exp(raw - self._log_totals(raw, channel_offsets)))
