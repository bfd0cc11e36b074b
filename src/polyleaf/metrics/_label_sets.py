"""Metrics of predicted label sets: per example, over all entries, and per label.

Only observed entries count: a label that is not observed (NaN) in a row belongs neither to its
true nor to its predicted set, and a row without any observed label is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np

from polyleaf.checks.numbers import is_one_of, shown
from polyleaf.metrics._inputs import (
    Floats,
    Labels,
    read_entry_weights,
    read_label_pair,
    read_row_weights,
)
from polyleaf.metrics._overlap import Overlap, label_overlap, row_overlap

F = TypeVar("F", bound=Callable[..., Any])
_PARTS = {
    "labels": """\
y_true : array-like or sparse matrix of shape (n, d)
        0 and 1; NaN is not observed and does not count.
    y_pred : array-like or sparse matrix of shape (n, d)
        0 and 1.""",
    "row_weights": "sample_weight : array-like of shape (n,), optional",
    "share": """\
Returns
    -------
    float
        From 0 to 1, the best.""",
}


def _documented(function: F) -> F:
    """Write the parameters that all these metrics share into a docstring."""
    for name, text in _PARTS.items():
        function.__doc__ = (function.__doc__ or "").replace(f"{{{name}}}", text)
    return function


@_documented
def hamming_loss(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of the observed entries that are predicted wrongly.

    Parameters
    ----------
    {labels}
    sample_weight : array-like of shape (n,), or (n, d) with dense labels, optional

    Returns
    -------
    float
        From 0, the best, to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.metrics import hamming_loss
    >>> hamming_loss([[1, 0], [np.nan, 1]], [[1, 1], [0, 1]])
    0.3333333333333333
    """
    true, pred = read_label_pair(y_true, y_pred)
    weights = read_entry_weights(sample_weight, true.shape)
    if weights.shape[1] > 1:
        return _weighted_entry_errors(true, pred, weights)
    overlap = row_overlap(true, pred)
    total = weights[:, 0] @ overlap.n_observed
    return float(weights[:, 0] @ overlap.n_wrong / total) if total else float("nan")


@_documented
def microlabel_accuracy_score(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of the observed entries that are right (Su and Rousu 2013): 1 - Hamming loss.

    Parameters
    ----------
    {labels}
    sample_weight : array-like of shape (n,), or (n, d) with dense labels, optional

    {share}

    Examples
    --------
    >>> from polyleaf.metrics import microlabel_accuracy_score
    >>> microlabel_accuracy_score([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.75
    """
    return 1.0 - hamming_loss(y_true, y_pred, sample_weight=sample_weight)


@_documented
def subset_zero_one_loss(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of the rows in which at least one observed label is predicted wrongly.

    Parameters
    ----------
    {labels}
    {row_weights}

    Returns
    -------
    float
        From 0, the best, to 1.

    Examples
    --------
    >>> from polyleaf.metrics import subset_zero_one_loss
    >>> subset_zero_one_loss([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.5
    """
    true, pred = read_label_pair(y_true, y_pred)
    weights = read_row_weights(sample_weight, true.shape[0])
    overlap = row_overlap(true, pred)
    return mean_over_rows(
        (overlap.n_wrong > 0).astype(np.float64), weights, overlap.n_observed > 0
    )


@_documented
def multilabel_accuracy_score(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of the rows with every observed label right (Su and Rousu 2013): 1 - 0/1 loss.

    Parameters
    ----------
    {labels}
    {row_weights}

    {share}

    Examples
    --------
    >>> from polyleaf.metrics import multilabel_accuracy_score
    >>> multilabel_accuracy_score([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.5
    """
    return 1.0 - subset_zero_one_loss(y_true, y_pred, sample_weight=sample_weight)


@_documented
def example_precision_score(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, zero_division: float = 1.0
) -> float:
    """Precision of each row's label set, averaged over rows.

    Parameters
    ----------
    {labels}
    {row_weights}
    zero_division : float, default=1.0
        The score of a row without a predicted label; NaN leaves such rows out.

    {share}

    Examples
    --------
    >>> from polyleaf.metrics import example_precision_score
    >>> example_precision_score([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.75
    """
    overlap = row_overlap(*read_label_pair(y_true, y_pred))
    return _mean_ratio(overlap, overlap.n_both, overlap.n_pred, sample_weight, zero_division)


@_documented
def example_recall_score(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, zero_division: float = 1.0
) -> float:
    """Recall of each row's label set, averaged over rows.

    Parameters
    ----------
    {labels}
    {row_weights}
    zero_division : float, default=1.0
        The score of a row without a true label; NaN leaves such rows out.

    {share}

    Examples
    --------
    >>> from polyleaf.metrics import example_recall_score
    >>> example_recall_score([[1, 0], [1, 1]], [[1, 1], [0, 1]])
    0.75
    """
    overlap = row_overlap(*read_label_pair(y_true, y_pred))
    return _mean_ratio(overlap, overlap.n_both, overlap.n_true, sample_weight, zero_division)


@_documented
def example_f1_score(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, zero_division: float = 1.0
) -> float:
    """F1 of each row's label set, averaged over rows: twice the overlap by the sum of the sizes.

    Parameters
    ----------
    {labels}
    {row_weights}
    zero_division : float, default=1.0
        The score of a row with neither true nor predicted labels. 1 says that it is right to
        predict nothing where there is nothing; scikit-learn's default is 0. NaN leaves such
        rows out.

    {share}

    Examples
    --------
    >>> from polyleaf.metrics import example_f1_score
    >>> example_f1_score([[1, 0, 0], [1, 1, 0]], [[1, 1, 1], [1, 1, 0]])
    0.75
    """
    overlap = row_overlap(*read_label_pair(y_true, y_pred))
    sizes = overlap.n_true + overlap.n_pred
    return _mean_ratio(overlap, 2.0 * overlap.n_both, sizes, sample_weight, zero_division)


@_documented
def example_jaccard_score(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, zero_division: float = 1.0
) -> float:
    """Jaccard index of each row's label set, averaged over rows: intersection by union.

    Parameters
    ----------
    {labels}
    {row_weights}
    zero_division : float, default=1.0
        The score of a row with neither true nor predicted labels; NaN leaves such rows out.

    {share}

    Examples
    --------
    >>> from polyleaf.metrics import example_jaccard_score
    >>> example_jaccard_score([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.75
    """
    overlap = row_overlap(*read_label_pair(y_true, y_pred))
    union = overlap.n_true + overlap.n_pred - overlap.n_both
    return _mean_ratio(overlap, overlap.n_both, union, sample_weight, zero_division)


@_documented
def label_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: Literal["macro", "micro"] | None = "macro",
    sample_weight: Any = None,
    zero_division: float = 0.0,
) -> Any:
    """F1 of each label over the rows; scikit-learn's ``f1_score`` for labels, aware of NaN.

    Parameters
    ----------
    {labels}
    average : {"macro", "micro", None}, default="macro"
        ``"macro"``: the plain average over labels. ``"micro"``: F1 of all entries together, the
        microlabel F1 of Su and Rousu 2013. None: one score per label.
    sample_weight : array-like of shape (n,), optional
    zero_division : float, default=0.0
        The score of a label that is neither present nor predicted anywhere; NaN leaves it out
        of the average.

    Returns
    -------
    float or ndarray of shape (d,)
        From 0 to 1, the best. A label without an observed entry has the score NaN and is left
        out of the average.

    Examples
    --------
    >>> from polyleaf.metrics import label_f1_score
    >>> label_f1_score([[1, 0], [1, 1]], [[1, 1], [1, 1]], average=None)
    array([1.        , 0.66666667])
    """
    if not is_one_of(average, ("macro", "micro", None)):
        raise ValueError(f"average must be 'macro', 'micro' or None; got {shown(average)}.")
    true, pred = read_label_pair(y_true, y_pred)
    overlap = label_overlap(true, pred, read_row_weights(sample_weight, true.shape[0]))
    doubled, sizes = 2.0 * overlap.n_both, overlap.n_true + overlap.n_pred
    n_observed = overlap.n_observed
    if average == "micro":
        doubled, sizes = doubled.sum(keepdims=True), sizes.sum(keepdims=True)
        n_observed = n_observed.sum(keepdims=True)
    scores = np.where(n_observed > 0, _ratios(doubled, sizes, zero_division), np.nan)
    if average is None:
        return scores
    defined = scores[~np.isnan(scores)]
    return float(defined.mean()) if defined.size else float("nan")


def label_errors(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> Floats:
    """Return the share of wrong entries of each label, of shape (d,): Hamming loss by label."""
    true, pred = read_label_pair(y_true, y_pred)
    overlap = label_overlap(true, pred, read_row_weights(sample_weight, true.shape[0]))
    return _ratios(overlap.n_wrong, overlap.n_observed, float("nan"))


def label_hits(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> Floats:
    """Return the share of right entries of each label, of shape (d,)."""
    return 1.0 - label_errors(y_true, y_pred, sample_weight=sample_weight)


def mean_over_rows(values: Floats, weights: Floats, counts: Any = True) -> float:
    """Weighted mean over the rows that count and whose value is a number; NaN if there is none."""
    counted = np.where(np.isnan(values) | ~np.asarray(counts), 0.0, weights)
    total = counted.sum()
    return float(counted @ np.nan_to_num(values) / total) if total else float("nan")


def _mean_ratio(
    overlap: Overlap,
    numerators: Floats,
    denominators: Floats,
    sample_weight: Any,
    zero_division: float,
) -> float:
    weights = read_row_weights(sample_weight, numerators.size)
    ratios = _ratios(numerators, denominators, zero_division)
    return mean_over_rows(ratios, weights, overlap.n_observed > 0)


def _ratios(numerators: Floats, denominators: Floats, zero_division: float) -> Floats:
    if not (np.isnan(zero_division) or 0.0 <= zero_division <= 1.0):
        raise ValueError(f"zero_division must be from 0 to 1, or NaN; got {shown(zero_division)}.")
    ratios = np.full(numerators.shape, float(zero_division))
    np.divide(numerators, denominators, out=ratios, where=denominators > 0)
    return ratios


def _weighted_entry_errors(true: Labels, pred: Labels, weights: Floats) -> float:
    present, shown = true.present, pred.present
    if not (isinstance(present, np.ndarray) and isinstance(shown, np.ndarray)):
        raise ValueError(
            "sample_weight of shape (n, d) needs dense labels; got a sparse matrix. Give weights "
            "of shape (n,), or labels as an array."
        )
    counted = weights if true.observed is None else weights * true.observed
    total = counted.sum()
    return float((counted * (present != shown)).sum() / total) if total else float("nan")
