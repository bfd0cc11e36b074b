"""Choose a few rules that do what many did."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.estimators.parameters import is_int, is_real
from ramify.training import RuleLoss, RuleTargets


def check_pruning(n_rules: Any, tolerance: Any) -> None:
    """Raise a ValueError unless both are what `prune` takes."""
    if n_rules is not None and not is_int(n_rules, 1):
        raise ValueError(f"n_rules must be None or an integer >= 1; got {n_rules!r:.80}.")
    if not is_real(tolerance, 0.0):
        raise ValueError(f"tolerance must be a finite number >= 0; got {tolerance!r:.80}.")


def greedy_subset(
    heads: NDArray[np.float64],
    covers: NDArray[np.bool_],
    targets: RuleTargets,
    loss: RuleLoss,
    n_rules: int | None,
    tolerance: float,
) -> tuple[list[int], float, float]:
    """Choose rules one by one, each the one that lowers the loss most.

    Parameters
    ----------
    heads : ndarray of shape (n_rules, n_channels)
        The default rule first, which is always chosen.
    covers : ndarray of shape (n_rows, n_rules), bool
    targets : RuleTargets
        Without weights.
    loss : RuleLoss
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
    full_loss = loss.value(targets, full) / n_rows
    scores = np.broadcast_to(heads[0], targets.values.shape).copy()
    losses = loss.row_losses(targets, scores)
    kept, current = [0], float(losses.mean())
    left = list(range(1, len(heads)))
    while left and (
        len(kept) < n_rules if n_rules is not None else current > full_loss * (1 + tolerance)
    ):
        falls = []
        for t in left:
            rows = np.flatnonzero(by_rule[t])
            after = loss.row_losses(targets.at(rows), scores[rows] + heads[t])
            falls.append(float(losses[rows].sum() - after.sum()))
        best = int(np.argmax(falls))
        if falls[best] <= 0:
            break
        kept.append(left.pop(best))
        rows = np.flatnonzero(by_rule[kept[-1]])
        scores[rows] += heads[kept[-1]]
        losses[rows] = loss.row_losses(targets.at(rows), scores[rows])
        current = float(losses.mean())
    return sorted(kept), current, full_loss
