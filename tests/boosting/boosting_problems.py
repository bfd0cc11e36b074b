"""Small problems and quick models for the tests of boosting."""

from polyleaf import BoostingClassifier, BoostingRegressor, projections
from polyleaf.datasets import make_correlated_targets

X, Y = make_correlated_targets(260, 6, 5, random_state=0)
X_TRAIN, Y_TRAIN, X_TEST, Y_TEST = X[:200], Y[:200], X[200:], Y[200:]
LABELS = (Y > 0).astype(int)
ONE = projections.Gaussian(n_components=1)
QUICK = {"n_estimators": 20, "max_depth": 3, "random_state": 0}


def regressor(**parameters):
    """A regressor of few and small trees."""
    return BoostingRegressor(**(QUICK | parameters))


def classifier(**parameters):
    """A classifier of few and small trees."""
    return BoostingClassifier(**(QUICK | parameters))
