"""Weights of rows and entries in boosting, together with targets that are not observed."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from polyleaf import BoostingRegressor, projections
from polyleaf.datasets import make_correlated_targets

X, Y = make_correlated_targets(300, 5, 4, random_state=0)
RNG = np.random.default_rng(0)
WEIGHTS = np.where(RNG.random(300) < 0.5, 1.0, 20.0)
ONE = projections.Gaussian(n_components=1)
HOLES = Y.copy()
HOLES[0, 0] = np.nan


def boosted(targets, weights, **parameters):
    given = {"n_estimators": 5, "max_depth": 4, "random_state": 0, "l2_regularization": 0.5}
    return BoostingRegressor(**(given | parameters)).fit(X, targets, sample_weight=weights)


@pytest.mark.parametrize(
    "parameters",
    [
        {"projection": ONE},
        {"projection": ONE, "leaf_fit": "linear"},
        {"projection": "gaussian"},
        {"projection": "pca"},
        {"projection": "subsample"},
        {"projection": "round_robin"},
        {"projection": None},
        {"estimator": Ridge(1e-6), "learning_rate": 1.0},
        {"estimator": Ridge(1e-6), "projection": ONE, "leaf_fit": "linear"},
        {"estimator": KNeighborsRegressor(3)},
    ],
    ids=str,
)
@pytest.mark.parametrize("targets", [Y, HOLES], ids=["whole", "holes"])
def test_weights_of_rows_are_equal_weights_of_entries(targets, parameters):
    by_row = boosted(targets, WEIGHTS, **parameters)
    by_entry = boosted(targets, np.repeat(WEIGHTS[:, None], 4, axis=1), **parameters)
    np.testing.assert_allclose(by_entry.predict(X), by_row.predict(X), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "parameters",
    [
        {"projection": ONE},
        {"projection": ONE, "leaf_fit": "linear"},
        {"projection": None},
        {"estimator": Ridge(1e-6), "learning_rate": 1.0},
    ],
    ids=str,
)
def test_one_hole_hardly_changes_a_weighted_model(parameters):
    # In the first round, before a changed split can lead elsewhere.
    given = {"n_estimators": 1, "learning_rate": 1.0} | parameters
    whole, holes = (boosted(y, WEIGHTS, **given).predict(X) for y in (Y, HOLES))
    assert np.mean(np.abs(whole - holes)) < 0.02 * np.mean(np.abs(whole))


def test_weights_steer_what_any_regressor_is_fitted_to():
    # Least squares with weights, in one round: the closed form, holes or not.
    design = np.column_stack([np.ones(300), X])
    root = np.sqrt(WEIGHTS)[:, None]
    expected = design @ np.linalg.lstsq(root * design, root * Y, rcond=None)[0]
    given = {"estimator": Ridge(1e-8), "n_estimators": 3, "learning_rate": 1.0}
    np.testing.assert_allclose(boosted(Y, WEIGHTS, **given).predict(X), expected, atol=1e-3)
    np.testing.assert_allclose(boosted(HOLES, WEIGHTS, **given).predict(X), expected, atol=0.05)


class _Watcher(projections.Projection):
    """All outputs; notes what it was shown."""

    shown: ClassVar[list] = []

    def draw(self, context):
        self.shown.append((context.values.copy(), context.observed, context.weights))
        return projections.View.of_all(context.n_channels)


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_projections_see_weights_and_no_gradients_that_are_not_observed(loss):
    _Watcher.shown.clear()
    weights = RNG.uniform(1.0, 2.0, Y.shape)
    boosted(HOLES + 3.0, weights, projection=_Watcher(), loss=loss)
    assert len(_Watcher.shown) == 5
    for values, observed, seen in _Watcher.shown:
        np.testing.assert_array_equal(observed, ~np.isnan(HOLES))
        assert values[0, 0] == 0.0
        assert np.all(values[1] != 0.0)
        np.testing.assert_allclose(seen / seen[0, 0], weights / weights[0, 0])
