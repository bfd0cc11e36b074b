"""Comparisons on outputs with structure: labels in a hierarchy, and classes named by texts."""

import numpy as np
import pandas as pd
import pytest

from polyleaf.datasets import Dataset
from polyleaf.experiments import METHODS, compare
from polyleaf.experiments._class_scores import class_accuracy, class_f1, exact_matches
from polyleaf.experiments._problem import read_problems
from polyleaf.hierarchy import Hierarchy
from polyleaf.metrics import METRICS, hierarchical_f1_score, label_f1_score

HIERARCHY = Hierarchy([(0, 1), (0, 2), (3, 4)], 5, names=list("abcde"))


def labelled(n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    Y = HIERARCHY.close((X @ rng.normal(size=(4, 5)) + rng.normal(size=(n, 5)) > 1).astype(int))
    return Dataset(X, Y, list("wxyz"), list("abcde"), "toy", hierarchy=HIERARCHY)


def classes(n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    Y = pd.DataFrame(
        {
            "colour": np.where(X[:, 0] > 0.5, "red", np.where(X[:, 1] > 0, "green", "blue")),
            "size": np.where(X[:, 0] > 0, "large", "small"),
        }
    )
    Y.iloc[:7, 0] = None
    return X, Y


# Hierarchies ------------------------------------------------------------------------------------


def test_methods_of_polyleaf_get_the_hierarchy_and_levels_are_judged(tmp_path):
    data = labelled()
    methods = ["RandomForest", "Boosting", "Graph", "Linear"]
    given = {"methods": methods, "metrics": ["hierarchical_f1", "micro_auprc"], "cv": 2}
    path = tmp_path / "results.jsonl"
    result = compare(data, path=path, max_settings=1, **given)
    assert not result.failures
    for method in ("RandomForest", "Boosting", "Graph"):
        model = METHODS[method].make(result.problems[0], 0)
        inner = model[-1] if hasattr(model, "steps") else model
        assert inner.hierarchy == HIERARCHY
    levels = result.level_scores("toy")
    assert set(levels) == set(methods)
    assert all(scores.shape == (2,) for scores in levels.values())
    again = compare(data, path=path, max_settings=1, **given)  # nothing is run again
    assert again.rows == result.rows
    page = result.report(tmp_path / "report")
    assert "F1 of each level of the hierarchy, toy" in page.read_text()
    assert "level 1 (3 labels)" in (tmp_path / "report" / "report.md").read_text()


def test_scores_of_a_level_are_those_of_its_labels():
    data = labelled()
    result = compare(data, methods=["Tree"], metrics=["micro_f1"], cv=2, max_settings=1)
    (train, test), _ = result.problems[0].folds(2, 0)
    model = METHODS["Tree"].make(result.problems[0], 0)
    model.set_params(**result.rows[0]["settings"])
    predicted = model.fit(data.X[train], data.Y[train]).predict(data.X[test])
    roots = [0, 3]
    expected = label_f1_score(data.Y[test][:, roots], predicted[:, roots], average="micro")
    assert result.rows[0]["per_level"][0] == pytest.approx(expected, abs=1e-5)


def test_hierarchical_metrics_add_ancestors_if_they_know_them():
    truth, guess = [[1, 1, 0, 0, 0]], [[0, 0, 1, 0, 0]]
    metric = METRICS["hierarchical_f1"]
    assert metric.prepare()(truth, guess) == 0.0
    found = metric.prepare(hierarchy=HIERARCHY)(truth, guess)
    assert found == hierarchical_f1_score(truth, guess, hierarchy=HIERARCHY) == 0.5
    assert METRICS["micro_f1"].prepare(hierarchy=HIERARCHY)(truth, guess) == 0.0


def test_another_hierarchy_is_another_comparison():
    data = labelled()
    flat = Dataset(data.X, data.Y, data.feature_names, data.output_names, "toy")
    prints = {read_problems(part)[0].fingerprint() for part in (data, flat)}
    assert len(prints) == 2


# Classes ----------------------------------------------------------------------------------------


def test_outputs_of_texts_are_compared_as_classes(tmp_path):
    X, Y = classes()
    result = compare(X, Y, methods=["Mean", "Tree", "Boosting", "Linear"], cv=2, max_settings=1)
    assert not result.failures
    assert [p.task for p in result.problems] == ["classes"]
    scores = {s.method: s.score for s in result.leaderboard("accuracy")}
    assert scores["Tree"] > scores["Mean"] + 0.2
    assert set(result.rows[0]["scores"]) == {"accuracy", "exact_match", "class_f1"}
    page = result.report(tmp_path)
    assert "accuracy of each output" in page.read_text()
    best = result.best_estimator()
    assert set(best.predict(X)[:, 1]) == {"large", "small"}


@pytest.mark.parametrize("name", [n for n, m in METHODS.items() if "classes" in m.tasks])
def test_every_method_of_classes_predicts_texts(name):
    X, Y = classes(60)
    problem = read_problems((X, Y))[0]
    model = METHODS[name].make(problem, 0)
    parameters = model.get_params()
    few = {"n_estimators": 5, "n_rules": 10, "tol": 0.1}
    named = {k: v for k, v in few.items() for p in (k, f"model__{k}") if p in parameters}
    model.set_params(
        **{p: v for k, v in named.items() for p in (k, f"model__{k}") if p in parameters}
    )
    predicted = model.fit(problem.X, problem.Y).predict(problem.X)
    assert set(predicted[:, 0]) <= {"red", "green", "blue"}
    assert class_accuracy(problem.Y, predicted) > 0.4


def test_results_of_classes_are_resumed(tmp_path):
    X, Y = classes(60)
    given = {"methods": ["Tree"], "cv": 2, "max_settings": 1, "path": tmp_path / "rows.jsonl"}
    assert compare(X, Y, **given).rows == compare(X, Y, **given).rows


def test_scores_of_classes_equal_those_of_scikit_learn():
    from sklearn import metrics

    rng = np.random.default_rng(0)
    truth = rng.choice(list("abc"), size=(50, 2)).astype(object)
    guess = rng.choice(list("abc"), size=(50, 2)).astype(object)
    both = list(zip(truth.T.astype(str), guess.T.astype(str)))
    assert class_accuracy(truth, guess) == pytest.approx(
        np.mean([metrics.accuracy_score(*pair) for pair in both])
    )
    assert class_f1(truth, guess) == pytest.approx(
        np.mean([metrics.f1_score(*pair, average="macro") for pair in both])
    )
    assert exact_matches(truth, guess) == (truth == guess).all(axis=1).mean()
    truth[:, 1] = None
    assert class_accuracy(truth, guess) == pytest.approx(metrics.accuracy_score(*both[0]))
    assert np.isnan(exact_matches(truth, guess))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.5, 2.5, 3.5], "which holds 1.5"),
        ([None, None, None], "holds nothing"),
    ],
)
def test_texts_beside_other_outputs_are_refused(column, message):
    Y = pd.DataFrame({"kind": ["a", "b", "a"], "other": pd.Series(column, dtype=object)})
    with pytest.raises(ValueError, match=message):
        compare(np.zeros((3, 1)), Y)
