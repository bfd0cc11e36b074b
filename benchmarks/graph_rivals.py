"""Rivals in Table 2 of Su and Rousu 2013 that no library has: SVMs and multi-task features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.svm import SVC


class LabelwiseSVM(BaseEstimator):
    """One support vector machine per label, all on one kernel matrix.

    Parameters
    ----------
    C : float
    """

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, X: NDArray[Any], Y: NDArray[Any]) -> LabelwiseSVM:
        """Train on every label; a constant one is predicted as it is."""
        self.X_ = X
        gram = X @ X.T
        self.models_ = [
            (SVC(C=self.C, kernel="precomputed") if np.ptp(y) > 0 else DummyClassifier()).fit(
                gram, y
            )
            for y in Y.T
        ]
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Predict 0 or 1 for every label."""
        gram = X @ self.X_.T
        return np.column_stack([model.predict(gram) for model in self.models_])


class BaggedSVMs(BaseEstimator):
    """Majority vote of SVMs on samples of the rows.

    Parameters
    ----------
    C : float
    n_members : int
    share : float
        Of the rows, for each member.
    """

    def __init__(self, C: float = 1.0, n_members: int = 60, share: float = 0.4) -> None:
        self.C = C
        self.n_members = n_members
        self.share = share

    def fit(self, X: NDArray[Any], Y: NDArray[Any]) -> BaggedSVMs:
        """Train every member on a sample without replacement."""
        rng = np.random.default_rng(0)
        size = round(self.share * len(X))
        self.members_ = []
        for _ in range(self.n_members):
            rows = rng.choice(len(X), size, replace=False)
            self.members_.append(LabelwiseSVM(self.C).fit(X[rows], Y[rows]))
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Predict 0 or 1 for every label."""
        votes = sum(member.predict(X) for member in self.members_)
        return (2 * votes > self.n_members).astype(int)


class MultiTaskFeatures(BaseEstimator):
    """Convex multi-task feature learning (Argyriou et al., 2007) with the squared loss.

    Minimises sum_j |y_j - X w_j|^2 + gamma trace(W' D^-1 W) over W and D with trace 1, in turns:
    ridge regressions in the metric D, then D = (W W')^(1/2) / trace.

    Parameters
    ----------
    gamma : float
    n_rounds : int
    """

    def __init__(self, gamma: float = 1.0, n_rounds: int = 30) -> None:
        self.gamma = gamma
        self.n_rounds = n_rounds

    def fit(self, X: NDArray[Any], Y: NDArray[Any]) -> MultiTaskFeatures:
        """Alternate."""
        X = np.column_stack([X, np.ones(len(X))])
        signs = 2.0 * Y - 1.0
        p = X.shape[1]
        metric = np.eye(p) / p
        gram, cross = X.T @ X, X.T @ signs
        for _ in range(self.n_rounds):
            # W = (X'X + gamma D^-1)^-1 X'Y, without the inverse of D.
            weights = metric @ np.linalg.solve(gram @ metric + self.gamma * np.eye(p), cross)
            left, sizes, _ = np.linalg.svd(weights, full_matrices=False)
            metric = (left * (sizes + 1e-9)) @ left.T / (sizes + 1e-9).sum()
        self.weights_ = weights
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Predict 0 or 1 for every label."""
        return (np.column_stack([X, np.ones(len(X))]) @ self.weights_ > 0).astype(int)
