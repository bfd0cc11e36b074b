"""Losses that rules minimise, with their first and second derivatives (paper 002, section 2.3).

The Hessian of a row is diag(d) - c g g', with g the gradient: a decomposable loss has c = 0; those
of the others take K numbers per row and one more, not K (K + 1) / 2. For the example-wise logistic
loss (7), d_k = exp(-y_k p_k) / (1 + sum_j exp(-y_j p_j)), g_k = -y_k d_k and c = 1.

Labels are -1 and +1. Regression losses have curvatures that bound them from above, so that every
step lowers them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

Floats = NDArray[np.float64]

#: Scores beyond this are as good as certain; their exponentials are still numbers.
_LARGEST_SCORE = 300.0
#: Residuals below this (in standard deviations) count as zero for the absolute error.
_SMALLEST_RESIDUAL = 1e-3


class Statistics(NamedTuple):
    """Derivatives of some rows, weights included.

    Attributes
    ----------
    gradient, diagonal : ndarray of shape (n_rows, n_channels)
    coupling : ndarray of shape (n_rows,), or None
        None if the loss is decomposable.
    """

    gradient: Floats
    diagonal: Floats
    coupling: Floats | None


@dataclass(frozen=True, eq=False)
class RuleTargets:
    """What a loss compares scores with.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_channels)
        Numbers, or -1 and +1.
    observed : ndarray of shape (n_rows, n_channels), bool, or None
    weights : ndarray of shape (n_rows,) or (n_rows, n_channels), or None
    """

    values: Floats
    observed: NDArray[np.bool_] | None = None
    weights: Floats | None = None

    def at(self, rows: Any, channels: Any = slice(None)) -> RuleTargets:
        """Take some rows and channels."""

        def take(array: Any) -> Any:
            if array is None or array.ndim == 1:
                return None if array is None else array[rows]
            taken = array[rows]
            return taken if isinstance(channels, slice) else taken[:, channels]

        return RuleTargets(take(self.values), take(self.observed), take(self.weights))


class RuleLoss(ABC):
    """A loss of the scores of a row, convex and twice differentiable almost everywhere."""

    decomposable: ClassVar[bool] = True

    @abstractmethod
    def row_losses(self, targets: RuleTargets, scores: Floats) -> Floats:
        """Compute the loss of every row, not weighted by row; of shape (n_rows,).

        Parameters
        ----------
        targets : RuleTargets
        scores : ndarray of shape (n_rows, n_channels)
        """

    @abstractmethod
    def statistics(self, targets: RuleTargets, scores: Floats) -> Statistics:
        """Differentiate twice, weights included.

        Parameters
        ----------
        targets : RuleTargets
        scores : ndarray of shape (n_rows, n_channels)
        """

    def value(self, targets: RuleTargets, scores: Floats) -> float:
        """Sum the weighted loss over rows.

        Parameters
        ----------
        targets : RuleTargets
        scores : ndarray of shape (n_rows, n_channels)
        """
        losses = self.row_losses(targets, scores)
        weights = targets.weights
        if weights is not None and weights.ndim == 1:
            losses = losses * weights
        return float(losses.sum())


class LabelLoss(RuleLoss):
    """A loss of labels, which also says which label set it would choose.

    The loss of a label set is `combine` of the sum over labels of `decision_costs`.
    """

    @abstractmethod
    def decision_costs(self, scores: Floats) -> tuple[Floats, Floats]:
        """Give what each label costs if it is as its score says, and if it is not."""

    def combine(self, sums: Floats) -> Floats:
        """Turn sums of costs into losses."""
        return sums

    @abstractmethod
    def probabilities(self, scores: Floats) -> Floats:
        """Give the probability of each label by its own score."""

    def set_losses(self, scores: Floats, label_sets: NDArray[np.bool_]) -> Floats:
        """Compute the loss of each label set for each row.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_labels)
        label_sets : ndarray of shape (n_sets, n_labels), bool

        Returns
        -------
        ndarray of shape (n_rows, n_sets)
        """
        right, wrong = self.decision_costs(scores)
        extra, says_yes = wrong - right, scores > 0
        sets = label_sets.astype(np.float64)
        # Only numbers that are not negative are added, so that small differences survive.
        sums = (
            np.where(says_yes, 0.0, extra) @ sets.T + np.where(says_yes, extra, 0.0) @ (1 - sets).T
        )
        return self.combine(sums + right.sum(axis=1, keepdims=True))


# Decomposable losses ---------------------------------------------------------------------------


class EntryLoss(RuleLoss):
    """A sum over channels of a function of one score."""

    @abstractmethod
    def entries(self, values: Floats, scores: Floats) -> Floats:
        """Compute the loss of every entry."""

    @abstractmethod
    def derivatives(self, values: Floats, scores: Floats) -> tuple[Floats, Floats]:
        """Compute the first and second derivative of every entry."""

    def row_losses(self, targets: RuleTargets, scores: Floats) -> Floats:
        """Sum over channels, weighted where weights are by entry."""
        losses = self.entries(targets.values, scores)
        if targets.observed is not None:
            losses = np.where(targets.observed, losses, 0.0)
        if targets.weights is not None and targets.weights.ndim == 2:
            losses = losses * targets.weights
        return np.asarray(losses.sum(axis=1))

    def statistics(self, targets: RuleTargets, scores: Floats) -> Statistics:
        """Differentiate every entry."""
        gradient, diagonal = self.derivatives(targets.values, scores)
        if targets.observed is not None:
            gradient, diagonal = gradient * targets.observed, diagonal * targets.observed
        if targets.weights is not None:
            weights = targets.weights if targets.weights.ndim == 2 else targets.weights[:, None]
            gradient, diagonal = gradient * weights, diagonal * weights
        return Statistics(gradient, diagonal, None)


class Logistic(EntryLoss, LabelLoss):
    """log(1 + exp(-y p)) of each label (6)."""

    def entries(self, values: Floats, scores: Floats) -> Floats:
        """Compute log(1 + exp(-y p))."""
        return np.asarray(-log_expit(values * scores))

    def derivatives(self, values: Floats, scores: Floats) -> tuple[Floats, Floats]:
        """Compute -y s and s (1 - s), with s the probability of the other label."""
        share = expit(-values * scores)
        return -values * share, share * (1.0 - share)

    def decision_costs(self, scores: Floats) -> tuple[Floats, Floats]:
        """Give log(1 + exp(-|p|)) and log(1 + exp(|p|))."""
        right = -log_expit(np.abs(scores))
        return right, right + np.abs(scores)

    def probabilities(self, scores: Floats) -> Floats:
        """Give 1 / (1 + exp(-p))."""
        return np.asarray(expit(scores))


class SquaredError(EntryLoss, LabelLoss):
    """(p - y)^2 / 2 of each output."""

    def entries(self, values: Floats, scores: Floats) -> Floats:
        """Compute (p - y)^2 / 2."""
        return np.asarray(0.5 * (scores - values) ** 2)

    def derivatives(self, values: Floats, scores: Floats) -> tuple[Floats, Floats]:
        """Compute p - y and 1."""
        return scores - values, np.ones(scores.shape)

    def decision_costs(self, scores: Floats) -> tuple[Floats, Floats]:
        """Give (1 - |p|)^2 / 2 and (1 + |p|)^2 / 2."""
        size = np.abs(scores)
        return 0.5 * (1 - size) ** 2, 0.5 * (1 + size) ** 2

    def probabilities(self, scores: Floats) -> Floats:
        """Give (1 + p) / 2, cut off at 0 and 1."""
        return np.clip(0.5 + 0.5 * scores, 0.0, 1.0)


class SquaredHinge(EntryLoss, LabelLoss):
    """max(0, 1 - y p)^2 / 2 of each label."""

    def entries(self, values: Floats, scores: Floats) -> Floats:
        """Compute max(0, 1 - y p)^2 / 2."""
        return np.asarray(0.5 * np.maximum(1 - values * scores, 0.0) ** 2)

    def derivatives(self, values: Floats, scores: Floats) -> tuple[Floats, Floats]:
        """Compute p - y and 1 where the margin is below 1, else 0."""
        short = np.maximum(1 - values * scores, 0.0)
        return -values * short, (short > 0).astype(np.float64)

    def decision_costs(self, scores: Floats) -> tuple[Floats, Floats]:
        """Give the costs of margins |p| and -|p|."""
        size = np.abs(scores)
        return 0.5 * np.maximum(1 - size, 0.0) ** 2, 0.5 * (1 + size) ** 2

    def probabilities(self, scores: Floats) -> Floats:
        """Give (1 + p) / 2, cut off at 0 and 1."""
        return np.clip(0.5 + 0.5 * scores, 0.0, 1.0)


class Huber(EntryLoss):
    """Squared error near zero, absolute error beyond `delta`.

    The curvature is that of the parabola that touches the loss from above.

    Parameters
    ----------
    delta : float
        Where the loss becomes linear, in the unit of the scores.
    """

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = delta

    def entries(self, values: Floats, scores: Floats) -> Floats:
        """Compute r^2 / 2, or delta (|r| - delta / 2) beyond delta."""
        size = np.abs(scores - values)
        return np.where(size <= self.delta, 0.5 * size**2, self.delta * (size - 0.5 * self.delta))

    def derivatives(self, values: Floats, scores: Floats) -> tuple[Floats, Floats]:
        """Compute the residual, cut off at delta, and min(1, delta / |r|)."""
        residual = scores - values
        curvature = self.delta / np.maximum(np.abs(residual), self.delta)
        return residual * curvature, curvature


class AbsoluteError(EntryLoss):
    """|p - y| of each output."""

    def entries(self, values: Floats, scores: Floats) -> Floats:
        """Compute |p - y|."""
        return np.abs(scores - values)

    def derivatives(self, values: Floats, scores: Floats) -> tuple[Floats, Floats]:
        """Compute the sign of the residual and 1 / |r|, both smoothed next to zero."""
        residual = scores - values
        curvature = 1.0 / np.maximum(np.abs(residual), _SMALLEST_RESIDUAL)
        return residual * curvature, curvature


# Losses of whole rows --------------------------------------------------------------------------


class ExamplewiseLoss(LabelLoss):
    """A loss that is no sum over labels; weights are by row."""

    decomposable = False

    @abstractmethod
    def coupled(
        self, values: Floats, scores: Floats, observed: NDArray[np.bool_] | None
    ) -> tuple[Floats, Floats, Floats]:
        """Compute gradient, diagonal and coupling of every row, not weighted."""

    def statistics(self, targets: RuleTargets, scores: Floats) -> Statistics:
        """Differentiate every row."""
        gradient, diagonal, coupling = self.coupled(targets.values, scores, targets.observed)
        if targets.weights is None:
            return Statistics(gradient, diagonal, coupling)
        weights = targets.weights[:, None]
        inverse = np.divide(
            1.0, targets.weights, out=np.zeros_like(targets.weights), where=targets.weights > 0
        )
        return Statistics(gradient * weights, diagonal * weights, coupling * inverse)


class ExamplewiseLogistic(ExamplewiseLoss):
    """log(1 + sum over labels of exp(-y p)) of each row (7)."""

    def _shares(
        self, values: Floats, scores: Floats, observed: NDArray[np.bool_] | None
    ) -> tuple[Floats, Floats]:
        margins = -values * scores
        if observed is not None:
            margins = np.where(observed, margins, -np.inf)
        largest = np.maximum(margins.max(axis=1, keepdims=True), 0.0)
        exponentials = np.exp(margins - largest)
        total = np.exp(-largest) + exponentials.sum(axis=1, keepdims=True)
        return exponentials / total, (np.log(total) + largest)[:, 0]

    def row_losses(self, targets: RuleTargets, scores: Floats) -> Floats:
        """Compute the loss of every row."""
        return self._shares(targets.values, scores, targets.observed)[1]

    def coupled(
        self, values: Floats, scores: Floats, observed: NDArray[np.bool_] | None
    ) -> tuple[Floats, Floats, Floats]:
        """Compute -y s, s and 1, with s the share of each label in the sum."""
        shares, _ = self._shares(values, scores, observed)
        return -values * shares, shares, np.ones(len(scores))

    def decision_costs(self, scores: Floats) -> tuple[Floats, Floats]:
        """Give exp(-|p|) and exp(|p|)."""
        size = np.minimum(np.abs(scores), _LARGEST_SCORE)
        return np.exp(-size), np.exp(size)

    def combine(self, sums: Floats) -> Floats:
        """Give log(1 + sum)."""
        return np.asarray(np.log1p(sums))

    def probabilities(self, scores: Floats) -> Floats:
        """Give 1 / (1 + exp(-p))."""
        return np.asarray(expit(scores))


class _NormLoss(ExamplewiseLoss):
    """The Euclidean length of the errors e of a row: g = e / |e|, H = (I - g g') / |e|."""

    @abstractmethod
    def errors(self, values: Floats, scores: Floats) -> Floats:
        """Compute the error of every entry, with the sign of its derivative."""

    def _errors(
        self, values: Floats, scores: Floats, observed: NDArray[np.bool_] | None
    ) -> Floats:
        errors = self.errors(values, scores)
        return errors if observed is None else np.where(observed, errors, 0.0)

    def row_losses(self, targets: RuleTargets, scores: Floats) -> Floats:
        """Compute the length of the errors of every row."""
        errors = self._errors(targets.values, scores, targets.observed)
        return np.asarray(np.sqrt((errors**2).sum(axis=1)))

    def coupled(
        self, values: Floats, scores: Floats, observed: NDArray[np.bool_] | None
    ) -> tuple[Floats, Floats, Floats]:
        """Compute the derivatives of the length; 0 where there is no error."""
        errors = self._errors(values, scores, observed)
        length = np.sqrt((errors**2).sum(axis=1))
        inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        active = errors != 0
        return errors * inverse[:, None], active * inverse[:, None], inverse

    def combine(self, sums: Floats) -> Floats:
        """Give the square root of twice the sum."""
        return np.asarray(np.sqrt(2.0 * sums))


class ExamplewiseSquaredError(_NormLoss):
    """The Euclidean distance of the scores of a row from its labels."""

    def errors(self, values: Floats, scores: Floats) -> Floats:
        """Compute p - y."""
        return scores - values

    decision_costs = SquaredError.decision_costs
    probabilities = SquaredError.probabilities


class ExamplewiseSquaredHinge(_NormLoss):
    """The Euclidean length of what the margins of a row lack to 1."""

    def errors(self, values: Floats, scores: Floats) -> Floats:
        """Compute -y max(0, 1 - y p)."""
        return -values * np.maximum(1 - values * scores, 0.0)

    decision_costs = SquaredHinge.decision_costs
    probabilities = SquaredHinge.probabilities


LABEL_LOSSES: dict[str, type[LabelLoss]] = {
    "logistic": Logistic,
    "examplewise_logistic": ExamplewiseLogistic,
    "squared_hinge": SquaredHinge,
    "examplewise_squared_hinge": ExamplewiseSquaredHinge,
    "squared_error": SquaredError,
    "examplewise_squared_error": ExamplewiseSquaredError,
}
NUMBER_LOSSES: dict[str, type[RuleLoss]] = {
    "squared_error": SquaredError,
    "absolute_error": AbsoluteError,
    "huber": Huber,
}
