"""Metrics by name; higher is better for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
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


def subset_accuracy(Y_true: Any, Y_pred: Any) -> float:
    """Return the share of rows whose labels are all right."""
    return float((_dense(Y_true) == _dense(Y_pred)).all(axis=1).mean())


def hamming_accuracy(Y_true: Any, Y_pred: Any) -> float:
    """Return the share of labels that are right."""
    return float((_dense(Y_true) == _dense(Y_pred)).mean())


def _dense(Y: Any) -> Any:
    return Y.toarray() if sparse.issparse(Y) else np.asarray(Y)


METRICS: dict[str, Callable[[Any, Any], float]] = {
    "r2": r2,
    "lrap": lrap,
    "subset_accuracy": subset_accuracy,
    "hamming_accuracy": hamming_accuracy,
}
