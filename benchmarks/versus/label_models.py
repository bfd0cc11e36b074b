"""What lets rivals boost label matrices: dense labels, constant ones left out, probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def dense(Y: Any) -> NDArray[np.int32]:
    """Return labels as one array of 0 and 1."""
    return np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y, dtype=np.int32)


class VaryingLabels:
    """Fits a model to the labels that vary; the others get the probability 0 or 1.

    Parameters
    ----------
    model : estimator
        With ``fit(X, Y)``, Y of shape (n, d).
    probabilities : callable
        Takes the fitted model and X, and returns an array of shape (n, d).
    """

    def __init__(self, model: Any, probabilities: Callable[[Any, Any], Any]) -> None:
        self.model, self.probabilities = model, probabilities

    def fit(self, X: Any, Y: Any) -> VaryingLabels:
        """Fit the model."""
        labels = dense(Y)
        self.constant = labels[0].astype(np.float64)
        self.varying = np.flatnonzero(np.ptp(labels, axis=0) > 0)
        self.model.fit(X, labels[:, self.varying])
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of every label."""
        predicted = np.repeat(self.constant[None], X.shape[0], axis=0)
        predicted[:, self.varying] = self.probabilities(self.model, X)
        return predicted


def predicted_probabilities(model: Any, X: Any) -> NDArray[Any]:
    """Ask a model whose probabilities are an array of shape (n, d)."""
    return np.asarray(model.predict_proba(X))


def positive_probabilities(model: Any, X: Any) -> NDArray[Any]:
    """Ask a model that answers with one array of shape (n, 2) per label."""
    return np.column_stack([both[:, 1] for both in model.predict_proba(X)])
