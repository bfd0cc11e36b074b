"""Guarded rules never raise the loss of the training rows; others warn if they have."""

import warnings

import numpy as np
import pytest

import polyleaf
from polyleaf import RuleClassifier, RuleRegressor, _core
from polyleaf.losses import LossTargets, resolve_margin_loss
from polyleaf.rules.guarding import TrainingLoss
from polyleaf.rules.statistics import PackedStatistics, label_signs
from polyleaf.rules.training import RuleLearner

LOSSES = ["logistic", "examplewise_logistic"]


@pytest.fixture(scope="module")
def rare():
    """Many rare labels: little is known about each, and Newton steps go far."""
    rng = np.random.default_rng(0)
    X = (rng.random((300, 30)) < 0.1).astype(float)
    Y = (rng.random((300, 40)) < 0.02).astype(int)
    Y[:, 0] |= X[:, 0] > 0
    return X, Y


def staged(model, X, Y):
    """Mean loss without any rule, with the default rule, with the first two, and so on."""
    loss, targets = model._loss(), LossTargets.of(Y)
    scores = [np.zeros(Y.shape), *(s.copy() for s in model._staged_scores(X))]
    return np.array([loss.row_losses(targets, s).mean() for s in scores])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("learning_rate", [0.3, 1.0])
@pytest.mark.parametrize("head", ["complete", "single"])
def test_no_guarded_rule_raises_the_training_loss_not_even_the_default_rule(
    rare, loss, learning_rate, head
):
    settings = {"loss": loss, "head": head, "learning_rate": learning_rate, "n_rules": 60}
    model = RuleClassifier(l2_regularization=1e-3, random_state=0, **settings).fit(*rare)
    losses = staged(model, *rare)
    assert np.all(np.diff(losses) <= 1e-12 * losses[:-1] + 1e-15)
    assert losses[-1] < 0.95 * losses[0]


def test_without_a_guard_the_default_rule_raises_the_loss_here(rare):
    settings = {"n_rules": 1, "loss": "examplewise_logistic", "l2_regularization": 1e-3}
    guarded = staged(RuleClassifier(**settings).fit(*rare), *rare)
    with pytest.warns(UserWarning, match="has risen"):
        newton = staged(RuleClassifier(step="newton", **settings).fit(*rare), *rare)
    assert newton[1] > newton[0] >= guarded[1]


def test_steps_are_guarded_by_default_and_as_published_in_the_papers_settings():
    assert RuleClassifier().step == RuleRegressor().step == "guarded"
    assert RuleClassifier.paper().step == "newton"


def test_a_training_loss_that_has_risen_is_told_with_what_to_do(rare):
    settings = {"n_rules": 60, "learning_rate": 1.0, "l2_regularization": 1e-3, "random_state": 0}
    model = RuleClassifier(loss="examplewise_logistic", step="newton", **settings)
    with pytest.warns(UserWarning, match=r"has risen: it is .* with 60 rules.*step='guarded'"):
        model.fit(*rare)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(step="guarded").fit(*rare)
        RuleClassifier(n_rules=20, step="newton", random_state=0).fit(*rare)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("head", ["complete", "single", "partial"])
def test_heads_that_the_core_halves_are_those_that_python_halves(monkeypatch, rare, loss, head):
    settings = {"loss": loss, "head": head, "head_size": 3, "learning_rate": 1.0}
    model = RuleClassifier(n_rules=40, l2_regularization=1e-3, random_state=0, **settings)
    at_once = model.fit(*rare)._rules
    monkeypatch.setattr(RuleLearner, "_is_plain", False)
    monkeypatch.setattr(RuleLearner, "_guarded", naive_guard)
    one_by_one = model.fit(*rare)._rules
    assert np.array_equal(at_once.feature, one_by_one.feature)
    assert np.allclose(at_once.score, one_by_one.score, rtol=1e-9, atol=1e-12)


def naive_guard(self, rows, outputs, head):
    return TrainingLoss(self._loss, self._targets, None).guarded(rows, self.scores, outputs, head)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("size", [0.1, 3.0, 400.0])
def test_the_core_halves_any_head_as_the_naive_reference_does(loss, n_threads, size):
    rng = np.random.default_rng(int(size))
    Y = (rng.random((900, 12)) < 0.3).astype(np.int8)
    scores = rng.normal(scale=size, size=Y.shape)
    rows = np.flatnonzero(rng.random(len(Y)) < 0.7).astype(np.int32)
    for outputs in (None, np.array([1, 5, 7], np.int32)):
        head = rng.normal(scale=size, size=12 if outputs is None else 3)
        every = np.arange(12, dtype=np.int32) if outputs is None else outputs
        reference = TrainingLoss(resolve_margin_loss(loss), LossTargets.of(Y), None)
        expected = reference.guarded(rows, scores, every, head)
        is_examplewise = loss == "examplewise_logistic"
        signs = label_signs(Y)
        _core.guard_head(signs, scores, is_examplewise, rows, outputs, 1.0, False, head, n_threads)
        assert np.allclose(head, expected, rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_newton_steps_that_are_let_pass_unseen_never_raise_the_loss(loss):
    """The bound of guard.cpp, over steps from short to far too long."""
    resolved = resolve_margin_loss(loss)
    is_examplewise = loss == "examplewise_logistic"
    rng = np.random.default_rng(0)
    n_let_pass = 0
    for trial in range(150):
        Y = (rng.random((30, 6)) < rng.uniform(0.02, 0.5)).astype(np.int8)
        scores = rng.normal(rng.uniform(-8, 1), rng.uniform(0, 2), size=Y.shape)
        rows = np.arange(len(Y), dtype=np.int32)
        targets, params = LossTargets.of(Y), _core.RuleParams()
        params.l2_regularization = float(rng.choice([1e-3, 0.1, 1.0]))
        known = PackedStatistics.of(resolved.quadratic(targets, scores))
        step = np.empty(6)
        _core.find_head(known.values, 6, known.coupling, rows, None, params, step)
        for rate in (0.1, 0.3, 0.6, 1.0):
            head, newton = rate * step, rate * step
            signs = label_signs(Y)
            _core.guard_head(signs, scores, is_examplewise, rows, None, rate, True, newton, 1)
            n_let_pass += np.array_equal(head, newton)
            reference = TrainingLoss(resolved, targets, None)
            every = np.arange(6, dtype=np.int32)
            before = reference.value(rows, scores)
            assert reference.value(rows, scores, every, newton) <= before * (1 + 1e-12), trial
    assert 100 < n_let_pass < 600  # and the others were halved


def test_files_of_models_with_newton_steps_keep_them(rare, tmp_path):
    polyleaf.save(RuleClassifier(n_rules=5, step="newton").fit(*rare), tmp_path / "model")
    assert polyleaf.load(tmp_path / "model").step == "newton"
