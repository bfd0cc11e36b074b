"""Which label sets a rule learner chooses among, above all where labels were not observed."""

import numpy as np
import pytest

from polyleaf import RuleClassifier
from polyleaf.datasets import make_multilabel

JOINT = ["examplewise_logistic", "examplewise_squared_error", "examplewise_squared_hinge"]


def known_sets(model):
    return {tuple(row) for row in model._label_sets.astype(int).tolist()}


@pytest.mark.parametrize("loss", JOINT)
@pytest.mark.parametrize("n_whole", [0, 1, 60])
def test_few_rows_observed_whole_do_not_confine_predictions(loss, n_whole):
    X, Y = make_multilabel(n_samples=120, n_labels=4, random_state=0)
    partly = Y.astype(float)
    rows = np.arange(n_whole, 120)
    partly[rows, rows % 4] = np.nan
    model = RuleClassifier(n_rules=60, loss=loss, random_state=0).fit(X, partly)
    predicted = model.predict(X)
    by_sign = ((model.decision_function(X) > 0) == Y).mean()
    assert (predicted == Y).mean() > by_sign - 0.05
    assert len(np.unique(predicted, axis=0)) > len(np.unique(Y, axis=0)) / 2
    assert np.all(np.ptp(model.predict_proba(X), axis=0) > 0.3)


def test_every_column_of_probabilities_varies_with_a_fifth_of_the_labels_hidden():
    X, Y = make_multilabel(n_samples=400, n_labels=20, random_state=0)
    partly = np.where(np.random.default_rng(0).random(Y.shape) < 0.2, np.nan, Y)
    model = RuleClassifier(n_rules=60, loss="examplewise_logistic", random_state=0)
    assert np.all(np.ptp(model.fit(X, partly).predict_proba(X), axis=0) > 1e-3)


def test_hidden_labels_are_completed_by_the_scores_of_their_row():
    X, Y = make_multilabel(n_samples=150, n_labels=3, random_state=1)
    partly = np.where(np.random.default_rng(1).random(Y.shape) < 0.3, np.nan, Y)
    partly[7] = np.nan  # tells nothing
    model = RuleClassifier(n_rules=20, loss="examplewise_logistic", random_state=0)
    scores = model.fit(X, partly).decision_function(X)
    completed = np.where(np.isnan(partly), scores > 0, partly).astype(int)
    expected = np.delete(completed, 7, axis=0)
    assert known_sets(model) == {tuple(row) for row in expected.tolist()}


def test_hidden_outputs_with_classes_are_completed_by_one_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.column_stack([np.digitize(X[:, 0], [-0.5, 0.5]), np.digitize(X[:, 1], [0.0]) + 5.0])
    y[::3, 0], y[1::3, 1] = np.nan, np.nan
    model = RuleClassifier(n_rules=20, loss="examplewise_logistic", random_state=0).fit(X, y)
    sets = model._label_sets
    assert np.all(sets[:, :3].sum(axis=1) == 1)
    assert np.all(sets[:, 3:].sum(axis=1) == 1)
    assert len(sets) > 3


@pytest.mark.parametrize("loss", ["logistic", "examplewise_logistic"])
def test_label_sets_of_rows_without_weight_are_not_known(loss):
    X, Y = make_multilabel(n_samples=100, n_labels=4, random_state=2)
    Y[1:][Y[1:].all(axis=1), 0] = 0
    Y[0] = 1  # the only row with all labels
    weights = np.ones(100)
    weights[0] = 0.0
    model = RuleClassifier(n_rules=10, loss=loss, random_state=0)
    assert (1, 1, 1, 1) in known_sets(model.fit(X, Y))
    assert (1, 1, 1, 1) not in known_sets(model.fit(X, Y, sample_weight=weights))


@pytest.mark.parametrize("n_labels", [5, 64, 70])
def test_label_sets_are_the_distinct_rows_of_y_in_their_order(n_labels):
    rng = np.random.default_rng(0)
    Y = (rng.random((12, n_labels)) < 0.3).astype(int)[rng.integers(12, size=40)]
    model = RuleClassifier(n_rules=2, random_state=0).fit(rng.normal(size=(40, 3)), Y)
    expected = list(dict.fromkeys(map(tuple, Y.tolist())))
    assert list(map(tuple, model._label_sets.astype(int).tolist())) == expected
