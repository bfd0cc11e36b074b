"""The error of a randomised learner in parts (Joly et al. 2014, section 3.3).

The expected squared error of a model f(x; LS, Phi, eps) is the noise and the squared bias, plus

    V_LS   = Var_LS E_Phi,eps f      V_Proj = E_LS Var_Phi E_eps f      V_Algo = E_LS,Phi Var_eps f

for the training sample LS, the projection of the outputs Phi and the other chance of the learner
eps. Means over finite numbers of draws carry the variance of what is below them, which is taken
off, as in an analysis of variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from polyleaf import projections
from polyleaf.checks.memory import check_memory
from polyleaf.checks.numbers import (
    described,
    expect_count,
    expect_number,
    is_one_of,
    shown,
)
from polyleaf.checks.randomness import read_random_state
from polyleaf.experiments._encoding import dense, feature_rows, output_matrix
from polyleaf.projections import Projection, ProjectionContext, View

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BiasVariance:
    """Parts of an expected squared error, summed over outputs and averaged over test rows.

    Attributes
    ----------
    error : float
        The mean squared error of the models; the sum of all that follows.
    bias_and_noise : float
        Squared bias and noise, which data alone cannot tell apart.
    variance_sample : float
        V_LS: another training sample.
    variance_projection : float
        V_Proj: another projection of the outputs. An ensemble with a projection per tree divides
        it by the number of trees, one with a projection for all trees keeps it.
    variance_algorithm : float
        V_Algo: other bootstrap samples, features or cuts.

    Examples
    --------
    >>> parts = BiasVariance(1.0, 0.5, 0.25, 0.125, 0.125)
    >>> parts.of_ensemble(5), parts.of_ensemble(5, projection_scope="forest")
    (0.8, 0.9)
    """

    error: float
    bias_and_noise: float
    variance_sample: float
    variance_projection: float
    variance_algorithm: float

    def of_ensemble(self, n_estimators: int, *, projection_scope: str = "tree") -> float:
        """Predict the error of the mean of so many models, if these are the parts of one.

        Parameters
        ----------
        n_estimators : int
        projection_scope : {"tree", "forest"}
            Whether every model has its own projection (Algorithm 2 of the paper) or all share
            one (Algorithm 1).
        """
        n_models = expect_count("n_estimators", n_estimators)
        if not is_one_of(projection_scope, ("tree", "forest")):
            raise ValueError(
                f"projection_scope must be 'tree' or 'forest'; got {shown(projection_scope, 60)}."
            )
        shared = self.bias_and_noise + self.variance_sample
        if projection_scope == "forest":
            return shared + self.variance_projection + self.variance_algorithm / n_models
        return shared + (self.variance_projection + self.variance_algorithm) / n_models


class _Redrawn(Projection):
    """A projection whose draws depend on a seed of its own, not on that of the learner."""

    def __init__(self, projection: Projection, seed: int) -> None:
        self.projection = projection
        self.seed = seed

    def draw(self, context: ProjectionContext) -> View:
        """Draw the view of this round."""
        rng = np.random.default_rng((self.seed, context.round))
        return self.projection.draw(context.at_round(context.round, rng))

    def n_views(self, context: ProjectionContext) -> int:
        """Count the views that belong together."""
        return self.projection.n_views(context)

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""
        self.projection.check_params()


def bias_variance(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    train_size: float = 0.5,
    n_samples: int = 10,
    n_projections: int = 5,
    n_repeats: int = 5,
    random_state: Any = None,
) -> BiasVariance:
    """Divide the squared error of a learner by what causes it (Joly et al. 2014, section 3.3).

    The estimator is trained on ``n_samples`` training samples, for each with ``n_projections``
    projections of the outputs, and with each of these ``n_repeats`` times.

    Parameters
    ----------
    estimator : estimator
        With the parameter ``random_state``; of labels if it has ``predict_proba``, whose
        probabilities then are what is predicted. Without a parameter ``projection``, or where it
        is None, there is one projection, and its variance is 0.
    X, y : array-like of shape (n, p) and (n, d)
        Rows from which training samples are drawn. Labels are 0 and 1.
    X_test, y_test : array-like of shape (m, p) and (m, d)
        Rows on which errors are measured.
    train_size : float, default=0.5
        The share of the rows in a training sample, drawn without replacement.
    n_samples, n_projections, n_repeats : int, default=10, 5, 5
        At least 2. Parts are estimated without bias, so that small ones can come out below 0.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    BiasVariance

    Examples
    --------
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.experiments import bias_variance
    >>> X, Y = make_correlated_targets(400, 5, 8, random_state=0)
    >>> tree = TreeRegressor(projection="gaussian", max_features=2)
    >>> parts = bias_variance(tree, X[:200], Y[:200], X[200:], Y[200:], random_state=0)
    >>> parts.error > parts.of_ensemble(10, projection_scope="forest") > parts.of_ensemble(10)
    True
    """
    train_size = expect_number("train_size", train_size, 0.0, 1.0, "a share from 0 to 1")
    n_samples = expect_count("n_samples", n_samples, 2)
    n_repeats = expect_count("n_repeats", n_repeats, 2)
    n_projections = expect_count("n_projections", n_projections, 2)
    is_estimator = hasattr(estimator, "get_params") and not isinstance(estimator, type)
    parameters = estimator.get_params(deep=False) if is_estimator else {}
    if "random_state" not in parameters:
        raise TypeError(
            "estimator must have a parameter random_state, so that it can be drawn again; got "
            f"{described(estimator)}."
        )
    projection = _projection_of(estimator, parameters)
    n_projections = 1 if projection is None else n_projections
    X, X_test = feature_rows(X), feature_rows(X_test)
    Y, Y_test = output_matrix(y, X), dense(output_matrix(y_test, X_test)).astype(np.float64)
    if Y.shape[1] != Y_test.shape[1]:
        raise ValueError(
            f"y_test must have the outputs of y, {Y.shape[1]}; got {Y_test.shape[1]}."
        )
    rng = read_random_state(random_state)
    n_drawn = max(1, round(train_size * Y.shape[0]))
    shape = (n_samples, n_projections, n_repeats, *Y_test.shape)
    check_memory(
        16 * math.prod(shape),
        "the predictions of bias_variance",
        "Take fewer test rows, or fewer samples, projections or repeats.",
    )
    found = np.empty(shape)
    for i in range(n_samples):
        rows = np.sort(rng.permutation(Y.shape[0])[:n_drawn])
        sample = _safe_indexing(X, rows), Y[rows]
        for j in range(n_projections):
            changed: dict[str, Any] = {}
            if projection is not None:
                changed["projection"] = _Redrawn(projection, int(rng.randint(2**31)))
            for k in range(n_repeats):
                changed["random_state"] = int(rng.randint(2**31))
                model = clone(estimator).set_params(**changed).fit(*sample)
                found[i, j, k] = _predicted(model, X_test, Y_test.shape)
    return _divided(found, Y_test)


def _projection_of(estimator: Any, parameters: dict[str, Any]) -> Projection | None:
    """Give the projection of an estimator, None without one."""
    given = parameters.get("projection")
    if isinstance(given, str) and given == "auto":
        raise ValueError(
            f"projection of {type(estimator).__name__} must be one that can be drawn again; got "
            "'auto', which chooses one from the data. Name a projection."
        )
    return projections.resolve(given)


def _predicted(model: Any, X: Any, shape: tuple[int, ...]) -> Floats:
    """Predict numbers, or probabilities of labels."""
    has_labels = hasattr(model, "predict_proba")
    values = model.predict_proba(X) if has_labels else model.predict(X)
    if isinstance(values, list):
        raise ValueError(
            "y must be numbers or labels of 0 and 1; a list of class probabilities per output "
            "has no squared error."
        )
    return np.asarray(dense(values).astype(np.float64).reshape(shape))


def _divided(found: Floats, Y: Floats) -> BiasVariance:
    """Divide the error of predictions of shape (samples, projections, repeats, rows, outputs)."""

    def total(values: Floats) -> float:
        return float(values.mean(axis=tuple(range(values.ndim - 1))).sum())

    _, n_projections, n_repeats = found.shape[:3]
    by_projection = found.mean(axis=2)
    by_sample = by_projection.mean(axis=1)
    algorithm = total(found.var(axis=2, ddof=1))
    projection = 0.0
    if n_projections > 1:
        projection = total(by_projection.var(axis=1, ddof=1)) - algorithm / n_repeats
    below = projection / n_projections + algorithm / (n_projections * n_repeats)
    sample = total(by_sample.var(axis=0, ddof=1)) - below
    error = total((found - Y) ** 2)
    rest = error - sample - projection - algorithm
    return BiasVariance(error, rest, sample, projection, algorithm)
