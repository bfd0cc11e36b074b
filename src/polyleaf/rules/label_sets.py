"""The label sets that a rule learner has seen, and their probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from polyleaf.losses import MarginLoss

SetProbabilities = Literal["chain_rule", "loss"]
#: Probabilities of labels are kept this far from 0 and 1, so that their logarithms are numbers.
_LEAST_PROBABILITY = 1e-15
#: Entries of the losses of label sets that are held at a time.
_BLOCK_ENTRIES = 2**22


class KnownLabelSets:
    """The label sets of the training rows, and what they lose for given scores.

    Parameters
    ----------
    loss : MarginLoss
    label_sets : ndarray of shape (n_sets, n_labels), bool
        At least one.
    form : {"chain_rule", "loss"}
        What the probability of a label set is proportional to: the product over labels of their
        own probabilities, or exp(-loss).
    """

    def __init__(
        self, loss: MarginLoss, label_sets: NDArray[np.bool_], form: SetProbabilities = "loss"
    ) -> None:
        self._loss, self._sets, self._form = loss, label_sets, form

    def best(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Give the label set of least loss for every row (19)."""
        best = [losses.argmin(axis=1) for losses in self._losses(scores)]
        return np.asarray(self._sets[np.concatenate(best)], dtype=np.int64)

    def probabilities(self, scores: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """Give the probabilities of the label sets, for blocks of rows."""
        is_chain = self._form == "chain_rule"
        for losses in self._chained(scores) if is_chain else self._losses(scores):
            weights = np.exp(losses.min(axis=1, keepdims=True) - losses)
            yield weights / weights.sum(axis=1, keepdims=True)

    def marginals(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up the probabilities of the label sets for each label."""
        return np.concatenate([joint @ self._sets for joint in self.probabilities(scores)])

    def _losses(self, scores: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        for block in self._blocks(scores):
            yield self._loss.set_losses(block, self._sets)

    def _chained(self, scores: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """Give -log of the product of the labels' probabilities, up to a constant per row."""
        sets = self._sets.T.astype(np.float64)
        for block in self._blocks(scores):
            p = self._loss.probabilities(block)
            p = np.clip(p, _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
            yield (np.log1p(-p) - np.log(p)) @ sets

    def _blocks(self, scores: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        step = max(1, _BLOCK_ENTRIES // len(self._sets))
        return (scores[start : start + step] for start in range(0, len(scores), step))


def normalised(
    probabilities: NDArray[np.float64], offsets: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Make the classes of every output add up to 1; equal shares if all are 0."""
    sizes = np.diff(offsets)
    totals = np.repeat(np.add.reduceat(probabilities, offsets[:-1], axis=1), sizes, axis=1)
    even = np.broadcast_to(np.repeat(1.0 / sizes, sizes), probabilities.shape).copy()
    np.divide(probabilities, totals, out=even, where=totals > 0)
    return even
