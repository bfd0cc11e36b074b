"""Losses of labels by their margins, label by label.

The margin of a label is m = (2 y - 1) f: positive where the sign of the raw prediction is right.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from polyleaf.losses._base import Loss, Quadratic
from polyleaf.losses._targets import LossTargets


def margins(targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
    """Give f for a label 1 and -f for a label 0."""
    return np.where(targets.values > 0, raw, -raw)


def wrong_signs(targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
    """Give -1 for a label 1 and 1 for a label 0: where raw predictions are not to go."""
    one = raw.dtype.type(1)
    return np.asarray(np.where(targets.values > 0, -one, one))


def sigmoid(raw: NDArray[Any]) -> NDArray[Any]:
    """Compute 1 / (1 + exp(-f)), in the precision of the raw predictions."""
    small = np.exp(-np.abs(raw))
    return np.asarray(np.where(raw >= 0, 1.0, small) / (1.0 + small))


class MarginLoss(Loss):
    """Base of losses of labels: `combine` of the sum over labels of the `costs` of their margins.

    So it has a value for every label set that somebody may choose, and the signs of the raw
    predictions are the best one.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"binary", "multilabel"})
    learners: ClassVar[frozenset[str]] = frozenset({"boosting", "rules"})
    is_of_margins: ClassVar[bool] = True
    treats_outputs_alike: ClassVar[bool] = True

    @abstractmethod
    def costs(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute what labels cost by their margins; of any shape."""

    def combine(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn sums of costs into losses of rows."""
        return sums

    @abstractmethod
    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the probability of each label by its own raw prediction."""

    def check_targets(self, targets: LossTargets) -> None:
        """Raise a ValueError if a target is neither 0 nor 1."""
        if not np.all((targets.values == 0) | (targets.values == 1)):
            raise ValueError(f"loss={self!r} needs labels, 0 or 1; got other numbers.")

    def losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the loss of every entry."""
        return self.costs(margins(targets, raw))

    def row_losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Sum the costs of the labels of every row, by the weights of entries."""
        costs = self.costs(margins(targets, raw))
        if targets.weights is not None and targets.weights.ndim == 2:
            costs = costs * targets.weights
        return np.asarray(costs.sum(axis=1))

    def predictions(
        self, raw: NDArray[Any], channel_offsets: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Give the probabilities of label 1."""
        return self.probabilities(np.asarray(raw, dtype=np.float64))

    def decision_costs(
        self, scores: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give what each label costs if it is as its score says, and if it is not."""
        size = np.abs(scores)
        return self.costs(size), self.costs(-size)

    def set_losses(
        self, scores: NDArray[np.float64], label_sets: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
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


class Logistic(MarginLoss):
    """log(1 + exp(-f)) for a label 1, log(1 + exp(f)) for a label 0, summed over labels.

    The probability of a label is 1 / (1 + exp(-f)).

    Boosting asks in single precision, for which NumPy is quick; rules ask in double precision,
    and SciPy's functions keep all digits where a label is nearly certain.

    Examples
    --------
    >>> targets = LossTargets.of([[1.0], [1.0], [1.0], [0.0]])
    >>> Logistic().baseline(targets).round(4)  # log(3 / 1)
    array([1.0986])
    >>> Logistic().gradient(targets, np.zeros((4, 1))).ravel()
    array([-0.5, -0.5, -0.5,  0.5])
    """

    native_kernel: ClassVar[str | None] = "logistic"
    largest_move: ClassVar[float] = 8.0

    def losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the loss of every entry."""
        margin = np.where(targets.values > 0.5, raw, -raw)
        return np.asarray(np.maximum(-margin, 0.0) + np.log1p(np.exp(-np.abs(raw))))

    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute p - y of every entry."""
        return np.asarray(sigmoid(raw) - targets.values)

    def curvature(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute p (1 - p) of every entry."""
        p = sigmoid(raw)
        return np.asarray(p * (1.0 - p))

    def baseline(self, targets: LossTargets) -> NDArray[np.float64]:
        """Give the log-odds of every label; those of half a row where it is constant."""
        totals = targets.total_weights
        positive = targets.weighted_sums(targets.values)
        share = np.divide(positive, totals, out=np.full(totals.shape, 0.5), where=totals > 0)
        least = 0.5 / (targets.n_rows + 1.0)
        share = np.clip(share, least, 1.0 - least)
        return np.asarray(np.log(share) - np.log1p(-share))

    def predictions(
        self, raw: NDArray[Any], channel_offsets: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Give the probabilities of label 1."""
        return sigmoid(np.asarray(raw, dtype=np.float64))

    def costs(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute log(1 + exp(-m))."""
        return np.asarray(-log_expit(margins))

    def decision_costs(
        self, scores: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give ``log(1 + exp(-|f|))`` and ``log(1 + exp(|f|))``."""
        size = np.abs(scores)
        right = self.costs(size)
        return right, right + size

    def quadratic(self, targets: LossTargets, raw: NDArray[Any]) -> Quadratic:
        """Compute -y s and s (1 - s), with y = -1 or 1 and s the chance of the other label."""
        signs = wrong_signs(targets, raw)
        share = expit(signs * raw)
        return Quadratic(signs * share, share * (1.0 - share), None)

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give 1 / (1 + exp(-f))."""
        return np.asarray(expit(scores))


class SquaredHinge(MarginLoss):
    """max(0, 1 - m)^2 / 2 of the margin m of each label: nothing where it is 1 or more.

    The probability of a label is (1 + f) / 2, cut off at 0 and 1.

    Examples
    --------
    >>> targets = LossTargets.of([[1.0], [1.0], [1.0], [0.0]])
    >>> SquaredHinge().losses(targets, np.array([[2.0], [0.5], [-1.0], [-1.0]])).ravel()
    array([0.   , 0.125, 2.   , 0.   ])
    >>> SquaredHinge().baseline(targets)
    array([0.5])
    """

    def costs(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute max(0, 1 - m)^2 / 2."""
        return np.asarray(0.5 * np.maximum(1 - margins, 0.0) ** 2)

    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute f - y, with y = -1 or 1, where the margin is below 1, else 0."""
        return self.quadratic(targets, raw).gradient

    def curvature(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Give 1 where the margin is below 1, else 0."""
        return self.quadratic(targets, raw).diagonal

    def quadratic(self, targets: LossTargets, raw: NDArray[Any]) -> Quadratic:
        """Give gradient and curvature."""
        signs = wrong_signs(targets, raw)
        short = np.maximum(1 + signs * raw, 0.0)
        return Quadratic(signs * short, (short > 0).astype(raw.dtype), None)

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give (1 + f) / 2, cut off at 0 and 1."""
        return np.clip(0.5 + 0.5 * scores, 0.0, 1.0)


class SquaredMargin(MarginLoss):
    """(1 - m)^2 / 2 of the margin m of each label: `SquaredError`, if labels were -1 and 1."""

    def costs(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute (1 - m)^2 / 2."""
        return np.asarray(0.5 * (1 - margins) ** 2)

    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute f - y, with y = -1 or 1."""
        return np.asarray(raw + wrong_signs(targets, raw))

    def curvature(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Give 1 for every entry."""
        return np.ones(raw.shape, raw.dtype)

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give (1 + f) / 2, cut off at 0 and 1."""
        return np.clip(0.5 + 0.5 * scores, 0.0, 1.0)
