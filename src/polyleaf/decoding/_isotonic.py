"""Fit a monotone step function to each of many labels at once.

Pool adjacent violators: neighbours whose means do not rise are pooled, for all labels in one pass
over all entries, until none are left. Neighbours in any order may be pooled; the result is the
same. The few labels that need many passes are finished one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from polyleaf.decoding._label_entries import Entries, Floats

_MOST_PASSES = 40


def fit_isotonic(entries: Entries, wanted: Any) -> dict[int, IsotonicRegression]:
    """Fit the wanted labels.

    Parameters
    ----------
    entries : Entries
    wanted : ndarray of bool of shape (n_labels,)

    Returns
    -------
    dict of int to IsotonicRegression
        By the number of the label among these.
    """
    is_used = np.repeat(wanted, entries.sizes)
    label = np.repeat(np.arange(wanted.size), entries.sizes)[is_used]
    low = high = entries.inputs[is_used]
    counts, positives = entries.counts[is_used], entries.positives[is_used]
    for _ in range(_MOST_PASSES):
        is_first = _starts(label, positives / counts)
        if is_first.all():
            break
        low, high, counts, positives, label = _pool(is_first, low, high, counts, positives, label)
    heights = positives / counts
    bounds = np.searchsorted(label, np.arange(wanted.size + 1))
    steps = {}
    for j in np.flatnonzero(wanted):
        own = slice(bounds[j], bounds[j + 1])
        steps[int(j)] = _step_function(low[own], high[own], heights[own], counts[own])
    return steps


def _starts(label: Any, heights: Floats) -> Any:
    """Whether a block stays apart from the one before: another label, or a higher mean."""
    is_first = np.ones(label.size, np.bool_)
    is_first[1:] = (label[1:] != label[:-1]) | (heights[1:] > heights[:-1])
    return is_first


def _pool(
    is_first: Any, low: Floats, high: Floats, counts: Floats, positives: Floats, label: Any
) -> tuple[Any, ...]:
    first = np.flatnonzero(is_first)
    last = np.append(first[1:], label.size) - 1
    return (
        low[first],
        high[last],
        np.add.reduceat(counts, first),
        np.add.reduceat(positives, first),
        label[first],
    )


def _step_function(low: Floats, high: Floats, heights: Floats, counts: Floats) -> Any:
    """Make the function from blocks; what rises already is its own fit."""
    if (np.diff(heights) <= 0.0).any():
        order = np.arange(heights.size, dtype=np.float64)
        heights = IsotonicRegression().fit_transform(order, heights, sample_weight=counts)
    x, y = np.stack([low, high], axis=1).ravel(), np.repeat(heights, 2)
    is_new = np.append(True, x[1:] > x[:-1])
    step = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    return step.fit(x[is_new], y[is_new])
