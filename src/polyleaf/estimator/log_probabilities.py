"""Logarithms of probabilities, for all classifiers that predict them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


class LogProbabilities:
    """A classifier whose `predict_proba` gives an array, a sparse matrix or a list of arrays."""

    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        """
        raise NotImplementedError

    def predict_log_proba(self, X: Any) -> Any:
        """Predict logarithms of probabilities.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray or list of ndarray
            In the shape of `predict_proba`, always dense.
        """
        probabilities = self.predict_proba(X)
        if isinstance(probabilities, sparse.csr_array):
            probabilities = probabilities.toarray()
        with np.errstate(divide="ignore"):
            if isinstance(probabilities, list):
                return [np.log(p) for p in probabilities]
            return np.log(probabilities)
