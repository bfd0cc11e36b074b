"""Losses of rules that do not add up over labels.

For the example-wise logistic loss (7), d_k = exp(-y_k p_k) / (1 + sum_j exp(-y_j p_j)),
g_k = -y_k d_k and c = 1 make the Hessian diag(d) - c g g'. Labels are -1 and +1.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ramify.training.rule_entry_losses import SquaredError, SquaredHinge
from ramify.training.rule_loss_base import Floats, LabelLoss, RuleTargets, Statistics

#: Scores beyond this are as good as certain; their exponentials are still numbers.
_LARGEST_SCORE = 300.0


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

    has_twin = True

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
        return np.asarray(-values * np.maximum(1 - values * scores, 0.0))

    decision_costs = SquaredHinge.decision_costs
    probabilities = SquaredHinge.probabilities
