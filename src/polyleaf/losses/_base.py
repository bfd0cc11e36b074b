"""The seam between boosting and what it minimises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from polyleaf.losses._solver import minimise_each
from polyleaf.losses._targets import LossTargets

#: Relative distance of the points between which a custom loss's curvature is measured.
_DIFFERENCE = 1e-4


class Loss(BaseEstimator, ABC):
    """A convex loss of raw predictions.

    The life of a loss in boosting: `check_targets` refuses what it cannot work on; `baseline`
    gives the constant prediction to start from; every round asks for `gradient` (and for
    `curvature` if leaves are Newton steps), then for `step`, the best factor of the new model for
    each output; `value` is followed over the rounds; `predictions` turns raw predictions into
    what the user asked for.

    A loss of your own that adds up over entries needs `losses` and `gradient`, in NumPy; the
    rest has general answers here. It is asked about some rows, but always about all outputs,
    unless it says by `treats_outputs_alike` that it can do with some of them.

    Attributes
    ----------
    tasks : frozenset of str
        The kinds of targets it is for: "regression", "binary", "multilabel", "multiclass",
        "multiclass-multioutput".
    decomposable : bool
        Whether it is a sum over outputs of functions of one raw prediction each.
    hessian : {"none", "diagonal", "diagonal minus rank one"}
        Structure of a row's second derivatives.
    is_equivariant : bool
        Whether shifting and scaling an output shifts and scales its best prediction, so that
        outputs may be standardised.
    treats_outputs_alike : bool
        Whether outputs have no parameter of their own, so that the loss may be asked about some
        of them alone: with one output at a time, that is quicker.
    largest_move : float
        Bound on what one round may add to a raw prediction, where the minimum may be infinite.

    Examples
    --------
    >>> class Cubic(Loss):
    ...     def losses(self, targets, raw):
    ...         return np.abs(targets.values - raw) ** 3 / 3
    ...
    ...     def gradient(self, targets, raw):
    ...         rest = raw - targets.values
    ...         return rest * np.abs(rest)
    >>> Cubic().baseline(LossTargets.of([[0.0], [0.0], [3.0]])).round(3)
    array([1.243])
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"regression"})
    decomposable: ClassVar[bool] = True
    hessian: ClassVar[Literal["none", "diagonal", "diagonal minus rank one"]] = "diagonal"
    is_equivariant: ClassVar[bool] = False
    treats_outputs_alike: ClassVar[bool] = False
    largest_move: ClassVar[float] = np.inf

    @property
    def is_joint_over_outputs(self) -> bool:
        """Whether the gradient of one output depends on the raw predictions of others."""
        return not self.decomposable

    @property
    def can_part_outputs(self) -> bool:
        """Whether some outputs can be worked on without the others."""
        return self.treats_outputs_alike and not self.is_joint_over_outputs

    @abstractmethod
    def losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the loss of every entry, not weighted; of shape (n_rows, n_channels).

        Parameters
        ----------
        targets : LossTargets
        raw : ndarray of shape (n_rows, n_channels)
        """

    @abstractmethod
    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Differentiate by the raw predictions, not weighted; of shape (n_rows, n_channels).

        Parameters
        ----------
        targets : LossTargets
        raw : ndarray of shape (n_rows, n_channels)
        """

    def curvature(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Give the diagonal of the Hessian, not weighted; of shape (n_rows, n_channels).

        Newton steps divide by its sum. By default, a difference of gradients.

        Parameters
        ----------
        targets : LossTargets
        raw : ndarray of shape (n_rows, n_channels)
        """
        raw = np.asarray(raw, dtype=np.float64)
        width = _DIFFERENCE * np.maximum(1.0, np.abs(raw))
        rise = self.gradient(targets, raw + width) - self.gradient(targets, raw - width)
        return np.asarray(rise / (2 * width))

    def value(self, targets: LossTargets, raw: NDArray[Any]) -> float:
        """Sum the weighted loss over all entries.

        Parameters
        ----------
        targets : LossTargets
        raw : ndarray of shape (n_rows, n_channels)
        """
        return float(
            sum(
                part.weighted(self.losses(part, raw[rows])).sum(dtype=np.float64)
                for rows, part in targets.blocks()
            )
        )

    def total_weight(self, targets: LossTargets) -> float:
        """Sum the weights of what the loss adds up, so that `value` can be averaged.

        Parameters
        ----------
        targets : LossTargets
        """
        return float(targets.total_weights.sum())

    def baseline(self, targets: LossTargets) -> NDArray[np.float64]:
        """Find the best constant raw prediction, of shape (n_channels,).

        Parameters
        ----------
        targets : LossTargets
        """
        ones = np.ones((targets.n_rows, targets.n_channels))
        return self.step(targets, np.zeros_like(ones), ones)

    def step(
        self, targets: LossTargets, raw: NDArray[Any], direction: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Find the factor of a direction that lowers the loss most, for every channel.

        Parameters
        ----------
        targets : LossTargets
        raw : ndarray of shape (n_rows, n_channels)
        direction : ndarray of shape (n_rows, n_channels) or (n_rows, 1)

        Returns
        -------
        ndarray of shape (n_channels,), float64
        """
        largest = np.abs(direction).max(axis=0, initial=0.0)
        largest = np.broadcast_to(largest, (targets.n_channels,))
        bound = np.divide(
            self.largest_move, largest, out=np.full(largest.shape, 0.0), where=largest > 0
        )

        def derivatives(
            factors: NDArray[np.float64],
        ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            slope, curvature = np.zeros((2, targets.n_channels))
            for rows, part in targets.blocks():
                along = direction[rows]
                moved = raw[rows] + factors * along
                slope += part.weighted_sums(self.gradient(part, moved) * along)
                curvature += part.weighted_sums(self.curvature(part, moved) * along**2)
            return slope, curvature

        return minimise_each(derivatives, (targets.n_channels,), bound)

    def leaf_minimisers(
        self,
        targets: LossTargets,
        raw: NDArray[Any],
        rows: NDArray[np.int32],
        leaf_offsets: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Find the best constant to add in every leaf, of shape (n_leaves, n_channels).

        Parameters
        ----------
        targets : LossTargets
        raw : ndarray of shape (n_rows, n_channels)
        rows : ndarray of int32
            Rows, leaf after leaf.
        leaf_offsets : ndarray of shape (n_leaves + 1,), int64
        """
        values = []
        for start, stop in pairwise(leaf_offsets):
            inside = rows[start:stop]
            ones = np.ones((inside.size, 1))
            values.append(self.step(targets.at(inside), raw[inside], ones))
        return np.array(values)

    def predictions(
        self, raw: NDArray[Any], channel_offsets: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Turn raw predictions into means, quantiles or probabilities.

        Parameters
        ----------
        raw : ndarray of shape (n_rows, n_channels)
        channel_offsets : ndarray of shape (n_outputs + 1,), int32
        """
        return np.asarray(raw, dtype=np.float64)

    def check_targets(self, targets: LossTargets) -> None:
        """Raise a ValueError if an observed target lies outside of the loss's domain.

        Parameters
        ----------
        targets : LossTargets
        """

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, others = self.get_params(), other.get_params()
        return all(np.array_equal(mine[name], others[name]) for name in mine)

    # Parameters can be set, so that a hash of them would not last.
    __hash__ = None  # type: ignore[assignment]
