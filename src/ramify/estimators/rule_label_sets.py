"""Labels as signs, and the label sets that a rule learner has seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.ingest import Targets
from ramify.training import LabelLoss

#: Entries of the losses of label sets that are held at a time.
_BLOCK_ENTRIES = 2**22


class KnownLabelSets:
    """The label sets of the training rows, and what they lose for given scores.

    Parameters
    ----------
    loss : LabelLoss
    label_sets : ndarray of shape (n_sets, n_labels), bool
        At least one.
    """

    def __init__(self, loss: LabelLoss, label_sets: NDArray[np.bool_]) -> None:
        self._loss, self._sets = loss, label_sets

    def best(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Give the label set of least loss for every row (19)."""
        best = [losses.argmin(axis=1) for losses in self._losses(scores)]
        return np.asarray(self._sets[np.concatenate(best)], dtype=np.int64)

    def probabilities(self, scores: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """Give the probabilities of the label sets, for blocks of rows."""
        for losses in self._losses(scores):
            weights = np.exp(losses.min(axis=1, keepdims=True) - losses)
            yield weights / weights.sum(axis=1, keepdims=True)

    def _losses(self, scores: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        step = max(1, _BLOCK_ENTRIES // len(self._sets))
        for start in range(0, len(scores), step):
            yield self._loss.set_losses(scores[start : start + step], self._sets)


def label_signs(targets: Targets) -> NDArray[np.float64]:
    """Turn 0 and 1 into -1 and +1, dense."""
    values: Any = targets.values
    dense = values if isinstance(values, np.ndarray) else values.toarray()
    return np.asarray(2.0 * dense - 1.0)


def distinct_label_sets(signs: NDArray[np.float64], targets: Targets) -> NDArray[np.bool_]:
    """Give the distinct label sets of the rows that are observed whole."""
    whole = signs if targets.observed is None else signs[targets.observed.all(axis=1)]
    first = np.unique(np.packbits(whole > 0, axis=1), axis=0, return_index=True)[1]
    return np.asarray(whole[np.sort(first)] > 0)


def normalised(
    probabilities: NDArray[np.float64], offsets: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Make the classes of every output add up to 1; equal shares if all are 0."""
    sizes = np.diff(offsets)
    totals = np.repeat(np.add.reduceat(probabilities, offsets[:-1], axis=1), sizes, axis=1)
    even = np.broadcast_to(np.repeat(1.0 / sizes, sizes), probabilities.shape).copy()
    np.divide(probabilities, totals, out=even, where=totals > 0)
    return even
