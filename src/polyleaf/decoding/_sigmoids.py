"""Fit a sigmoid to each of many labels at once.

For each label, p = 1 / (1 + exp(-(a x + b))) by maximum likelihood, with a penalty that draws a
and b to a common centre. The loss is sum of n log(1 + exp(a x + b)) - a sum(k x) - b sum(k), over
distinct x that occur n times, k times as positives: Newton's method passes over distinct x of
labels that have not converged yet, and over nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from polyleaf.decoding._label_entries import Entries, Floats

_PENALTY = 2.0  # in units of rows of full information
_MOST_STEPS = 50
_MOST_HALVINGS = 30
_TOLERANCE = 1e-10  # of the loss: Newton's steps square what is left


def fit_sigmoids(entries: Entries, center: tuple[float, float]) -> tuple[Floats, Floats]:
    """Fit all labels by Newton's method with halved steps; no slope is below 0.

    Parameters
    ----------
    entries : Entries
    center : tuple of float
        The slope and intercept that the penalty draws to; those of labels without entries.

    Returns
    -------
    slopes, intercepts : ndarray of shape (n_labels,)
    """
    a, b = (np.full(entries.sizes.size, value) for value in center)
    problem = _Problem.of(entries, center)
    loss, p = problem.evaluate(a[problem.labels], b[problem.labels])
    for _ in range(_MOST_STEPS):
        if problem.labels.size == 0:
            break
        here = problem.labels
        step_a, step_b, decrement = problem.newton_step(a[here], b[here], p)
        scale = np.ones(here.size)
        is_done = decrement <= _TOLERANCE * (1.0 + loss)
        for _ in range(_MOST_HALVINGS):
            trial, p = problem.evaluate(a[here] - scale * step_a, b[here] - scale * step_b)
            is_worse = (trial > loss) & ~is_done
            if not is_worse.any():
                break
            scale[is_worse] /= 2.0
        scale[is_worse] = 0.0
        a[here] -= scale * step_a
        b[here] -= scale * step_b
        keep = ~(is_done | is_worse)
        problem, loss, p = problem.of_labels(keep), trial[keep], p[problem.entry_mask(keep)]
    is_inverted = a < 0.0
    b[is_inverted] = _fit_levels(entries, center[1])[is_inverted]
    a[is_inverted] = 0.0
    return a, b


@dataclass(frozen=True)
class _Problem:
    """The labels that are being fitted; arrays of entries, and sums for each label."""

    labels: Any  # of the result, (m,)
    sizes: Any  # number of entries, (m,); none is 0
    x: Floats
    n: Floats
    sum_k: Floats
    sum_kx: Floats
    center: tuple[float, float]

    @classmethod
    def of(cls, entries: Entries, center: tuple[float, float]) -> _Problem:
        labels = np.flatnonzero(entries.sizes)
        sizes = entries.sizes[labels]
        sums = [
            _sums(values, sizes)
            for values in (entries.positives, entries.positives * entries.inputs)
        ]
        return cls(labels, sizes, entries.inputs, entries.counts, sums[0], sums[1], center)

    def entry_mask(self, keep: Any) -> Any:
        return np.repeat(keep, self.sizes)

    def of_labels(self, keep: Any) -> _Problem:
        if keep.all():
            return self
        mask = self.entry_mask(keep)
        return _Problem(
            self.labels[keep],
            self.sizes[keep],
            self.x[mask],
            self.n[mask],
            self.sum_k[keep],
            self.sum_kx[keep],
            self.center,
        )

    def evaluate(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Return the penalised loss of each label and the probability of each entry."""
        z = np.repeat(a, self.sizes) * self.x + np.repeat(b, self.sizes)
        exponential = np.exp(-np.abs(z))
        losses = self.n * (np.maximum(z, 0.0) + np.log1p(exponential))
        p = np.where(z >= 0.0, 1.0, exponential) / (1.0 + exponential)
        penalty = (a - self.center[0]) ** 2 + (b - self.center[1]) ** 2
        fit = _sums(losses, self.sizes) - a * self.sum_kx - b * self.sum_k
        return fit + 0.5 * _PENALTY * penalty, p

    def newton_step(self, a: Floats, b: Floats, p: Floats) -> tuple[Floats, Floats, Floats]:
        """Return what to subtract from a and b, and how much the loss would fall, doubled."""
        x, sizes = self.x, self.sizes
        expected = self.n * p
        curvature = expected * (1.0 - p)
        grad_a = _sums(expected * x, sizes) - self.sum_kx + _PENALTY * (a - self.center[0])
        grad_b = _sums(expected, sizes) - self.sum_k + _PENALTY * (b - self.center[1])
        weighted = curvature * x
        h_aa = _sums(weighted * x, sizes) + _PENALTY
        h_ab = _sums(weighted, sizes)
        h_bb = _sums(curvature, sizes) + _PENALTY
        determinant = h_aa * h_bb - h_ab**2
        step_a = (h_bb * grad_a - h_ab * grad_b) / determinant
        step_b = (h_aa * grad_b - h_ab * grad_a) / determinant
        return step_a, step_b, step_a * grad_a + step_b * grad_b


def _sums(values: Floats, sizes: Any) -> Floats:
    """Sum the entries of each label; each has at least one."""
    if sizes.size == 0:
        return np.empty(0)
    starts = np.cumsum(sizes) - sizes
    return np.asarray(np.add.reduceat(values, starts))


def _fit_levels(entries: Entries, center: float) -> Floats:
    """Fit the intercept of each label without a slope, by halving an interval."""
    totals = [np.append(0.0, np.cumsum(values)) for values in (entries.counts, entries.positives)]
    n_rows, n_positives = (
        total[entries.offsets[1:]] - total[entries.offsets[:-1]] for total in totals
    )
    low, high = center - n_rows / _PENALTY, center + n_rows / _PENALTY
    for _ in range(80):
        middle = (low + high) / 2.0
        is_above = n_rows * expit(middle) - n_positives + _PENALTY * (middle - center) > 0.0
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return np.asarray((low + high) / 2.0)
