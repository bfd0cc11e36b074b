"""A prediction reads one state, although another fit ends while it runs."""

import numpy as np
import pytest

import polyleaf
from polyleaf._registry import ESTIMATORS
from polyleaf.data.features import FeatureSchema

QUICK = {"n_estimators": 2, "n_rules": 2, "max_iter": 5}


def quick(name):
    cls = ESTIMATORS[name]
    given = {key: value for key, value in QUICK.items() if key in cls().get_params()}
    return cls(random_state=0, **given)


@pytest.mark.filterwarnings("ignore:.*did not reach")
@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_predict_reads_one_state_while_another_fit_ends(name, monkeypatch):
    rng = np.random.default_rng(0)
    small, wide = rng.random((30, 2)), rng.random((30, 3))
    few, many = (rng.random((30, d)) > 0.5 for d in (2, 4))
    model = quick(name).fit(small, few)
    expected = model.predict(small)
    later = quick(name).fit(wide, many)
    encode = FeatureSchema.encode

    def encode_while_a_fit_ends(self, X, **given):
        encoded = encode(self, X, **given)
        model._fitted = later._fitted
        return encoded

    monkeypatch.setattr(FeatureSchema, "encode", encode_while_a_fit_ends)
    np.testing.assert_array_equal(model.predict(small), expected)
    assert model.n_outputs_ == 4


def test_a_view_is_no_part_of_the_estimator():
    model = polyleaf.TreeRegressor().fit([[0.0], [1.0]], [1.0, 2.0])
    model.predict([[0.0]])
    assert "_is_view" not in vars(model)
