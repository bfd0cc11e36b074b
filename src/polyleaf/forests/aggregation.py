"""How much each tree counts for each output.

- total averaging: every tree counts alike for every output;
- subspace averaging (eq. 2 of paper 004): for an output, the trees that saw it;
- out-of-bag weights: a tree counts for an output in inverse proportion to its squared error on
  the rows that it did not see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyleaf.forests.out_of_bag import tree_errors

if TYPE_CHECKING:
    from polyleaf.data import EncodedX
    from polyleaf.forests.model import Forest

#: Smallest share of the average error that a tree's error is taken for.
_LEAST_ERROR = 1e-3


def weigh_trees(
    forest: Forest,
    aggregation: str,
    seen: NDArray[np.bool_],
    updated: NDArray[np.bool_],
    X: EncodedX,
) -> NDArray[np.float64] | None:
    """Weigh every tree for every channel.

    Every channel is covered: where no tree saw one, all that predict it count.

    Parameters
    ----------
    forest : Forest
    aggregation : {"total", "subspace", "oob"}
    seen, updated : ndarray of shape (n_trees, n_channels), bool
        The channels on which each tree was grown, and those that it predicts.
    X : ndarray or csr_array of shape (n_train, n_features)
        The training features, encoded.

    Returns
    -------
    ndarray of shape (n_trees, n_channels), float64, or None
        Columns add up to 1, or to 0 for a channel that was never observed. None if all trees
        count alike for all channels.
    """
    able = updated | ~updated.any(axis=0)
    if not forest.outputs.share_weights:
        able = able & (forest.root_weights > 0)
    used = able
    if aggregation == "subspace":
        used = able & seen
        used = np.where(used.any(axis=0), used, able)
    if aggregation != "oob":
        return None if used.all() else _shares(used.astype(np.float64))
    errors = tree_errors(forest, X)
    floor = _LEAST_ERROR * errors.mean(axis=0)
    safe = np.where(floor > 0, np.maximum(errors, floor), 1.0)
    return _shares(np.where(used, 1.0 / safe, 0.0))


def _shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    totals = weights.sum(axis=0)
    shares: NDArray[np.float64] = np.divide(
        weights, totals, out=np.zeros_like(weights), where=totals > 0
    )
    return shares
