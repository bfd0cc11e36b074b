"""Boosting of regressors other than trees."""

import numpy as np
import pandas as pd
import pytest
from boosting_problems import LABELS, ONE, X, Y, classifier, regressor
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR

import ramify


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
        ramify.save(model, "never")


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
