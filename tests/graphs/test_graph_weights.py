"""Weights of rows, labels and classes, and labels that were not observed."""

import numpy as np
import pytest
from graph_problems import linear_labels, quick
from scipy import sparse

from polyleaf import GraphClassifier, GraphEnsembleClassifier

PRECISE = {"tol": 1e-6, "max_iter": 5000, "C": 0.1}


def test_a_weight_of_two_is_a_row_that_is_there_twice():
    X, Y = linear_labels(60, 3, noise=0.1)
    weights = np.random.default_rng(0).integers(0, 3, 60)
    repeated = np.repeat(np.arange(60), weights)
    graph = [(0, 1), (1, 2)]
    weighted = GraphClassifier(**quick(graph=graph, **PRECISE)).fit(X, Y, sample_weight=weights)
    copied = GraphClassifier(**quick(graph=graph, **PRECISE)).fit(X[repeated], Y[repeated])
    assert weighted.objective_ == pytest.approx(copied.objective_, rel=1e-5)
    np.testing.assert_allclose(
        weighted.decision_function(X), copied.decision_function(X), atol=0.01
    )


def test_errors_in_a_label_of_little_weight_are_the_ones_that_are_made():
    # Two labels that contradict each other: the heavier one is learnt.
    X, Y = linear_labels(200, 1)
    Y = np.column_stack([Y[:, 0], Y[:, 0]])
    Y[::3, 0] = 1 - Y[::3, 0]
    graph, equal = [(0, 1)], np.ones(Y.shape)
    heavy = equal * [0.05, 1.0]
    parameters = quick(graph=graph, margin_loss="hamming", C=0.01)
    plain = GraphClassifier(**parameters).fit(X, Y, sample_weight=equal)
    weighted = GraphClassifier(**parameters).fit(X, Y, sample_weight=heavy)

    def errors(model):
        return (model.predict(X) != Y).mean(axis=0)

    assert errors(weighted)[1] <= errors(plain)[1]
    assert np.abs(weighted.decision_function(X)[:, 0]).mean() < (
        0.5 * np.abs(plain.decision_function(X)[:, 0]).mean()
    )


@pytest.mark.parametrize("class_weight", [{0: 1.0, 1: 8.0}, "balanced"])
def test_class_weights_raise_the_recall_of_rare_labels(class_weight):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    scores = X @ rng.normal(size=(4, 4)) + rng.normal(size=(600, 4)) * 1.5
    Y = (scores > np.quantile(scores, 0.92, axis=0)).astype(int)
    plain = GraphClassifier(**quick(C=0.1)).fit(X, Y)
    weighted = GraphClassifier(**quick(C=0.1, class_weight=class_weight)).fit(X, Y)

    def recall(model):
        return (model.predict(X)[Y == 1] == 1).mean()

    assert recall(weighted) > recall(plain) + 0.2


def test_class_weights_of_one_output_are_weights_of_rows():
    X, Y = linear_labels(80, 1, noise=0.1)
    y = Y[:, 0]
    weighted = GraphClassifier(**quick(class_weight={0: 1.0, 1: 3.0}, **PRECISE)).fit(X, y)
    rows = GraphClassifier(**quick(**PRECISE)).fit(X, y, sample_weight=np.where(y, 3.0, 1.0))
    np.testing.assert_allclose(weighted.decision_function(X), rows.decision_function(X), atol=1e-6)


def test_class_weights_of_a_sparse_y_are_refused():
    X, Y = linear_labels(40, 3)
    with pytest.raises(ValueError, match="sparse y"):
        GraphClassifier(class_weight="balanced").fit(X, sparse.csr_array(Y))


@pytest.mark.parametrize("cls", [GraphClassifier, GraphEnsembleClassifier])
def test_labels_that_were_not_observed_are_learnt_around(cls):
    X, Y = linear_labels(600, 5)
    rng = np.random.default_rng(0)
    masked = np.where(rng.random(Y.shape) < 0.4, np.nan, Y)
    few = {"n_estimators": 4} if cls is GraphEnsembleClassifier else {}
    model = cls(**quick(**few)).fit(X[:300], masked[:300])
    full = cls(**quick(**few)).fit(X[:300], Y[:300])
    missing_as_zero = cls(**quick(**few)).fit(X[:300], np.nan_to_num(masked[:300]))

    def accuracy(fitted):
        return (fitted.predict(X[300:]) == Y[300:]).mean()

    assert accuracy(model) > accuracy(full) - 0.03
    assert accuracy(model) > accuracy(missing_as_zero) + 0.05


def test_a_label_that_was_never_observed_is_predicted_as_zero():
    X, Y = linear_labels(60, 4)
    masked = Y.astype(float)
    masked[:, 2] = np.nan
    with pytest.warns(UserWarning, match="without a single observed value"):
        model = GraphClassifier(C="3*scale", random_state=0).fit(X, masked)
    assert (model.predict(X)[:, 2] == 0).all()
    assert np.isfinite(model.predict_proba(X)).all()
    others = [0, 1, 3]
    assert (model.predict(X)[:, others] == Y[:, others]).mean() > 0.95


@pytest.mark.parametrize("margin_loss", ["edge", "hamming"])
def test_weights_of_labels_that_are_alike_in_a_row_are_weights_of_rows(margin_loss):
    X, Y = linear_labels(120, 3, noise=0.2)
    weights = np.random.default_rng(0).uniform(0.0, 3.0, 120)
    parameters = quick(graph=[(0, 1), (1, 2)], margin_loss=margin_loss, **PRECISE)
    rows = GraphClassifier(**parameters).fit(X, Y, sample_weight=weights)
    labels = GraphClassifier(**parameters).fit(
        X, Y, sample_weight=np.repeat(weights[:, None], 3, axis=1)
    )
    assert labels.objective_ == rows.objective_
    np.testing.assert_array_equal(labels.decision_function(X), rows.decision_function(X))


def test_balanced_classes_find_rare_labels_that_are_noisy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    scores = X[:, :2] + 2.0 * rng.normal(size=(800, 2))
    Y = (scores > np.quantile(scores, 0.9, axis=0)).astype(int)
    plain = GraphClassifier(**quick()).fit(X, Y).predict(X)
    balanced = GraphClassifier(**quick(class_weight="balanced")).fit(X, Y).predict(X)
    assert plain.mean() < 0.02
    assert ((balanced.mean(axis=0) > 0.2) & (balanced.mean(axis=0) < 0.6)).all()


def test_a_label_of_weight_zero_is_one_that_was_not_observed():
    X, Y = linear_labels(150, 4)
    left_out = np.random.default_rng(0).random(Y.shape) < 0.3
    left_out[:5] = True  # whole rows, too
    weights = np.where(left_out, 0.0, 1.0)
    parameters = {"graph": "chow_liu", "random_state": 0}
    expected = GraphClassifier(**parameters).fit(X, np.where(left_out, np.nan, Y))
    for targets in (Y, np.where(left_out, 1 - Y, Y)):
        model = GraphClassifier(**parameters).fit(X, targets, sample_weight=weights)
        np.testing.assert_array_equal(model.edges_, expected.edges_)
        np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_a_label_whose_weights_are_all_zero_is_warned_of_as_one_that_was_never_observed():
    X, Y = linear_labels(60, 3)
    weights = np.ones(Y.shape) * [1.0, 0.0, 1.0]
    with pytest.warns(UserWarning, match=r"single observed value: 1. They are predicted as 0\.$"):
        model = GraphClassifier(**quick()).fit(X, Y, sample_weight=weights)
    assert not model.predict(X)[:, 1].any()


def test_rows_of_weight_zero_do_not_shape_a_chow_liu_tree():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 2, (2, 200))
    kept = np.column_stack([first, first, second, second ^ (rng.random(200) < 0.3)])
    other = np.column_stack([first, second, first, second])
    X = rng.normal(size=(600, 2))
    Y = np.concatenate([kept, other, other])
    weights = np.repeat([1.0, 0.0], [200, 400])
    short = GraphClassifier(**quick(graph="chow_liu")).fit(X[:200], kept)
    weighted = GraphClassifier(**quick(graph="chow_liu")).fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(weighted.edges_, short.edges_)
    assert [0, 1] in weighted.edges_.tolist()
