"""Losses of boosted models: what they predict, whatever a tree sees, and losses of one's own."""

import numpy as np
import pytest

from ramify import BoostingClassifier, BoostingRegressor, projections
from ramify.datasets import make_correlated_targets
from ramify.losses import Loss, LossTargets, Quantile
from ramify.projections import PROJECTIONS, RoundRobin

X, Y = make_correlated_targets(260, 6, 5, random_state=0)
LABELS = (Y > 0).astype(int)
RNG = np.random.default_rng(0)
#: A feature of its own for each: these are boosted one at a time by default.
APART = 3.0 * np.sign(X[:, :5]) + 0.5 * RNG.normal(size=(260, 5))
#: Projections that select outputs, with all their quantiles.
SELECTING = ("subsample", "top_outputs", "gradient_sampling")
ONE = projections.Gaussian(n_components=1)


def regressor(**parameters):
    given = {"n_estimators": 20, "max_depth": 3, "random_state": 0}
    return BoostingRegressor(**(given | parameters))


def coverage(model, targets):
    """Share of the targets below each quantile."""
    return (targets[:, :, None] <= model.predict(X)).mean(axis=(0, 1))


@pytest.mark.parametrize("leaf_fit", ["relabel", "linear"])
@pytest.mark.parametrize("name", PROJECTIONS)
def test_every_quantile_is_learnt_whatever_a_tree_sees(name, leaf_fit):
    projection = projections.resolve(name)
    if leaf_fit == "linear":
        if "n_components" not in projection.get_params() or name in SELECTING:
            pytest.skip("its views have several components")
        projection.set_params(n_components=1)
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
    values = model._model.leaf_values.reshape(-1, 5, 2)
    for leaf_values in values[np.abs(values).max(axis=(1, 2)) > 0]:
        assert np.count_nonzero(np.abs(leaf_values).max(axis=1)) == 1


def test_a_joint_loss_boosted_one_output_at_a_time_predicts_what_training_saw():
    model = BoostingClassifier(
        loss="examplewise_logistic", projection="round_robin", n_estimators=10, random_state=0
    ).fit(X, LABELS)
    expected = model._loss.value(LossTargets.of(LABELS), model._raw(X)) / len(X)
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
