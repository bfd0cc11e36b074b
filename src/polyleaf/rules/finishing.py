"""What is done to learnt rules at the end: idle ones go, thresholds get their digits."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.data import BinnedFeatures
from polyleaf.rules.model import MOST_DIGITS, RuleSet

#: A head below this share of the targets' size adds nothing.
_LEAST_SHARE = 1e-9


def finish_rules(
    rules: RuleSet, features: BinnedFeatures, values: NDArray[Any], size: float
) -> RuleSet:
    """Leave out rules with neither a condition nor an effect, and find digits of thresholds.

    Parameters
    ----------
    rules : RuleSet
        As they were learnt.
    features : BinnedFeatures
        What they were learnt from.
    values : ndarray of shape (n_rows, n_channels)
        The targets.
    size : float
        How large the targets are, in the unit of the scores.
    """
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
    """Count the digits with which each threshold stays between its neighbours among the values."""
    digits = np.empty(rules.feature.size, np.uint8)
    _core.count_threshold_digits(
        features.bin_offsets,
        features.bin_low,
        features.bin_high,
        rules.feature,
        rules.operator,
        rules.value,
        MOST_DIGITS,
        digits,
    )
    return digits
