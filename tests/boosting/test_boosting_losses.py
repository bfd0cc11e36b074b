"""Losses of boosted models: what they predict, whatever a tree sees, and losses of one's own."""

import numpy as np
import pytest
from boosting_problems import LABELS, X_TRAIN, Y_TRAIN, X, Y, classifier, regressor

from polyleaf import BoostingClassifier
from polyleaf.losses import LOSSES, Loss, LossTargets, Quantile, SquaredHinge
from polyleaf.projections import PROJECTIONS, RoundRobin

RNG = np.random.default_rng(0)
#: A feature of its own for each: these are boosted one at a time by default.
APART = 3.0 * np.sign(X[:, :5]) + 0.5 * RNG.normal(size=(260, 5))
#: Projections that select outputs, with all their quantiles.
SELECTING = ("subsample", "top_outputs", "gradient_sampling")


def coverage(model, targets):
    """Share of the targets below each quantile."""
    return (targets[:, :, None] <= model.predict(X)).mean(axis=(0, 1))


def views():
    """All projections, and with linear leaf fits those that can have one component."""
    for name, cls in PROJECTIONS.items():
        yield pytest.param(cls(), "relabel", id=name)
        if "n_components" in cls().get_params() and name not in SELECTING:
            yield pytest.param(cls(n_components=1), "linear", id=f"{name}-linear")


@pytest.mark.parametrize(("projection", "leaf_fit"), list(views()))
def test_every_quantile_is_learnt_whatever_a_tree_sees(projection, leaf_fit):
    wanted = [0.1, 0.5, 0.9]
    model = regressor(
        loss=Quantile(wanted), projection=projection, leaf_fit=leaf_fit, n_estimators=60
    )
    assert model.fit(X, Y).predict(X).shape == (260, 5, 3)
    np.testing.assert_allclose(coverage(model, Y), wanted, atol=0.12)


def test_every_quantile_is_learnt_by_default_where_targets_have_nothing_in_common():
    model = regressor(loss=Quantile([0.1, 0.9]), n_estimators=60).fit(X, APART)
    assert model.projection_ == RoundRobin()
    np.testing.assert_allclose(coverage(model, APART), [0.1, 0.9], atol=0.05)


def test_views_draw_all_quantiles_of_an_output_together():
    # One output has two channels: a selection of one output sees both of them.
    model = regressor(loss=Quantile([0.2, 0.8]), projection="round_robin", n_estimators=2)
    model.fit(X, Y)
    values = model._fitted.model.leaf_values.reshape(-1, 5, 2)
    for leaf_values in values[np.abs(values).max(axis=(1, 2)) > 0]:
        assert np.count_nonzero(np.abs(leaf_values).max(axis=1)) == 1


def test_a_joint_loss_boosted_one_output_at_a_time_predicts_what_training_saw():
    model = BoostingClassifier(
        loss="examplewise_logistic", projection="round_robin", n_estimators=10, random_state=0
    ).fit(X, LABELS)
    expected = model._fitted.reader.loss.value(LossTargets.of(LABELS), model._raw(X)) / len(X)
    assert model.history_["train_loss"][-1] == pytest.approx(expected, rel=1e-5)


class _Importance(Loss):
    """Squared error times a factor for every output."""

    def __init__(self, factors=(1.0,)):
        self.factors = factors

    def losses(self, targets, raw):
        return 0.5 * np.asarray(self.factors) * (targets.values - raw) ** 2

    def gradient(self, targets, raw):
        return np.asarray(self.factors) * (raw - targets.values)


@pytest.mark.parametrize("projection", ["auto", "round_robin", None, "gaussian"])
@pytest.mark.parametrize("targets", [Y, APART])
def test_a_loss_may_have_a_parameter_per_output(projection, targets):
    factors = (1.0, 2.0, 4.0, 8.0, 16.0)
    model = regressor(loss=_Importance(factors), projection=projection, l2_regularization=0.0)
    model.fit(X, targets)
    rest = targets - model.predict(X)
    expected = np.mean(0.5 * np.array(factors) * rest**2)
    assert model.history_["train_loss"][-1] == pytest.approx(expected, rel=1e-4)
    plain = regressor(projection="round_robin", l2_regularization=0.0, normalize_outputs=False)
    if projection == "round_robin":  # factors do not matter to one output alone
        np.testing.assert_allclose(
            model.predict(X), plain.fit(X, targets).predict(X), rtol=1e-3, atol=1e-3
        )


@pytest.mark.parametrize("loss", ["huber", "absolute_error", "quantile", "poisson"])
def test_regression_losses_learn(loss):
    targets = np.round(np.exp(Y_TRAIN)) if loss == "poisson" else Y_TRAIN
    history = regressor(loss=loss, n_estimators=40).fit(X_TRAIN, targets).history_["train_loss"]
    assert history[-1] < history[0] - 0.1 * abs(history[0])


@pytest.mark.parametrize("name", [n for n in LOSSES if n.startswith("examplewise")])
def test_the_examplewise_losses_learn_whole_label_sets(name):
    settings = {"n_estimators": 150, "learning_rate": 0.3, "early_stopping": False}
    model = classifier(loss=name, **settings).fit(X, LABELS)
    right = np.all(model.predict(X) == LABELS, axis=1)
    assert right.mean() > (0.7 if name == "examplewise_squared_error" else 0.8)


LABEL_LOSSES = [name for name, cls in LOSSES.items() if "multilabel" in cls.tasks]


@pytest.mark.parametrize("name", LABEL_LOSSES)
@pytest.mark.parametrize("leaf_values", ["gradient", "newton"])
def test_the_training_loss_of_labels_falls(name, leaf_values):
    model = classifier(loss=name, leaf_values=leaf_values, n_estimators=40).fit(X, LABELS)
    history = model.history_["train_loss"]
    assert history[-1] < 0.8 * history[0]
    assert (model.predict(X) == LABELS).mean() > 0.85
    assert ((model.predict_proba(X) >= 0) & (model.predict_proba(X) <= 1)).all()


def test_a_loss_that_is_not_for_boosting_is_refused():
    class ForRules(SquaredHinge):
        learners = frozenset({"rules"})

    with pytest.raises(ValueError, match=r"loss=ForRules\(\) is for rules, not for boosting"):
        classifier(loss=ForRules()).fit(X, LABELS)


class _Asymmetric(Loss):
    """Squared error that counts double below the target."""

    def losses(self, targets, raw):
        rest = targets.values - raw
        return np.where(rest > 0, rest**2, 0.5 * rest**2)

    def gradient(self, targets, raw):
        rest = raw - targets.values
        return np.where(rest < 0, 2 * rest, rest)


@pytest.mark.parametrize("leaf_values", ["gradient", "newton", "exact"])
def test_a_loss_of_ones_own(leaf_values):
    model = regressor(loss=_Asymmetric(), leaf_values=leaf_values).fit(X, Y)
    history = model.history_["train_loss"]
    assert history[-1] < 0.7 * history[0]
    assert (model.predict(X) - Y).mean() > 0
