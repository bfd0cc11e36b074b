"""Losses and decoders of rules may be given as instances, as elsewhere."""

import numpy as np
import pytest

import polyleaf
from polyleaf import RuleClassifier, RuleRegressor, decoding, losses
from polyleaf.datasets import make_correlated_targets, make_multilabel


@pytest.fixture(scope="module")
def labels():
    return make_multilabel(120, 8, 4, random_state=0)


@pytest.fixture(scope="module")
def numbers():
    return make_correlated_targets(120, 8, 3, random_state=0)


def same_rules(a, b):
    return np.array_equal(a._rules.feature, b._rules.feature) and np.array_equal(
        a._rules.score, b._rules.score
    )


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("logistic", losses.Logistic()),
        ("examplewise_logistic", losses.ExamplewiseLogistic()),
        ("squared_error", losses.SquaredError()),
    ],
)
def test_a_loss_of_labels_is_that_of_its_name(labels, tmp_path, name, loss):
    X, Y = labels
    by_name = RuleClassifier(n_rules=20, loss=name, random_state=0).fit(X, Y)
    given = RuleClassifier(n_rules=20, loss=loss, random_state=0).fit(X, Y)
    assert same_rules(by_name, given)
    assert np.array_equal(by_name.predict(X), given.predict(X))
    polyleaf.save(given, tmp_path / "model")
    loaded = polyleaf.load(tmp_path / "model")
    assert type(loaded.loss) is type(loss)
    assert np.array_equal(loaded.predict_proba(X), given.predict_proba(X))


@pytest.mark.parametrize("loss", [losses.SquaredError(), losses.AbsoluteError(), losses.Huber()])
def test_a_loss_of_numbers_is_that_of_its_name(numbers, loss):
    X, Y = numbers
    name = {cls: name for name, cls in losses.LOSSES.items()}[type(loss)]
    by_name = RuleRegressor(n_rules=20, loss=name, huber_delta=1.0, random_state=0).fit(X, Y)
    given = RuleRegressor(n_rules=20, loss=loss, huber_delta=0.2, random_state=0).fit(X, Y)
    assert same_rules(by_name, given)


def test_hubers_loss_brings_its_own_delta(numbers):
    X, Y = numbers
    wide = RuleRegressor(n_rules=20, loss=losses.Huber(delta=3.0), random_state=0).fit(X, Y)
    narrow = RuleRegressor(n_rules=20, loss=losses.Huber(delta=0.1), random_state=0).fit(X, Y)
    by_name = RuleRegressor(n_rules=20, loss="huber", huber_delta=0.1, random_state=0).fit(X, Y)
    assert same_rules(narrow, by_name)
    assert not same_rules(narrow, wide)


@pytest.mark.parametrize("loss", [losses.Quantile(), losses.Softmax(), losses.Huber(), 3, None])
def test_losses_that_rules_of_labels_do_not_have_are_refused(labels, loss):
    with pytest.raises(ValueError, match=r"one of .*'logistic', .* instance of .* Logistic"):
        RuleClassifier(loss=loss).fit(*labels)


def test_a_loss_of_ones_own_is_minimised_if_it_says_so(numbers, labels):
    class Scaled(losses.SquaredError):
        def losses(self, targets, raw):
            return 4 * super().losses(targets, raw)

        def gradient(self, targets, raw):
            return 4 * super().gradient(targets, raw)

        def curvature(self, targets, raw):
            return 4 * super().curvature(targets, raw)

    X, Y = numbers
    plain = RuleRegressor(n_rules=20, l2_regularization=1.0, random_state=0).fit(X, Y)
    scaled = RuleRegressor(n_rules=20, l2_regularization=4.0, loss=Scaled(), random_state=0)
    assert same_rules(scaled.fit(X, Y), plain)
    assert not same_rules(scaled.set_params(l2_regularization=1.0).fit(X, Y), plain)
    with pytest.raises(ValueError, match="loss of RuleClassifier must be"):
        RuleClassifier(loss=Scaled()).fit(*labels)

    class Undeclared(Scaled):
        learners = frozenset({"boosting"})

    with pytest.raises(ValueError, match="loss of RuleRegressor must be"):
        RuleRegressor(loss=Undeclared()).fit(X, Y)


@pytest.mark.parametrize("loss", ["logistic", "examplewise_logistic"])
@pytest.mark.parametrize("name", ["threshold", "subset", "f1", "jaccard", "top_k"])
def test_a_decoder_is_that_of_its_name(labels, tmp_path, name, loss):
    X, Y = labels
    model = RuleClassifier(n_rules=20, loss=loss, random_state=0).fit(X, Y)
    by_name = model.set_params(decoding=name).predict(X)
    given = model.set_params(decoding=decoding.DECODERS[name]()).predict(X)
    assert np.array_equal(by_name, given)
    polyleaf.save(model, tmp_path / "model")
    assert np.array_equal(polyleaf.load(tmp_path / "model").predict(X), given)


def test_the_settings_of_a_decoder_count(labels):
    X, Y = labels
    model = RuleClassifier(n_rules=20, decoding=decoding.TopK(2), random_state=0).fit(X, Y)
    assert (model.predict(X).sum(axis=1) == 2).all()
    low = model.set_params(decoding=decoding.Threshold(0.1)).predict(X)
    high = model.set_params(decoding=decoding.Threshold(0.9)).predict(X)
    assert (low >= high).all()
    assert low.sum() > high.sum()


@pytest.mark.parametrize("loss", ["logistic", "examplewise_logistic"])
def test_known_label_sets_may_be_asked_for_by_name_or_instance(labels, loss):
    X, Y = labels
    model = RuleClassifier(n_rules=20, loss=loss, random_state=0).fit(X, Y)
    by_name = model.set_params(decoding="known_label_set").predict(X)
    seen = {tuple(row) for row in Y}
    assert all(tuple(row) in seen for row in by_name)
    instance = decoding.KnownLabelSet()
    assert np.array_equal(model.set_params(decoding=instance).predict(X), by_name)
