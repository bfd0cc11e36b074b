"""Metrics of the first k labels of each row, plain and corrected for missing rare labels.

Labels of equal score share their places, so that the order of the columns never matters.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.matrices import as_floats, read_array
from polyleaf.checks.numbers import shown
from polyleaf.metrics._inputs import Floats, Labels, read_labels, read_row_weights, read_scores
from polyleaf.metrics._label_sets import mean_over_rows
from polyleaf.metrics._places import gains_by_place, ideal_gains_by_place

#: Of the formula for propensities: no data set has another one than 0.4 to 0.6.
_LARGEST_EXPONENT = 100
#: Of a number that float64 holds.
_LARGEST_LOG = 700.0


def precision_at_k(y_true: Any, y_score: Any, *, k: int = 5, sample_weight: Any = None) -> float:
    """Share of true labels among the k with the highest scores, averaged over rows.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n, d)
        0 and 1; NaN is not observed and does not count.
    y_score : array-like or sparse matrix of shape (n, d)
        Higher for labels that are likelier; a sparse matrix scores 0 what it does not store.
    k : int, default=5
        The number of places. A row with fewer (observed) labels has that many.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float
        From 0 to 1, the best.

    Examples
    --------
    >>> from polyleaf.metrics import precision_at_k
    >>> precision_at_k([[1, 0, 1], [0, 1, 0]], [[3, 1, 2], [1, 2, 3]], k=2)
    0.75
    """
    true, scores, weights, k = _read(y_true, y_score, sample_weight, k)
    gains = gains_by_place(true, scores, k)
    return _mean_over_observed(gains.sum(axis=1), np.minimum(true.n_observed(), k), weights)


def ndcg_at_k(y_true: Any, y_score: Any, *, k: int = 5, sample_weight: Any = None) -> float:
    """Discounted gain of the first k labels, as a share of the best, averaged over rows.

    A true label on place l = 1, 2, ... gains 1 / log2(l + 1).

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n, d)
        0 and 1; NaN is not observed and does not count.
    y_score : array-like or sparse matrix of shape (n, d)
        Higher for labels that are likelier; a sparse matrix scores 0 what it does not store.
    k : int, default=5
        The number of places.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float
        From 0 to 1, the best. A row without a true label counts as 0.

    Examples
    --------
    >>> from polyleaf.metrics import ndcg_at_k
    >>> round(ndcg_at_k([[1, 0, 1], [0, 1, 0]], [[3, 1, 2], [1, 2, 3]], k=2), 3)
    0.815
    """
    true, scores, weights, k = _read(y_true, y_score, sample_weight, k)
    discounts = _discounts(k)
    gains = gains_by_place(true, scores, k) @ discounts
    ideal = ideal_gains_by_place(true, k) @ discounts
    values = np.divide(gains, ideal, out=np.zeros_like(gains), where=ideal > 0)
    return mean_over_rows(values, weights, true.n_observed() > 0)


def one_error(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """Share of the rows whose highest score belongs to a label they do not have.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n, d)
        0 and 1; NaN is not observed and does not count.
    y_score : array-like or sparse matrix of shape (n, d)
        Higher for labels that are likelier; a sparse matrix scores 0 what it does not store.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float
        From 0, the best, to 1. A row without a true label counts as 1.

    Examples
    --------
    >>> from polyleaf.metrics import one_error
    >>> one_error([[1, 0, 1], [0, 1, 0]], [[3, 1, 2], [1, 2, 3]])
    0.5
    """
    return 1.0 - precision_at_k(y_true, y_score, k=1, sample_weight=sample_weight)


def label_propensities(y_train: Any, *, a: float = 0.55, b: float = 1.5) -> NDArray[np.float64]:
    """Probability that a true label was written down, from how often it occurs in training.

    With n rows, of which n_l have label l, and c = (log n - 1) (b + 1)^a, the propensity of the
    label is 1 / (1 + c exp(-a log(n_l + b))) (Jain, Prabhu and Varma, KDD 2016).

    Parameters
    ----------
    y_train : array-like or sparse matrix of shape (n, d)
        The training labels; NaN is not observed and does not count.
    a, b : float, default=0.55 and 1.5
        0.5 and 0.4 are usual for Wikipedia, 0.6 and 2.6 for Amazon.

    Returns
    -------
    ndarray of shape (d,)
        Above 0 and at most 1, lower for rarer labels.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.metrics import label_propensities
    >>> Y = np.zeros((1000, 2))
    >>> Y[:500, 0] = Y[:2, 1] = 1
    >>> label_propensities(Y).round(2)
    array([0.76, 0.17])
    """
    are_numbers = isinstance(a, numbers.Real) and isinstance(b, numbers.Real)
    if not are_numbers or not (0 < a <= _LARGEST_EXPONENT and 0 < b < np.inf):
        raise ValueError(
            f"a and b must be above 0, finite, and a at most {_LARGEST_EXPONENT}; got "
            f"{shown(a, 80)} "
            f"and {shown(b, 80)}."
        )
    labels = read_labels(y_train, "y_train", allow_unobserved=True)
    n_rows = labels.shape[0]
    counts = np.asarray(np.ones(n_rows) @ labels.present)
    # (b + 1)^a exp(-a log(n_l + b)) as one power, whose parts may be beyond what floats hold.
    c = max(np.log(n_rows) - 1.0, 0.0)
    exponents = np.minimum(a * (np.log1p(b) - np.log(counts + b)), _LARGEST_LOG)
    return np.asarray(1.0 / (1.0 + c * np.exp(exponents)))


def propensity_scored_precision_at_k(
    y_true: Any,
    y_score: Any,
    *,
    propensities: Any,
    k: int = 5,
    sample_weight: Any = None,
    normalize: bool = True,
) -> float:
    """Precision at k in which a true label counts 1 / propensity, so that rare ones count more.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n, d)
        0 and 1; NaN is not observed and does not count.
    y_score : array-like or sparse matrix of shape (n, d)
        Higher for labels that are likelier; a sparse matrix scores 0 what it does not store.
    propensities : array-like of shape (d,)
        Of :func:`label_propensities`.
    k : int, default=5
        The number of places.
    sample_weight : array-like of shape (n,), optional
    normalize : bool, default=True
        Whether to divide by what the best order would reach, so that 1 is the best value.

    Returns
    -------
    float

    Examples
    --------
    >>> from polyleaf.metrics import propensity_scored_precision_at_k
    >>> propensity_scored_precision_at_k(
    ...     [[1, 1]], [[0.9, 0.1]], propensities=[0.8, 0.2], k=1)
    0.25
    """
    return _propensity_scored(
        y_true, y_score, propensities, k, sample_weight, normalize=normalize, discounted=False
    )


def propensity_scored_ndcg_at_k(
    y_true: Any,
    y_score: Any,
    *,
    propensities: Any,
    k: int = 5,
    sample_weight: Any = None,
    normalize: bool = True,
) -> float:
    """Discounted gain at k in which a true label counts 1 / propensity.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n, d)
        0 and 1; NaN is not observed and does not count.
    y_score : array-like or sparse matrix of shape (n, d)
        Higher for labels that are likelier; a sparse matrix scores 0 what it does not store.
    propensities : array-like of shape (d,)
        Of :func:`label_propensities`.
    k : int, default=5
        The number of places.
    sample_weight : array-like of shape (n,), optional
    normalize : bool, default=True
        Whether to divide by what the best order would reach, so that 1 is the best value.

    Returns
    -------
    float

    Examples
    --------
    >>> from polyleaf.metrics import propensity_scored_ndcg_at_k
    >>> propensity_scored_ndcg_at_k(
    ...     [[1, 1]], [[0.9, 0.1]], propensities=[0.8, 0.2], k=1)
    0.25
    """
    return _propensity_scored(
        y_true, y_score, propensities, k, sample_weight, normalize=normalize, discounted=True
    )


def _propensity_scored(
    y_true: Any,
    y_score: Any,
    propensities: Any,
    k: int,
    sample_weight: Any,
    *,
    normalize: bool,
    discounted: bool,
) -> float:
    true, scores, weights, k = _read(y_true, y_score, sample_weight, k)
    inverse = 1.0 / _checked_propensities(propensities, true.shape[1])
    place_weights = _discounts(k) if discounted else np.ones(k)
    place_weights = place_weights / place_weights.sum()
    counts = true.n_observed() > 0
    mean = mean_over_rows(
        gains_by_place(true, scores, k, inverse) @ place_weights, weights, counts
    )
    if not normalize:
        return mean
    best = ideal_gains_by_place(true, k, inverse) @ place_weights
    best_mean = mean_over_rows(best, weights, counts)
    return mean / best_mean if best_mean > 0 else float("nan")


def _read(
    y_true: Any, y_score: Any, sample_weight: Any, k: Any
) -> tuple[Labels, Floats | sparse.csr_array, Floats, int]:
    true = read_labels(y_true, "y_true", allow_unobserved=True)
    scores = read_scores(y_score, true.shape)
    weights = read_row_weights(sample_weight, true.shape[0])
    return true, scores, weights, min(_checked_k(k), true.shape[1])


def _checked_k(k: Any) -> int:
    if not isinstance(k, numbers.Integral) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k must be an integer >= 1; got {shown(k)}.")
    return int(k)


def _checked_propensities(propensities: Any, n_labels: int) -> Floats:
    values = as_floats(read_array(propensities, "propensities"), "propensities")
    if values.shape != (n_labels,) or not ((values > 0) & (values <= 1)).all():
        raise ValueError(
            f"propensities must hold a number above 0 and at most 1 for each of the {n_labels} "
            "labels; got others. label_propensities(Y_train) makes them."
        )
    return values


def _discounts(k: int) -> Floats:
    return np.asarray(1.0 / np.log2(np.arange(2, k + 2)))


def _mean_over_observed(sums: Floats, n_places: Floats, weights: Floats) -> float:
    values = np.divide(sums, n_places, out=np.zeros_like(sums), where=n_places > 0)
    return mean_over_rows(values, weights, n_places > 0)
