"""The seam between boosting or rules and what they minimise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from polyleaf.losses._joint import joint_step
from polyleaf.losses._solver import minimise_each
from polyleaf.losses._targets import LossTargets

if TYPE_CHECKING:
    from polyleaf.losses._labels import MarginLoss

#: Relative distance of the points between which a custom loss's curvature is measured.
_DIFFERENCE = 1e-4

#: The structures of second derivatives: see `Loss`.
Hessian = Literal["none", "diagonal", "diagonal minus rank one"]


class Quadratic(NamedTuple):
    """Quadratic approximation of a loss near the raw predictions of some rows.

    Moving the raw predictions of a row by m changes its loss by about
    g'm + m'(diag(d) - c g g')m / 2. So a Hessian that couples all outputs of a row takes one
    number more than its diagonal, not K (K + 1) / 2.

    Attributes
    ----------
    gradient, diagonal : ndarray of shape (n_rows, n_channels)
        The g and d of every row.
    coupling : ndarray of shape (n_rows,), or None
        The c of every row; None if outputs are not coupled (c = 0).
    """

    gradient: NDArray[Any]
    diagonal: NDArray[Any]
    coupling: NDArray[Any] | None


class Loss(BaseEstimator, ABC):
    """A convex loss of raw predictions.

    The life of a loss in boosting: `check_targets` refuses what it cannot work on; `baseline`
    gives the constant prediction to start from; every round asks for `gradient` (and for
    `curvature` if leaves are Newton steps), then for `step`, the best factor of the new model for
    each output; `value` is followed over the rounds; `predictions` turns raw predictions into
    what the user asked for.

    The life of a loss in rules: `baseline` gives the default rule of numbers; every rule asks
    for the `quadratic` that it minimises, and for `row_losses` if steps are guarded or rows held
    out; pruning orders the rules that it tries by `gradient`. Rules of labels take a
    `MarginLoss`.

    A loss of your own that adds up over entries needs `losses` and `gradient`, in NumPy; the
    rest has general answers here. It is asked about some rows, but always about all outputs,
    unless it says by `treats_outputs_alike` that it can do with some of them.

    Attributes
    ----------
    tasks : frozenset of str
        The kinds of targets it is for: "regression", "binary", "multilabel", "multiclass",
        "multiclass-multioutput".
    learners : frozenset of str
        The families that can minimise it: "boosting", "rules".
    decomposable : bool
        Whether it is a sum over outputs of functions of one raw prediction each.
    hessian : {"none", "diagonal", "diagonal minus rank one"}
        Structure of a row's second derivatives, or of the bound that replaces them.
    native_kernel : str or None
        Name of the formulas that the core has of it: "squared_error", "logistic" or
        "examplewise_logistic". A subclass may change the formulas, so that it has none unless it
        declares one itself.
    margin_form : MarginLoss or None
        What rules of labels minimise in its place, if it is no loss of margins itself. Not
        inherited either.
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
    learners: ClassVar[frozenset[str]] = frozenset({"boosting"})
    decomposable: ClassVar[bool] = True
    hessian: ClassVar[Hessian] = "diagonal"
    native_kernel: ClassVar[str | None] = None
    margin_form: ClassVar[MarginLoss | None] = None
    #: Whether it is a `MarginLoss`.
    is_of_margins: ClassVar[bool] = False
    is_equivariant: ClassVar[bool] = False
    treats_outputs_alike: ClassVar[bool] = False
    largest_move: ClassVar[float] = np.inf

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.native_kernel = cls.__dict__.get("native_kernel")
        cls.margin_form = cls.__dict__.get("margin_form")

    @property
    def is_squared_error(self) -> bool:
        """Whether it is (y - f)^2 / 2 of every entry, so that means of residuals are best."""
        return self.native_kernel == "squared_error"

    @property
    def value_shape(self) -> tuple[int, ...]:
        """Shape of what is predicted for an output: () for a number, (3,) for three of them."""
        return ()

    @property
    def n_values_per_output(self) -> int:
        """Number of raw predictions for every channel of the targets."""
        return math.prod(self.value_shape)

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

    def quadratic(self, targets: LossTargets, raw: NDArray[Any]) -> Quadratic:
        """Give what rules minimise in place of the loss near raw predictions, not weighted.

        By default, gradient and curvature. A curvature that is 0 where the loss is not needs
        another: a bound of the loss from above.

        Parameters
        ----------
        targets : LossTargets
        raw : ndarray of shape (n_rows, n_channels)
        """
        return Quadratic(self.gradient(targets, raw), self.curvature(targets, raw), None)

    def row_losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Sum the loss over the entries of every row, of shape (n_rows,).

        Weights of entries count, weights of rows do not.

        Parameters
        ----------
        targets : LossTargets
        raw : ndarray of shape (n_rows, n_channels)
        """
        losses = self.losses(targets, raw)
        if targets.weights is not None and targets.weights.ndim == 2:
            losses = losses * targets.weights
        return np.asarray(losses.sum(axis=1))

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

    def output_values(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[np.float64] | None:
        """Sum the weighted loss over the rows, for every output; of shape (n_outputs,).

        Parameters
        ----------
        targets : LossTargets
        raw : ndarray of shape (n_rows, n_channels)

        Returns
        -------
        ndarray, or None if the loss has no value for an output alone
        """
        sums = np.zeros(targets.n_channels)
        for rows, part in targets.blocks():
            entries = self.losses(part, raw[rows])
            if entries.shape[1] != targets.n_channels:
                return None
            sums += part.weighted_sums(entries)
        return np.add.reduceat(sums, targets.channel_offsets[:-1])

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
        ones = np.ones(targets.values.shape)
        return self.step(targets, np.zeros_like(ones), ones)

    def step(
        self, targets: LossTargets, raw: NDArray[Any], direction: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Find the factor of a direction that lowers the loss most, for every channel.

        If channels depend on each other, any factors that lower the loss: one number for all
        channels if each has a direction of its own; if they share one, Newton steps of the
        channels one by one, times one number for all.

        Parameters
        ----------
        targets : LossTargets
        raw : ndarray of shape (n_rows, n_channels)
        direction : ndarray of shape (n_rows, n_channels) or (n_rows, 1)

        Returns
        -------
        ndarray of shape (n_channels,), float64
        """
        if not self.decomposable:
            return joint_step(self, targets, raw, direction)
        largest = np.broadcast_to(targets.largest(direction), (targets.n_channels,))
        bound = np.divide(
            self.largest_move, largest, out=np.full(largest.shape, 0.0), where=largest > 0
        )

        def derivatives(
            factors: NDArray[np.float64],
        ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            def terms(rows: slice, part: LossTargets) -> tuple[NDArray[Any], NDArray[Any]]:
                along = direction[rows]
                moved = raw[rows] + factors * along
                slopes = self.gradient(part, moved) * along
                return slopes, self.curvature(part, moved) * along**2

            slope, curvature = targets.row_sums(terms, 2)
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
