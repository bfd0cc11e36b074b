import numpy as np
import pytest

from polyleaf.datasets import make_correlated_targets, make_multilabel
from polyleaf.experiments import METHODS, Method, compare
from polyleaf.experiments._bootstrap import bootstrap_scores, corrected_score
from polyleaf.experiments._problem import read_problems
from polyleaf.experiments._run import Job, run
from polyleaf.experiments._tuning import choose_settings, inner_folds
from polyleaf.metrics import METRICS

REGRESSION = make_correlated_targets(120, 5, 3, random_state=0)
LABELS = make_multilabel(120, 5, 4, random_state=0)
FOLDS = [(np.arange(2), np.arange(2))] * 3


@pytest.mark.parametrize("data", [REGRESSION, LABELS])
@pytest.mark.parametrize(("tuning", "n_folds"), [(0.2, 1), (3, 3)])
def test_inner_folds_hold_back_each_row_at_most_once(data, tuning, n_folds):
    problem = read_problems(data)[0]
    folds = inner_folds(problem, tuning, 0)
    assert len(folds) == n_folds
    for kept, held in folds:
        assert sorted([*kept, *held]) == list(range(120))
    held = np.concatenate([held for _, held in folds])
    assert len(set(held)) == len(held) == (24 if n_folds == 1 else 120)


def test_the_best_mean_over_the_inner_folds_is_chosen():
    scores = {0: iter([0.9, 0.1, 0.1]), 1: iter([0.5, 0.5, 0.5]), 2: iter([0.4, 0.6, 0.5])}
    candidates = [{"a": i} for i in range(3)]
    chosen, n_tried = choose_settings(
        candidates,
        lambda settings, fold: next(scores[settings["a"]]),
        FOLDS,
        METRICS["r2"],
        budget=None,
        random_state=0,
    )
    assert (chosen, n_tried) == ({"a": 1}, 3)  # of equal ones the first


def test_nested_tuning_trains_once_per_candidate_and_inner_fold_and_once_at_the_end():
    calls = []

    def make(problem, random_state):
        calls.append(1)
        return METHODS["Tree"].make(problem, random_state)

    method = Method("T", make, ("regression",), {"max_depth": (1, 4)})
    result = compare(REGRESSION, methods=[method], metrics=["r2"], cv=2, tuning=3)
    assert result.failures == []
    assert len(calls) == 1 + 2 * (2 * 3 + 1)  # the names of settings are checked on the first
    assert all(row["settings"] == {"max_depth": 4} for row in result.rows)


def test_a_budget_stops_tuning_after_the_first_setting():
    problem = read_problems(REGRESSION)[0]
    folds = problem.folds(2, 0)
    job = Job(problem, METHODS["Tree"], (METRICS["r2"],), folds[0], 0, 0, budget=1e-9)
    assert run(job)["n_tried"] == 1


def test_runs_share_the_budget_equally():
    seen = []

    class Spy:
        made_of = "spy"

        def __call__(self, problem, random_state):
            return METHODS["Tree"].make(problem, random_state)

    method = Method("T", Spy(), space={"max_depth": tuple(range(1, 200))})
    result = compare(REGRESSION, methods=[method], metrics=["r2"], cv=2, budget=0.2)
    seen = [row["n_tried"] for row in result.rows]
    assert all(1 <= n < 199 for n in seen)
    assert result.plan["budget"] == 0.2


def test_a_part_of_the_settings_is_drawn_and_the_same_in_all_folds():
    method = Method("T", METHODS["Tree"].make, space={"max_depth": tuple(range(1, 50))})
    result = compare(
        REGRESSION, methods=[method], metrics=["r2"], cv=3, max_settings=4, bootstraps=2
    )
    drawn = [[b["settings"]["max_depth"] for b in row["bootstraps"]] for row in result.rows]
    assert len(drawn[0]) == 4
    assert drawn[0] == drawn[1] == drawn[2] == sorted(drawn[0])
    assert all(row["n_tried"] == 4 for row in result.rows)
    with pytest.raises(ValueError, match="max_settings must be an integer, 1 or more"):
        compare(REGRESSION, methods=["Mean"], metrics=["r2"], cv=2, max_settings=0)


@pytest.mark.parametrize("tuning", [0, 1, 1.0, -0.5, "bbc", True])
def test_wrong_tuning_is_refused(tuning):
    with pytest.raises(ValueError, match="share of the training rows"):
        compare(REGRESSION, methods=["Mean"], metrics=["r2"], cv=2, tuning=tuning)


@pytest.mark.parametrize("option", ["budget", "limit"])
def test_wrong_times_are_refused(option):
    with pytest.raises(ValueError, match=f"{option} must be None or a number of seconds"):
        compare(REGRESSION, methods=["Mean"], metrics=["r2"], cv=2, **{option: 0})


def test_bootstraps_weight_the_rows_they_draw():
    rng = np.random.default_rng(0)
    Y = rng.integers(2, size=(30, 3))
    predicted = rng.integers(2, size=(30, 3))
    found = bootstrap_scores(METRICS["hamming_loss"], Y, Y, predicted, 5, random_state=1)
    draws = np.random.default_rng(1)
    for inside, outside in zip(found["inside"], found["outside"]):
        rows = draws.integers(30, size=30)
        left = np.setdiff1d(np.arange(30), rows)
        assert inside == pytest.approx((predicted != Y)[rows].mean(), abs=1e-6)
        assert outside == pytest.approx((predicted != Y)[left].mean(), abs=1e-6)


def test_correction_takes_the_optimism_off_the_best_of_many_worthless_settings():
    metric, rng = METRICS["hamming_loss"], np.random.default_rng(0)
    Y = rng.integers(2, size=(40, 1))
    folds = [
        [
            bootstrap_scores(metric, Y, Y, rng.integers(2, size=(40, 1)), 100, random_state=fold)
            | {"settings": {"i": i}}
            for i in range(30)
        ]
        for fold in range(3)
    ]
    found = corrected_score(folds, metric)
    assert found.optimistic < 0.42
    assert found.score == pytest.approx(0.5, abs=0.06)
    assert found.low < found.score < found.high


def test_correction_of_one_setting_is_about_its_score():
    result = compare(LABELS, methods=["Linear"], metrics=["example_f1"], cv=3, bootstraps=50)
    found = result.corrected(result.problems[0].name, "Linear")
    assert found.score == pytest.approx(found.optimistic, abs=0.05)
    assert found.settings == {}
    assert len(result.rows[0]["bootstraps"][0]["inside"]) == 50


def test_every_setting_is_judged_and_all_methods_see_the_same_draws():
    result = compare(REGRESSION, methods=["Tree", "Mean"], metrics=["arrmse"], cv=2, bootstraps=10)
    row = result.rows[0]
    assert [b["settings"] for b in row["bootstraps"]] == [
        {"min_samples_leaf": n} for n in (1, 5, 20)
    ]
    chosen = next(b for b in row["bootstraps"] if b["settings"] == row["settings"])
    assert chosen["score"] == pytest.approx(row["scores"]["arrmse"], abs=1e-5)
    assert result.corrected(result.problems[0].name, "Tree").settings in [
        b["settings"] for b in row["bootstraps"]
    ]


def test_without_bootstraps_there_is_nothing_to_correct():
    result = compare(REGRESSION, methods=["Mean"], metrics=["r2"], cv=2)
    assert result.corrected(result.problems[0].name, "Mean") is None
