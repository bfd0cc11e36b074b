"""Heads that never raise the loss of the training rows, and a warning where it has risen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.warning import warn_user
from polyleaf.losses import Loss, LossTargets

_MOST_HALVINGS = 40
#: Losses that differ by less, relatively, differ by rounding.
_ROUNDING = 1e-12
#: Scores that are copied at a time.
_BLOCK_ENTRIES = 2**20


class TrainingLoss:
    """The loss of training rows at given scores.

    Parameters
    ----------
    loss : Loss
    targets : LossTargets
    row_weights : ndarray of shape (n_rows,), or None
        Beside the weights of entries.
    """

    def __init__(
        self, loss: Loss, targets: LossTargets, row_weights: NDArray[np.float64] | None
    ) -> None:
        self._loss, self._targets, self._weights = loss, targets, row_weights

    def value(
        self,
        rows: NDArray[np.int32],
        scores: NDArray[np.float64],
        outputs: NDArray[np.int32] | None = None,
        head: NDArray[np.float64] | None = None,
    ) -> float:
        """Sum the loss of some rows, with a head added to their scores of some outputs if given.

        Parameters
        ----------
        rows : ndarray of shape (n_covered,), int32
        scores : ndarray of shape (n_rows, n_channels)
            Those of all rows.
        outputs : ndarray of shape (n_head,), int32, optional
        head : ndarray of shape (n_head,), optional
        """
        total = 0.0
        for part in _blocks(rows, scores.shape[1]):
            at = scores[part]
            if head is not None:
                at[:, outputs] += head
            losses = self._loss.row_losses(self._targets.at(part), at)
            if self._weights is not None:
                losses = losses * self._weights[part]
            total += float(losses.sum())
        return total

    def guarded(
        self,
        rows: NDArray[np.int32],
        scores: NDArray[np.float64],
        outputs: NDArray[np.int32],
        head: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Halve a head until the loss of the rows that it covers does not rise."""
        before = self.value(rows, scores)
        for _ in range(_MOST_HALVINGS):
            if self.value(rows, scores, outputs, head) <= before * (1.0 + _ROUNDING):
                return head
            head = head / 2
        return np.zeros_like(head)


def _blocks(rows: NDArray[np.int32], n_channels: int) -> Iterator[NDArray[np.int32]]:
    step = max(1, _BLOCK_ENTRIES // n_channels)
    return (rows[start : start + step] for start in range(0, rows.size, step))


def warn_of_risen_loss(first: float, default: float, last: float, n_rules: int) -> None:
    """Warn if rules have raised the mean loss of the training rows.

    Parameters
    ----------
    first, default, last : float
        The loss at scores of 0, after the default rule, and after all rules.
    n_rules : int
    """
    least = min(first, default)
    if last <= least * (1.0 + 1e-9):
        return
    before = "with the default rule alone" if default <= first else "without any rule"
    warn_user(
        f"The mean loss of the training rows has risen: it is {last:.4g} with {n_rules} rules and "
        f"{least:.4g} {before}. Steps overshoot; use step='guarded', a larger l2_regularization "
        "or a smaller learning_rate."
    )
