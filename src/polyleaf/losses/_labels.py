"""Losses of labels: each label for itself, or all labels of a row together (paper 002)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from polyleaf.losses._base import Loss
from polyleaf.losses._joint import JointLoss
from polyleaf.losses._targets import LossTargets

#: Steps towards the baseline of the example-wise loss, and when they are as good as none.
_MOST_STEPS, _SMALL_STEP = 200, 1e-9


def _sigmoid(raw: NDArray[Any]) -> NDArray[Any]:
    small = np.exp(-np.abs(raw))
    return np.asarray(np.where(raw >= 0, 1.0, small) / (1.0 + small))


def _check_labels(targets: LossTargets, name: str) -> None:
    if not np.all((targets.values == 0) | (targets.values == 1)):
        raise ValueError(f"loss={name!r} needs labels, 0 or 1; got other numbers.")


class Logistic(Loss):
    """log(1 + exp(-f)) for a label 1, log(1 + exp(f)) for a label 0, summed over labels.

    The probability of a label is 1 / (1 + exp(-f)).

    Examples
    --------
    >>> targets = LossTargets.of([[1.0], [1.0], [1.0], [0.0]])
    >>> Logistic().baseline(targets).round(4)  # log(3 / 1)
    array([1.0986])
    >>> Logistic().gradient(targets, np.zeros((4, 1))).ravel()
    array([-0.5, -0.5, -0.5,  0.5])
    """

    treats_outputs_alike: ClassVar[bool] = True
    tasks: ClassVar[frozenset[str]] = frozenset({"binary", "multilabel"})
    largest_move: ClassVar[float] = 8.0

    def check_targets(self, targets: LossTargets) -> None:
        """Raise a ValueError if a target is neither 0 nor 1."""
        _check_labels(targets, "logistic")

    def losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the loss of every entry."""
        margin = np.where(targets.values > 0.5, raw, -raw)
        return np.asarray(np.maximum(-margin, 0.0) + np.log1p(np.exp(-np.abs(raw))))

    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute p - y of every entry."""
        return np.asarray(_sigmoid(raw) - targets.values)

    def curvature(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute p (1 - p) of every entry."""
        p = _sigmoid(raw)
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
        return _sigmoid(np.asarray(raw, dtype=np.float64))


class ExamplewiseLogistic(JointLoss):
    """log(1 + sum_k exp(-y_k f_k)) of a row, y_k = -1 or 1: a surrogate of the subset 0/1 loss.

    With s_k = exp(-y_k f_k) / (1 + sum_j exp(-y_j f_j)), the gradient is -y_k s_k and the Hessian
    diag(s) - g g', which never exceeds diag(s): Newton steps divide by s (paper 002, eq. 5).
    A label that is not observed is left out of its row's sum.

    Examples
    --------
    >>> targets = LossTargets.of([[1.0, 0.0]])
    >>> ExamplewiseLogistic().gradient(targets, np.zeros((1, 2))).round(3)
    array([[-0.333,  0.333]])
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"binary", "multilabel"})
    hessian: ClassVar[Literal["none", "diagonal", "diagonal minus rank one"]] = (
        "diagonal minus rank one"
    )
    largest_move: ClassVar[float] = 8.0

    def check_targets(self, targets: LossTargets) -> None:
        """Raise a ValueError if a target is no label, or weights differ within a row."""
        _check_labels(targets, "examplewise_logistic")
        weights = targets.weights
        if weights is None or weights.ndim == 1:
            return
        heaviest = weights.max(axis=1, keepdims=True)
        if np.any((weights != heaviest) & (weights > 0)):
            raise ValueError(
                "loss='examplewise_logistic' compares whole rows: the observed labels of a row "
                "must have one weight; got weights that differ. Give sample_weight of shape (n,) "
                "and no class_weight, or use loss='logistic'."
            )

    def _terms(
        self, targets: LossTargets, raw: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Signs y, exponents shifted by their largest (or 0), and those shifts (n_rows, 1)."""
        signs = np.where(targets.values > 0.5, 1.0, -1.0).astype(raw.dtype)
        exponents = -signs * raw
        if targets.weights is not None and targets.weights.ndim == 2:
            exponents = np.where(targets.weights > 0, exponents, -np.inf)
        shift = np.maximum(exponents.max(axis=1, keepdims=True), 0.0)
        return signs, exponents - shift, shift

    def losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the loss of every row, of shape (n_rows, 1)."""
        _, exponents, shift = self._terms(targets, raw)
        total = np.exp(-shift) + np.exp(exponents).sum(axis=1, keepdims=True)
        return np.asarray(shift + np.log(total))

    def value(self, targets: LossTargets, raw: NDArray[Any]) -> float:
        """Sum the weighted loss over all rows."""
        total = 0.0
        for rows, part in targets.blocks():
            losses = self.losses(part, raw[rows])[:, 0]
            weights = part.weights
            if weights is not None:
                losses = losses * (weights if weights.ndim == 1 else weights.max(axis=1))
            total += float(losses.sum(dtype=np.float64))
        return total

    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute -y_k s_k of every entry; 0 where a label is not observed."""
        signs, exponents, shift = self._terms(targets, raw)
        terms = np.exp(exponents)
        return np.asarray(-signs * terms / (np.exp(-shift) + terms.sum(axis=1, keepdims=True)))

    def curvature(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Give s_k, which is not below the Hessian."""
        return np.asarray(np.abs(self.gradient(targets, raw)))

    def total_weight(self, targets: LossTargets) -> float:
        """Sum the weights of all rows."""
        weights = targets.weights
        if weights is None:
            return float(targets.n_rows)
        return float((weights if weights.ndim == 1 else weights.max(axis=1)).sum())

    def baseline(self, targets: LossTargets) -> NDArray[np.float64]:
        """Find the best constant by steps that never raise the loss."""
        found = np.zeros(targets.n_channels)
        bound = np.log(2.0 * targets.n_rows + 1.0)
        for _ in range(_MOST_STEPS):
            slope, curvature = np.zeros((2, targets.n_channels))
            for _, part in targets.blocks():
                raw = np.broadcast_to(found, part.values.shape)
                gradient = self.gradient(part, raw)
                slope += part.weighted_sums(gradient)
                curvature += part.weighted_sums(np.abs(gradient))
            step = np.divide(-slope, curvature, out=np.zeros_like(slope), where=curvature > 0)
            moved = np.clip(found + step, -bound, bound)
            if np.abs(moved - found).max() < _SMALL_STEP:
                break
            found = moved
        return found

    def predictions(
        self, raw: NDArray[Any], channel_offsets: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Give sigmoid(f): above 1/2 where a label is likelier than not to be in the best set."""
        return _sigmoid(np.asarray(raw, dtype=np.float64))
