"""Baselines of the papers, built from scikit-learn: chains, powerset, linear combinations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.multioutput import ClassifierChain
from sklearn.utils import _safe_indexing

from polyleaf.checks.randomness import read_random_state
from polyleaf.experiments._encoding import TargetScale, dense, feature_rows, output_matrix
from polyleaf.metrics import subset_zero_one_loss


class LabelPowerset(ClassifierMixin, BaseEstimator):
    """One multi-class problem whose classes are the label sets seen in training.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba`.

    Attributes
    ----------
    label_sets_ : ndarray of shape (s, d)
        The label sets, by class.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from polyleaf.experiments import LabelPowerset
    >>> X, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[1, 0], [0, 1], [1, 1]])
    >>> LabelPowerset(DecisionTreeClassifier()).fit(X, Y).predict([[1.9]])
    array([[1, 1]])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> LabelPowerset:
        """Train on the number of each row's label set."""
        X = feature_rows(X)
        labels = output_matrix(y, X)
        check_observed(labels, self)
        self.label_sets_, classes = np.unique(labels, axis=0, return_inverse=True)
        self.estimator_ = None
        if len(self.label_sets_) > 1:
            self.estimator_ = clone(self.estimator).fit(X, classes.ravel())
        return self

    def _shares(self, X: Any) -> NDArray[np.float64]:
        if self.estimator_ is None:
            return np.ones((np.shape(X)[0], 1))
        return np.asarray(self.estimator_.predict_proba(feature_rows(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the likeliest label set."""
        return np.asarray(self.label_sets_[self._shares(X).argmax(axis=1)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each label, the sum over its label sets."""
        return np.asarray(np.clip(self._shares(X) @ self.label_sets_, 0.0, 1.0))


class BestChain(ClassifierMixin, BaseEstimator):
    """A classifier chain with the best of several random orders, chosen on a part of the rows.

    Parameters
    ----------
    estimator : classifier
    n_orders : int, default=5
        Orders that are tried.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    chain_ : ClassifierChain
        With the best order, trained on all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from polyleaf.experiments import BestChain
    >>> X = np.arange(20.0)[:, np.newaxis]
    >>> Y = np.hstack([X > 5, X > 10]).astype(int)
    >>> BestChain(LogisticRegression(), random_state=0).fit(X, Y).predict([[19.0]])
    array([[1, 1]])
    """

    def __init__(self, estimator: Any, n_orders: int = 5, random_state: Any = None) -> None:
        self.estimator = estimator
        self.n_orders = n_orders
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> BestChain:
        """Choose the order on a quarter of the rows, and train the chain on all."""
        X = feature_rows(X)
        rng = read_random_state(self.random_state)
        Y = output_matrix(y, X)
        check_observed(Y, self)
        kept, held = train_test_split(np.arange(len(Y)), test_size=0.25, random_state=rng)
        orders = [rng.permutation(Y.shape[1]) for _ in range(self.n_orders)]
        losses = []
        for order in orders:
            chain = self._chain(order).fit(_safe_indexing(X, kept), Y[kept])
            losses.append(
                subset_zero_one_loss(Y[held], _as_labels(chain.predict(_safe_indexing(X, held))))
            )
        self.chain_ = self._chain(orders[int(np.argmin(losses))]).fit(X, Y)
        return self

    def _chain(self, order: Any) -> ClassifierChain:
        return ClassifierChain(_ConstantSafe(clone(self.estimator)), order=list(order))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict label sets."""
        return _as_labels(self.chain_.predict(feature_rows(X)))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each label, given the predicted ones before it."""
        return np.asarray(self.chain_.predict_proba(feature_rows(X)))


class OneModelPerLabel(ClassifierMixin, BaseEstimator):
    """Binary relevance: one classifier per label; a label that is constant needs none.

    Parameters
    ----------
    estimator : classifier

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from polyleaf.experiments import OneModelPerLabel
    >>> X = np.arange(20.0)[:, np.newaxis]
    >>> Y = np.hstack([X > 5, X > 100]).astype(int)  # the second one never
    >>> OneModelPerLabel(LogisticRegression()).fit(X, Y).predict([[19.0]])
    array([[1, 0]])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> OneModelPerLabel:
        """Train one model per label, on the rows where it is observed."""
        X = feature_rows(X)
        Y = output_matrix(y, X).astype(np.float64)
        self.estimators_ = []
        for j in range(Y.shape[1]):
            known = ~np.isnan(Y[:, j])
            model = _ConstantSafe(clone(self.estimator))
            self.estimators_.append(
                model.fit(_safe_indexing(X, known), Y[known, j].astype(np.int64))
            )
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict label sets."""
        X = feature_rows(X)
        return np.column_stack([model.predict(X) for model in self.estimators_])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each label, or its score where the model has none."""
        X = feature_rows(X)
        return np.column_stack([model.predict_proba(X)[:, 1] for model in self.estimators_])


class OneModelPerTarget(RegressorMixin, BaseEstimator):
    """Single target: one regressor per target, on the rows where it is observed.

    Targets are standardised, so that settings mean the same for all of them.

    Parameters
    ----------
    estimator : regressor

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from polyleaf.experiments import OneModelPerTarget
    >>> X = np.arange(4.0)[:, np.newaxis]
    >>> Y = np.hstack([2 * X, -X])
    >>> OneModelPerTarget(LinearRegression()).fit(X, Y).predict([[5.0]]).round(6)
    array([[10., -5.]])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> OneModelPerTarget:
        """Train one model per target."""
        X = feature_rows(X)
        Y = output_matrix(y, X).astype(np.float64)
        self.scale_ = TargetScale(Y)
        scaled = self.scale_.apply(Y)
        self.estimators_ = []
        for j in range(Y.shape[1]):
            known = ~np.isnan(Y[:, j])
            model = (
                clone(self.estimator).fit(_safe_indexing(X, known), scaled[known, j])
                if known.any()
                else None
            )
            self.estimators_.append(model)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict all targets; NaN for one that was never observed."""
        X = feature_rows(X)
        nothing = np.full(np.shape(X)[0], np.nan)
        scaled = np.column_stack(
            [nothing if model is None else model.predict(X) for model in self.estimators_]
        )
        return np.asarray(self.scale_.undo(scaled))


class AllTargets(RegressorMixin, BaseEstimator):
    """One regressor for all targets at once, which are standardised for it.

    Parameters
    ----------
    estimator : regressor
        Of many targets; anyone's.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from polyleaf.experiments import AllTargets
    >>> X = np.arange(4.0)[:, np.newaxis]
    >>> AllTargets(LinearRegression()).fit(X, np.hstack([2 * X, -X])).predict([[5.0]]).round(6)
    array([[10., -5.]])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> AllTargets:
        """Train on all targets, each of which must be observed."""
        X = feature_rows(X)
        Y = output_matrix(y, X).astype(np.float64)
        check_observed(Y, self.estimator)
        self.scale_ = TargetScale(Y)
        self.estimator_ = clone(self.estimator).fit(X, self.scale_.apply(Y))
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict all targets, of shape (n, d)."""
        predicted = dense(self.estimator_.predict(feature_rows(X))).astype(np.float64)
        return np.asarray(self.scale_.undo(predicted.reshape(predicted.shape[0], -1)))


class LabelsByRegression(ClassifierMixin, BaseEstimator):
    """Labels as the numbers 0 and 1 of a multi-target regressor; 0.5 and more is a label.

    Parameters
    ----------
    estimator : regressor
        Of many targets.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from polyleaf.experiments import LabelsByRegression
    >>> X = np.arange(20.0)[:, np.newaxis]
    >>> Y = np.hstack([X > 5, X > 12]).astype(int)
    >>> LabelsByRegression(LinearRegression()).fit(X, Y).predict([[8.0]])
    array([[1, 0]])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> LabelsByRegression:
        """Train the regressor; every label must be observed."""
        X = feature_rows(X)
        Y = output_matrix(y, X).astype(np.float64)
        check_observed(Y, self.estimator)
        self.estimator_ = clone(self.estimator).fit(X, Y)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict label sets."""
        return _as_labels(self.predict_proba(X) >= 0.5)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the number of each label, cut off at 0 and 1."""
        predicted = np.asarray(self.estimator_.predict(feature_rows(X)))
        return np.asarray(np.clip(predicted.reshape(predicted.shape[0], -1), 0.0, 1.0))


class RandomLinearCombinations(RegressorMixin, BaseEstimator):
    """RLC: one regressor per random combination of targets, put together by least squares.

    Targets are scaled to [0, 1]; each combination mixes `n_mixed` of them with weights uniform in
    [0, 1] (Tsoumakas et al. 2014; a rival in Breskvar et al. 2018, Table 11).

    Parameters
    ----------
    estimator : regressor
    n_combinations : int or None, default=None
        r; None is the larger of 100 and three times the targets.
    n_mixed : int, default=2
        k, the targets in a combination.
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from polyleaf.experiments import RandomLinearCombinations
    >>> X = np.arange(6.0)[:, np.newaxis]
    >>> Y = np.hstack([2 * X, -X, X + 1])
    >>> model = RandomLinearCombinations(LinearRegression(), random_state=0).fit(X, Y)
    >>> model.predict([[5.0]]).round(6)
    array([[10., -5.,  6.]])
    """

    def __init__(
        self,
        estimator: Any,
        n_combinations: int | None = None,
        n_mixed: int = 2,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_combinations = n_combinations
        self.n_mixed = n_mixed
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> RandomLinearCombinations:
        """Train one model per combination."""
        X = feature_rows(X)
        rng = read_random_state(self.random_state)
        Y = output_matrix(y, X).astype(np.float64)
        check_observed(Y, self)
        n_targets = Y.shape[1]
        self.low_ = Y.min(axis=0)
        self.range_ = np.where(np.ptp(Y, axis=0) > 0, np.ptp(Y, axis=0), 1.0)
        scaled = (Y - self.low_) / self.range_
        r = self.n_combinations or max(100, 3 * n_targets)
        self.weights_ = np.zeros((n_targets, r))
        for column in range(r):
            # In turn, so that every target is mixed in about as often.
            first = column % n_targets
            others = rng.permutation(np.delete(np.arange(n_targets), first))[: self.n_mixed - 1]
            chosen = np.append(others, first)
            self.weights_[chosen, column] = rng.uniform(size=chosen.size)
        mixed = scaled @ self.weights_
        self.estimators_ = [clone(self.estimator).fit(X, mixed[:, i]) for i in range(r)]
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict all targets by least squares from the predicted combinations."""
        X = feature_rows(X)
        mixed = np.column_stack([model.predict(X) for model in self.estimators_])
        scaled = np.linalg.lstsq(self.weights_.T, mixed.T, rcond=None)[0].T
        return np.asarray(scaled * self.range_ + self.low_)


class _ConstantSafe(ClassifierMixin, BaseEstimator):
    """A binary classifier that also learns from rows of one class."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> _ConstantSafe:
        values = np.unique(y)
        self.constant_ = int(values[0]) if values.size == 1 else None
        self.constant_ = 0 if values.size == 0 else self.constant_
        self.estimator_ = None
        if self.constant_ is None:
            self.estimator_ = clone(self.estimator).fit(X, y)
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        if self.estimator_ is None:
            return np.full(np.shape(X)[0], self.constant_)
        return np.asarray(self.estimator_.predict(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        if self.estimator_ is None:
            positive = np.full(np.shape(X)[0], float(self.constant_ or 0))
        elif hasattr(self.estimator_, "predict_proba"):
            positive = self.estimator_.predict_proba(X)[:, 1]
        else:
            scores = self.estimator_.decision_function(X)
            positive = 1.0 / (1.0 + np.exp(-np.clip(scores, -500, 500)))
        return np.column_stack([1.0 - positive, positive])


def check_observed(Y: Any, estimator: Any) -> None:
    """Refuse outputs that are not observed, in the name of an estimator that needs them all."""
    if np.isnan(Y).any():
        raise ValueError(f"{type(estimator).__name__} needs every output observed; got NaN.")


def _as_labels(predicted: Any) -> NDArray[Any]:
    return np.asarray(predicted).astype(np.int64)
