"""Promises are kept over many draws of the data, with a fixed seed."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from polyleaf import ConformalClassifier, ConformalRegressor, RandomForestRegressor
from polyleaf.conformal.ranks import promised_rank

ALPHA = 0.2
N_NEW = 400
MIX = np.array([[1.0, 0.0, 0.0], [2.4, 1.8, 0.0], [5.0, 5.0, 7.0]])


def heteroscedastic(n, rng):
    """Three related outputs whose noise grows with the first feature."""
    X = rng.normal(size=(n, 3))
    noise = rng.normal(size=(n, 3)) @ MIX.T * np.exp(0.6 * X[:, :1])
    return X, X @ [[1.0, 0.0, 5.0], [1.0, 2.0, 0.0], [0.0, 0.0, 5.0]] + noise


def coverages(estimator, n_draws, n_rows, **parameters):
    """Joint coverage, that given one output, and marginal ones, per draw."""
    found = []
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        X, Y = heteroscedastic(n_rows, rng)
        X_new, Y_new = heteroscedastic(N_NEW, rng)
        model = ConformalRegressor(
            estimator, alpha=ALPHA, cv=2, random_state=seed, **parameters
        ).fit(X, Y)
        given = np.where(np.arange(3) == 1, Y_new, np.nan)
        intervals = model.predict_interval(X_new)
        inside = (intervals[:, :, 0] <= Y_new) & (Y_new <= intervals[:, :, 1])
        found.append(
            [
                model.predict_region(X_new).contains(Y_new).mean(),
                model.predict_region(X_new, given=given).contains(Y_new).mean(),
                inside.mean(),
            ]
        )
    return np.array(found)


def standard_errors_off(found, promised):
    return (found.mean(axis=0) - promised) / (found.std(axis=0, ddof=1) / np.sqrt(len(found)))


@pytest.mark.parametrize("score", ["max", "mahalanobis"])
def test_split_keeps_its_promise_exactly(score):
    found = coverages(LinearRegression(), 150, 120, method="split", score=score)
    off = standard_errors_off(found, promised_rank(ALPHA, 60) / 61)
    assert (np.abs(off) < 2.5).all()


@pytest.mark.parametrize("score", ["max", "mahalanobis"])
def test_prefit_holds_what_it_promises_and_little_more(score):
    found = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        model = LinearRegression().fit(*heteroscedastic(60, rng))
        conformal = ConformalRegressor(model, method="prefit", score=score, alpha=ALPHA)
        conformal.fit(*heteroscedastic(60, rng))
        X_new, Y_new = heteroscedastic(N_NEW, rng)
        found.append([conformal.predict_region(X_new).contains(Y_new).mean()])
    promised = promised_rank(ALPHA, 60) / 61
    assert standard_errors_off(np.array(found), promised) > -2.5
    # Each row is measured by the others: a little more than promised, of the order of 1 / n.
    assert np.mean(found) < promised + 1.5 / 60


def test_heavy_tails_do_not_widen_split():
    """Rare residuals a hundred times as large: the scales are those of other rows."""
    found = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n = 120 + N_NEW
        X, Y = rng.normal(size=(n, 2)), rng.standard_t(1.2, size=(n, 4))
        model = ConformalRegressor(LinearRegression(), alpha=ALPHA, cv=2, random_state=seed)
        model.fit(X[:120], Y[:120])
        found.append([model.predict_region(X[120:]).contains(Y[120:]).mean()])
    assert np.abs(standard_errors_off(np.array(found), promised_rank(ALPHA, 60) / 61)) < 2.5


@pytest.mark.parametrize("score", ["local", "quantile"])
def test_split_keeps_its_promise_with_scores_of_forests(score):
    forest = RandomForestRegressor(n_estimators=8, min_samples_leaf=5, random_state=0)
    found = coverages(forest, 25, 160, method="split", score=score)
    assert (np.abs(standard_errors_off(found, promised_rank(ALPHA, 80) / 81)) < 3.0).all()


@pytest.mark.parametrize("score", ["max", "mahalanobis"])
def test_cross_does_not_fall_below(score):
    found = coverages(LinearRegression(), 60, 80, method="cross", score=score)
    assert (standard_errors_off(found, 1 - ALPHA) > -2.5).all()


@pytest.mark.parametrize("score", ["max", "mahalanobis", "local", "quantile"])
def test_out_of_bag_does_not_fall_below(score):
    forest = RandomForestRegressor(n_estimators=15, min_samples_leaf=3, random_state=0)
    found = coverages(forest, 15, 150, method="oob", score=score)
    assert (standard_errors_off(found, 1 - ALPHA) > -2.5).all()


def test_gaps_that_do_not_depend_on_residuals_do_no_harm():
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, Y = heteroscedastic(300, rng)
        X_new, Y_new = heteroscedastic(N_NEW, rng)
        model = LinearRegression().fit(*heteroscedastic(100, rng))
        Y[rng.random(Y.shape) < 0.3] = np.nan
        conformal = ConformalRegressor(model, method="prefit", alpha=ALPHA).fit(X, Y)
        found.append([conformal.predict_region(X_new).contains(Y_new).mean()])
    assert np.abs(standard_errors_off(np.array(found), 1 - ALPHA)).max() < 2.5


def tied(n, rng):
    """Few values of few features: many rows have the same residuals."""
    X = rng.integers(0, 4, size=(n, 2)).astype(float)
    first = 0.1 * rng.integers(0, 3, n) + X[:, 0] / 3
    second = 0.3 * rng.poisson(0.7, n) + X[:, 1] / 7
    return X, np.column_stack([first, second, rng.random(n) < 0.3])


def dependent(n, rng):
    """The same, with outputs that follow from others."""
    X, Y = tied(n, rng)
    return X, np.column_stack([Y, 3.0 * Y[:, 0] + 0.7 * Y[:, 1], 1000.0 * Y[:, 1]])


def shifted(n, rng):
    """The same, far from zero."""
    X, Y = tied(n, rng)
    return X, Y + 1e6


@pytest.mark.parametrize("score", ["max", "mahalanobis", "local", "quantile"])
@pytest.mark.parametrize("make", [tied, dependent, shifted])
def test_rows_that_set_the_size_of_a_region_lie_inside(make, score):
    """Rounding must not put them outside, and with them all new rows that are like them."""
    for seed in range(25):
        X, Y = make(120, np.random.default_rng(seed))
        forest = RandomForestRegressor(n_estimators=4, min_samples_leaf=5, random_state=seed)
        model = ConformalRegressor(forest, score=score, alpha=ALPHA, cv=2, random_state=seed)
        model.fit(X, Y)
        _, rows = next(KFold(2, shuffle=True, random_state=seed).split(X))
        least = promised_rank(ALPHA, rows.size)
        assert model.predict_region(X[rows]).contains(Y[rows]).sum() >= least
        given = np.where(np.arange(Y.shape[1]) == 2, Y[rows], np.nan)
        assert model.predict_region(X[rows], given=given).contains(Y[rows]).sum() >= least
        intervals = model.predict_interval(X[rows])
        inside = (intervals[:, :, 0] <= Y[rows]) & (Y[rows] <= intervals[:, :, 1])
        assert inside.sum(axis=0).min() >= least


@pytest.mark.parametrize("score", ["max", "mahalanobis", "local", "quantile"])
@pytest.mark.parametrize("method", ["split", "cross", "oob"])
def test_ties_do_not_lower_the_coverage(method, score):
    found = []
    for seed in range(40):
        rng = np.random.default_rng(1000 + seed)
        X, Y = tied(160, rng)
        X_new, Y_new = tied(150, rng)
        forest = RandomForestRegressor(n_estimators=4, min_samples_leaf=5, random_state=seed)
        model = ConformalRegressor(
            forest, method=method, score=score, alpha=ALPHA, cv=2, random_state=seed
        ).fit(X, Y)
        intervals = model.predict_interval(X_new)
        inside = (intervals[:, :, 0] <= Y_new) & (Y_new <= intervals[:, :, 1])
        joint = model.predict_region(X_new).contains(Y_new).mean()
        found.append([joint, *inside.mean(axis=0)])
    promised = promised_rank(ALPHA, 80) / 81 if method == "split" else 1 - ALPHA
    assert (standard_errors_off(np.array(found), promised) > -2.5).all()


def test_spreads_of_nearly_nothing_do_not_set_the_scale_of_quantile_boxes():
    """An output that is mostly one value: half of its spreads are zero, and rare ratios huge."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    Y = np.column_stack([X[:, 0] + rng.normal(size=600), rng.normal(size=600)])
    Y[rng.random(600) < 0.8, 1] = 0.0
    forest = RandomForestRegressor(n_estimators=10, min_samples_leaf=3, random_state=0)
    model = ConformalRegressor(forest, score="quantile", cv=2, random_state=0)
    moments = model.fit(X, Y)._fitted.calibration.moments
    assert moments[1, 1] < 100 * moments[0, 0]


class Sigmoids(BaseEstimator):
    """A classifier that is not trained: probabilities of labels from the features."""

    def predict_proba(self, X):
        return 1.0 / (1.0 + np.exp(-X))

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True


@pytest.mark.parametrize("risk", ["fnr", "fdr", "hamming"])
def test_label_sets_keep_their_promise(risk):
    alpha, delta, risks = 0.4 if risk == "hamming" else 0.3, 0.2, []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = 2.0 * rng.normal(size=(600, 5)) - 0.5
        Y = (rng.random(X.shape) < Sigmoids().predict_proba(X)).astype(int)
        model = ConformalClassifier(
            Sigmoids(), method="prefit", risk=risk, alpha=alpha, delta=delta
        ).fit(X[:100], Y[:100])
        risks.append(model.evaluate(X[100:], Y[100:]).risk)
    if risk == "fnr":  # in expectation
        assert np.mean(risks) < alpha + 2 * np.std(risks) / 10
        assert np.mean(risks) > alpha - 0.03
    else:  # with probability 1 - delta
        assert np.mean(np.array(risks) > alpha) < delta
        assert np.mean(risks) > alpha - 0.2
