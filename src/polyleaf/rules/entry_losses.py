"""Losses of rules that are sums over channels (paper 002, (6)).

Labels are -1 and +1. Regression losses have curvatures that bound them from above, so that every
step lowers them (the absolute error but for its smoothing next to zero).
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.special import expit, log_expit

from polyleaf.rules.loss_base import Floats, LabelLoss, RuleLoss, RuleTargets, Statistics

#: Residuals below this (in standard deviations) count as zero for the absolute error.
_SMALLEST_RESIDUAL = 1e-3


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

    has_twin = True

    def entries(self, values: Floats, scores: Floats) -> Floats:
        """Compute log(1 + exp(-y p))."""
        return np.asarray(-log_expit(values * scores))

    def derivatives(self, values: Floats, scores: Floats) -> tuple[Floats, Floats]:
        """Compute -y s and s (1 - s), with s the probability of the other label."""
        share = expit(-values * scores)
        return -values * share, share * (1.0 - share)

    def first_sums(self, targets: RuleTargets) -> Statistics:
        """Sum -y / 2 and 1 / 4."""
        n_rows, n_labels = targets.values.shape
        gradient = -0.5 * targets.values.sum(axis=0, dtype=np.int32)
        return Statistics(gradient[None], np.full((1, n_labels), 0.25 * n_rows), None)

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

    def slopes(self, targets: RuleTargets, scores: Floats) -> Floats:
        """Give the sign of every residual."""
        signs = np.sign(scores - targets.values)
        return np.asarray(signs if targets.observed is None else signs * targets.observed)
