"""Methods of a comparison share the bins of a fold."""

import numpy as np
import pytest

from polyleaf import BoostingRegressor, ExtraTreesRegressor, TreeRegressor
from polyleaf.data import binning
from polyleaf.experiments import compare
from polyleaf.experiments._sharing import SharedRows


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, X[:, :2] + 0.1 * rng.normal(size=(60, 2))


def methods():
    return {
        "shallow": TreeRegressor(max_depth=2, max_bins=31, random_state=0),
        "deep": TreeRegressor(max_bins=31, random_state=0),
        "extra": ExtraTreesRegressor(n_estimators=3, max_bins=31, random_state=0),
        "boosted": BoostingRegressor(n_estimators=3, max_bins=16, random_state=0),
    }


def test_each_fold_is_binned_once_for_all_methods(data, monkeypatch):
    binned = []
    bin_features = binning.bin_features

    def count(encoded, *others):
        binned.append((encoded.tobytes(), others[2]))
        return bin_features(encoded, *others)

    monkeypatch.setattr(binning, "bin_features", count)
    monkeypatch.setattr("polyleaf.experiments._run.SHARED_ROWS", SharedRows())
    compare(*data, methods=methods(), cv=2, n_jobs=1)
    assert len(binned) == len(set(binned)) == 4  # two folds, 31 and 16 bins


def test_shared_rows_give_the_models_of_their_own(data):
    X, Y = data
    shared = SharedRows()
    for model in methods().values():
        rows, seconds = shared.of(X, model)
        assert seconds > 0
        found = model.fit(rows, Y).predict(X)
        np.testing.assert_array_equal(found, model.fit(X, Y).predict(X))


def test_methods_that_do_not_bin_get_x_itself(data):
    X, _ = data
    for model in (object(), TreeRegressor(categorical_features=[0])):
        rows, seconds = SharedRows().of(X, model)
        assert rows is X
        assert seconds == 0.0


def test_few_sets_of_rows_are_kept(data):
    X, _ = data
    shared, tree = SharedRows(), TreeRegressor()
    first, _ = shared.of(X, tree)
    assert shared.of(X.copy(), tree)[0] is first
    for k in range(6):
        shared.of(X + k + 1, tree)
    assert shared.of(X, tree)[0] is not first
