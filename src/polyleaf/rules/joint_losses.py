"""Losses of rules that do not add up over labels.

For the example-wise logistic loss (7), d_k = exp(-y_k p_k) / (1 + sum_j exp(-y_j p_j)),
g_k = -y_k d_k and c = 1 make the Hessian diag(d) - c g g'. Labels are -1 and +1.

The length |e| of the errors of a row has the Hessian (I - g g') / |e|, which is singular along g
itself: the Newton step of a single row has no end. Where e is linear in the scores,
|e + s| <= |e| + g's + s's / (2 |e|), so I / |e| bounds the loss from above, and its step, -e for a
single row, lowers the loss of any rows. So c = 0 here.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from polyleaf.rules.entry_losses import SquaredError, SquaredHinge
from polyleaf.rules.loss_base import Floats, LabelLoss, RuleTargets, Statistics

#: Scores up to this have exponentials whose sums are numbers.
_LARGEST_SCORE = 300.0
#: Errors shorter than this count as this long, so that curvatures stay finite.
_SHORTEST_ERROR = 1e-3


class ExamplewiseLoss(LabelLoss):
    """A loss that is no sum over labels; weights are by row."""

    decomposable = False

    @abstractmethod
    def row_statistics(self, targets: RuleTargets, scores: Floats) -> Statistics:
        """Differentiate every row, not weighted."""

    def statistics(self, targets: RuleTargets, scores: Floats) -> Statistics:
        """Differentiate every row."""
        found = self.row_statistics(targets, scores)
        if targets.weights is None:
            return found
        # What has no reciprocal weighs nothing.
        by_row = np.where(targets.weights >= np.finfo(np.float64).tiny, targets.weights, 0.0)
        weights, coupling = by_row[:, None], found.coupling
        if coupling is not None:
            coupling = coupling * np.divide(
                1.0, by_row, out=np.zeros_like(by_row), where=by_row > 0
            )
        return Statistics(found.gradient * weights, found.diagonal * weights, coupling)


class ExamplewiseLogistic(ExamplewiseLoss):
    """log(1 + sum over labels of exp(-y p)) of each row (7)."""

    has_twin = True
    is_coupled = True

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

    def row_statistics(self, targets: RuleTargets, scores: Floats) -> Statistics:
        """Compute -y s, s and 1, with s the share of each label in the sum."""
        shares, _ = self._shares(targets.values, scores, targets.observed)
        return Statistics(-targets.values * shares, shares, np.ones(len(scores)))

    def decision_costs(self, scores: Floats) -> tuple[Floats, Floats]:
        """Give exp(-|p|) and exp(|p|)."""
        size = np.minimum(np.abs(scores), _LARGEST_SCORE)
        return np.exp(-size), np.exp(size)

    def combine(self, sums: Floats) -> Floats:
        """Give log(1 + sum)."""
        return np.asarray(np.log1p(sums))

    def set_losses(self, scores: Floats, label_sets: NDArray[np.bool_]) -> Floats:
        """Compute the loss of each label set for each row; see `LabelLoss`."""
        losses = super().set_losses(scores, label_sets)
        for row in np.flatnonzero(np.abs(scores).max(axis=1) > _LARGEST_SCORE):
            margins = np.where(label_sets, -scores[row], scores[row])
            losses[row] = np.logaddexp.reduce(margins, axis=1, initial=0.0)
        return losses

    def probabilities(self, scores: Floats) -> Floats:
        """Give 1 / (1 + exp(-p))."""
        return np.asarray(expit(scores))


class _NormLoss(ExamplewiseLoss):
    """The Euclidean length of the errors e of a row: the root of twice their squares' sum."""

    #: Half the square of the error of each label; its derivative is the error.
    squares: ClassVar[SquaredError | SquaredHinge]

    def row_losses(self, targets: RuleTargets, scores: Floats) -> Floats:
        """Compute the length of the errors of every row."""
        observed = RuleTargets(targets.values, targets.observed)
        return self.combine(self.squares.row_losses(observed, scores))

    def row_statistics(self, targets: RuleTargets, scores: Floats) -> Statistics:
        """Compute e / |e|, and the curvature of the squares over |e|, which is a bound."""
        observed = RuleTargets(targets.values, targets.observed)
        errors, curvature, _ = self.squares.statistics(observed, scores)
        length = np.maximum(np.sqrt((errors**2).sum(axis=1, keepdims=True)), _SHORTEST_ERROR)
        return Statistics(errors / length, curvature / length, None)

    def slopes(self, targets: RuleTargets, scores: Floats) -> Floats:
        """Give e / |e|, and 0 where there is no error."""
        errors = self.squares.slopes(targets, scores)
        length = np.sqrt((errors**2).sum(axis=1, keepdims=True))
        slopes = np.zeros(errors.shape)
        np.divide(errors, length, out=slopes, where=length > 0)
        return slopes

    def combine(self, sums: Floats) -> Floats:
        """Give the square root of twice the sum."""
        return np.asarray(np.sqrt(2.0 * sums))

    def decision_costs(self, scores: Floats) -> tuple[Floats, Floats]:
        """Give half the squared errors of either decision."""
        return self.squares.decision_costs(scores)

    def probabilities(self, scores: Floats) -> Floats:
        """Give (1 + p) / 2, cut off at 0 and 1."""
        return self.squares.probabilities(scores)


class ExamplewiseSquaredError(_NormLoss):
    """The Euclidean distance of the scores of a row from its labels."""

    squares = SquaredError()


class ExamplewiseSquaredHinge(_NormLoss):
    """The Euclidean length of what the margins of a row lack to 1.

    Margins beyond 1 have no curvature, as in the label-wise form: scores stay bounded, but a step
    that takes many of them below 1 may raise the loss, unless it is guarded.
    """

    squares = SquaredHinge()
