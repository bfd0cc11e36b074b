"""What is done to learnt rules at the end: idle ones go, thresholds learn how to be written."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ramify.ingest import BinnedFeatures
from ramify.model import MOST_DIGITS, OPERATORS, RuleSet

#: A head below this share of the targets' size adds nothing.
_LEAST_SHARE = 1e-9


def finish_rules(rules: RuleSet, features: BinnedFeatures, values: NDArray[np.float64]) -> RuleSet:
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
    size = float(np.abs(values).max())
    n_conditions = np.diff(rules.body_offsets)
    kept = n_conditions > 0
    kept[0] = True
    for t in np.flatnonzero(~kept).tolist():
        kept[t] = np.abs(rules.rule(t).score).max(initial=0.0) > _LEAST_SHARE * size
    if rules.n_rules > 1 and not n_conditions.any() and (values != values[0]).any():
        warnings.warn(
            f"None of {rules.n_rules} rules found a condition, so that all rows get the same "
            "scores. Check whether X is constant, or min_coverage or l1_regularization too large.",
            UserWarning,
            stacklevel=4,
        )
    if not kept.all():
        rules = rules.take(np.flatnonzero(kept))
    return replace(rules, digits=threshold_digits(rules, features))


def threshold_digits(rules: RuleSet, features: BinnedFeatures) -> NDArray[np.uint8]:
    """Count the digits with which each threshold stays between its neighbours among the values.

    A number v with d significant digits is off by at most 10^(e + 1 - d) / 2, with e the exponent
    of v. That must be less than the distance m to the nearer neighbour; so must it be with more
    digits.
    """
    is_threshold = rules.operator <= OPERATORS.index(">")
    margins = np.full(rules.value.size, np.inf)
    order = np.flatnonzero(is_threshold)
    order = order[np.argsort(rules.feature[order], kind="stable")]
    used, first = np.unique(rules.feature[order], return_index=True)
    for feature, at in zip(used.tolist(), np.split(order, first[1:])):
        bins = slice(*features.bin_offsets[feature : feature + 2].tolist())
        low = np.append(features.bin_low[bins], np.inf)
        high = np.append(-np.inf, features.bin_high[bins])
        value = rules.value[at]
        place = np.searchsorted(high[1:], value, side="right")
        with np.errstate(over="ignore", invalid="ignore"):
            margins[at] = np.minimum(value - high[place], low[place] - value)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        exponents = np.floor(np.log10(np.abs(rules.value)))
        digits = exponents + 2 - np.ceil(np.log10(2 * margins) - 1e-9)
    digits[~is_threshold | ~np.isfinite(rules.value) | (rules.value == 0)] = 1
    digits[np.isnan(digits)] = MOST_DIGITS
    return np.asarray(np.clip(digits, 1, MOST_DIGITS), dtype=np.uint8)
