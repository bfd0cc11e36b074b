"""Labels as graph classifiers take them: class positions, and what an error in each costs.

The channels of a target schema are what `predict_proba` speaks of; `channel_scores` and
`probabilities` lead back to them. Probabilities are sigmoids of scores, after Platt (1999):
P(target = 1) = sigmoid(a s) for a score s > 0 and sigmoid(b s) for s < 0, with a slope for either
sign. A probability then exceeds 1/2 where the score is positive, which is where `predict` says 1;
with an offset, as Platt has it, the two would disagree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from polyleaf.data import Targets, TargetSchema

#: Most Newton steps for a slope.
_MAX_NEWTON = 50
#: Keeps a slope finite where a channel is separable or constant.
_RIDGE = 1e-6
#: Least slope, for scores of size 1: probabilities then have the order of the scores.
_LEAST = 1e-3


@dataclass(frozen=True, eq=False)
class LabelData:
    """Y as class positions, and how much examples and labels count.

    Attributes
    ----------
    n_states : ndarray of shape (n_labels,), int32
        Number of classes of each label.
    labels : ndarray of shape (n_rows, n_labels), int32
        The commonest class where unobserved.
    observed : ndarray of shape (n_rows, n_labels), bool, or None
        None if everything was observed. What has the weight 0 counts as unobserved.
    example_weight : ndarray of shape (n_rows,), float64
        Of an example whose labels have weights, the largest: it scales what a margin that is
        missed costs, and not only how wide it is.
    label_cost : ndarray of shape (n_rows, n_labels), float64, or None
        0 where unobserved, and at most 1; None if all are 1.
    """

    n_states: NDArray[np.int32]
    labels: NDArray[np.int32]
    observed: NDArray[np.bool_] | None
    example_weight: NDArray[np.float64]
    label_cost: NDArray[np.float64] | None

    @classmethod
    def of(cls, targets: Targets) -> LabelData:
        """Read a classifier's targets and their weights."""
        schema, values, weights = targets.schema, targets.values, targets.weights
        first = schema.channel_offsets[:-1]
        dense = values if isinstance(values, np.ndarray) else values.toarray()
        if is_one_hot(schema.kind):
            groups = np.split(dense, first[1:], axis=1)
            columns = [np.argmax(group, axis=1) for group in groups]
            labels = np.column_stack(columns).astype(np.int32)
        else:
            labels = dense.astype(np.int32)
        observed = None if targets.observed is None else targets.observed[:, first]
        by_label = None
        if weights is not None and weights.ndim == 2:
            by_label, weights = weights[:, first], None
            counts = by_label > 0.0
            if not counts.all():
                observed = counts if observed is None else observed & counts
        n_states = n_states_of(schema)
        if observed is not None:
            observed = np.ascontiguousarray(observed)
            _fill_unobserved(labels, observed, n_states)
        example_weight, label_cost = _split_weights(labels.shape[0], weights, by_label, observed)
        return cls(n_states, labels, observed, example_weight, label_cost)

    def take(self, rows: NDArray[np.intp]) -> LabelData:
        """Give some of the rows."""
        observed = None if self.observed is None else self.observed[rows]
        cost = None if self.label_cost is None else self.label_cost[rows]
        return LabelData(
            self.n_states, self.labels[rows], observed, self.example_weight[rows], cost
        )

    def one_hot(self) -> NDArray[np.float64]:
        """Give 1 for each label's class and 0 for its others but the first."""
        classes = np.concatenate([np.arange(1, n) for n in self.n_states])
        chosen = np.repeat(self.labels, self.n_states - 1, axis=1)
        hot: NDArray[np.float64] = (chosen == classes).astype(np.float64)
        return hot


def is_one_hot(kind: str) -> bool:
    """Tell whether every class is a channel of the target schema."""
    return kind in ("multiclass", "multiclass-multioutput")


def n_states_of(schema: TargetSchema) -> NDArray[np.int32]:
    """Count the classes of each output; of shape (n_outputs,)."""
    if is_one_hot(schema.kind):
        return np.diff(schema.channel_offsets).astype(np.int32)
    return np.full(schema.n_outputs, 2, dtype=np.int32)


def _fill_unobserved(
    labels: NDArray[np.int32], observed: NDArray[np.bool_], n_states: NDArray[np.int32]
) -> None:
    """Write the commonest class of each label where it was not observed."""
    for j, n in enumerate(n_states):
        known = labels[observed[:, j], j]
        labels[~observed[:, j], j] = np.argmax(np.bincount(known, minlength=n))


def _split_weights(
    n_rows: int,
    by_row: NDArray[np.float64] | None,
    by_label: NDArray[np.float64] | None,
    observed: NDArray[np.bool_] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Split weights into those of examples and of single labels; see `LabelData`."""
    example_weight = np.ones(n_rows) if by_row is None else by_row
    cost = by_label
    if observed is not None:
        cost = observed.astype(np.float64) if cost is None else cost * observed
    if cost is None:
        return example_weight, None
    largest = cost.max(axis=1)
    cost = cost / np.where(largest > 0.0, largest, 1.0)[:, None]
    is_plain = bool((cost[largest > 0.0] == 1.0).all())
    return example_weight * largest, None if is_plain else np.ascontiguousarray(cost)


def probabilities(
    relative: NDArray[np.float64],
    n_states: NDArray[np.int32],
    above: NDArray[np.float64],
    below: NDArray[np.float64],
    *,
    one_hot: bool,
) -> NDArray[np.float64]:
    """Turn relative scores into probabilities of the channels of a target schema.

    Parameters
    ----------
    relative : ndarray of shape (n_rows, sum of n_states - 1)
        Scores of every class but the first, less that of the first.
    n_states : ndarray of shape (n_labels,), int32
    above, below : ndarray of shape (n_channels,), float64
        Slopes, as `fit_slopes` gives them.
    one_hot : bool
        Whether every class is a channel; those of a label then add up to 1.

    Returns
    -------
    ndarray of shape (n_rows, n_channels)
    """
    scores = channel_scores(relative, n_states, one_hot=one_hot)
    chances: NDArray[np.float64] = expit(np.where(scores > 0.0, above, below) * scores)
    if not one_hot:
        return chances
    starts = np.concatenate([[0], np.cumsum(n_states)[:-1]])
    chances /= np.repeat(np.add.reduceat(chances, starts, axis=1), n_states, axis=1)
    return chances


def channel_scores(
    relative: NDArray[np.float64], n_states: NDArray[np.int32], *, one_hot: bool
) -> NDArray[np.float64]:
    """Score every channel: a label of two classes by its second, others by each class in turn.

    The score of one class of several is relative to the best of the others.
    """
    if not one_hot:
        return relative
    columns = []
    for group in np.split(relative, np.cumsum(n_states - 1)[:-1], axis=1):
        full = np.pad(group, ((0, 0), (1, 0)))
        if full.shape[1] > 1:
            ordered = np.sort(full, axis=1)
            best, second = ordered[:, -1:], ordered[:, -2:-1]
            full = full - np.where(full == best, second, best)
        columns.append(full)
    return np.concatenate(columns, axis=1)


# Calibration ------------------------------------------------------------------------------------


def fit_slopes(
    scores: NDArray[np.float64], targets: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit the slopes of every channel.

    Targets are drawn in from 0 and 1 by the weight of two rows, as Platt proposes, so that no
    probability is certain. Slopes are positive: a larger score means a larger probability.

    Parameters
    ----------
    scores, targets, weights : ndarray of shape (n_rows, n_channels), float64
        Targets are 0 or 1; a weight of 0 takes an entry out.

    Returns
    -------
    above, below : ndarray of shape (n_channels,), float64
        For positive and for negative scores.
    """
    positive = (weights * targets).sum(axis=0)
    negative = (weights * (1.0 - targets)).sum(axis=0)
    high, low = (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0)
    smoothed = np.where(targets > 0.5, high, low)
    above, below = (
        _fit_slope(np.where(side, scores, 0.0), smoothed, weights * side)
        for side in (scores > 0.0, scores < 0.0)
    )
    return above, below


def _fit_slope(
    scores: NDArray[np.float64], targets: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Minimise the log loss of sigmoid(slope * score) in each channel, by guarded Newton steps."""
    shares = weights / np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
    scale = np.sqrt((shares * scores**2).sum(axis=0))
    scale = np.where(scale > 0.0, scale, 1.0)
    unit = scores / scale
    slope = np.ones(scores.shape[1])
    loss = _log_loss(slope, unit, targets, shares)
    for _ in range(_MAX_NEWTON):
        chance = expit(slope * unit)
        gradient = (shares * (chance - targets) * unit).sum(axis=0) + _RIDGE * slope
        curvature = (shares * chance * (1.0 - chance) * unit**2).sum(axis=0) + _RIDGE
        step, last = -gradient / curvature, slope
        for _ in range(30):  # halve the steps of the channels whose loss would rise
            moved = np.maximum(last + step, _LEAST)
            new_loss = _log_loss(moved, unit, targets, shares)
            if not (new_loss > loss).any():
                break
            step = np.where(new_loss > loss, 0.5 * step, step)
        slope = np.where(new_loss > loss, last, moved)
        loss = np.minimum(new_loss, loss)
        if np.abs(slope - last).max(initial=0.0) <= 1e-8:
            break
    return np.asarray(slope / scale, dtype=np.float64)


def _log_loss(
    slope: NDArray[np.float64],
    unit: NDArray[np.float64],
    targets: NDArray[np.float64],
    shares: NDArray[np.float64],
) -> NDArray[np.float64]:
    z = slope * unit
    loss = (shares * (np.logaddexp(0.0, z) - targets * z)).sum(axis=0) + 0.5 * _RIDGE * slope**2
    return np.asarray(loss, dtype=np.float64)


def stratified_folds(
    labels: NDArray[np.int32], n_folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Cut rows into folds with like numbers of positive labels (Su and Rousu 2013, section 4.4).

    Parameters
    ----------
    labels : ndarray of shape (n_rows, n_labels), int32
        0 is not positive. Of a single label, all classes are distinguished.
    n_folds : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_rows,), int64
        The fold of each row.
    """
    stratum = labels[:, 0] if labels.shape[1] == 1 else np.count_nonzero(labels, axis=1)
    order = np.lexsort([rng.random(stratum.size), stratum])
    fold = np.empty(stratum.size, dtype=np.int64)
    fold[order] = np.arange(stratum.size) % n_folds
    return fold
