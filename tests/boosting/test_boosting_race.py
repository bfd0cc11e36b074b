"""``projection="auto"`` of boosting: the view that predicts rows set aside best."""

from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import polyleaf
from polyleaf import BoostingClassifier, BoostingRegressor
from polyleaf.boosting.rounds import _Race, _Result
from polyleaf.datasets import make_correlated_targets
from polyleaf.projections import Adaptive, Gaussian, RoundRobin

RNG = np.random.default_rng(0)
X = RNG.random((240, 24))
#: A feature of its own for each, in steps that a tree for all targets has to take one by one.
INDEPENDENT = np.sin(9.0 * X[:, :12]) + 0.1 * RNG.normal(size=(240, 12))
ALIKE = np.tile(np.sin(9.0 * X[:, :1]), 12) + 0.7 * RNG.normal(size=(240, 12))


def fitted(Y, **parameters):
    """Race views alone; trees have one depth."""
    parameters = {"n_estimators": 40, "max_depth": 6, "random_state": 0} | parameters
    return BoostingRegressor(**parameters).fit(X, Y)


def test_independent_targets_are_boosted_one_by_one():
    assert fitted(INDEPENDENT).projection_ == RoundRobin()


def test_targets_that_are_alike_share_trees():
    assert fitted(ALIKE).projection_ != RoundRobin()


def test_the_choice_is_what_the_same_view_gives_when_asked_for():
    chosen = fitted(INDEPENDENT)
    asked = fitted(INDEPENDENT, projection="round_robin")
    assert_array_equal(chosen.predict(X), asked.predict(X))


def test_rows_judge_by_their_weights():
    wild = np.vstack([INDEPENDENT, 50 * RNG.normal(size=INDEPENDENT.shape)])
    weights = np.repeat([1.0, 1e-6], 240)
    model = BoostingRegressor(n_estimators=40, random_state=0)
    model.fit(np.vstack([X, X]), wild, sample_weight=weights)
    assert model.projection_ == RoundRobin()


def test_one_target_needs_no_race():
    assert fitted(ALIKE[:, 0]).projection_ is None


def test_few_rows_are_not_divided():
    model = BoostingRegressor(n_estimators=5, random_state=0).fit(X[:30], ALIKE[:30])
    assert model.projection_ == Adaptive()


def test_linear_leaf_fits_have_one_component():
    assert fitted(ALIKE, leaf_fit="linear").projection_ == Gaussian(n_components=1)


def test_more_outputs_than_a_race_can_take_one_by_one():
    many = np.hstack([INDEPENDENT] * 6)
    assert fitted(many, n_estimators=5).projection_ != RoundRobin()


def test_threads_do_not_change_the_choice():
    one, three = (fitted(INDEPENDENT, n_jobs=n_jobs) for n_jobs in (1, 3))
    assert one.projection_ == three.projection_
    assert_array_equal(one.predict(X), three.predict(X))


class Recorded(_Race):
    """A race that remembers what it ran."""

    runs: ClassVar[list[_Result]] = []

    def run(self, projection, leader, n_estimators, max_depth=None):
        self.runs.append(super().run(projection, leader, n_estimators, max_depth))
        return self.runs[-1]


@pytest.fixture
def runs(monkeypatch):
    monkeypatch.setattr("polyleaf.boosting.rounds._Race", Recorded)
    monkeypatch.setattr(Recorded, "runs", [])
    return Recorded.runs


def test_the_cheapest_view_comes_first_and_all_have_their_turn(runs):
    fitted(ALIKE)
    views = [Gaussian(n_components=1), Adaptive(), None, RoundRobin()]
    assert [run.projection for run in runs] == views


def test_what_costs_as_much_as_the_leader_without_being_better_is_given_up(runs):
    fitted(ALIKE, n_estimators=100)
    first, single = runs[0], runs[-1]
    assert single.projection == RoundRobin()
    assert single.loss >= first.loss
    assert single.work < 1.5 * first.work  # and what the last round took
    assert single.best_at is not None  # it had fewer rounds than it might have


def test_what_is_behind_after_a_part_of_the_work_is_given_up_then(runs):
    fitted(INDEPENDENT, n_estimators=100)
    first, all_outputs = runs[0], runs[2]
    assert all_outputs.projection is None
    assert 0.4 * first.work <= all_outputs.work < 0.6 * first.work
    assert all_outputs.loss >= [loss for at, loss in first.course if at <= all_outputs.work][-1]


@pytest.mark.parametrize(("rate", "most"), [(0.1, 30), (0.15, 30), (0.3, 60), (0.7, 60)])
def test_the_race_takes_larger_steps_than_the_fit_and_fewer(runs, rate, most):
    fitted(ALIKE + 5.0 * X[:, :1], n_estimators=60, learning_rate=rate)
    n_rounds = [len(run.course) for run in runs]
    assert max(n_rounds) <= most
    assert rate > 0.2 or max(n_rounds) == most


def test_what_is_better_may_go_on(runs):
    fitted(INDEPENDENT, n_estimators=50)
    first, single = runs[0], runs[-1]
    assert single.is_clearly_better_than(first)
    assert single.work > 2 * first.work


def result(losses):
    losses = np.array(losses)
    return _Result(None, float(losses.mean()), losses, None, 1.0)


def test_a_view_is_clearly_better_by_more_than_the_standard_error():
    rng = np.random.default_rng(0)
    old, gains = rng.random(20), rng.normal(0.05, 0.1, 20)
    error = np.sqrt(np.sum((gains - gains.mean()) ** 2) / 19 / 20)  # of the mean gain
    for shift, answer in ((1.01, True), (0.99, False), (-1.01, False)):
        moved = gains - gains.mean() + shift * error
        assert result(old - moved).is_clearly_better_than(result(old)) is answer


def test_a_view_without_finite_loss_is_worse_than_any():
    nothing = _Result(None, np.inf, np.zeros(0), None, 1.0)
    assert result([1e30, 2e30]).is_clearly_better_than(nothing)
    assert not nothing.is_clearly_better_than(result([1.0, 2.0]))
    assert not nothing.is_clearly_better_than(nothing)


def test_callbacks_hear_of_the_fit_alone():
    heard = []
    model = BoostingRegressor(n_estimators=7, random_state=0)
    model.fit(X, ALIKE, callbacks=[lambda progress: heard.append(progress.n_estimators)])
    assert heard == list(range(1, 8))


def test_the_choice_outlives_files_and_warm_starts(tmp_path):
    model = fitted(INDEPENDENT, n_estimators=6, warm_start=True)
    polyleaf.save(model, tmp_path / "model.polyleaf")
    loaded = polyleaf.load(tmp_path / "model.polyleaf")
    assert loaded.projection_ == RoundRobin()
    again = fitted(INDEPENDENT, n_estimators=9, projection="round_robin").predict(X)
    for start in (model, loaded):
        start.set_params(n_estimators=9).fit(X, INDEPENDENT)
        assert_allclose(start.predict(X), again, atol=1e-5)


@pytest.mark.parametrize("loss", ["logistic", "examplewise_logistic", "squared_error"])
def test_labels_with_gaps_and_constants_race(loss):
    Y = (INDEPENDENT > 0.3).astype(float)
    Y[:, 3] = 0.0
    if loss == "logistic":
        Y[RNG.random(Y.shape) < 0.1] = np.nan
    model = BoostingClassifier(loss=loss, n_estimators=10, random_state=0).fit(X, Y)
    assert model.predict_proba(X).shape == Y.shape
    assert loss != "examplewise_logistic" or model.projection_ != RoundRobin()


#: Mostly noise: a model of many rounds is worse than one of few.
FAINT = X[:, :3] + 2.0 * RNG.normal(size=(240, 3))


def test_rounds_end_where_the_race_saw_the_loss_rise():
    model = fitted(FAINT, n_estimators=200)
    assert 1 <= model.n_estimators_ < 200
    assert len(model.history_["train_loss"]) == model.n_estimators_
    n_rounds = model.n_estimators_
    same = fitted(FAINT, n_estimators=n_rounds, projection=model.projection_, early_stopping=False)
    assert_array_equal(model.predict(X), same.predict(X))


def test_fewer_rounds_than_the_limit_are_not_touched():
    limit = fitted(FAINT, n_estimators=200).n_estimators_
    # A race of so few rounds sees nothing rise.
    assert fitted(FAINT, n_estimators=2).n_estimators_ == 2
    assert fitted(FAINT, n_estimators=limit).n_estimators_ <= limit


@pytest.mark.parametrize(
    "asked", [{"early_stopping": False}, {"projection": None}, {"warm_start": True}]
)
def test_all_rounds_are_there_if_asked_for(asked):
    assert fitted(FAINT, n_estimators=200, **asked).n_estimators_ == 200


def test_rounds_of_labels_end_where_the_race_saw_the_loss_rise():
    model = BoostingClassifier(n_estimators=200, random_state=0).fit(X, FAINT > 0)
    assert 1 <= model.n_estimators_ < 200
    whole = BoostingClassifier(n_estimators=200, early_stopping=False, random_state=0)
    assert whole.fit(X, FAINT > 0).n_estimators_ == 200


def test_stopping_by_chance_is_no_choice():
    with pytest.raises(ValueError, match="must be True, False or 'auto'"):
        fitted(FAINT, early_stopping="sometimes")
    with pytest.raises(ValueError, match="must be True or False"):
        polyleaf.RuleRegressor(early_stopping="auto").fit(X, FAINT)


def test_few_rows_get_smaller_trees_where_these_are_clearly_better():
    X, Y = make_correlated_targets(240, 12, 8, random_state=0)
    auto, deep = (
        BoostingRegressor(max_depth=depth, random_state=0).fit(X[:160], Y[:160])
        for depth in ("auto", 6)
    )
    assert auto._trees().structure.depth.max() == 3
    assert auto.score(X[160:], Y[160:]) > deep.score(X[160:], Y[160:]) + 0.05


def test_the_best_view_is_tried_with_smaller_trees(runs):
    fitted(ALIKE, max_depth="auto")
    assert [run.max_depth for run in runs] == [None, None, None, None, 3]
    best = min(runs[:4], key=lambda run: run.loss)
    assert runs[-1].projection in (best.projection, runs[0].projection)


def test_one_target_has_a_race_of_depths_only():
    X, Y = make_correlated_targets(240, 12, 8, random_state=0)
    model = BoostingRegressor(n_estimators=60, random_state=0).fit(X, Y[:, 0])
    assert model.projection_ is None
    assert model.n_estimators_ == 60
    assert model._trees().structure.depth.max() in (3, 6)


@pytest.mark.parametrize("settings", [{"projection": None}, {"warm_start": True}])
def test_the_depth_is_six_where_there_is_no_race_of_depths(settings):
    X, Y = make_correlated_targets(240, 12, 8, random_state=0)
    auto, six = (
        BoostingRegressor(max_depth=depth, n_estimators=5, random_state=0, **settings).fit(X, Y)
        for depth in ("auto", 6)
    )
    assert np.array_equal(auto.predict(X), six.predict(X))
