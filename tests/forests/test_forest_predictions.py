"""A forest predicts weighted averages of training outputs, and tells the weights."""

import naive_forest as naive
import numpy as np
import pytest
from scipy import sparse

from polyleaf import (
    BaggedTreesRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    TreeClassifier,
    TreeRegressor,
)

each_kind = pytest.mark.parametrize("kind", naive.PROBLEMS)
each_aggregation = pytest.mark.parametrize("aggregation", ["total", "subspace", "mixed", "oob"])


def fit(kind, cls=RandomForestRegressor, aggregation="subspace", n_estimators=6, **parameters):
    """A fitted forest, its training targets, and features of other rows."""
    features, targets, weights = naive.training_part(kind)
    if cls is RandomForestClassifier:
        targets = naive.labels_of(targets)
    else:
        parameters = {"projection": "subsample"} | parameters
    forest = cls(
        n_estimators=n_estimators,
        aggregation=aggregation,
        random_state=3,
        min_samples_leaf=3,
        **parameters,
    )
    forest.fit(features, targets, sample_weight=weights)
    return forest, targets, naive.test_features(kind)


@each_aggregation
@each_kind
def test_predictions_equal_a_loop_over_trees_rows_and_outputs(kind, aggregation):
    forest, targets, queries = fit(kind, aggregation=aggregation)
    weights = naive.naive_row_weights(
        forest, kind, targets, queries, naive.fitted_tree_weights(forest)
    )
    expected = naive.naive_predictions(weights, targets)
    np.testing.assert_allclose(naive.dense(forest.predict(queries)), expected, atol=1e-9)


@each_aggregation
@each_kind
def test_weights_of_training_rows_equal_a_loop_and_add_up_to_1(kind, aggregation):
    forest, targets, queries = fit(kind, aggregation=aggregation)
    expected = naive.naive_row_weights(
        forest, kind, targets, queries, naive.fitted_tree_weights(forest)
    )
    for j in range(4):
        weights = forest.predict_weights(queries, output=j)
        assert weights.shape == (naive.N_TEST, naive.N_TRAIN)
        np.testing.assert_allclose(weights.toarray(), expected[:, :, j], atol=1e-12)
        np.testing.assert_allclose(np.asarray(weights.sum(axis=1)).ravel(), 1.0)


@each_kind
def test_shared_weights_are_those_of_the_rows_before_any_mask(kind):
    forest, targets, queries = fit(kind, aggregation="total")
    weights = forest.predict_weights(queries)
    np.testing.assert_allclose(np.asarray(weights.sum(axis=1)).ravel(), 1.0)
    if naive.channel_weights(targets, None).all() and kind != "weighted entries":
        predicted = naive.dense(weights @ targets)
        np.testing.assert_allclose(naive.dense(forest.predict(queries)), predicted, atol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "sparse", "masked", "weighted entries"])
def test_weights_of_training_rows_give_the_probabilities_of_labels(kind):
    forest, targets, queries = fit(kind, cls=RandomForestClassifier, aggregation="total")
    values = np.nan_to_num(naive.dense(targets))
    expected = np.column_stack(
        [forest.predict_weights(queries, output=j) @ values[:, j] for j in range(4)]
    )
    np.testing.assert_allclose(naive.dense(forest.predict_proba(queries)), expected, atol=1e-12)


def test_weights_are_asked_for_by_position_or_by_name():
    forest, _, queries = fit("dense")
    for by_name, by_position in (("y2", 2), ("y3", -1)):
        difference = forest.predict_weights(queries, by_name) - forest.predict_weights(
            queries, by_position
        )
        assert abs(difference).max() == 0
    for unknown in ("y4", 4, -5):
        with pytest.raises(ValueError, match="one of the 4 outputs, by position or by name; got"):
            forest.predict_weights(queries, unknown)


def test_an_output_that_was_never_observed_has_no_weights_and_is_nan():
    features, targets, _ = naive.training_part("dense")
    targets = targets.copy()
    targets[:, 2] = np.nan
    with pytest.warns(UserWarning, match="without a single observed value: 2. Their predictions"):
        forest = RandomForestRegressor(n_estimators=4, random_state=0).fit(features, targets)
    queries = naive.test_features("dense")
    assert forest.predict_weights(queries, output=2).nnz == 0
    predicted = forest.predict(queries)
    assert np.array_equal(np.isnan(predicted).any(axis=0), [False, False, True, False])
    assert np.isnan(forest.predict_quantiles(queries, 0.5)[:, 2]).all()


def same_chance(forest):
    """The stream of chance from which the first tree of a forest was grown."""
    return np.random.default_rng([*forest._fitted.entropy, 0])


@pytest.mark.parametrize("cls", [BaggedTreesRegressor, ExtraTreesRegressor])
@each_kind
def test_one_tree_on_all_rows_equals_the_single_tree(kind, cls):
    features, targets, weights = naive.training_part(kind)
    forest = cls(
        n_estimators=1, bootstrap=False, projection=None, max_features=None, random_state=0
    )
    forest.fit(features, targets, sample_weight=weights)
    splitter = "random" if cls is ExtraTreesRegressor else "best"
    tree = TreeRegressor(splitter=splitter, random_state=same_chance(forest))
    tree.fit(features, targets, sample_weight=weights)
    queries = naive.test_features(kind)
    ours, theirs = forest.predict(queries), tree.predict(queries)
    np.testing.assert_allclose(naive.dense(ours), naive.dense(theirs), atol=1e-9)
    assert np.array_equal(forest.apply(queries)[:, 0], tree.apply(queries))
    assert forest.estimators_[0].splitter == splitter


@pytest.mark.parametrize("kind", ["dense", "sparse", "masked", "weighted", "categorical"])
def test_one_tree_on_all_rows_equals_the_single_classification_tree(kind):
    features, targets, weights = naive.training_part(kind)
    labels = naive.labels_of(targets)
    forest = RandomForestClassifier(
        n_estimators=1, bootstrap=False, max_features=None, random_state=0
    )
    forest.fit(features, labels, sample_weight=weights)
    tree = TreeClassifier(random_state=same_chance(forest))
    tree.fit(features, labels, sample_weight=weights)
    queries = naive.test_features(kind)
    for method in ("predict", "predict_proba"):
        ours, theirs = getattr(forest, method)(queries), getattr(tree, method)(queries)
        assert sparse.issparse(ours) == sparse.issparse(theirs)
        np.testing.assert_allclose(naive.dense(ours), naive.dense(theirs), atol=1e-12)


def test_classes_are_the_likeliest_of_the_average_probabilities():
    features, targets, _ = naive.training_part("dense")
    y = np.digitize(targets[:, :2], [0.0, 1.0]).astype(str)
    forest = RandomForestClassifier(n_estimators=7, random_state=0).fit(features, y)
    queries = naive.test_features("dense")
    by_tree = [tree.predict_proba(queries) for tree in forest.estimators_]
    for j, probabilities in enumerate(forest.predict_proba(queries)):
        expected = np.mean([each[j] for each in by_tree], axis=0)
        np.testing.assert_allclose(probabilities, expected, atol=1e-12)
        likeliest = forest.classes_[j][np.argmax(probabilities, axis=1)]
        assert np.array_equal(forest.predict(queries)[:, j], likeliest)
    logarithms = forest.predict_log_proba(queries)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(logarithms[0], np.log(forest.predict_proba(queries)[0]))
