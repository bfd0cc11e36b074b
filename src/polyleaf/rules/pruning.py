"""Choose a few rules that do what many did."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.numbers import shown
from polyleaf.estimator.parameters import is_int, is_real
from polyleaf.losses import Loss, LossTargets

#: Rules whose heads are multiplied with slopes at once.
_RULES_AT_A_TIME = 8


def check_pruning(n_rules: Any, tolerance: Any) -> None:
    """Raise a ValueError unless both are what `prune` takes."""
    if n_rules is not None and not is_int(n_rules, 1):
        raise ValueError(f"n_rules must be None or an integer >= 1; got {shown(n_rules, 80)}.")
    if not is_real(tolerance, 0.0):
        raise ValueError(f"tolerance must be a finite number >= 0; got {shown(tolerance, 80)}.")


def greedy_subset(
    heads: NDArray[np.float64],
    covers: NDArray[np.bool_],
    targets: LossTargets,
    loss: Loss,
    n_rules: int | None,
    tolerance: float,
) -> tuple[list[int], float, float]:
    """Choose rules one by one, each the one that lowers the loss most.

    Parameters
    ----------
    heads : ndarray of shape (n_rules, n_channels)
        The default rule first, which is always chosen.
    covers : ndarray of shape (n_rows, n_rules), bool
    targets : LossTargets
        With a weight of 1 for what was observed, 0 for the rest, or None.
    loss : Loss
    n_rules : int or None
        Most rules to choose.
    tolerance : float
        Without `n_rules`: the rise of the mean loss, relative to that with all rules, with which
        to be content.

    Returns
    -------
    chosen : list of int
        Ascending.
    loss, full_loss : float
        The mean loss with the chosen rules, and with all.
    """
    n_rows = len(covers)
    by_rule = np.ascontiguousarray(covers.T)
    full = np.zeros(targets.values.shape)
    for head, covered in zip(heads, by_rule):
        full[covered] += head
    full_loss = float(loss.row_losses(targets, full).sum()) / n_rows
    search = _GreedySearch(heads, by_rule, targets, loss)
    while (
        len(search.kept) < n_rules
        if n_rules is not None
        else search.mean_loss > full_loss * (1 + tolerance)
    ):
        best, fall = search.best()
        if fall <= 0:
            break
        search.take(best)
    return sorted(search.kept), search.mean_loss, full_loss


class _GreedySearch:
    """Rules chosen so far, and the falls of the loss that the others promise.

    A convex loss falls by no more than its slope promises, -g'h summed over the covered rows. So
    rules are tried in the order of their promises, until the next promise is below the best fall
    found: a few tries per step instead of all.
    """

    def __init__(
        self,
        heads: NDArray[np.float64],
        by_rule: NDArray[np.bool_],
        targets: LossTargets,
        loss: Loss,
    ) -> None:
        self.kept = [0]
        self._heads = heads
        is_sparse = np.count_nonzero(heads) < 0.2 * heads.size
        self._directions = sparse.csc_array(heads.T) if is_sparse else heads.T
        self._by_rule = by_rule
        self._targets = targets
        self._loss = loss
        self._scores = np.broadcast_to(heads[0], targets.values.shape).copy()
        self._losses = loss.row_losses(targets, self._scores)
        self._slopes = targets.weighted(loss.gradient(targets, self._scores))
        self._promises = np.zeros(len(heads))
        self._promise(slice(None), self._slopes)
        self._is_left = np.arange(len(heads)) > 0
        #: Promises are sums that are kept up to date, and so rounded.
        self._slack = 1e-9 * float(np.abs(self._slopes).sum() * np.abs(heads).max())

    @property
    def mean_loss(self) -> float:
        """The loss with the rules chosen so far."""
        return float(self._losses.mean())

    def best(self) -> tuple[int, float]:
        """Find the rule that lowers the loss most, and by how much; (0, 0.0) if none does."""
        best, largest = 0, 0.0
        left = np.flatnonzero(self._is_left)
        for t in left[np.argsort(-self._promises[left], kind="stable")].tolist():
            if self._promises[t] + self._slack < largest:
                break
            rows = np.flatnonzero(self._by_rule[t])
            after = self._loss.row_losses(
                self._targets.at(rows), self._scores[rows] + self._heads[t]
            )
            fall = float(self._losses[rows].sum() - after.sum())
            if fall > largest or (fall == largest and t < best):
                best, largest = t, fall
        return best, largest

    def take(self, rule: int) -> None:
        """Add a rule to those chosen."""
        self.kept.append(rule)
        self._is_left[rule] = False
        rows = np.flatnonzero(self._by_rule[rule])
        self._scores[rows] += self._heads[rule]
        covered, scores = self._targets.at(rows), self._scores[rows]
        self._losses[rows] = self._loss.row_losses(covered, scores)
        slopes = covered.weighted(self._loss.gradient(covered, scores))
        self._promise(rows, slopes - self._slopes[rows])
        self._slopes[rows] = slopes

    def _promise(self, rows: Any, slopes: NDArray[np.float64]) -> None:
        """Add what slopes of some rows promise; few rules at a time, which takes less room."""
        for first in range(0, len(self._heads), _RULES_AT_A_TIME):
            part = slice(first, first + _RULES_AT_A_TIME)
            along = np.asarray(slopes @ self._directions[:, part]).T
            self._promises[part] -= along.sum(axis=1, where=self._by_rule[part, rows])
