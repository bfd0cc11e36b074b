"""Metrics by name; higher is better for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.metrics import f1_score, r2_score

#: A difference of the score up to this counts as equal accuracy.
EQUAL_SCORE = 0.005


def r2(Y_true: Any, Y_pred: Any) -> float:
    """Return the coefficient of determination, a plain average over outputs."""
    return float(r2_score(Y_true, Y_pred, multioutput="uniform_average"))


def lrap(Y_true: Any, scores: Any) -> float:
    """Return the label ranking average precision, rows without labels left out."""
    from polyleaf.metrics import label_ranking_average_precision_score

    return label_ranking_average_precision_score(Y_true, scores, empty_rows="drop")


def microlabel_accuracy(Y_true: Any, Y_pred: Any) -> float:
    """Return the share of labels that are right."""
    return float((_dense(Y_true) == _dense(Y_pred)).mean())


def multilabel_accuracy(Y_true: Any, Y_pred: Any) -> float:
    """Return the share of rows whose labels are all right."""
    return float((_dense(Y_true) == _dense(Y_pred)).all(axis=1).mean())


def microlabel_f1(Y_true: Any, Y_pred: Any) -> float:
    """Return the harmonic mean of precision and recall over all labels."""
    return float(f1_score(_dense(Y_true), _dense(Y_pred), average="micro", zero_division=0.0))


def _dense(labels: Any) -> Any:
    return labels.toarray() if hasattr(labels, "toarray") else labels


METRICS: dict[str, Callable[[Any, Any], float]] = {
    "r2": r2,
    "lrap": lrap,
    "microlabel_accuracy": microlabel_accuracy,
    "multilabel_accuracy": multilabel_accuracy,
    "microlabel_f1": microlabel_f1,
}
