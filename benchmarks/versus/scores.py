"""Metrics by name; higher is better for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.metrics import r2_score

#: A difference of the score up to this counts as equal accuracy.
EQUAL_SCORE = 0.005


def r2(Y_true: Any, Y_pred: Any) -> float:
    """Return the coefficient of determination, a plain average over outputs."""
    return float(r2_score(Y_true, Y_pred, multioutput="uniform_average"))


def lrap(Y_true: Any, scores: Any) -> float:
    """Return the label ranking average precision, rows without labels left out."""
    from ramify.metrics import label_ranking_average_precision_score

    return label_ranking_average_precision_score(Y_true, scores, empty_rows="drop")


METRICS: dict[str, Callable[[Any, Any], float]] = {"r2": r2, "lrap": lrap}
