"""Outputs with a class per row, as `compare` has them: how predictions of them are judged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.experiments._encoding import dense
from polyleaf.metrics import Metric

Bools = NDArray[np.bool_]


def known_classes(Y: Any) -> Bools:
    """Tell which entries of a matrix of classes are observed: neither None nor NaN.

    Examples
    --------
    >>> import numpy as np
    >>> known_classes(np.array([["a", None], [float("nan"), "b"]], dtype=object))
    array([[ True, False],
           [False,  True]])
    """
    values = np.asarray(Y, dtype=object)
    return np.array([[v is not None and v == v for v in row] for row in values], dtype=np.bool_)


def class_accuracy(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of the observed entries that are predicted rightly.

    Examples
    --------
    >>> class_accuracy([["a", "x"], ["b", None]], [["a", "y"], ["b", "y"]])
    0.6666666666666666
    """
    right, known = _right(y_true, y_pred, sample_weight)
    return _share(float((right * known).sum()), float(known.sum()))


def output_accuracies(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None
) -> NDArray[np.float64]:
    """Share of the observed rows that are predicted rightly, of each output.

    Examples
    --------
    >>> output_accuracies([["a", "x"], ["b", None]], [["a", "y"], ["b", "y"]])
    array([1., 0.])
    """
    right, known = _right(y_true, y_pred, sample_weight)
    counts = zip((right * known).sum(axis=0), known.sum(axis=0))
    return np.array([_share(float(part), float(whole)) for part, whole in counts])


def exact_matches(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of the fully observed rows in which all outputs are predicted rightly.

    Examples
    --------
    >>> exact_matches([["a", "x"], ["b", "x"]], [["a", "x"], ["b", "y"]])
    0.5
    """
    right, known = _right(y_true, y_pred, sample_weight)
    weights = known.min(axis=1)
    return _share(float(weights @ right.all(axis=1)), float(weights.sum()))


def class_f1(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """F1 of every class that observed rows have, averaged over classes, then over outputs.

    Examples
    --------
    >>> class_f1([["a"], ["b"], ["b"]], [["a"], ["b"], ["a"]])
    0.6666666666666666
    """
    truth, guess = _pair(y_true, y_pred)
    known = known_classes(truth) * _row_weights(sample_weight, len(truth))
    found = []
    for j in range(truth.shape[1]):
        t, g, w = truth[:, j], guess[:, j], known[:, j]
        classes = sorted({value for value, weight in zip(t, w) if weight > 0}, key=str)
        scores = [
            2
            * w
            @ ((t == c) & (g == c))
            / (w @ (t == c).astype(float) + w @ (g == c).astype(float))
            for c in classes
        ]
        found.extend([float(np.mean(scores))] if scores else [])
    return float(np.mean(found)) if found else float("nan")


#: Metrics of outputs with a class per row, by name; the first one tunes.
CLASS_METRICS = {
    metric.name: metric
    for metric in (
        Metric(
            "accuracy", class_accuracy, "classes", "labels", True, per_output=output_accuracies
        ),
        Metric("exact_match", exact_matches, "classes", "labels", True),
        Metric("class_f1", class_f1, "classes", "labels", True),
    )
}


def _right(y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[Bools, NDArray[np.float64]]:
    """Tell which entries are right, and what each weighs: 0 if it is not observed."""
    truth, guess = _pair(y_true, y_pred)
    known = known_classes(truth) * _row_weights(sample_weight, len(truth))
    return np.asarray(truth == guess, dtype=np.bool_), known


def _pair(y_true: Any, y_pred: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    truth, guess = (np.asarray(dense(part), dtype=object) for part in (y_true, y_pred))
    return truth, guess.reshape(truth.shape)


def _row_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, float)
    return weights[:, np.newaxis]


def _share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
