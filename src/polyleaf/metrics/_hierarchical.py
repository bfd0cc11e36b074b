"""Precision, recall and F1 of label sets in a hierarchy (Kiritchenko et al. 2006).

They compare true and predicted sets with all ancestors, so that an error near the truth costs
less than one in another branch.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from polyleaf.checks.numbers import is_one_of, shown
from polyleaf.hierarchy import as_hierarchy
from polyleaf.metrics._inputs import Floats, read_label_pair, read_labels, read_row_weights
from polyleaf.metrics._overlap import row_overlap

Average = Literal["micro", "example"]


def hierarchical_precision_score(
    y_true: Any,
    y_pred: Any,
    *,
    hierarchy: Any = None,
    average: Average = "micro",
    sample_weight: Any = None,
) -> float:
    """Share of the predicted labels, with their ancestors, that are right.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n, d)
        0 and 1; NaN is not observed and does not count.
    y_pred : array-like or sparse matrix of shape (n, d)
        0 and 1.
    hierarchy : Hierarchy or what `polyleaf.hierarchy.as_hierarchy` reads, optional
        Ancestors are added to both. None: they have them already.
    average : {"micro", "example"}, default="micro"
        Over all labels of all rows, or the mean over rows.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float
        From 0 to 1, the best. 1 where nothing is predicted and nothing is true, 0 where nothing
        is predicted but something is true.

    Examples
    --------
    >>> from polyleaf.metrics import hierarchical_precision_score
    >>> hierarchical_precision_score([[1, 1, 0]], [[0, 0, 1]], hierarchy=[-1, 0, 0])
    0.5
    """
    n_true, n_pred, n_both, weights = _sizes(y_true, y_pred, hierarchy, average, sample_weight)
    return _mean(_ratio(n_both, n_pred, n_true), weights)


def hierarchical_recall_score(
    y_true: Any,
    y_pred: Any,
    *,
    hierarchy: Any = None,
    average: Average = "micro",
    sample_weight: Any = None,
) -> float:
    """Share of the true labels, with their ancestors, that are predicted.

    Parameters
    ----------
    y_true, y_pred, hierarchy, average, sample_weight
        See `hierarchical_precision_score`.

    Returns
    -------
    float
        From 0 to 1, the best. 1 where nothing is true and nothing is predicted, 0 where nothing
        is true but something is predicted.

    Examples
    --------
    >>> from polyleaf.metrics import hierarchical_recall_score
    >>> hierarchical_recall_score([[1, 1, 0]], [[1, 0, 0]], hierarchy=[-1, 0, 0])
    0.5
    """
    n_true, n_pred, n_both, weights = _sizes(y_true, y_pred, hierarchy, average, sample_weight)
    return _mean(_ratio(n_both, n_true, n_pred), weights)


def hierarchical_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    hierarchy: Any = None,
    average: Average = "micro",
    sample_weight: Any = None,
) -> float:
    """Harmonic mean of hierarchical precision and recall.

    Parameters
    ----------
    y_true, y_pred, hierarchy, average, sample_weight
        See `hierarchical_precision_score`.

    Returns
    -------
    float
        From 0 to 1, the best; 1 where nothing is true and nothing is predicted.

    Examples
    --------
    >>> from polyleaf.metrics import hierarchical_f1_score
    >>> hierarchical_f1_score([[1, 1, 0]], [[0, 0, 1]], hierarchy=[-1, 0, 0])
    0.5
    """
    n_true, n_pred, n_both, weights = _sizes(y_true, y_pred, hierarchy, average, sample_weight)
    return _mean(_ratio(2.0 * n_both, n_true + n_pred, 0.0), weights)


def _sizes(
    y_true: Any, y_pred: Any, hierarchy: Any, average: str, sample_weight: Any
) -> tuple[Floats, Floats, Floats, Floats]:
    """Count true, predicted and common labels of every row, or of all; and their weights."""
    if not is_one_of(average, ("micro", "example")):
        raise ValueError(f"average must be 'micro' or 'example'; got {shown(average)}.")
    true, pred = read_label_pair(y_true, y_pred)
    if hierarchy is not None:
        order = as_hierarchy(hierarchy, true.shape[1])
        gaps: Any = true.present
        if true.observed is not None:
            gaps = np.where(true.observed, np.asarray(gaps, dtype=np.float64), np.nan)
        true = read_labels(order.close(gaps), "y_true", allow_unobserved=True)
        pred = read_labels(order.close(pred.present), "y_pred")
    weights = read_row_weights(sample_weight, true.shape[0])
    overlap = row_overlap(true, pred)
    sizes = overlap.n_true, overlap.n_pred, overlap.n_both
    if average == "micro":
        n_true, n_pred, n_both = (np.array([weights @ size]) for size in sizes)
        return n_true, n_pred, n_both, np.ones(1) * float((overlap.n_observed > 0).any())
    return *sizes, weights * (overlap.n_observed > 0)


def _ratio(part: Floats, whole: Floats, other: Any) -> Floats:
    """Divide; where nothing is there, 1 if that is right, else 0."""
    empty = np.where(np.asarray(other) + np.zeros_like(whole) > 0, 0.0, 1.0)
    return np.divide(part, whole, out=empty, where=whole > 0)


def _mean(values: Floats, weights: Floats) -> float:
    total = weights.sum()
    return float(weights @ values / total) if total > 0 else float("nan")
