"""Labels of all rows, and the label sets that a rule learner has seen.

A training row whose labels were observed in part agrees with many label sets. It counts as the one
that the fitted model would choose for it; otherwise predictions would be confined to the label
sets of the few rows that happen to be observed whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from polyleaf.data import Targets, TargetSchema
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


def dense_labels(targets: Targets) -> NDArray[np.int8]:
    """Give 0 or 1 for every row and channel."""
    values = targets.values
    if isinstance(values, np.ndarray):
        return (values > 0).view(np.int8)
    labels = np.zeros(values.shape, np.int8)
    rows = np.repeat(np.arange(len(labels)), np.diff(values.indptr))
    labels[rows, values.indices] = 1
    return labels


def training_label_sets(
    labels: NDArray[np.int8],
    targets: Targets,
    score: Callable[[], NDArray[np.float64]],
) -> NDArray[np.bool_]:
    """Give the distinct label sets of the training rows.

    Labels that were not observed, or have no weight, are completed by the row's own scores: of
    all label sets that agree with what was observed, the one of least loss. Rows without any
    observed label are left out.

    Parameters
    ----------
    labels : ndarray of shape (n_rows, n_channels), int8
        0 or 1.
    targets : Targets
    score : callable
        Gives the scores of the training rows, of shape (n_rows, n_channels), if need be.

    Returns
    -------
    ndarray of shape (n_sets, n_channels), bool
        In the order in which they first occur.
    """
    sets = labels > 0
    counts = _counted(targets.observed, targets.weights)
    if counts is not None:
        is_known = counts.any(axis=1)
        if not counts[is_known].all():
            sets = np.where(counts, sets, _likeliest(score(), targets.schema))
        sets = sets[is_known]
    return np.asarray(sets[_first_of_equals(np.packbits(sets, axis=1))])


def _first_of_equals(packed: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Give the rows that are equal to none before them, ascending."""
    n_rows, n_bytes = packed.shape
    if n_bytes <= 8:
        words = np.zeros((n_rows, 8), np.uint8)
        words[:, :n_bytes] = packed
        keys = words.view(np.uint64)[:, 0]
        order = keys.argsort(kind="stable")
        is_new = np.ones(n_rows, np.bool_)
        is_new[1:] = keys[order[1:]] != keys[order[:-1]]
        return np.sort(order[is_new])
    keys = np.ascontiguousarray(packed).view(f"V{n_bytes}")[:, 0].tolist()  # bytes per row
    # The last of equals stays in a dict, so that rows go backwards.
    first = dict(zip(reversed(keys), range(n_rows - 1, -1, -1)))
    return np.array(sorted(first.values()), np.int64)


def _counted(
    observed: NDArray[np.bool_] | None, weights: NDArray[np.float64] | None
) -> NDArray[np.bool_] | None:
    """Tell which entries were observed and have a weight; None if all."""
    if weights is None:
        return observed
    positive = weights > 0 if weights.ndim == 2 else (weights > 0)[:, None]
    return positive if observed is None else observed & positive


def _likeliest(scores: NDArray[np.float64], schema: TargetSchema) -> NDArray[np.bool_]:
    """Decide every label by the sign of its score, and every output with classes for one."""
    if schema.kind in ("binary", "multilabel"):
        return np.asarray(scores > 0)
    sets = np.zeros(scores.shape, dtype=np.bool_)
    rows = np.arange(len(scores))
    for start, stop in itertools.pairwise(schema.channel_offsets.tolist()):
        sets[rows, start + scores[:, start:stop].argmax(axis=1)] = True
    return sets


def normalised(
    probabilities: NDArray[np.float64], offsets: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Make the classes of every output add up to 1; equal shares if all are 0."""
    sizes = np.diff(offsets)
    totals = np.repeat(np.add.reduceat(probabilities, offsets[:-1], axis=1), sizes, axis=1)
    even = np.broadcast_to(np.repeat(1.0 / sizes, sizes), probabilities.shape).copy()
    np.divide(probabilities, totals, out=even, where=totals > 0)
    return even
