"""The race: what a first fold settles, forests out of bag, members that are means of folds."""

from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse

import polyleaf
from polyleaf import (
    AutoClassifier,
    AutoRegressor,
    BoostingClassifier,
    BoostingRegressor,
    RandomForestRegressor,
    RuleRegressor,
)
from polyleaf.auto import candidates as auto
from polyleaf.auto import race
from polyleaf.auto.baselines import BaselineRegressor
from polyleaf.files.storage import ModelFileError
from polyleaf.inspection import shap_values

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = np.column_stack([X[:, 0] + X[:, 1], np.sin(2 * X[:, 2])]) + 0.1 * RNG.normal(size=(90, 2))
LABELS = (Y > 0).astype(int)


def only(monkeypatch, *candidates):
    monkeypatch.setattr(auto, "_REGRESSORS", list(candidates))
    monkeypatch.setattr(auto, "_CLASSIFIERS", list(candidates))


def trained_models(monkeypatch):
    """Collect every estimator that is trained, with its rows and those that judge it."""
    seen = []

    def spy(estimator, problem, rows=None, judging=None):
        seen.append((estimator, rows, judging))
        return train(estimator, problem, rows, judging)

    train = race.trained
    monkeypatch.setattr(race, "trained", spy)
    monkeypatch.setattr("polyleaf.auto.training.trained", spy)
    return seen


@pytest.mark.parametrize("cls", [BoostingRegressor, BoostingClassifier])
def test_the_first_fold_settles_view_depth_and_rounds_of_boosting(monkeypatch, cls):
    only(monkeypatch, auto._boosted("boosting", cls, auto.boosting_work, "small"))
    seen = trained_models(monkeypatch)
    is_regression = cls is BoostingRegressor
    model = (AutoRegressor if is_regression else AutoClassifier)(random_state=0)
    model.fit(X, Y if is_regression else LABELS)
    (first, _, judging), *others = seen
    assert len(others) == 4  # none is trained on all rows
    assert judging is not None
    assert first.projection == "auto"
    for other, rows, judges in others:
        assert judges is None
        assert rows.size < 90
        assert other.projection is first.projection_
        assert other.max_depth in (3, 6)
        assert other.n_estimators_ == first.n_estimators_ < 1000


def test_the_mean_of_the_folds_is_the_member(monkeypatch, tmp_path):
    settings = {"projection": None, "max_depth": 3}
    only(
        monkeypatch,
        auto._boosted("b", BoostingRegressor, auto.boosting_work, "small", **settings),
    )
    model = AutoRegressor(cv=3, random_state=0).fit(X, Y)
    ((_, bag),) = model.members_
    parts = bag.estimators_
    assert len(parts) == 3
    mean = np.mean([part.predict(X) for part in parts], axis=0)
    np.testing.assert_allclose(model.predict(X), mean)
    polyleaf.save(model, tmp_path / "bag.polyleaf")
    loaded = polyleaf.load(tmp_path / "bag.polyleaf")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    contributions = shap_values(model, X[:3])
    whole = contributions.values.sum(axis=1) + contributions.base_values
    np.testing.assert_allclose(whole, mean[:3], atol=1e-5)


def test_damaged_parts_are_refused(monkeypatch, tmp_path):
    settings = {"projection": None, "max_depth": 3, "n_estimators": 3}
    only(
        monkeypatch,
        auto._boosted("b", BoostingRegressor, auto.boosting_work, "small", **settings),
    )
    model = AutoRegressor(cv=2, random_state=0).fit(X, Y)
    to_file = type(model)._to_file

    def damaged(change):
        def write(self):
            arrays, metadata = to_file(self)
            change(arrays, metadata["members"][0]["parts"])
            return arrays, metadata

        monkeypatch.setattr(AutoRegressor, "_to_file", write)
        polyleaf.save(model, tmp_path / "bag.polyleaf")
        with pytest.raises(ModelFileError, match="damaged"):
            polyleaf.load(tmp_path / "bag.polyleaf")

    damaged(lambda arrays, parts: parts.clear())
    damaged(lambda arrays, parts: parts[0].update(estimator="BagRegressor"))
    damaged(lambda arrays, parts: arrays.pop("member0.part1.leaf_values"))


@pytest.mark.parametrize(
    "cv", [3, [(np.arange(45), np.arange(45, 90)), (np.arange(45, 90), np.arange(45))]]
)
def test_forests_are_trained_once_where_folds_are_drawn_at_random(monkeypatch, cv):
    forest = auto._of(RandomForestRegressor, n_estimators=20)
    work = auto.forest_work(0.3)
    only(monkeypatch, auto.Candidate("forest", forest, work, way="out-of-bag"))
    seen = trained_models(monkeypatch)
    model = AutoRegressor(cv=cv, random_state=0).fit(X, Y)
    if cv == 3:
        ((estimator, rows, _),) = seen
        assert rows is None
        assert model.members_[0][1] is estimator
    else:
        assert [rows is None for _, rows, _ in seen] == [False, False, True]
    assert 0.3 < model.leaderboard_["score"][0] < model.score(X, Y)


def test_groups_keep_forests_in_folds(monkeypatch):
    """Trees that have not seen a row have seen others of its group."""
    forest = auto._of(RandomForestRegressor, n_estimators=20)
    only(monkeypatch, auto.Candidate("forest", forest, auto.forest_work(0.3), way="out-of-bag"))
    groups = np.arange(90) // 2
    doubled, answers = X[groups * 2], RNG.normal(size=(90, 2))[groups * 2]
    model = AutoRegressor(random_state=0).fit(doubled, answers, groups=groups)
    assert model.leaderboard_["score"][0] < 0.2
    leaky = AutoRegressor(random_state=0).fit(doubled, answers)
    assert leaky.leaderboard_["score"][0] > 0.5


def test_the_first_fold_settles_the_kernel(monkeypatch):
    kernel = auto._baseline(BaselineRegressor, model="kernel")
    only(
        monkeypatch,
        auto.Candidate("kernel", kernel, auto.kernel_work, settle=auto.settled_kernel),
    )
    seen = trained_models(monkeypatch)
    AutoRegressor(random_state=0).fit(X, Y)
    chosen = {(m._fitted.model.kernel, m._fitted.model.width) for m, _, _ in seen}
    assert len(seen) == 6
    assert len(chosen) == 1
    assert seen[0][0].kernel is None
    assert seen[1][0].kernel is not None


@pytest.mark.parametrize("view", [None, polyleaf.projections.RoundRobin()])
def test_a_settled_candidate_counts_the_rounds_that_are_left(view):
    found = auto._boosted("boosting", BoostingRegressor, auto.boosting_work, "small")
    model = BoostingRegressor(n_estimators=20, projection=view, max_depth=2, random_state=0)
    settled = found.settle(model.fit(X, Y), None, None)
    shape = auto.Shape(90, 4.0, 4, 2)
    n_trees = 20 if view is None else 40
    one_tree = auto.boosting_work(shape, 1)
    assert 0.5 * n_trees * one_tree < settled.work(shape) <= n_trees * one_tree
    assert settled.make(7, None).get_params()["max_depth"] == 2


def test_the_first_fold_settles_the_number_of_rules(monkeypatch):
    noise = X[:, :1] + 3.0 * RNG.normal(size=(90, 2))
    rules = auto._of(RuleRegressor, n_rules=60)
    only(
        monkeypatch,
        auto.Candidate("r", rules, auto.rules_work, way="bag", settle=auto.settled_rules),
    )
    seen = trained_models(monkeypatch)
    model = AutoRegressor(random_state=0).fit(X, noise)
    (first, _, _), *others = seen
    assert first.n_rules_ < 60
    assert all(other.n_rules == max(1, first.n_rules_ - 1) for other, _, _ in others)
    assert model.members_[0][1].estimators_[0].n_rules_ == first.n_rules_


@pytest.mark.parametrize(
    "X", [np.full((40, 3), np.nan), np.ones((40, 3)), sparse.csr_array((40, 3))]
)
def test_features_that_say_nothing_leave_means_and_shares(X):
    rng = np.random.default_rng(0)
    Y, labels = rng.normal(size=(40, 2)), (rng.random((40, 3)) < 0.4).astype(int)
    model = AutoRegressor(budget="small", cv=2, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.predict(X[:2]), np.tile(Y.mean(axis=0), (2, 1)), atol=0.15)
    chances = AutoClassifier(budget="small", cv=2, random_state=0).fit(X, labels).predict_proba(X)
    np.testing.assert_allclose(chances[0], labels.mean(axis=0), atol=0.15)


class _Unable(RandomForestRegressor):
    """Cannot learn what it is given."""

    def _train(self, *args, **told):
        raise np.linalg.LinAlgError("did not converge")


def test_a_candidate_that_fails_leaves_the_race_to_the_others(monkeypatch):
    forest = auto._of(RandomForestRegressor, n_estimators=5)
    unable = auto.Candidate("unable", auto._of(_Unable), auto.forest_work(0.3))
    able = auto.Candidate("able", forest, auto.forest_work(0.3))
    only(monkeypatch, unable, able)
    with pytest.warns(UserWarning, match="unable left the race: did not converge"):
        model = AutoRegressor(cv=2, random_state=0).fit(X, Y)
    assert [name for name, _ in model.members_] == ["able"]
    assert model.leaderboard_.set_index("name")["score"].isna()["unable"]


def test_a_race_that_nobody_finishes_says_why(monkeypatch):
    only(monkeypatch, auto.Candidate("unable", auto._of(_Unable), auto.forest_work(0.3)))
    with (
        pytest.warns(UserWarning, match="left the race"),
        pytest.raises(np.linalg.LinAlgError, match="did not converge"),
    ):
        AutoRegressor(cv=2, random_state=0).fit(X, Y)


def test_the_bar_of_a_race_shows_the_time_left(monkeypatch, capsys):
    forest = auto._of(RandomForestRegressor, n_estimators=5)
    only(monkeypatch, auto.Candidate("forest", forest, auto.forest_work(0.3)))
    AutoRegressor(cv=2, random_state=0, verbose=1).fit(X, Y)
    shown = capsys.readouterr().err
    assert "racing" in shown
    assert "3/3" in shown  # two folds, and all rows
    assert "left" in shown
    assert "score" in shown


@pytest.mark.parametrize("allowed", [1e-9, 1e9])
def test_the_bar_ends_at_its_end_whoever_was_left_out(monkeypatch, allowed):
    small = {"n_estimators": 5}
    only(
        monkeypatch,
        auto.Candidate("once", auto._of(RandomForestRegressor, **small), auto.forest_work(0.3)),
        auto.Candidate(
            "out",
            auto._of(RandomForestRegressor, **small),
            auto.forest_work(0.3),
            way="out-of-bag",
        ),
        auto.Candidate("bag", auto._of(RuleRegressor, n_rules=5), auto.rules_work, way="bag"),
        auto.Candidate("poor", auto._of(RuleRegressor, n_rules=1), auto.rules_work),
    )
    monkeypatch.setattr("polyleaf.auto.race.budget_of", lambda problem, budget: allowed)
    steps = []

    @contextmanager
    def counted(description, total, verbose):
        steps.append(total)
        yield lambda n_steps=1, **fields: steps.append(-n_steps)

    monkeypatch.setattr("polyleaf.auto.base.progress_bar", counted)
    AutoRegressor(cv=3, random_state=0).fit(X, Y)
    assert steps[0] == 4 + 3 + 3 + 4
    assert sum(steps) == 0


def test_graphs_take_part_where_labels_are_few_and_the_budget_is_large(monkeypatch):
    problem = race_problem(monkeypatch, AutoClassifier(budget="large"), LABELS)
    names = [c.name for c in auto.candidates_for(problem, "large")]
    assert "graphs" in names
    assert "graphs" not in [c.name for c in auto.candidates_for(problem, "medium")]
    many = np.tile(LABELS, (1, 10))
    problem = race_problem(monkeypatch, AutoClassifier(budget="large"), many)
    assert "graphs" not in [c.name for c in auto.candidates_for(problem, "large")]


def race_problem(monkeypatch, model, y):
    """Give the problem that a fit would race on."""
    seen = []

    class StopHere(Exception):  # noqa: N818
        pass

    def spy(problem, metric, **given):
        seen.append(problem)
        raise StopHere

    monkeypatch.setattr("polyleaf.auto.base.train_blend", spy)
    with pytest.raises(StopHere):
        model.fit(X, y)
    return seen[0]
