"""Boosting of regressors other than trees."""

import warnings

import numpy as np
import pandas as pd
import pytest
from boosting_problems import LABELS, ONE, X, Y, classifier, regressor
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

import polyleaf


@pytest.mark.parametrize("estimator", [Ridge(), KNeighborsRegressor()])
@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize("linear", [False, True])
def test_any_regressor_can_be_boosted(estimator, make, linear):
    targets = Y if make is regressor else LABELS
    model = make(
        estimator=estimator,
        leaf_fit="linear" if linear else "relabel",
        projection=ONE if linear else None,
    ).fit(X, targets)
    losses = model.history_["train_loss"]
    assert losses[-1] < losses[0]
    assert np.all(np.diff(losses) <= 1e-6)
    np.testing.assert_allclose(list(model.staged_predict(X))[-1], model.predict(X), rtol=1e-5)
    with pytest.raises(AttributeError, match="Only boosted trees"):
        model.feature_importances_  # noqa: B018
    with pytest.raises(TypeError, match="pickle"):
        polyleaf.save(model, "never")


def test_boosted_ridge_regression_tends_to_least_squares():
    model = regressor(estimator=Ridge(alpha=1e-6), learning_rate=1.0, n_estimators=3).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), Ridge(alpha=1e-6).fit(X, Y).predict(X), rtol=1e-3)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 260)])
@pytest.mark.parametrize("estimator", [SVR(), GradientBoostingRegressor(n_estimators=3)])
def test_a_regressor_of_one_output_is_fitted_to_each(estimator, weights):
    model = regressor(estimator=estimator, n_estimators=3).fit(X, Y, sample_weight=weights)
    losses = model.history_["train_loss"]
    assert np.all(np.diff(losses) < 0)
    assert model.predict(X).shape == Y.shape


def test_a_class_is_no_estimator():
    with pytest.raises(ValueError, match="an instance, not a class"):
        regressor(estimator=Ridge).fit(X, Y)


def test_categories_as_numbers_are_warned_of():
    frame = pd.DataFrame({"a": X[:, 0], "c": pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))})
    with pytest.warns(UserWarning, match="Ridge sees categories as their codes"):
        regressor(estimator=Ridge(), n_estimators=2).fit(frame, Y)


def test_outputs_that_are_not_all_observed_are_learnt_from_their_own_rows():
    targets = np.column_stack([5 * X[:, 0], Y[:, 0]])
    observed = np.arange(260) % 10 == 0
    targets[~observed, 0] = np.nan
    settings = {
        "estimator": KNeighborsRegressor(3),
        "n_estimators": 30,
        "normalize_outputs": False,
        "learning_rate": 0.5,
    }
    both = regressor(**settings).fit(X, targets).predict(X)[:, 0]
    alone = regressor(**settings).fit(X[observed], targets[observed, 0]).predict(X)
    np.testing.assert_allclose(both, alone, rtol=1e-3, atol=1e-3)


def test_weights_reach_the_last_step_of_a_pipeline():
    weights = np.where(np.arange(260) < 130, 100.0, 0.01)
    settings = {"n_estimators": 5, "learning_rate": 1.0}
    plain, piped = (
        regressor(estimator=estimator, **settings).fit(X, Y, sample_weight=weights).predict(X)
        for estimator in (Ridge(1e-6), make_pipeline(FunctionTransformer(), Ridge(1e-6)))
    )
    np.testing.assert_allclose(plain, piped, rtol=1e-5)
    unweighted = regressor(estimator=Ridge(1e-6), **settings).fit(X, Y).predict(X)
    assert np.abs(plain - unweighted).max() > 0.1
    with pytest.warns(UserWarning, match="KNeighborsRegressor takes no sample_weight"):
        regressor(estimator=KNeighborsRegressor()).fit(X, Y, sample_weight=weights)


def test_parts_of_an_estimator_have_seeds():
    tree = DecisionTreeRegressor(max_features=1, max_depth=3)
    fits = [
        regressor(estimator=make_pipeline(StandardScaler(), tree), n_estimators=3).fit(X, Y)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(fits[0].predict(X), fits[1].predict(X))


@pytest.mark.parametrize("targets", [Y[:, 0], Y])
def test_an_output_map_of_other_models(targets):
    model = regressor(estimator=Ridge(), n_estimators=3).fit(X, targets)
    np.testing.assert_allclose(np.diag(model.output_map_), 1.0)


def test_pipelines_are_trusted_with_categories():
    frame = pd.DataFrame({"a": X[:, 0], "c": pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))})
    encoder = ColumnTransformer([("c", OneHotEncoder(), [1])], remainder="passthrough")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regressor(estimator=make_pipeline(encoder, Ridge()), n_estimators=2).fit(frame, Y)
