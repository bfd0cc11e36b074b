"""rho of Algorithm 3 (Joly et al. 2019) as an attribute."""

import numpy as np
import pytest

from polyleaf import BoostingRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
Y = X[:, :1] * np.array([1.0, -2.0, 0.5, 3.0]) + 0.1 * rng.normal(size=(80, 4))


def test_rho_has_a_factor_per_tree_and_output():
    model = BoostingRegressor(n_estimators=6, leaf_fit="linear", random_state=0).fit(X, Y)
    assert model.rho_.shape == (6, 4)
    assert (np.sign(model.rho_[0] / model.rho_[0, 0]) == [1, -1, 1, 1]).all()


def test_other_leaf_fits_have_no_rho():
    model = BoostingRegressor(n_estimators=3, random_state=0).fit(X, Y)
    assert not hasattr(model, "rho_")
    with pytest.raises(AttributeError, match="Only leaf_fit='linear'"):
        _ = model.rho_
