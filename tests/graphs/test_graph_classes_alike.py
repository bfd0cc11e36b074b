"""Neither class of a label is preferred, and every labelling of MAM comes with what is known."""

import itertools

import numpy as np
import pytest
from graph_problems import quick

import polyleaf
from polyleaf import GraphClassifier, GraphEnsembleClassifier
from polyleaf.datasets import make_linear_labels, make_multilabel


def assert_complementary(model, other, X):
    one, two = model.decision_function(X), other.decision_function(X)
    clear = (np.abs(one) > 1e-6) & (np.abs(two) > 1e-6)
    assert clear.mean() > 0.9
    assert np.array_equal(model.predict(X)[clear], 1 - other.predict(X)[clear])


@pytest.mark.parametrize("aggregation", ["mam", "amm", "mve"])
@pytest.mark.parametrize("n_labels", [5, 18])
def test_a_fit_to_the_complement_predicts_the_complement(aggregation, n_labels):
    X, Y = make_multilabel(120, 6, n_labels, cardinality=n_labels / 3, random_state=0)
    settings = quick(n_estimators=6, aggregation=aggregation)
    model, other = (GraphEnsembleClassifier(**settings).fit(X, y) for y in (Y, 1 - Y))
    assert_complementary(model, other, X)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_graph_with_cycles_prefers_neither_class(kernel):
    X, Y = make_multilabel(100, 6, 5, cardinality=2.0, random_state=1)
    settings = quick(graph=list(itertools.combinations(range(5), 2)), kernel=kernel, max_iter=30)
    model, other = (GraphClassifier(**settings).fit(X, y) for y in (Y, 1 - Y))
    assert_complementary(model, other, X)


def test_labels_that_were_not_observed_prefer_neither_class():
    X, Y = make_multilabel(101, 6, 4, cardinality=2.0, random_state=2)
    Y = np.where(np.random.default_rng(0).random(Y.shape) < 0.1, np.nan, Y)
    model, other = (GraphClassifier(**quick()).fit(X, y) for y in (Y, 1 - Y))
    assert_complementary(model, other, X)


def test_conditionally_dependent_labels_are_labelled_as_well_as_by_exact_inference():
    X, Y = make_linear_labels(600, dependence="conditional", random_state=0)
    model = GraphEnsembleClassifier(**quick(n_estimators=20, C=1.0)).fit(X[:300], Y[:300])
    assert (model.predict(X[300:]) != Y[300:]).mean() < 0.115
    assert model.certified_share_ == 1.0


def brute_force_scores(model, X):
    """Scores of all labellings, of shape (n_rows, n_labellings), and the labellings."""
    fitted = model._model
    potentials = fitted.design(X) @ fitted.consensus_parameters.T
    n_labels = model.n_outputs_
    labellings = np.array(list(itertools.product((0, 1), repeat=n_labels)))
    pairs = labellings[:, model.edges_[:, 0]] * labellings[:, model.edges_[:, 1]]
    return potentials @ np.concatenate([labellings, pairs], axis=1).T, labellings


def test_the_decision_function_of_mam_is_the_difference_of_the_best_scores():
    X, Y = make_multilabel(150, 5, 6, cardinality=2.5, random_state=0)
    model = GraphEnsembleClassifier(**quick(n_estimators=10)).fit(X, Y)
    scores, labellings = brute_force_scores(model, X)
    expected = np.column_stack(
        [
            scores[:, labellings[:, j] == 1].max(axis=1)
            - scores[:, labellings[:, j] == 0].max(axis=1)
            for j in range(6)
        ]
    )
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-10)
    assert np.array_equal(model.predict(X), labellings[scores.argmax(axis=1)])


@pytest.mark.parametrize("aggregation", ["mam", "amm", "mve"])
def test_certificates_are_told_of_every_row(aggregation, tmp_path):
    X, Y = make_multilabel(150, 6, 20, cardinality=6.0, random_state=0)
    settings = quick(n_estimators=8, aggregation=aggregation)
    model = GraphEnsembleClassifier(**settings).fit(X, Y)
    certified = model.is_certified(X)
    assert certified.shape == (150,)
    assert certified.dtype == bool
    assert model.certified_share_ == pytest.approx(certified.mean())
    assert certified.all() or aggregation == "mam"  # members are trees
    assert certified.mean() > 0.5
    polyleaf.save(model, tmp_path / "model")
    assert polyleaf.load(tmp_path / "model").certified_share_ == model.certified_share_


def test_scores_and_labels_of_many_labels_agree():
    X, Y = make_multilabel(150, 6, 20, cardinality=6.0, random_state=0)
    model = GraphEnsembleClassifier(**quick(n_estimators=8)).fit(X, Y)
    assert np.array_equal(model.predict(X) == 1, model.decision_function(X) > 0.0)
    last = list(model.staged_predict(X))[-1]
    assert np.array_equal(last, model.predict(X))
