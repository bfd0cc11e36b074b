"""Probabilities from scores: sigmoids fitted on held-out rows, after Platt (1999).

P(target = 1) = sigmoid(a s) for a score s > 0 and sigmoid(b s) for s < 0, with a slope for either
sign. A probability then exceeds 1/2 where the score is positive, which is where `predict` says 1;
an offset, as Platt has it, would part the two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

_MAX_NEWTON = 50
#: Keeps a slope finite where a channel is separable or constant.
_RIDGE = 1e-6
#: Least slope, for scores of size 1: probabilities then have the order of the scores.
_LEAST = 1e-3


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
