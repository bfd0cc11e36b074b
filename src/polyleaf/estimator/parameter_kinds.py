"""The kinds of values that parameters may have, as checks."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer_names

from polyleaf import losses, projections
from polyleaf.metrics import METRICS, Metric


def is_int(value: Any, low: int, high: int | None = None) -> bool:
    """Tell an integer within limits."""
    return (
        isinstance(value, numbers.Integral)
        and not isinstance(value, (bool, np.bool_))
        and int(value) >= low
        and (high is None or int(value) <= high)
    )


def is_real(value: Any, low: float, high: float = np.inf) -> bool:
    """Tell a finite number within limits."""
    return (
        isinstance(value, numbers.Real)
        and not isinstance(value, (bool, np.bool_))
        and low <= float(value) <= high
        and math.isfinite(value)
    )


def is_bool(value: Any) -> bool:
    """Tell a truth value."""
    return isinstance(value, (bool, np.bool_))


def count_or_fraction(value: Any, low: int) -> bool:
    """Tell a number of things or a share of them."""
    if isinstance(value, numbers.Integral):
        return is_int(value, low)
    return is_real(value, 0.0, 1.0) and float(value) > 0.0


def is_max_features(value: Any) -> bool:
    """Tell a number of features to try."""
    if value is None or (isinstance(value, str) and value in ("sqrt", "log2", "log2+1")):
        return True
    return not isinstance(value, str) and count_or_fraction(value, 1)


def is_random_state(value: Any) -> bool:
    """Tell a source of chance."""
    return (
        value is None
        or isinstance(value, (np.random.RandomState, np.random.Generator))
        or is_int(value, 0, 2**32 - 1)
    )


def is_dicts_or_none(value: Any) -> bool:
    """Tell weights of classes."""
    return value is None or isinstance(value, (dict, list, tuple))


def is_projection(value: Any) -> bool:
    """Tell a view of the outputs."""
    if isinstance(value, str) and value == "auto":
        return True  # forests choose; the others refuse it by themselves
    projections.resolve(value)  # raises with a message of its own
    return True


def is_one_of(*choices: str) -> Callable[[Any], bool]:
    """Make a check for one of some names."""
    return lambda value: isinstance(value, str) and value in choices


def is_loss(value: Any) -> bool:
    """Tell a loss."""
    if not (isinstance(value, str) and value == "auto"):
        losses.resolve(value)  # raises with a message of its own
    return True


def is_monotonic(value: Any) -> bool:
    """Tell directions of features."""
    if value is None:
        return True
    signs = value.values() if isinstance(value, dict) else value
    if isinstance(signs, str) or not hasattr(signs, "__iter__"):
        return False
    return all(isinstance(s, numbers.Integral) and s in (-1, 0, 1) for s in signs)


def is_eval_metric(value: Any) -> bool:
    """Tell a measure."""
    if isinstance(value, str):
        return value in METRICS or value in get_scorer_names()
    return value is None or isinstance(value, Metric) or callable(value)
