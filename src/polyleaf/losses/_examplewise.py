"""Losses of all labels of a row together (Rapp et al. 2020): they do not add up over labels."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from polyleaf.losses._base import Hessian, Quadratic
from polyleaf.losses._labels import MarginLoss, SquaredHinge, SquaredMargin, sigmoid, wrong_signs
from polyleaf.losses._targets import LossTargets

#: Steps towards the baseline, and when they are as good as none.
_MOST_STEPS, _SMALL_STEP = 200, 1e-9
#: Scores up to this have exponentials whose sums are numbers.
_LARGEST_SCORE = 300.0
#: Errors shorter than this count as this long, so that curvatures stay finite.
_SHORTEST_ERROR = 1e-3


class ExamplewiseLoss(MarginLoss):
    """Base of losses that are no sum over labels: each row has one loss, and one weight.

    A label that is not observed is left out of its row.
    """

    decomposable: ClassVar[bool] = False

    @abstractmethod
    def row_losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the loss of every row, not weighted; of shape (n_rows,)."""

    @abstractmethod
    def largest_constant(self, targets: LossTargets) -> float:
        """Give a bound on the best constant prediction of any label."""

    def check_targets(self, targets: LossTargets) -> None:
        """Raise a ValueError if a target is no label, or weights differ within a row."""
        super().check_targets(targets)
        weights = targets.weights
        if weights is None or weights.ndim == 1:
            return
        heaviest = weights.max(axis=1, keepdims=True)
        if np.any((weights != heaviest) & (weights > 0)):
            raise ValueError(
                f"loss={self!r} compares whole rows: the observed labels of a row must have one "
                "weight; got weights that differ. Give sample_weight of shape (n,) and no "
                "class_weight, or use loss='logistic'."
            )

    def losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the loss of every row, of shape (n_rows, 1)."""
        return self.row_losses(targets, raw)[:, None]

    def value(self, targets: LossTargets, raw: NDArray[Any]) -> float:
        """Sum the weighted loss over all rows."""
        total = 0.0
        for rows, part in targets.blocks():
            losses = self.row_losses(part, raw[rows])
            weights = part.weights
            if weights is not None:
                losses = losses * (weights if weights.ndim == 1 else weights.max(axis=1))
            total += float(losses.sum(dtype=np.float64))
        return total

    def total_weight(self, targets: LossTargets) -> float:
        """Sum the weights of all rows."""
        weights = targets.weights
        if weights is None:
            return float(targets.n_rows)
        return targets.total(weights if weights.ndim == 1 else weights.max(axis=1))

    def baseline(self, targets: LossTargets) -> NDArray[np.float64]:
        """Find the best constant by steps that never raise the loss."""
        found = np.zeros(targets.n_channels)
        bound = self.largest_constant(targets)

        def terms(rows: slice, part: LossTargets) -> tuple[NDArray[Any], NDArray[Any]]:
            near = self.quadratic(part, np.broadcast_to(found, part.values.shape))
            return near.gradient, near.diagonal

        for _ in range(_MOST_STEPS):
            slope, curvature = targets.row_sums(terms, 2)
            step = np.divide(-slope, curvature, out=np.zeros_like(slope), where=curvature > 0)
            moved = np.clip(found + step, -bound, bound)
            if np.abs(moved - found).max() < _SMALL_STEP:
                break
            found = moved
        return found


class ExamplewiseLogistic(ExamplewiseLoss):
    """log(1 + sum_k exp(-m_k)) of the margins of a row: a surrogate of the subset 0/1 loss.

    With s_k = exp(-m_k) / (1 + sum_j exp(-m_j)) and y_k = -1 or 1, the gradient g is -y_k s_k and
    the Hessian diag(s) - g g' (Rapp et al. 2020, eq. 7). It never exceeds diag(s), by which
    Newton steps of boosting divide.

    Examples
    --------
    >>> targets = LossTargets.of([[1.0, 0.0]])
    >>> ExamplewiseLogistic().gradient(targets, np.zeros((1, 2))).round(3)
    array([[-0.333,  0.333]])
    """

    hessian: ClassVar[Hessian] = "diagonal minus rank one"
    native_kernel: ClassVar[str | None] = "examplewise_logistic"
    largest_move: ClassVar[float] = 8.0

    def _shares(
        self, targets: LossTargets, raw: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Signs -y, shares s, and the loss of every row."""
        signs = wrong_signs(targets, raw)
        exponents = signs * raw
        if targets.weights is not None and targets.weights.ndim == 2:
            exponents = np.where(targets.weights > 0, exponents, -np.inf)
        largest = np.maximum(exponents.max(axis=1, keepdims=True), 0.0)
        terms = np.exp(exponents - largest)
        total = np.exp(-largest) + terms.sum(axis=1, keepdims=True)
        return signs, terms / total, (largest + np.log(total))[:, 0]

    def row_losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the loss of every row."""
        return self._shares(targets, raw)[2]

    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute -y_k s_k of every entry; 0 where a label is not observed."""
        signs, shares, _ = self._shares(targets, raw)
        return np.asarray(signs * shares)

    def curvature(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Give s_k, which is not below the Hessian."""
        return self._shares(targets, raw)[1]

    def quadratic(self, targets: LossTargets, raw: NDArray[Any]) -> Quadratic:
        """Compute -y_k s_k, s_k and 1."""
        signs, shares, _ = self._shares(targets, raw)
        return Quadratic(signs * shares, shares, np.ones(len(raw)))

    def largest_constant(self, targets: LossTargets) -> float:
        """Give the log-odds of less than half a row."""
        return float(np.log(2.0 * targets.n_rows + 1.0))

    def predictions(
        self, raw: NDArray[Any], channel_offsets: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Give sigmoid(f): above 1/2 where a label is likelier than not to be in the best set."""
        return sigmoid(np.asarray(raw, dtype=np.float64))

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give 1 / (1 + exp(-f))."""
        return np.asarray(expit(scores))

    def costs(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute exp(-m)."""
        return np.exp(-np.clip(margins, -_LARGEST_SCORE, _LARGEST_SCORE))

    def combine(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give log(1 + sum)."""
        return np.asarray(np.log1p(sums))

    def set_losses(
        self, scores: NDArray[np.float64], label_sets: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Compute the loss of each label set for each row; see `MarginLoss`."""
        losses = super().set_losses(scores, label_sets)
        for row in np.flatnonzero(np.abs(scores).max(axis=1) > _LARGEST_SCORE):
            margins = np.where(label_sets, -scores[row], scores[row])
            losses[row] = np.logaddexp.reduce(margins, axis=1, initial=0.0)
        return losses


class _NormLoss(ExamplewiseLoss):
    """The Euclidean length of the errors e of a row: the root of twice the sum of their `squares`.

    The length |e| has the Hessian (I - g g') / |e|, which is singular along g itself: the Newton
    step of a single row has no end. Where e is linear in the raw predictions,
    |e + s| <= |e| + g's + s's / (2 |e|). So I / |e| bounds the loss from above, and its step, -e
    for a single row, lowers the loss of any rows. That bound stands for the Hessian here.
    """

    #: Half the square of the error of each label; its derivative is the error.
    squares: ClassVar[MarginLoss]

    def _errors(
        self, targets: LossTargets, raw: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Errors, the curvature of their squares, and their length (n_rows, 1)."""
        errors, curvature, _ = self.squares.quadratic(targets, raw)
        if targets.weights is not None and targets.weights.ndim == 2:
            observed = targets.weights > 0
            errors, curvature = errors * observed, curvature * observed
        return errors, curvature, np.sqrt((errors**2).sum(axis=1, keepdims=True))

    def row_losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the length of the errors of every row."""
        squares = self.squares.losses(targets, raw)
        if targets.weights is not None and targets.weights.ndim == 2:
            squares = np.where(targets.weights > 0, squares, 0.0)
        return self.combine(squares.sum(axis=1))

    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute ``e / |e|``; 0 where there is no error."""
        errors, _, length = self._errors(targets, raw)
        slopes = np.zeros_like(errors)
        np.divide(errors, length, out=slopes, where=length > 0)
        return slopes

    def curvature(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Give the curvature of the squares over ``|e|``, which is a bound."""
        return self.quadratic(targets, raw).diagonal

    def quadratic(self, targets: LossTargets, raw: NDArray[Any]) -> Quadratic:
        """Compute ``e / |e|`` and a curvature, that of the squares over ``|e|``, smoothed at 0."""
        errors, curvature, length = self._errors(targets, raw)
        length = np.maximum(length, _SHORTEST_ERROR)
        return Quadratic(errors / length, curvature / length, None)

    def largest_constant(self, targets: LossTargets) -> float:
        """Give 1, the margin at which there is no error."""
        return 1.0

    def costs(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give half the squared errors."""
        return self.squares.costs(margins)

    def combine(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the square root of twice the sum."""
        return np.asarray(np.sqrt(2.0 * sums))

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give (1 + f) / 2, cut off at 0 and 1."""
        return self.squares.probabilities(scores)


class ExamplewiseSquaredError(_NormLoss):
    """The Euclidean distance of the raw predictions of a row from its labels, as -1 and 1.

    Examples
    --------
    >>> targets = LossTargets.of([[1.0, 0.0]])
    >>> ExamplewiseSquaredError().row_losses(targets, np.array([[-2.0, 3.0]]))
    array([5.])
    """

    squares = SquaredMargin()


class ExamplewiseSquaredHinge(_NormLoss):
    """The Euclidean length of what the margins of a row lack to 1.

    Margins beyond 1 have no curvature, as in the label-wise form: raw predictions stay bounded,
    but a step that takes many of them below 1 may raise the loss, unless it is guarded.

    Examples
    --------
    >>> targets = LossTargets.of([[1.0, 0.0]])
    >>> ExamplewiseSquaredHinge().row_losses(targets, np.array([[5.0, -0.5]]))
    array([0.5])
    """

    squares = SquaredHinge()
