import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import killed_comparison
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier

from polyleaf import TreeClassifier, TreeRegressor
from polyleaf._registry import ESTIMATORS
from polyleaf.datasets import make_correlated_targets, make_multilabel
from polyleaf.experiments import METHODS, Comparison, Method, ResultsFileError, compare
from polyleaf.experiments._problem import read_problems
from polyleaf.metrics import METRICS

REGRESSION = make_correlated_targets(150, 5, 3, random_state=0)
LABELS = make_multilabel(150, 5, 4, random_state=0)


class Failing(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("does not work")


def timeless(result):
    """Rows without what differs from run to run."""
    drop = ("seconds", "fit_seconds", "predict_seconds_per_row")
    return [{k: v for k, v in row.items() if k not in drop} for row in result.rows]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_learns_more_than_the_mean(name):
    method = METHODS[name]
    for task, (X, Y) in (("regression", REGRESSION), ("multilabel", LABELS)):
        if task not in method.tasks:
            continue
        metric = "r2" if task == "regression" else "macro_f1"
        result = compare(
            (X, Y), methods=["Mean", name] if name != "Mean" else ["Mean"], metrics=[metric], cv=2
        )
        assert result.failures == []
        scores = {s.method: s.score for s in result.leaderboard()}
        if name != "Mean":
            assert scores[name] > scores["Mean"]


def test_every_estimator_of_polyleaf_is_a_method():
    for class_name in ESTIMATORS:
        if class_name.endswith("Mixed"):  # several kinds are no task of a comparison
            continue
        kind = class_name.removesuffix("Regressor").removesuffix("Classifier")
        assert METHODS[kind].group == "polyleaf"
        data = REGRESSION if class_name.endswith("Regressor") else LABELS
        model = METHODS[kind].make(read_problems(data)[0], 0)
        for setting in METHODS[kind].settings():
            model.set_params(**setting)


def test_methods_see_the_same_folds_and_never_their_test_rows():
    seen = []

    class Spy(RegressorMixin, BaseEstimator):
        def __init__(self, name="a"):
            self.name = name

        def fit(self, X, y):
            self.rows = set(X[:, 0])
            return self

        def predict(self, X):
            seen.append((self.name, frozenset(X[:, 0])))
            assert not self.rows & set(X[:, 0])
            return np.zeros((len(X), 3))

    result = compare(REGRESSION, methods={"a": Spy("a"), "b": Spy("b")}, metrics=["r2"], cv=3)
    assert result.failures == []
    assert [rows for name, rows in seen if name == "a"] == [
        rows for name, rows in seen if name == "b"
    ]
    assert set().union(*(rows for _, rows in seen)) == set(REGRESSION[0][:, 0])


def test_settings_are_chosen_within_the_training_rows():
    used = []

    def make(problem, random_state):
        return Recording()

    class Recording(RegressorMixin, BaseEstimator):
        def __init__(self, depth=1):
            self.depth = depth

        def fit(self, X, y):
            used.append(set(X[:, 0]))
            self.tree = TreeRegressor(max_depth=self.depth, random_state=0).fit(X, y)
            return self

        def predict(self, X):
            return self.tree.predict(X)

    method = Method("Depth", make, ("regression",), {"depth": (1, 8)})
    data = (REGRESSION[0], REGRESSION[0][:, :2])
    result = compare(data, methods=[method], metrics=["r2"], cv=2)
    problem = read_problems(data)[0]
    for (train, _), row in zip(problem.folds(2, 0), result.rows):
        assert row["settings"] == {"depth": 8}
        assert row["n_tried"] == 2
        inside = set(problem.X[train, 0])
        own = [rows for rows in used if rows <= inside]
        assert len(own) == 3  # two candidates on three quarters of the rows, then all rows
        assert own[-1] == inside


def test_a_failure_is_recorded_and_does_not_stop_the_rest():
    result = compare(REGRESSION, methods={"bad": Failing(), "good": Ridge()}, metrics=["r2"], cv=2)
    assert len(result.failures) == 2
    assert "RuntimeError: does not work" in result.failures[0]["error"]
    board = result.leaderboard()
    assert [s.method for s in board] == ["good", "bad"]
    assert (board[1].n_failed, board[1].n_runs) == (2, 2)
    assert np.isnan(board[1].score)
    assert result.tested_methods() == ["good"]


def test_results_do_not_depend_on_how_many_run_at_a_time():
    one, two = (
        compare(LABELS, methods=["Tree", "RandomForest"], cv=2, n_jobs=n) for n in (1, 2)
    )  # fmt: skip
    assert timeless(one) == timeless(two)


def test_runs_in_the_file_are_not_done_again(tmp_path):
    path = tmp_path / "deep" / "results.jsonl"
    first = compare(REGRESSION, methods=["Tree", "Mean"], metrics=["r2"], cv=2, path=path)
    lines = path.read_text().splitlines()
    assert len(lines) == 1 + 4
    again = compare(REGRESSION, methods=["Tree", "Mean"], metrics=["r2"], cv=2, path=path)
    assert again.rows == first.rows
    assert path.read_text().splitlines() == lines


def test_a_killed_comparison_goes_on_and_ends_like_an_undisturbed_one(tmp_path):
    script = Path(killed_comparison.__file__)
    path = tmp_path / "results.jsonl"
    killed = subprocess.run([sys.executable, str(script), str(path)], check=False)
    assert killed.returncode == -9
    n_done = len(path.read_text().splitlines()) - 1
    assert 0 < n_done < 8
    with path.open("a") as file:
        file.write('{"dataset": "a", "meth')  # a line cut short
    resumed = killed_comparison.result_of(path)
    undisturbed = killed_comparison.result_of(tmp_path / "other.jsonl")
    assert timeless(resumed) == timeless(undisturbed)
    assert len(path.read_text().splitlines()) == 1 + 8


def test_a_configuration_sets_parameters_and_tunes_lists():
    config = {"method": "Tree", "max_depth": 1, "min_samples_leaf": [2, 3]}
    result = compare(REGRESSION, methods={"stump": config, "Tree": "Tree"}, metrics=["r2"], cv=2)
    assert result.methods("regression") == ["stump", "Tree"]
    rows = [row for row in result.rows if row["method"] == "stump"]
    assert all(row["n_nodes"] == 3 and row["n_tried"] == 2 for row in rows)
    assert all(row["settings"]["min_samples_leaf"] in (2, 3) for row in rows)
    named = compare(REGRESSION, methods=[{**config, "name": "short"}], metrics=["r2"], cv=2)
    assert named.methods("regression") == ["short"]
    with pytest.raises(ValueError, match="must name its method"):
        compare(REGRESSION, methods=[{"max_depth": 3}], metrics=["r2"], cv=2)


def test_sizes_are_counted_in_nodes_or_rules():
    result = compare(
        LABELS, methods=["Tree", "Rule", "AdaBoostMH", "SingleOutput"], metrics=["macro_f1"], cv=2
    )
    facts = {row["method"]: (row["n_nodes"], row["n_rules"]) for row in result.rows}
    assert facts["Rule"][1] == 500
    assert facts["Rule"][0] is None
    assert all(facts[name][0] > 10 for name in ("Tree", "AdaBoostMH", "SingleOutput"))


def test_curves_are_drawn_for_metrics_of_scores_too():
    row = compare(LABELS, methods=["RandomForest"], metrics=["lrap"], cv=2).rows[0]
    assert row["curve"][-1][1] == pytest.approx(row["scores"]["lrap"])


def test_baselines_take_sparse_labels():
    X, Y = LABELS
    names = [n for n, m in METHODS.items() if m.group == "baseline" and "multilabel" in m.tasks]
    dense, sparse_ = (
        compare((X, labels), methods=names, metrics=["macro_f1"], cv=2)
        for labels in (Y, sparse.csr_array(Y.astype(np.int8)))
    )
    assert sparse_.failures == []
    assert [row["scores"] for row in dense.rows] == [row["scores"] for row in sparse_.rows]


def test_a_file_of_another_comparison_is_refused(tmp_path):
    path = tmp_path / "results.jsonl"
    compare(REGRESSION, methods=["Mean"], metrics=["r2"], cv=2, path=path)
    with pytest.raises(ResultsFileError, match=r"another comparison: .*metrics.* differ"):
        compare(REGRESSION, methods=["Mean"], metrics=["arrmse"], cv=2, path=path)
    with pytest.raises(ResultsFileError, match="data differ"):
        compare(
            (REGRESSION[0], REGRESSION[1] + 1), methods=["Mean"], metrics=["r2"], cv=2, path=path
        )
    with pytest.raises(ResultsFileError, match="data differ"):
        compare(
            (REGRESSION[0] + 1, REGRESSION[1]), methods=["Mean"], metrics=["r2"], cv=2, path=path
        )
    other = tmp_path / "other.jsonl"
    compare(REGRESSION, methods={"m": Ridge(1.0)}, metrics=["r2"], cv=2, path=other)
    with pytest.raises(ResultsFileError, match="methods differ"):
        compare(REGRESSION, methods={"m": Ridge(2.0)}, metrics=["r2"], cv=2, path=other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "line 1: expected JSON"),
        ("[1]\n", "expected a results file"),
        ('{"format": 9}\n', "expected a results file"),
        ("[", "line 1: expected JSON"),
    ],
)
def test_damaged_results_files_are_refused(tmp_path, text, message):
    path = tmp_path / "results.jsonl"
    path.write_text(text)
    with pytest.raises(ResultsFileError, match=message):
        compare(REGRESSION, methods=["Mean"], metrics=["r2"], cv=2, path=path)


def test_frames_with_categories_and_gaps_are_compared():
    X = pd.DataFrame(REGRESSION[0], columns=list("abcde"))
    X.loc[::7, "a"] = np.nan
    X["kind"] = pd.Categorical(np.where(X["b"] > 0, "up", "down"))
    Y = REGRESSION[1].copy()
    Y[::5, 0] = np.nan
    methods = ["Tree", "RandomForest", "SingleOutput", "Linear"]
    result = compare({"gaps": (X, Y)}, methods=methods, metrics=["arrmse"], cv=2)
    assert result.failures == []
    assert all(s.score < 1 for s in result.leaderboard())


def test_sparse_labels_stay_sparse_for_methods_that_take_them():
    X, Y = LABELS
    result = compare(
        (X, sparse.csr_array(Y)),
        methods={"tree": TreeClassifier(max_depth=3)},
        metrics=["hamming_loss"],
        cv=2,
    )
    assert result.failures == []


def test_rows_hold_what_a_report_needs():
    row = compare(REGRESSION, methods=["RandomForest"], metrics=["r2"], cv=2).rows[0]
    assert len(row["per_output"]) == 3
    assert row["n_nodes"] > 100
    assert row["model_bytes"] > 1000
    assert row["fit_seconds"] > 0
    assert len(row["examples"]) == 5
    assert np.shape(row["importances"]) == (5, 3)
    assert row["importances_by"] == "shap"
    np.testing.assert_allclose(np.sum(row["importances"], axis=0), 1.0, atol=1e-5)
    assert row["curve"][0][0] == 1
    assert row["curve"][-1][1] == pytest.approx(row["scores"]["r2"])
    json.dumps(row, allow_nan=False)


def test_tasks_and_metrics_are_kept_apart():
    result = compare(
        {"numbers": REGRESSION, "labels": LABELS},
        methods=["Mean", "Linear", "LabelPowerset"],
        cv=2,
    )
    assert result.methods("regression") == ["Mean", "Linear"]
    assert result.methods("multilabel") == ["Mean", "Linear", "LabelPowerset"]
    assert set(result.metrics) == {"regression", "multilabel"}
    assert result.score_matrix("r2")[1].shape == (1, 2)
    assert result.friedman() is None


def test_leaderboard_ranks_methods_over_data_sets():
    data = {
        name: make_correlated_targets(100, 4, 2, random_state=i) for i, name in enumerate("abc")
    }
    result = compare(data, methods=["Mean", "Tree", "RandomForest"], metrics=["arrmse"], cv=2)
    board = result.leaderboard()
    assert [s.method for s in board] == ["RandomForest", "Tree", "Mean"]
    assert board[0].rank == 1.0
    friedman = result.friedman()
    assert friedman.n_blocks == 3
    assert dict(zip(result.tested_methods(), friedman.ranks))["RandomForest"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x",), "data must be a Dataset"),
        (([],), "at least one data set"),
        ((REGRESSION[0],), "there is no y: call compare"),
        ((REGRESSION, ["Tree"]), "second argument of compare is y"),
        ((REGRESSION[0], {"m": "Tree"}), "second argument of compare is y"),
        (((REGRESSION[0], REGRESSION[1].astype(str)),), "got outputs with classes"),
    ],
)
def test_wrong_data_are_refused(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        compare(*arguments, cv=2)


@pytest.mark.parametrize(
    ("methods", "metrics", "message"),
    [
        (["Trees"], None, "Did you mean 'Tree'"),
        ([], None, "at least one, each with a name"),
        ([Ridge(), Ridge()], None, "Give a dict"),
        ([3], None, "a name, an estimator, a Method or a dict .*; got int"),
        (["LabelPowerset"], None, "No method can do the task"),
        (["Tree"], ["lrap"], "metrics must hold one for regression"),
        (["Tree"], ["rsme"], "one of 'r2', 'arrmse', 'rmse', 'mae', 'mape' .regression.*'rmse'"),
    ],
)
def test_wrong_methods_and_metrics_are_refused(methods, metrics, message):
    with pytest.raises((ValueError, TypeError), match=message):
        compare(*REGRESSION, methods=methods, metrics=metrics, cv=2)


def test_a_few_whole_numbers_are_numbers_with_a_warning_unless_they_are_named_as_classes():
    X, Y = REGRESSION
    grades = pd.DataFrame({"grade": np.digitize(Y[:, 0], [-0.5, 0.5]) + 1, "price": Y[:, 1]})
    with pytest.warns(UserWarning, match=r"whole numbers \(grade\) .* list them in `classes`"):
        [problem] = read_problems((X, grades))
    assert problem.task == "regression"
    with pytest.warns(UserWarning, match="by regression"):
        read_problems((X, np.sign(Y[:, 0])))  # labels -1 and 1
    only = grades[["grade"]]
    board = compare(
        (X, only), methods=["Mean", "Tree"], metrics=["macro_f1"], classes=["grade"], cv=2
    )
    assert board.leaderboard()[0].method == "Tree"
    assert board.problems[0].output_names == ["grade=1", "grade=2", "grade=3"]
    assert (board.problems[0].Y.argmax(axis=1) + 1 == grades["grade"]).all()


def test_numbers_and_labels_need_no_warning(recwarn):
    assert [p.task for p in read_problems({"a": REGRESSION, "b": LABELS})] == [
        "regression",
        "multilabel",
    ]
    assert len(recwarn) == 0


def test_classes_named_by_texts_become_labels_with_gaps_where_they_are_missing():
    X = np.arange(4.0)[:, None]
    Y = pd.DataFrame({"colour": ["red", None, "blue", "red"], "ripe": ["no", "yes", "no", "no"]})
    [problem] = read_problems((X, Y), ["colour", "ripe"])
    assert problem.task == "multilabel"
    assert problem.output_names == ["colour=red", "ripe=yes"]
    np.testing.assert_array_equal(problem.Y, [[1, 0], [np.nan, 1], [0, 0], [1, 0]])


@pytest.mark.parametrize(
    ("Y", "classes", "message"),
    [
        (pd.DataFrame({"grade": [1, 2, 3, 1]}), ["grad"], "got 'grad'. Did you mean 'grade'"),
        (sparse.csr_array(np.eye(4)), ["y1"], "classes are for dense outputs"),
    ],
)
def test_classes_that_cannot_be_made_labels_are_refused(Y, classes, message):
    with pytest.raises(ValueError, match=message):
        read_problems((np.zeros((4, 1)), Y), classes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": "a"}, "cv must be a number of folds or have a method split; got 'a'"),
        ({"cv": None}, "cv must be a number of folds"),
        ({"random_state": None}, "random_state must be an integer, 0 or more; got None"),
        ({"budget": float("inf")}, "budget must be None or a number of seconds above 0; got inf"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        compare(REGRESSION, methods=["Mean"], metrics=["r2"], **({"cv": 2} | options))


def test_features_and_outputs_may_be_two_arguments():
    X, Y = REGRESSION
    options = {"methods": ["Tree"], "metrics": ["r2"], "cv": 2}
    pair, two = compare((X, Y), **options), compare(X, Y, **options)
    lists = compare(X.tolist(), Y.tolist(), **options)
    assert scores_of(pair) == scores_of(two) == scores_of(lists)


def scores_of(result):
    return [row["scores"] for row in result.rows]


def test_equal_ranks_are_ordered_by_score():
    rows = [
        {"dataset": name, "task": "regression", "method": method, "group": "own", "fold": 0,
         "scores": {"r2": score}, "fit_seconds": 1.0, "predict_seconds_per_row": 1.0}
        for name, scores in {"a": (0.2, 0.9), "b": (0.3, 0.1)}.items()
        for method, score in zip(("aa", "bb"), scores)
    ]  # fmt: skip
    problems = [replace(read_problems(REGRESSION)[0], name=name) for name in "ab"]
    result = Comparison(rows, problems, {"regression": (METRICS["r2"],)}, {})
    assert [(s.method, s.rank) for s in result.leaderboard()] == [("bb", 1.5), ("aa", 1.5)]


def test_methods_without_probabilities_have_no_log_loss_and_do_not_fail():
    methods = {"Ridge": OneVsRestClassifier(RidgeClassifier()), "Tree": "Tree"}
    metrics = ["log_loss", "macro_auc"]
    result = compare(LABELS, methods=methods, metrics=metrics, cv=2)
    assert result.failures == []
    by_method = {row["method"]: row["scores"] for row in result.rows}
    assert by_method["Ridge"]["log_loss"] is None
    assert by_method["Ridge"]["macro_auc"] > 0.5
    assert by_method["Tree"]["log_loss"] > 0
    assert [s.method for s in result.leaderboard("log_loss")] == ["Tree", "Ridge"]
