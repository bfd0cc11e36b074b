"""A projection of one's own that errs is told what was expected of it."""

import numpy as np
import pytest

from polyleaf import BoostingRegressor, RandomForestRegressor, TreeRegressor
from polyleaf.projections import Projection, View

X = np.random.default_rng(0).normal(size=(40, 3))
MODELS = {
    "tree": lambda projection: TreeRegressor(projection=projection),
    "forest": lambda projection: RandomForestRegressor(projection=projection, n_estimators=2),
    "node": lambda projection: RandomForestRegressor(
        projection=projection, projection_scope="node", n_estimators=2
    ),
    "boosting": lambda projection: BoostingRegressor(projection=projection, n_estimators=2),
}


class ReturnsMatrix(Projection):
    def draw(self, context):
        return context.rng.normal(size=(context.n_channels, 2))


class SeesTwo(Projection):
    def draw(self, context):
        return View.of_all(2)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_what_is_no_view_is_refused(make):
    with pytest.raises(TypeError, match="draw of ReturnsMatrix must return a View"):
        make(ReturnsMatrix()).fit(X, X)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_view_of_other_channels_is_refused(make):
    with pytest.raises(ValueError, match="view of all 3 channels of the context; got one of 2"):
        make(SeesTwo()).fit(X, X)
