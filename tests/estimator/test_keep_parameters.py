"""Constructors keep what they are given, and so do subclasses with constructors of their own."""

import pytest
from sklearn.base import clone

from polyleaf import BoostingClassifier, BoostingRegressor


@pytest.mark.parametrize("kind", [BoostingClassifier, BoostingRegressor])
def test_parameters_are_kept_as_they_are(kind):
    given = {name: object() for name in kind().get_params()}
    model = kind(**given)
    assert all(getattr(model, name) is value for name, value in given.items())
    assert set(vars(model)) == set(given)


class Shallow(BoostingRegressor):
    def __init__(self, *, factor=2):
        super().__init__(max_depth=factor + 1)
        self.factor = factor


def test_a_subclass_has_a_constructor_of_its_own():
    model = clone(Shallow(factor=3))
    assert (model.max_depth, model.n_estimators, model.get_params()) == (4, 400, {"factor": 3})
