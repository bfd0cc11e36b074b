"""Permutation importances per output, for every kind of Y, X and metric."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.inspection import permutation_importance

import polyleaf
from polyleaf.inspection import permutation_importances
from polyleaf.metrics import METRICS


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    return X, np.column_stack([X[:, 0], X[:, 1] * 3, X[:, 0] + X[:, 2]])


@pytest.fixture(scope="module")
def forest(data):
    return polyleaf.RandomForestRegressor(n_estimators=5, max_features=None, random_state=0).fit(
        *data
    )


def test_each_output_depends_on_its_own_features(forest, data):
    found = permutation_importances(forest, *data, random_state=0)
    assert found.drops.shape == (3, 4, 5)
    assert found.means.argmax(axis=1).tolist()[:2] == [0, 1]
    assert found.means[2, [0, 2]].min() > 5 * abs(found.means[2, [1, 3]]).max()
    np.testing.assert_allclose(
        found.scores, METRICS["r2"].per_output(data[1], forest.predict(data[0]))
    )


def test_means_over_outputs_equal_those_of_sklearn(forest, data):
    found = permutation_importances(forest, *data, metric="mae", n_repeats=30, random_state=0)
    expected = permutation_importance(
        forest, *data, scoring="neg_mean_absolute_error", n_repeats=30, random_state=0
    )
    low, high = found.interval(0.999)
    assert np.all(low.mean(axis=0) <= expected.importances_mean + 1e-12)
    assert np.all(high.mean(axis=0) >= expected.importances_mean - 1e-12)


def test_intervals_cover_the_mean_and_shrink_with_repeats(forest, data):
    few = permutation_importances(forest, *data, n_repeats=5, random_state=0)
    many = permutation_importances(forest, *data, n_repeats=40, random_state=1)
    (few_low, few_high), (low, high) = few.interval(), many.interval()
    used = many.means > 0.01
    assert np.all((high - low)[used] < (few_high - few_low)[used])
    assert np.isinf(permutation_importances(forest, *data, n_repeats=1).interval()[1]).all()


@pytest.mark.parametrize("name", METRICS)
def test_any_metric_judges(name, data):
    X, numbers = data
    labels = (numbers > 0).astype(int)
    is_labels = METRICS[name].task == "multilabel"
    tree = polyleaf.TreeClassifier(max_depth=4) if is_labels else polyleaf.TreeRegressor()
    Y = labels if is_labels else numbers
    found = permutation_importances(tree.fit(X, Y), X, Y, metric=name, n_repeats=2, random_state=0)
    n_rows = 1 if METRICS[name].per_output is None else 3
    assert found.means.shape == (n_rows, 4)
    assert np.all(found.means[:, 3] <= found.means.max(axis=1))
    assert found.means.mean(axis=0)[0] >= -1e-9  # positive: worse without it


def test_frames_and_sparse_rows_give_the_same(data):
    X, Y = data
    X = np.where(np.abs(X) > 0.4, X, 0.0)
    model = polyleaf.TreeRegressor(max_depth=4, random_state=0).fit(X, Y)
    expected = permutation_importances(model, X, Y, random_state=0).drops
    named = polyleaf.TreeRegressor(max_depth=4, random_state=0).fit(
        pd.DataFrame(X).add_prefix("x"), Y
    )
    frame = pd.DataFrame(X).add_prefix("x").set_index(np.arange(150)[::-1])
    np.testing.assert_array_equal(
        permutation_importances(named, frame, Y, random_state=0).drops, expected
    )
    np.testing.assert_array_equal(
        permutation_importances(model, sparse.csr_array(X), Y, random_state=0).drops, expected
    )


def test_classes_are_judged_by_the_share_that_is_right(data):
    X, numbers = data
    Y = np.digitize(numbers[:, :2], [-0.5, 0.5]).astype(object)
    model = polyleaf.RandomForestClassifier(n_estimators=5, random_state=0).fit(X, Y)
    found = permutation_importances(model, X, Y, random_state=0)
    assert found.metric == "accuracy"
    assert found.means.argmax(axis=1).tolist() == [0, 1]
    np.testing.assert_allclose(found.scores, (model.predict(X) == Y).mean(axis=0))
    with pytest.raises(ValueError, match="leave out metric"):
        permutation_importances(model, X, Y, metric="r2")


def test_table_lists_the_largest_first(forest, data):
    table = permutation_importances(forest, *data, random_state=0).to_frame()
    assert table.columns.tolist() == ["output", "feature", "importance", "low", "high"]
    for _, rows in table.groupby("output"):
        assert rows["importance"].is_monotonic_decreasing


def test_wrong_arguments_are_explained(forest, data):
    with pytest.raises(ValueError, match="n_repeats must be"):
        permutation_importances(forest, *data, n_repeats=0)
    with pytest.raises(ValueError, match="hamming_loss is a metric of multilabel"):
        permutation_importances(forest, *data, metric="hamming_loss")
    with pytest.raises(ValueError, match="level must"):
        permutation_importances(forest, *data, n_repeats=2).interval(2)
