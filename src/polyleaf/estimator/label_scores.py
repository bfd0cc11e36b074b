"""Ask any multi-label classifier, scikit-learn's own too, how likely each label is."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

ScoreKind = Literal["probability", "score"]


def score_kind(estimator: Any) -> ScoreKind:
    """Tell what an estimator gives: probabilities if it can, else scores.

    Parameters
    ----------
    estimator : classifier
        Fitted or not.

    Returns
    -------
    {"probability", "score"}
    """
    if hasattr(estimator, "predict_proba"):
        return "probability"
    if hasattr(estimator, "decision_function"):
        return "score"
    raise TypeError(
        "The estimator must have predict_proba or decision_function, to say how likely each label "
        f"is; {type(estimator).__name__} has neither."
    )


def label_scores(estimator: Any, X: Any, n_labels: int) -> Any:
    """Return the probability or score of each label.

    Parameters
    ----------
    estimator : classifier
        Fitted to a label matrix.
    X : array-like, frame or sparse matrix of shape (n, p)
    n_labels : int
        d.

    Returns
    -------
    ndarray or csr_array of shape (n, d)
    """
    if score_kind(estimator) == "score":
        scores = estimator.decision_function(X)
    else:
        scores = estimator.predict_proba(X)
    if isinstance(scores, list):  # one array of shape (n, classes) per label
        classes = getattr(estimator, "classes_", [None] * len(scores))
        scores = np.column_stack([_of_one(s, c) for s, c in zip(scores, classes, strict=True)])
    if is_sparse(scores):
        scores = sparse.csr_array(scores)
    else:
        scores = np.asarray(scores)
        scores = scores[:, np.newaxis] if scores.ndim == 1 else scores
    if scores.shape[1] != n_labels:
        raise ValueError(
            f"{type(estimator).__name__} must give one score for each of the {n_labels} labels; "
            f"got {scores.shape[1]} columns. Is it a multi-label classifier?"
        )
    return scores


def is_sparse(matrix: Any) -> bool:
    """Whether this is a scipy.sparse matrix or array."""
    return bool(sparse.issparse(matrix))


def _of_one(scores: Any, classes: Any) -> Any:
    """Return the probability of 1 from those of the classes that were seen in training."""
    values = np.asarray(scores)
    if values.ndim == 2 and values.shape[1] == 2:
        return values[:, 1]
    if classes is not None and len(classes) == 1:
        return np.full(values.shape[0], float(classes[0]))
    raise ValueError(
        f"Expected probabilities of the classes 0 and 1 of a label; got shape {values.shape}."
    )
