"""What is done to learnt rules at the end: idle ones go, thresholds learn how to be written."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.ingest import BinnedFeatures
from ramify.model import MOST_DIGITS, OPERATORS, RuleSet

#: A head below this share of the targets' size adds nothing.
_LEAST_SHARE = 1e-9


def finish_rules(rules: RuleSet, features: BinnedFeatures, values: NDArray[Any]) -> RuleSet:
    """Leave out rules with neither a condition nor an effect, and find digits of thresholds.

    Parameters
    ----------
    rules : RuleSet
        As they were learnt.
    features : BinnedFeatures
        What they were learnt from.
    values : ndarray of shape (n_rows, n_channels)
        The targets, in the unit of the scores.
    """
    size = float(max(values.max(), -values.min()))
    n_conditions = np.diff(rules.body_offsets)
    kept = n_conditions > 0
    kept[0] = True
    if not kept.all():
        # Heads are never empty.
        most = np.maximum.reduceat(np.abs(rules.score), rules.head_offsets[:-1])
        kept |= most > _LEAST_SHARE * size
    if rules.n_rules > 1 and not n_conditions.any() and (values != values[0]).any():
        warnings.warn(
            f"None of {rules.n_rules} rules found a condition, so that all rows get the same "
            "scores. Check whether X is constant, or min_coverage or l1_regularization too large.",
            UserWarning,
            stacklevel=4,
        )
    if not kept.all():
        rules = rules.take(np.flatnonzero(kept))
    score = rules.score + 0.0  # no negative zeros, which people would read
    return replace(rules, score=score, digits=threshold_digits(rules, features))


def threshold_digits(rules: RuleSet, features: BinnedFeatures) -> NDArray[np.uint8]:
    """Count the digits with which each threshold stays between its neighbours among the values.

    A number v with d significant digits is off by at most 10^(e + 1 - d) / 2, with e the exponent
    of v. That must be less than the distance m to the nearer neighbour; so must it be with more
    digits.
    """
    is_threshold = rules.operator <= OPERATORS.index(">")
    begin, end = features.bin_offsets[rules.feature], features.bin_offsets[rules.feature + 1]
    place = _count_up_to(rules.value, features.bin_high, begin, end)
    below = np.append(features.bin_high, -np.inf)[np.where(place > begin, place - 1, -1)]
    above = np.append(features.bin_low, np.inf)[np.where(place < end, place, -1)]
    with np.errstate(over="ignore", invalid="ignore"):
        margins = np.minimum(rules.value - below, above - rules.value)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        exponents = np.floor(np.log10(np.abs(rules.value)))
        digits = exponents + 2 - np.ceil(np.log10(2 * margins) - 1e-9)
    digits[~is_threshold | ~np.isfinite(rules.value) | (rules.value == 0)] = 1
    digits[np.isnan(digits)] = MOST_DIGITS
    return np.asarray(np.clip(digits, 1, MOST_DIGITS), dtype=np.uint8)


def _count_up_to(
    values: NDArray[np.float64],
    bounds: NDArray[np.float64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Find the first of bounds[begin:end], which ascend, above each value; end if none is."""
    begin, end = begin.copy(), end.copy()
    while (is_open := begin < end).any():
        middle = (begin + end) // 2
        is_below = np.zeros_like(is_open)
        is_below[is_open] = bounds[middle[is_open]] <= values[is_open]
        begin = np.where(is_below, middle + 1, begin)
        end = np.where(is_open & ~is_below, middle, end)
    return begin
