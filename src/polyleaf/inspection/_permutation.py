"""Importance of features by what their values, shuffled among the rows, cost each output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats
from sklearn.base import is_classifier

from polyleaf.checks.fitted import expect_fitted
from polyleaf.checks.matrices import read_sparse
from polyleaf.checks.numbers import expect_number, shown
from polyleaf.checks.optional import require
from polyleaf.checks.randomness import read_random_state
from polyleaf.estimator.mixed import Mixed
from polyleaf.estimator.wording import feature_names_of, output_names_of
from polyleaf.metrics import Metric, resolve


@dataclass(frozen=True, eq=False)
class PermutationImportances:
    """What each feature is worth to each output.

    Attributes
    ----------
    drops : ndarray of shape (n_outputs, p, n_repeats)
        How much worse the metric gets when a feature is shuffled; positive: the feature helps.
    scores : ndarray of shape (n_outputs,)
        The metric with all features in place.
    metric : str
    feature_names, output_names : list of str
        `output_names` is ``["all outputs"]`` for a metric of whole rows.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.inspection import permutation_importances
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> found = permutation_importances(TreeRegressor().fit(X, X), X, X, random_state=0)
    >>> found.means.shape, bool(found.means[0, 1] == 0)
    ((2, 2), True)
    """

    drops: NDArray[np.float64]
    scores: NDArray[np.float64]
    metric: str
    feature_names: list[str]
    output_names: list[str]

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean drop over the repeats, of shape (n_outputs, p)."""
        return np.asarray(self.drops.mean(axis=2))

    def interval(self, level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bound the mean drop that endless shuffling would give, by Student's distribution.

        The interval is about shuffling, not about other rows or another fit.

        Parameters
        ----------
        level : float, default=0.95

        Returns
        -------
        low, high : ndarray of shape (n_outputs, p)
            Infinite with a single repeat.
        """
        level = expect_number("level", level, 0.0, 1.0, "between 0 and 1")
        if level in (0.0, 1.0):
            raise ValueError(f"level must be between 0 and 1; got {level:g}.")
        n_repeats = self.drops.shape[2]
        if n_repeats == 1:
            return np.full(self.means.shape, -np.inf), np.full(self.means.shape, np.inf)
        error = self.drops.std(axis=2, ddof=1) / np.sqrt(n_repeats)
        reach = stats.t.ppf(0.5 + level / 2, n_repeats - 1) * error
        return self.means - reach, self.means + reach

    def to_frame(self, level: float = 0.95) -> Any:
        """Tabulate ``output, feature, importance, low, high``, the largest of an output first."""
        low, high = self.interval(level)
        means = self.means
        lines = [
            (output, self.feature_names[f], means[j, f], low[j, f], high[j, f])
            for j, output in enumerate(self.output_names)
            for f in np.argsort(-np.nan_to_num(means[j]), kind="stable")
        ]
        columns = ["output", "feature", "importance", "low", "high"]
        return require("pandas", "to_frame").DataFrame(lines, columns=columns)


def permutation_importances(
    model: Any,
    X: Any,
    Y: Any,
    *,
    metric: str | Metric | None = None,
    n_repeats: int = 5,
    random_state: Any = None,
) -> PermutationImportances:
    """Measure how much worse each output is predicted when a feature is shuffled.

    Parameters
    ----------
    model : estimator of polyleaf
        Fitted.
    X : array-like, frame or sparse matrix of shape (n, p)
        Rows that the model has not seen, if importances are to tell what generalises.
    Y : array-like, frame or sparse matrix of shape (n,) or (n, d)
        What is true of them.
    metric : str or Metric, optional
        A name in `polyleaf.metrics.METRICS`. By default "r2" of numbers, "log_loss" of labels
        where the model gives probabilities, and the share of rows whose class is right. A metric
        that judges whole rows gives one importance for all outputs; one that is relative to the
        training rows is taken relative to Y.
    n_repeats : int, default=5
        How often each feature is shuffled.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    PermutationImportances

    Examples
    --------
    >>> from polyleaf import RandomForestRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.inspection import permutation_importances
    >>> X, Y = make_correlated_targets(300, 6, 4, random_state=0)
    >>> forest = RandomForestRegressor(n_estimators=20, random_state=0).fit(X[:200], Y[:200])
    >>> found = permutation_importances(forest, X[200:], Y[200:], random_state=0)
    >>> found.means.shape
    (4, 6)
    """
    expect_fitted(model)
    if not isinstance(n_repeats, int | np.integer) or isinstance(n_repeats, bool) or n_repeats < 1:
        raise ValueError(f"n_repeats must be a positive whole number; got {shown(n_repeats)}.")
    judge = _Judge(model, Y, metric)
    shuffled = _shuffler(X)
    rng = read_random_state(random_state)
    features = feature_names_of(model)
    scores = judge(X)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    drops = np.empty((scores.size, len(features), n_repeats))
    for f in range(len(features)):
        for repeat in range(n_repeats):
            drops[:, f, repeat] = scores - judge(shuffled(f, rng.permutation(n_rows)))
    names = output_names_of(model) if judge.is_per_output else ["all outputs"]
    return PermutationImportances(judge.sign * drops, scores, judge.name, features, names)


class _Judge:
    """Scores a model per output.

    Parameters
    ----------
    model : estimator
    Y : array-like, frame or sparse matrix
    metric : str, Metric or None
    """

    def __init__(self, model: Any, Y: Any, metric: str | Metric | None) -> None:
        kind = model._targets.kind
        self._model = model
        self._is_mixed = isinstance(model, Mixed)
        if self._is_mixed:
            if metric is not None:
                raise ValueError(
                    "A model of mixed kinds is judged by the score of each output: leave out "
                    "metric."
                )
            self.name, self.sign, self.is_per_output, self._truth = "score", 1.0, True, Y
            return
        self._truth = read_sparse(Y, "Y") if sparse.issparse(Y) else np.asarray(Y)
        self.sign, self.is_per_output = 1.0, True
        self._score: Callable[[Any, Any], Any]
        if kind in ("binary", "multiclass", "multiclass-multioutput"):
            if metric is not None:
                raise ValueError(
                    "The metrics of METRICS judge numbers and labels, but this model predicts "
                    "classes: leave out metric, and the share of right classes is taken."
                )
            self.name, self._needs, self._score = "accuracy", "values", _shares_right
            return
        if metric is None:
            has_chances = is_classifier(model) and hasattr(model, "predict_proba")
            metric = (
                "log_loss" if has_chances else "r2" if kind == "regression" else "hamming_loss"
            )
        found = resolve(metric, kind)
        self.name, self._needs = found.name, found.needs
        self.is_per_output = found.per_output is not None
        self.sign = 1.0 if found.greater_is_better else -1.0
        y_train = Y if found.from_training else None
        self._score = found.prepare(y_train, per_output=self.is_per_output)

    def __call__(self, X: Any) -> NDArray[np.float64]:
        model = self._model
        if self._is_mixed:
            found = model.output_scores(X, self._truth).values()
            return np.array([scores["score"] for scores in found])
        if self._needs in ("values", "labels"):
            predicted = model.predict(X)
        elif self._needs == "probabilities" or hasattr(model, "predict_proba"):
            predicted = model.predict_proba(X)
        else:
            predicted = model.decision_function(X)
        return np.atleast_1d(np.asarray(self._score(self._truth, predicted), dtype=np.float64))


def _shares_right(truth: NDArray[Any], predicted: NDArray[Any]) -> NDArray[np.float64]:
    """Share of right classes among those observed, of every output."""
    truth, predicted = truth.reshape(len(truth), -1), predicted.reshape(len(predicted), -1)
    is_known = np.array([[value is not None and value == value for value in row] for row in truth])
    right = (truth == predicted) & is_known
    return np.asarray(right.sum(axis=0) / np.maximum(is_known.sum(axis=0), 1))


def _shuffler(X: Any) -> Callable[[int, NDArray[Any]], Any]:
    """Give a function of a feature and an order that puts the feature's values in that order."""
    frame = nw.from_native(X, eager_only=True, strict=False)
    if isinstance(frame, nw.DataFrame):

        def shuffled_frame(feature: int, order: NDArray[Any]) -> Any:
            name = frame.columns[feature]
            pandas = nw.to_native(frame)
            if hasattr(pandas, "iloc"):
                moved = pandas.copy()
                moved[name] = pandas[name].array.take(order)
                return moved
            return nw.to_native(frame.with_columns(frame[name][order.tolist()].alias(name)))

        return shuffled_frame
    if sparse.issparse(X):
        columns = sparse.csc_array(read_sparse(X, "X"))

        def shuffled_sparse(feature: int, order: NDArray[Any]) -> Any:
            parts = [columns[:, :feature], columns[:, [feature]].tocsr()[order]]
            parts.append(columns[:, feature + 1 :])
            return sparse.csr_array(sparse.hstack(parts, format="csr"))

        return shuffled_sparse
    values = np.asarray(X)

    def shuffled_array(feature: int, order: NDArray[Any]) -> NDArray[Any]:
        moved = values.copy()
        moved[:, feature] = values[order, feature]
        return moved

    return shuffled_array
