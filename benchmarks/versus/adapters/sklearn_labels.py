"""scikit-learn's linear SVMs for label sets: one per label, and a chain of them.

Rows are scaled to length 1, as polyleaf's cosine kernel does. A chain of the setting's size is an
ensemble of chains in random orders that vote.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case


def make_one_vs_rest(case: Case) -> Any:
    """Make one SVM per label."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    return make_pipeline(Normalizer(), OneVsRestClassifier(_svm(case), n_jobs=case.threads))


def make_chains(case: Case) -> Any:
    """Make chains of SVMs, each of which sees the labels before it."""
    return VotingChains(_svm(case), case.options["n_estimators"])


def _svm(case: Case) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(C=case.options["C"], loss="hinge", max_iter=20_000, random_state=0)


class VotingChains:
    """Classifier chains in random orders, and a majority vote on each label."""

    def __init__(self, base: Any, n_chains: int) -> None:
        self.base = base
        self.n_chains = n_chains

    def fit(self, X: Any, Y: Any) -> VotingChains:
        """Fit every chain; a label with one value in Y is left to a constant."""
        from sklearn.multioutput import ClassifierChain
        from sklearn.preprocessing import normalize

        Y = Y.toarray() if hasattr(Y, "toarray") else np.asarray(Y)
        self.constant = Y[0].copy()
        self.varying = np.flatnonzero(np.ptp(Y, axis=0) > 0)
        self.chains = [
            ClassifierChain(self.base, order="random", random_state=k).fit(
                normalize(X), Y[:, self.varying]
            )
            for k in range(self.n_chains)
        ]
        return self

    def predict(self, X: Any) -> Any:
        """Predict 0 or 1 for every label."""
        from sklearn.preprocessing import normalize

        votes = sum(chain.predict(normalize(X)) for chain in self.chains)
        predicted = np.repeat(self.constant[None], X.shape[0], axis=0)
        predicted[:, self.varying] = 2 * votes > self.n_chains
        return predicted


METHODS = (
    Method(
        "sklearn-ovr-svm",
        "graphs",
        module="sklearn",
        distribution="scikit-learn",
        make=make_one_vs_rest,
    ),
    Method(
        "sklearn-chains", "graphs", module="sklearn", distribution="scikit-learn", make=make_chains
    ),
)
