"""Boosted models as arrays: what they add up to, and damaged ones."""

import pickle

import numpy as np
import pytest

from polyleaf import BoostingRegressor, losses, projections
from polyleaf.boosting.model import BoostedTrees

X = np.random.default_rng(0).normal(size=(50, 3))
Y = X @ np.random.default_rng(1).normal(size=(3, 4))
ONE = projections.Gaussian(n_components=1)
KINDS = {
    "dense": {"projection": None},
    "linear": {"projection": ONE, "leaf_fit": "linear"},
    "single": {"projection": "round_robin"},
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def boosted(kind):
    return BoostingRegressor(n_estimators=4, max_depth=2, **KINDS[kind]).fit(X, Y)._fitted.model


@each_kind
def test_raw_predictions_are_sums_over_trees(kind):
    model = boosted(kind)
    assert model.kind == kind
    leaves = model.leaves_of(X)
    expected = np.tile(model.baseline, (len(X), 1))
    for t in range(model.n_trees):
        values = model.leaf_values[leaves[:, t]].astype(float)
        if kind == "dense":
            expected += values
        elif kind == "linear":
            expected += values * model.tree_factors[t]
        else:
            expected[:, model.tree_channels[t]] += values[:, 0]
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-5)


@each_kind
def test_arrays_and_pickles_give_the_model_back(kind):
    model = boosted(kind)
    for copy in (BoostedTrees.from_arrays(model.to_arrays()), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("kind", "name", "change"),
    [
        ("dense", "leaf_values", lambda a: a[:-1]),
        ("dense", "leaf_values", lambda a: a.astype(np.float64)),
        ("dense", "leaf_values", lambda a: np.where(a == a.max(), np.inf, a)),
        ("dense", "baseline", lambda a: a[:2]),
        ("dense", "baseline", lambda a: a + np.inf),
        ("dense", "feature_gains", lambda a: a[:1]),
        ("linear", "tree_factors", lambda a: a[:-1]),
        ("linear", "tree_factors", lambda a: a * np.float32(np.nan)),
        ("single", "tree_channels", lambda a: a[:-1]),
        ("single", "tree_channels", lambda a: a + np.int32(4)),
        ("single", "tree_channels", lambda a: a - np.int32(1)),
    ],
)
def test_damaged_arrays_are_refused(kind, name, change):
    arrays = boosted(kind).to_arrays()
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match="Expected"):
        BoostedTrees.from_arrays(arrays)


#: Arrays that older files lack, and what they become.
OPTIONAL = {"leaf_samples": "leaf_samples", "tree_seen_bits": "seen"}


@each_kind
def test_missing_arrays_are_refused(kind):
    for name in boosted(kind).to_arrays():
        arrays = boosted(kind).to_arrays()
        del arrays[name]
        if name in OPTIONAL:
            assert getattr(BoostedTrees.from_arrays(arrays), OPTIONAL[name]) is None
            continue
        with pytest.raises(ValueError, match="Expected"):
            BoostedTrees.from_arrays(arrays)


@pytest.mark.parametrize("loss", ["squared_error", "poisson", losses.Quantile([0.1, 0.9])])
def test_many_rows_are_predicted_as_a_few_are(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 3))
    Y = np.exp(X @ rng.normal(size=(3, 2)))
    model = BoostingRegressor(n_estimators=3, loss=loss, random_state=0).fit(X[:300], Y[:300])
    some = np.array([0, 8_191, 8_192, 16_383, 16_384, 32_767, 32_768, 39_999])
    np.testing.assert_array_equal(model.predict(X)[some], model.predict(X[some]))
