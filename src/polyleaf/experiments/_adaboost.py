"""AdaBoost.MH for label sets, with trees of scikit-learn as partitions of the rows.

Every pair of row i and label l has a weight D(i, l). A round partitions the rows by a tree and
gives leaf j the value c(j, l) = ln(W+ / W-) / 2, of the weights of its rows with and without the
label; then D(i, l) is multiplied by exp(-y(i, l) c(j(i), l)) and normalised by Z (Schapire and
Singer 1999, sections 4 and 9). The training Hamming loss is at most the product of all Z.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeRegressor

from polyleaf.checks.randomness import read_random_state
from polyleaf.experiments._encoding import feature_rows, output_matrix

Floats = NDArray[np.float64]


class AdaBoostMH(ClassifierMixin, BaseEstimator):
    """AdaBoost.MH: boosting of trees that vote on every label (a rival in Su and Rousu 2013).

    Parameters
    ----------
    n_estimators : int, default=100
        Rounds.
    max_leaf_nodes : int, default=100
        Of each tree.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
    normalisers_ : list of float
        Z of each round; the training Hamming loss is at most their product.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.experiments import AdaBoostMH
    >>> X = np.arange(20.0)[:, np.newaxis]
    >>> Y = np.hstack([X > 5, X % 2 == 0]).astype(int)
    >>> AdaBoostMH(20, random_state=0).fit(X, Y).predict([[3.0], [18.0]])
    array([[0, 0],
           [1, 1]])
    """

    def __init__(
        self, n_estimators: int = 100, max_leaf_nodes: int = 100, random_state: Any = None
    ) -> None:
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> AdaBoostMH:
        """Add rounds until a partition carries no information; NaN in y is not observed."""
        rng = read_random_state(self.random_state)
        X = feature_rows(X)
        labels = output_matrix(y, X).astype(np.float64)
        signs = np.nan_to_num(2.0 * labels - 1.0)  # 0: not observed
        weights = np.abs(signs)
        weights /= max(weights.sum(), 1.0)
        smoothing = 1.0 / max(int(np.count_nonzero(signs)), 1)
        self.estimators_: list[Any] = []
        self.leaf_values_: list[Floats] = []
        self.normalisers_: list[float] = []
        self.n_labels_ = signs.shape[1]
        for _ in range(self.n_estimators):
            tree = self._partition(X, signs * weights, weights.sum(axis=1), rng)
            leaf_of = tree.apply(X)
            values = _leaf_values(leaf_of, tree.tree_.node_count, signs, weights, smoothing)
            weights *= np.exp(-signs * values[leaf_of])
            normaliser = float(weights.sum())
            if not 0.0 < normaliser < 1.0 - 1e-12:
                break
            weights /= normaliser
            self.estimators_.append(tree)
            self.leaf_values_.append(values)
            self.normalisers_.append(normaliser)
        return self

    def _partition(self, X: Any, pulls: Floats, row_weights: Floats, rng: Any) -> Any:
        """Grow a tree on the weighted mean sign of each label: the steepest descent of Z."""
        tree = DecisionTreeRegressor(
            max_leaf_nodes=self.max_leaf_nodes, random_state=rng.randint(2**31 - 1)
        )
        share = np.maximum(row_weights, np.finfo(float).tiny)
        targets = pulls / share[:, np.newaxis]
        return tree.fit(X, targets, sample_weight=row_weights / row_weights.max())

    def decision_function(self, X: Any) -> Floats:
        """Sum the votes for each label."""
        X = feature_rows(X)
        votes = np.zeros((np.shape(X)[0], self.n_labels_))
        for tree, values in zip(self.estimators_, self.leaf_values_):
            votes += values[tree.apply(X)]
        return votes

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Predict label sets."""
        return (self.decision_function(X) > 0.0).astype(np.int64)

    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each label, 1 / (1 + exp(-2 votes))."""
        votes = np.clip(self.decision_function(X), -300.0, 300.0)
        return np.asarray(1.0 / (1.0 + np.exp(-2.0 * votes)))


def _leaf_values(
    leaf_of: NDArray[np.int64], n_nodes: int, signs: Floats, weights: Floats, smoothing: float
) -> Floats:
    """Return ln((W+ + s) / (W- + s)) / 2 for each node and label, of shape (nodes, d)."""
    positive, negative = (np.zeros((n_nodes, signs.shape[1])) for _ in range(2))
    np.add.at(positive, leaf_of, np.where(signs > 0, weights, 0.0))
    np.add.at(negative, leaf_of, np.where(signs < 0, weights, 0.0))
    return np.asarray(0.5 * np.log((positive + smoothing) / (negative + smoothing)))
