"""What holds for learnt rules: losses fall, heads fit, labels and masks are handled."""

import numpy as np
import pandas as pd
import pytest
from rule_losses import LABEL_LOSSES, NUMBER_LOSSES
from scipy import sparse

from polyleaf import RuleClassifier, RuleRegressor
from polyleaf.datasets import make_linear_labels, make_multilabel
from polyleaf.losses import LossTargets
from polyleaf.rules.training import rule_settings


@pytest.fixture(scope="module")
def labels():
    return make_multilabel(n_samples=200, n_labels=5, random_state=0)


def training_losses(model, X, values, observed=None):
    """Loss after every rule, in the unit that was minimised."""
    loss = model._loss()
    heads = model._unit_rules()
    covers = model.covers(X)
    scores = np.zeros((len(covers), heads.shape[1]))
    losses = []
    for t in range(model.n_rules_):
        scores[covers[:, t]] += heads[t]
        losses.append(loss.value(LossTargets.of(values, observed), scores))
    return np.array(losses)


@pytest.mark.parametrize("loss", LABEL_LOSSES)
@pytest.mark.parametrize("head", ["single", "complete", "partial"])
def test_the_training_loss_falls_with_every_guarded_rule(labels, loss, head):
    X, Y = labels
    model = RuleClassifier(
        n_rules=30, loss=loss, head=head, step="guarded", learning_rate=1.0, random_state=0
    ).fit(X, Y)
    losses = training_losses(model, X, Y)
    assert np.all(np.diff(losses) <= 1e-9)
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize("loss", NUMBER_LOSSES)
@pytest.mark.parametrize("learning_rate", [0.3, 1.0])
def test_the_training_loss_of_numbers_falls_with_every_rule(loss, learning_rate):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    Y = np.column_stack([X[:, 0] * 10, X[:, 1] ** 2]) + rng.standard_t(2, size=(150, 2))
    model = RuleRegressor(n_rules=40, loss=loss, learning_rate=learning_rate, random_state=0)
    model.fit(X, Y)
    losses = training_losses(model, X, (Y - model._fitted.centre) / model._fitted.unit)
    assert np.all(np.diff(losses) <= (1e-9 if loss == "squared_error" else 1e-3))
    assert losses[-1] < 0.8 * losses[0]


def test_the_squared_error_of_labels_falls_with_every_rule(labels):
    X, Y = labels
    model = RuleClassifier(n_rules=30, loss="squared_error", learning_rate=1.0, random_state=0)
    assert np.all(np.diff(training_losses(model.fit(X, Y), X, Y)) <= 1e-9)


@pytest.mark.parametrize("loss", ["logistic", "examplewise_logistic"])
def test_the_default_rule_is_the_newton_step_from_zero(labels, loss):
    X, Y = labels
    model = RuleClassifier(n_rules=1, loss=loss, l2_regularization=2.0).fit(X, Y)
    gradient, diagonal, coupling = LABEL_LOSSES[loss].quadratic(
        LossTargets.of(Y), np.zeros(Y.shape)
    )
    hessian = np.diag(diagonal.sum(axis=0))
    if coupling is not None:
        hessian -= (coupling[:, None] * gradient).T @ gradient
    expected = -np.linalg.solve(hessian + 2.0 * np.eye(5), gradient.sum(axis=0))
    assert np.allclose(model.decision_function(X[:1])[0], expected)


def test_the_default_rule_of_a_regression_is_the_best_constant():
    rng = np.random.default_rng(0)
    Y = rng.exponential(size=(301, 2)) * [1.0, 100.0]
    X = np.zeros((301, 1))
    for loss, expected in (("squared_error", Y.mean(axis=0)), ("absolute_error", np.median(Y, 0))):
        found = RuleRegressor(n_rules=1, loss=loss).fit(X, Y).predict(X[:1])[0]
        assert np.allclose(found, expected, rtol=1e-9)


def test_the_default_rule_of_two_far_values_is_the_best_constant():
    y = np.repeat([0.0, 1e6], [101, 99])
    X = np.zeros((200, 1))
    assert RuleRegressor(n_rules=1, loss="absolute_error").fit(X, y).predict(X[:1]) == [0.0]
    model = RuleRegressor(n_rules=1, loss="huber", huber_delta=0.1).fit(X, y)
    found = (model.predict(X[:1])[0] - y) / y.std()
    assert abs(np.clip(found, -0.1, 0.1).sum()) < 1e-6  # the slope of the loss


def test_a_fit_that_fails_leaves_the_units_as_they_were():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    model = RuleRegressor(n_rules=5, random_state=0).fit(X, y)
    before = model.select([1, 2], X, y).loss_
    with pytest.raises(ValueError, match="early_stopping"):
        model.set_params(early_stopping=True).fit(X[:1], 1000 * y[:1])
    assert model.select([1, 2], X, y).loss_ == before


def test_weights_without_a_reciprocal_weigh_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    Y = (X > 0).astype(int)
    settings = {"n_rules": 5, "loss": "examplewise_logistic", "bootstrap": False}
    weights = np.where(np.arange(80) % 2, 1e-310, 1.0)
    model = RuleClassifier(**settings, random_state=0).fit(X, Y, sample_weight=weights)
    without = np.where(np.arange(80) % 2, 0.0, 1.0)
    other = RuleClassifier(**settings, random_state=0).fit(X, Y, sample_weight=without)
    # Where the other rows lie, both may cut at other places between the same rows.
    found, expected = (m.decision_function(X[::2]) for m in (model, other))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.abs(found).max() > 0.1


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "logistic"},
        {"loss": "examplewise_logistic"},
        {"loss": "examplewise_logistic", "head": "single"},
        {"loss": "examplewise_logistic", "label_bins": 2},
        {"loss": "logistic", "max_bins": None},
    ],
)
def test_the_same_seed_gives_the_same_model_for_any_number_of_threads(labels, parameters):
    X, Y = labels
    one, three = (
        RuleClassifier(n_rules=20, random_state=5, n_jobs=n_jobs, **parameters).fit(X, Y)
        for n_jobs in (1, 3)
    )
    for name, array in one._rules.to_arrays().items():
        assert np.array_equal(array, three._rules.to_arrays()[name]), name


def test_the_last_stage_is_the_prediction_and_stages_are_shorter_fits(labels):
    X, Y = labels
    for model in (RuleClassifier(n_rules=12, random_state=0), RuleRegressor(n_rules=12)):
        stages = list(model.set_params(random_state=0).fit(X, Y).staged_predict(X))
        assert len(stages) == 12
        assert np.allclose(stages[-1], model.predict(X))
        shorter = type(model)(n_rules=7, random_state=0).fit(X, Y)
        assert np.allclose(stages[6], shorter.predict(X))


def test_the_best_known_label_set_is_predicted(labels):
    X, Y = labels
    model = RuleClassifier(n_rules=20, loss="examplewise_logistic", random_state=0).fit(X, Y)
    known = np.unique(Y, axis=0)
    scores = model.decision_function(X)
    losses = [np.log1p(np.exp(-(2.0 * row - 1) * scores).sum(axis=1)) for row in known]
    assert np.array_equal(model.predict(X), known[np.argmin(losses, axis=0)])
    model.set_params(decoding="threshold")
    assert np.array_equal(model.predict(X), scores > 0)


@pytest.mark.parametrize("decoding", ["subset", "f1", "jaccard", "top_k"])
@pytest.mark.parametrize("loss", ["logistic", "examplewise_logistic"])
def test_decoders_by_name(labels, decoding, loss):
    X, Y = labels
    model = RuleClassifier(n_rules=10, loss=loss, decoding=decoding, random_state=0).fit(X, Y)
    predicted = model.predict(X)
    assert predicted.shape == Y.shape
    assert set(np.unique(predicted)) <= {0, 1}


@pytest.mark.parametrize("loss", LABEL_LOSSES)
def test_probabilities_of_labels_lie_between_0_and_1_and_tell(labels, loss):
    X, Y = labels
    model = RuleClassifier(n_rules=60, loss=loss, random_state=0).fit(X, Y)
    probabilities = model.predict_proba(X)
    assert probabilities.min() >= 0
    assert probabilities.max() <= 1
    assert probabilities[Y == 1].mean() > probabilities[Y == 0].mean() + 0.2


@pytest.mark.parametrize("loss", ["logistic", "examplewise_logistic", "squared_hinge"])
@pytest.mark.parametrize("head", ["single", "complete"])
def test_what_is_missing_constant_or_never_observed_is_learnt_around(labels, loss, head):
    X, Y = (array.astype(float) for array in labels)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.2] = np.nan
    Y = np.column_stack([Y, np.ones(200), np.zeros(200), np.full(200, np.nan)])
    Y[:, :5][rng.random((200, 5)) < 0.2] = np.nan
    with pytest.warns(UserWarning, match="without a single observed value: 7"):
        model = RuleClassifier(n_rules=80, loss=loss, head=head, random_state=0).fit(X, Y)
    assert np.all(model.decision_function(X)[:, 7] == 0)
    known = ~np.isnan(Y[:, :5])
    for decoding in ("auto", "threshold"):
        predicted = model.set_params(decoding=decoding).predict(X)
        assert np.all(predicted[:, 5] == 1)
        assert np.all(predicted[:, 6] == 0)
        assert (predicted[:, :5] == Y[:, :5])[known].mean() > 0.75


def test_weights_equal_repetition_without_bootstrap(labels):
    X, Y = labels
    counts = np.random.default_rng(0).integers(0, 3, size=200)
    for loss in ("logistic", "examplewise_logistic"):
        model = RuleClassifier(n_rules=8, loss=loss, bootstrap=False, random_state=0)
        weighted = model.fit(X, Y, sample_weight=counts).decision_function(X)
        repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0))
        assert np.allclose(weighted, repeated.decision_function(X))


def test_categories_are_compared_by_equality():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 150)
    X = pd.DataFrame({"colour": colour, "size": rng.normal(size=150)})
    Y = np.column_stack([colour == "red", colour != "blue"]).astype(int)
    model = RuleClassifier(n_rules=30, random_state=0).fit(X, Y)
    assert np.array_equal(model.predict(X), Y)
    assert model.rules_["body"].str.contains("colour = red|colour != red").any()
    unseen = pd.DataFrame({"colour": ["violet"], "size": [0.0]})
    fired = model.covers(unseen)[0]
    assert not any("colour =" in b or "colour !=" in b for b in model.rules_["body"][fired])


def test_early_stopping_goes_back_to_the_least_loss(labels):
    X, Y = labels
    model = RuleClassifier(
        n_rules=2000, early_stopping=True, n_iter_no_change=20, learning_rate=1.0,
        validation_fraction=0.3, random_state=0,
    ).fit(X, Y)  # fmt: skip
    losses = model.validation_losses_
    assert model.n_rules_ == losses.argmin() + 1
    assert losses.size == model.n_rules_ + 20


@pytest.mark.parametrize("head_size", [1, 2, 0.9])
def test_partial_heads_have_the_size_asked_for(labels, head_size):
    X, Y = labels
    model = RuleClassifier(n_rules=25, head="partial", head_size=head_size, random_state=0)
    sizes = np.diff(model.fit(X, Y)._rules.head_offsets)[1:]
    assert np.diff(model._rules.head_offsets)[0] == 5
    if isinstance(head_size, int):
        assert np.all(sizes == head_size)
    else:
        assert sizes.min() >= 1
        assert sizes.mean() < 5


def test_bodies_obey_their_limits(labels):
    X, Y = labels
    model = RuleClassifier(
        n_rules=30, max_conditions=2, min_coverage=0.2, bootstrap=False, random_state=0
    ).fit(X, Y)
    assert np.diff(model._rules.body_offsets).max() == 2
    assert model._rules.coverage.min() >= 40


def test_the_papers_number_of_features(labels):
    X, Y = labels
    for n_features, expected in ((1, 1), (2, 1), (3, 2), (103, 7), (1001, 10)):
        settings = rule_settings(RuleClassifier.paper(), (10, n_features))
        assert settings.max_features == expected
    paper = RuleClassifier.paper(n_rules=5, random_state=0).fit(X, Y)
    assert paper.get_params()["max_bins"] is None
    assert paper.loss == "examplewise_logistic"


def test_sparse_labels_give_the_model_of_dense_ones(labels):
    X, Y = labels
    for loss in ("logistic", "examplewise_logistic"):
        model = RuleClassifier(n_rules=15, loss=loss, random_state=0)
        dense = model.fit(X, Y).predict(X)
        predicted = model.fit(X, sparse.csr_array(Y)).predict(sparse.csr_array(X))
        assert sparse.issparse(predicted)
        assert np.array_equal(predicted.toarray(), dense)


def test_binning_labels_loses_little(labels):
    X, Y = make_multilabel(n_samples=600, n_labels=20, random_state=1)
    losses = {}
    for bins in (None, 4):
        model = RuleClassifier(
            n_rules=60, loss="examplewise_logistic", label_bins=bins, random_state=0
        ).fit(X[:400], Y[:400])
        targets = LossTargets.of(Y[400:])
        losses[bins] = model._loss().value(targets, model.decision_function(X[400:])) / 200
    default = RuleClassifier(n_rules=1, loss="examplewise_logistic").fit(X[:400], Y[:400])
    start = default._loss().value(targets, default.decision_function(X[400:])) / 200
    assert start - losses[4] > 0.8 * (start - losses[None])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "huber"}, "loss of RuleClassifier must be one of .*'logistic', .* got 'huber'"),
        ({"label_bins": 3}, "label_bins of RuleClassifier must be None"),
        ({"loss": "examplewise_logistic", "class_weight": "balanced"}, "one weight per row"),
    ],
)
def test_what_cannot_be_combined_is_refused(labels, parameters, message):
    with pytest.raises(ValueError, match=message):
        RuleClassifier(**parameters).fit(*labels)
    with pytest.raises(ValueError, match="loss of RuleRegressor must be one of"):
        RuleRegressor(loss="logistic").fit(*labels)


def subset_loss(predicted, Y):
    return (predicted != Y).any(axis=1).mean()


@pytest.mark.parametrize("loss", ["logistic", "examplewise_logistic"])
@pytest.mark.parametrize("head", ["single", "complete"])
@pytest.mark.parametrize("dependence", ["independent", "marginal", "conditional"])
def test_rules_come_near_the_bayes_optimum_of_the_paper(dependence, head, loss):
    X, Y = make_linear_labels(12_000, dependence=dependence, random_state=0)
    train, test = slice(0, 9_000), slice(9_000, None)
    clean = make_linear_labels(12_000, dependence=dependence, noise=0.0, random_state=0)[1]
    model = RuleClassifier(
        n_rules=128,
        loss=loss,
        head=head,
        l2_regularization=16.0,
        random_state=0,
    ).fit(X[train], Y[train])
    predicted = model.predict(X[test])
    best = (clean != Y)[test]
    assert (predicted != Y[test]).mean() < best.mean() + 0.015
    assert subset_loss(predicted, Y[test]) < best.any(axis=1).mean() + 0.015


def test_example_wise_multi_label_rules_win_under_conditional_dependence():
    # Lines further apart, so that labels differ on a part of the disc.
    X, Y = make_linear_labels(12_000, dependence="conditional", angle=0.3, random_state=0)
    train, test = slice(0, 9_000), slice(9_000, None)
    losses = {}
    for loss in ("logistic", "examplewise_logistic"):
        model = RuleClassifier(n_rules=200, loss=loss, l2_regularization=16.0, random_state=0)
        losses[loss] = subset_loss(model.fit(X[train], Y[train]).predict(X[test]), Y[test])
    assert losses["examplewise_logistic"] < losses["logistic"]


def test_multi_label_rules_converge_in_fewer_rules_under_marginal_dependence():
    X, Y = make_linear_labels(6_000, dependence="marginal", random_state=0)
    reached = {}
    for head in ("single", "complete"):
        model = RuleClassifier(
            n_rules=60, loss="examplewise_logistic", head=head, random_state=0
        ).fit(X[:4000], Y[:4000])
        losses = [subset_loss(predicted, Y[4000:]) for predicted in model.staged_predict(X[4000:])]
        reached[head] = int(np.argmax(np.array(losses) < 0.5))
    assert 0 < reached["complete"] < reached["single"]


@pytest.mark.parametrize("head", ["single", "complete", "partial"])
@pytest.mark.parametrize("loss", ["logistic", "examplewise_logistic"])
def test_rules_that_the_core_learns_are_those_that_go_through_python(loss, head):
    X, Y = make_multilabel(n_samples=300, n_labels=9, random_state=0)
    settings = {"n_rules": 40, "loss": loss, "head": head, "learning_rate": 0.1}
    plain, guarded = (
        RuleClassifier(**settings, step=step, random_state=0).fit(X, Y)
        for step in ("newton", "guarded")
    )
    # Such small steps need no halving, so that guarding changes nothing.
    assert np.array_equal(plain.decision_function(X), guarded.decision_function(X))
