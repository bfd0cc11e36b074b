"""Probabilities of label sets: the chain rule or exp(-loss), chosen by a hold-out."""

import numpy as np
import pytest
from sklearn.metrics import label_ranking_average_precision_score

import polyleaf
from polyleaf import RuleClassifier
from polyleaf.losses import resolve_margin_loss
from polyleaf.metrics import example_f1_score as example_f1
from polyleaf.rules.label_sets import KnownLabelSets


def many_label_sets(n_rows, seed=0):
    """Twenty independent labels of words, so that nearly every row has a label set of its own."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n_rows, 40)) < 0.2).astype(float)
    chance = np.where(X[:, :20] > 0, 0.8, 0.08)
    return X, (rng.random(chance.shape) < chance).astype(int)


@pytest.fixture(scope="module")
def fitted():
    X, Y = many_label_sets(900)
    model = RuleClassifier(n_rules=150, loss="examplewise_logistic", random_state=0)
    return model.fit(X[:600], Y[:600]), X[600:], Y[600:]


def test_probabilities_of_many_label_sets_rank_labels_as_scores_do(fitted):
    """Those by exp(-loss) lose what scores know: their mass lies on label sets far away."""
    model, X, Y = fitted
    assert model.set_probabilities_ == "chain_rule"
    by_score = label_ranking_average_precision_score(Y, model.decision_function(X))
    by_chance = label_ranking_average_precision_score(Y, model.predict_proba(X))
    by_loss = KnownLabelSets(model._loss(), model._label_sets, "loss")
    before = label_ranking_average_precision_score(
        Y, by_loss.marginals(model.decision_function(X))
    )
    assert by_chance > by_score - 0.02
    assert by_chance > before + 0.02


def test_decoding_for_f1_does_not_lower_f1(fitted):
    model, X, Y = fitted
    best_set = example_f1(Y, model.predict(X))
    decoded = RuleClassifier(**{**model.get_params(), "decoding": "f1"})
    decoded._fitted = model._fitted
    assert example_f1(Y, decoded.predict(X)) >= best_set


def test_the_hold_out_keeps_the_loss_where_the_chain_rule_is_too_sure():
    """Labels that nothing tells, and rules that fit them: scores are large and wrong."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    Y = (rng.random((200, 30)) < 0.4).astype(int)
    model = RuleClassifier(
        n_rules=100, loss="examplewise_logistic", learning_rate=1.0, random_state=0
    ).fit(X, Y)
    assert model.set_probabilities_ == "loss"


@pytest.mark.parametrize("loss", ["examplewise_logistic", "examplewise_squared_error"])
def test_the_chain_rule_multiplies_the_probabilities_of_labels(loss):
    rng = np.random.default_rng(0)
    sets = rng.random((12, 4)) < 0.4
    scores = rng.normal(scale=2, size=(9, 4))
    known = KnownLabelSets(resolve_margin_loss(loss), sets, "chain_rule")
    (joint,) = known.probabilities(scores)
    p = np.clip(resolve_margin_loss(loss).probabilities(scores), 1e-15, 1 - 1e-15)
    expected = np.array([[np.prod(np.where(s, row, 1 - row)) for s in sets] for row in p])
    expected /= expected.sum(axis=1, keepdims=True)
    assert np.allclose(joint, expected, atol=1e-12)
    assert np.allclose(known.marginals(scores), expected @ sets)


def test_a_given_form_is_taken_and_stays_with_the_file(tmp_path):
    X, Y = many_label_sets(200)
    found = {}
    for form in ("chain_rule", "loss"):
        model = RuleClassifier(
            n_rules=20, loss="examplewise_logistic", set_probabilities=form, random_state=0
        ).fit(X, Y)
        assert model.set_probabilities_ == form
        polyleaf.save(model, tmp_path / form)
        loaded = polyleaf.load(tmp_path / form)
        assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
        assert np.array_equal(model.select([0, 1]).predict_proba(X[:5]).shape, (5, 20))
        found[form] = model.predict_proba(X)
    assert not np.allclose(found["chain_rule"], found["loss"])


def test_the_choice_does_not_change_the_rules():
    X, Y = many_label_sets(200)
    settings = {"n_rules": 30, "loss": "examplewise_logistic", "random_state": 0}
    auto = RuleClassifier(**settings).fit(X, Y)
    given = RuleClassifier(set_probabilities="loss", **settings).fit(X, Y)
    assert np.array_equal(auto.decision_function(X), given.decision_function(X))


def test_only_losses_of_whole_rows_have_a_form():
    X, Y = many_label_sets(100)
    model = RuleClassifier(n_rules=5).fit(X, Y)
    with pytest.raises(AttributeError, match="loss of whole rows"):
        _ = model.set_probabilities_


@pytest.mark.parametrize("seed", [0, 1])
def test_classes_have_the_same_likeliest_one_in_both_forms(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    predicted = [
        RuleClassifier(
            n_rules=30, loss="examplewise_logistic", set_probabilities=form, random_state=0
        )
        .fit(X, y)
        .predict(X)
        for form in ("chain_rule", "loss")
    ]
    assert np.array_equal(*predicted)
