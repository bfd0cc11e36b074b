"""Settings of rule learners do what they say; each test fails if its setting is ignored."""

import numpy as np
import pytest
from rule_losses import LABEL_LOSSES, NUMBER_LOSSES

from polyleaf import RuleClassifier, RuleRegressor
from polyleaf.datasets import make_multilabel
from polyleaf.losses import LossTargets
from polyleaf.rules.training import RuleLearner


@pytest.fixture(scope="module")
def labels():
    return make_multilabel(n_samples=200, n_labels=5, random_state=0)


def staged_losses(model, X, values):
    """Loss of the training rows after every rule, in the unit that was minimised."""
    heads, covers = model._unit_rules(), model.covers(X)
    scores = np.cumsum(covers[:, :, None] * heads, axis=1)
    targets = LossTargets.of(values)
    return np.array([model._loss().value(targets, scores[:, t]) for t in range(len(heads))])


def bodies(model):
    return model.rules_["body"].tolist()


# The length of a row's errors ------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["examplewise_squared_error", "examplewise_squared_hinge"])
@pytest.mark.parametrize("l2", [0.0, 1e-6, 1e-3, 1.0])
def test_lengths_of_errors_do_not_diverge_without_a_penalty(loss, l2):
    X, Y = make_multilabel(n_samples=150, n_labels=4, random_state=0)
    model = RuleClassifier(n_rules=100, loss=loss, l2_regularization=l2, random_state=0)
    losses = staged_losses(model.fit(X, Y), X, Y)
    assert np.abs(model.decision_function(X)).max() < 5
    assert losses[-1] < 0.6 * losses[0]
    if loss == "examplewise_squared_error":
        assert np.all(np.diff(losses) <= 1e-9)


def test_every_step_of_the_length_of_errors_lowers_it_without_shrinkage(labels):
    X, Y = labels
    model = RuleClassifier(
        n_rules=60, loss="examplewise_squared_error", learning_rate=1.0, l2_regularization=0.0,
        random_state=0,
    ).fit(X, Y)  # fmt: skip
    assert np.all(np.diff(staged_losses(model, X, Y)) <= 1e-9)


# Heads, coverage, support ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "sizes"),
    [
        ({"head": "single"}, {1}),
        ({"head": "partial", "head_size": 2}, {2}),
        ({"head": "complete"}, {4}),
    ],
)
def test_heads_have_their_size_even_without_a_condition(parameters, sizes):
    Y = make_multilabel(n_samples=50, n_labels=4, random_state=0)[1]
    with pytest.warns(UserWarning, match="None of 5 rules found a condition"):
        model = RuleClassifier(n_rules=5, random_state=0, **parameters).fit(np.zeros((50, 2)), Y)
    assert set(np.diff(model._rules.head_offsets)[1:].tolist()) == sizes
    assert model.n_rules_ > 2


@pytest.mark.parametrize("parameters", [{"l1_regularization": 1e4}, {"head": "partial"}])
def test_rules_with_neither_condition_nor_effect_are_left_out(labels, parameters):
    X, Y = labels
    parameters = {"l1_regularization": 1e4, **parameters}
    with pytest.warns(UserWarning, match="l1_regularization too large"):
        model = RuleClassifier(n_rules=20, random_state=0, **parameters).fit(X, Y)
    assert model.n_rules_ == 1


def test_a_regression_on_nothing_is_its_default_rule():
    y = np.random.default_rng(0).normal(size=60)
    with pytest.warns(UserWarning, match="X is constant"):
        model = RuleRegressor(n_rules=20, random_state=0).fit(np.ones((60, 1)), y)
    assert model.n_rules_ == 1
    assert np.allclose(model.predict([[1.0]]), y.mean())


def test_a_constant_target_is_nothing_to_warn_of(recwarn):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = RuleRegressor(n_rules=20, random_state=0).fit(X, np.full(60, 3.0))
    assert model.n_rules_ == 1
    assert np.allclose(model.predict(X), 3.0)
    assert not recwarn.list


@pytest.mark.parametrize("loss", ["logistic", "examplewise_logistic"])
@pytest.mark.parametrize("head", ["single", "complete"])
def test_a_rule_covers_as_many_rows_as_asked_for_whatever_was_drawn(labels, loss, head):
    X, Y = labels
    model = RuleClassifier(n_rules=60, min_coverage=20, loss=loss, head=head, random_state=0)
    coverage = model.fit(X, Y)._rules.coverage
    assert coverage.min() >= 20
    assert coverage.min() < 60


def test_support_is_the_share_of_the_rows_learnt_from(labels):
    X, Y = labels
    stopped = RuleClassifier(
        n_rules=20, early_stopping=True, validation_fraction=0.3, random_state=0
    ).fit(X, Y)
    assert stopped.rules_["coverage"][0] == 140
    weights = np.repeat([0.0, 1.0], [50, 150])
    weighted = RuleClassifier(n_rules=20, random_state=0).fit(X, Y, sample_weight=weights)
    assert np.array_equal(weighted._rules.coverage, weighted.covers(X[50:]).sum(axis=0))
    for model in (stopped, weighted):
        assert model.rules_["support"][0] == 1.0


# Settings that nothing else would miss ---------------------------------------------------------


def test_a_bootstrap_sample_draws_as_many_rows_as_there_are(labels, monkeypatch):
    X, Y = labels
    drawn = []
    own = RuleLearner._sample
    monkeypatch.setattr(RuleLearner, "_sample", lambda *a: drawn.append(own(*a)) or drawn[-1])
    weights = np.repeat([0.0, 1.0], [20, 180])
    model = RuleClassifier(n_rules=30, random_state=0).fit(X, Y, sample_weight=weights)
    assert len(drawn) == 29
    for counts in drawn:
        assert counts.sum() == 180
        assert not counts[:20].any()
        assert 0.5 < (counts[20:] > 0).mean() < 0.75  # 1 - 1/e on average
    assert len({tuple(counts) for counts in drawn}) == 29
    whole = RuleClassifier(n_rules=30, bootstrap=False, random_state=0)
    assert bodies(whole.fit(X, Y, sample_weight=weights)) != bodies(model)
    assert all((counts == weights).all() for counts in drawn[29:])


def test_bootstrap_is_heeded_where_all_rows_count_alike(labels):
    X, Y = labels
    kwargs = {"n_rules": 5, "max_features": None}
    whole = [
        bodies(RuleClassifier(bootstrap=False, random_state=seed, **kwargs).fit(X, Y))
        for seed in (0, 1)
    ]
    drawn = [bodies(RuleClassifier(random_state=seed, **kwargs).fit(X, Y)) for seed in (0, 1)]
    assert whole[0] == whole[1]
    assert drawn[0] != drawn[1] != whole[0] != drawn[0]


@pytest.mark.parametrize("cls", [RuleClassifier, RuleRegressor])
def test_the_learning_rate_scales_the_first_head(labels, cls):
    X, Y = labels
    kwargs = {"n_rules": 2, "random_state": 0}
    whole, tenth = (cls(learning_rate=rate, **kwargs).fit(X, Y)._rules for rate in (1.0, 0.1))
    assert np.allclose(tenth.rule(0).score, whole.rule(0).score)
    assert np.allclose(tenth.rule(1).score, 0.1 * whole.rule(1).score)
    assert np.array_equal(tenth.rule(1).value, whole.rule(1).value)


def test_as_many_features_are_tried_as_asked_for():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40))
    y = np.where(X[:, 23] > 0, 1, 0)
    kwargs = {"n_rules": 12, "max_conditions": 1, "bootstrap": False}
    found = {
        n: {
            feature
            for seed in range(4)
            for feature in RuleClassifier(max_features=n, random_state=seed, **kwargs)
            .fit(X, y)
            ._rules.feature.tolist()
        }
        for n in (1, 8, None)
    }
    assert found[None] == {23}
    assert 23 in found[8]
    assert len(found[1]) > len(found[8]) > 1


def test_binning_labels_changes_the_search_and_not_the_heads():
    X, Y = make_multilabel(n_samples=300, n_labels=12, random_state=1)
    kwargs = {"n_rules": 20, "loss": "examplewise_logistic", "random_state": 0}
    exact, binned = (RuleClassifier(label_bins=b, **kwargs).fit(X, Y) for b in (None, 1))
    assert bodies(exact) != bodies(binned)
    assert np.allclose(exact._rules.rule(0).score, binned._rules.rule(0).score)
    loss, targets = binned._loss(), LossTargets.of(Y)
    scores = np.broadcast_to(binned._rules.rule(0).score, Y.shape)
    rule = binned._rules.rule(1)
    covered = binned.covers(X)[:, 1]
    gradient, diagonal, coupling = loss.quadratic(targets, scores)
    g = gradient[covered]
    hessian = np.diag(diagonal[covered].sum(axis=0)) - (coupling[covered, None] * g).T @ g
    expected = -0.3 * np.linalg.solve(hessian + np.eye(12), g.sum(axis=0))
    assert np.allclose(rule.score, expected)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"head": "single"}, "heads of a single output"),
        ({"head": "partial", "head_size": 1}, "heads of a single output"),
        ({"loss": "examplewise_squared_error"}, "no systems of labels"),
    ],
)
def test_label_bins_without_effect_are_refused(labels, parameters, message):
    settings = {"loss": "examplewise_logistic", "label_bins": 4, **parameters}
    with pytest.raises(ValueError, match=message):
        RuleClassifier(**settings).fit(*labels)


@pytest.mark.parametrize(
    ("cls", "loss"),
    [(RuleClassifier, n) for n in LABEL_LOSSES] + [(RuleRegressor, n) for n in NUMBER_LOSSES],
)
def test_guarded_steps_never_raise_the_loss_however_far_they_would_go(
    cls, loss, labels, monkeypatch
):
    own = RuleLearner._find_head

    def too_far(self, known, rows, outputs):
        head, gain = own(self, known, rows, outputs)
        return (head if rows.size in (1, 200) else 5.0 * head), gain

    monkeypatch.setattr(RuleLearner, "_find_head", too_far)
    monkeypatch.setattr(RuleLearner, "_is_plain", False)
    X, Y = labels
    if cls is RuleRegressor:
        Y = np.column_stack([X[:, 0] * 10, X[:, 1] ** 2])
    model = cls(n_rules=30, loss=loss, learning_rate=1.0, step="guarded", random_state=0)
    model.fit(X, Y)
    values = Y if cls is RuleClassifier else (Y - model._fitted.centre) / model._fitted.unit
    losses = staged_losses(model, X, values)
    assert np.all(np.diff(losses) <= 1e-9)
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize("loss", ["logistic", "examplewise_logistic", "squared_error"])
@pytest.mark.parametrize("head", ["single", "complete"])
def test_what_is_masked_does_not_matter(labels, loss, head):
    """Rows without any target are as if they were not there, and masked values are not read."""
    X, Y = labels
    partly = Y.astype(float)
    partly[::4] = np.nan
    seen = np.flatnonzero(np.arange(200) % 4)
    kwargs = {"n_rules": 15, "max_bins": None, "bootstrap": False, "max_features": None}
    model = RuleClassifier(loss=loss, head=head, **kwargs)
    masked = model.fit(X, partly).decision_function(X[seen])
    assert np.allclose(masked, model.fit(X[seen], Y[seen]).decision_function(X[seen]))


@pytest.mark.parametrize("loss", NUMBER_LOSSES)
def test_masked_numbers_are_not_read(loss, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    Y = np.column_stack([X[:, 0], X[:, 1]])
    hidden = rng.random(Y.shape) < 0.3
    model = RuleRegressor(n_rules=20, loss=loss, random_state=0)
    plain = model.fit(X, np.where(hidden, np.nan, Y)).predict(X)
    own = RuleLearner.__init__

    def with_noise(self, binned, targets, *others):
        values = np.where(targets.weights, targets.values, 1e3)
        noisy = LossTargets(values, targets.weights, targets.channel_offsets)
        own(self, binned, noisy, *others)

    monkeypatch.setattr(RuleLearner, "__init__", with_noise)
    assert np.array_equal(model.fit(X, np.where(hidden, np.nan, Y)).predict(X), plain)


def test_an_example_wise_fit_of_500_labels():
    X, Y = make_multilabel(n_samples=150, n_labels=500, random_state=0)
    model = RuleClassifier(n_rules=4, loss="examplewise_logistic", random_state=0).fit(X, Y)
    losses = staged_losses(model, X, Y)
    assert np.all(np.diff(losses) < 0)
    assert model.predict(X).shape == (150, 500)


def test_the_papers_settings_are_pinned_whatever_the_defaults_become():
    fixed = {
        "n_rules": 1000,
        "loss": "examplewise_logistic",
        "head": "complete",
        "learning_rate": 0.3,
        "l2_regularization": 1.0,
        "l1_regularization": 0.0,
        "step": "newton",
        "projection": None,
        "label_bins": None,
        "max_conditions": None,
        "min_coverage": 1,
        "max_features": "log2+1",
        "max_bins": None,
        "bootstrap": True,
        "class_weight": None,
        "early_stopping": False,
        "decoding": "auto",
        "set_probabilities": "chain_rule",
    }
    given = RuleClassifier.paper.__func__(dict)  # what the constructor is given
    assert given == fixed
    free = {
        "categorical_features", "head_size", "hierarchy", "n_iter_no_change", "n_jobs",
        "on_violation", "random_state", "validation_fraction", "verbose",
    }  # fmt: skip
    assert set(given) | free == set(RuleClassifier().get_params())
    assert RuleClassifier.paper(l2_regularization=4.0, n_jobs=2).l2_regularization == 4.0


# Numbers of any size ---------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-200, 1e-300, 1.0, 1e200, 1e299])
def test_the_unit_of_a_target_does_not_matter(unit):
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = RuleRegressor(n_rules=50, random_state=0)
    expected = model.fit(X, 2.0 * X[:, 0] + 1).predict(X)
    found = model.fit(X, (2.0 * X[:, 0] + 1) * unit).predict(X)
    assert np.allclose(found / unit, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("is_normalized", "size"), [(True, 1e305), (False, 1e160)])
def test_numbers_without_squares_are_refused(is_normalized, size):
    X = np.arange(10.0)[:, None]
    with pytest.raises(ValueError, match="y must have no number beyond"):
        RuleRegressor(normalize_outputs=is_normalized).fit(X, size * X[:, 0])


def test_a_threshold_lies_halfway_between_the_largest_numbers_too():
    X = np.array([[-1.7e308], [1.7e308]] * 10)
    model = RuleRegressor(n_rules=2, bootstrap=False, max_bins=None).fit(X, X[:, 0] > 0)
    assert model._rules.value.tolist() == [0.0]
