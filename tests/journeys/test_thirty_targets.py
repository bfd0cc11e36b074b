"""A data scientist with a table of thirty targets: compare, fit, judge, keep, predict new rows."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import polyleaf
from polyleaf.datasets import make_correlated_targets
from polyleaf.experiments import compare
from polyleaf.inspection import output_importances, plot_output_importances

TARGETS = [f"sensor {j}" for j in range(30)]


@pytest.fixture(scope="module")
def table():
    X, Y = make_correlated_targets(240, 8, 30, random_state=0)
    frame = pd.DataFrame(X, columns=[f"setting {j}" for j in range(8)])
    frame["machine"] = np.where(X[:, 0] > 0, "old", "new")
    frame.loc[::17, "setting 3"] = np.nan
    return frame, pd.DataFrame(Y, columns=TARGETS)


def test_from_a_data_frame_to_predictions_of_new_rows(table, tmp_path):
    X, Y = table
    model = polyleaf.BoostingRegressor(n_estimators=40, eval_metric="rmse", random_state=0)
    rows = [(X[:160], Y[:160]), (X[160:200], Y[160:200])]
    model.fit(X[:160], Y[:160], eval_set=rows)
    per_target = model.history_["validation_score_per_output"]
    assert per_target.shape == (model.n_estimators_, 30)
    assert model.history_["validation_0_loss"][-1] < model.history_["validation_1_loss"][-1]

    judged = polyleaf.evaluate(model, X[200:], Y[200:], ["r2", "rmse", "mae"])
    assert judged["r2"] > 0.3
    assert list(judged.by_output()) == TARGETS

    path = tmp_path / "sensors.polyleaf"
    polyleaf.save(model, path)
    kept = polyleaf.load(path)
    shuffled = X[200:][::-1]
    predicted = pd.DataFrame(kept.predict(shuffled), shuffled.index, kept.output_names_)
    np.testing.assert_array_equal(predicted.to_numpy()[::-1], model.predict(X[200:]))


def test_which_settings_matter_for_which_sensor(table):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, Y = table
    forest = polyleaf.ExtraTreesRegressor(n_estimators=10, random_state=0).fit(X, Y)
    importances = output_importances(forest)
    assert importances.shape == (30, 9)
    ax = plot_output_importances(forest, max_features=4)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["mean", *TARGETS]


def test_a_comparison_leads_to_a_model_file(table, tmp_path):
    X, Y = table
    frame = pd.concat([X.drop(columns="machine"), Y[TARGETS[:3]]], axis=1)
    frame.to_csv(tmp_path / "sensors.csv", index=False)
    methods = ["Mean", {"method": "Tree", "max_depth": [2, 6]}, "Linear"]
    result = compare(X, Y, methods=methods, metrics=["rmse", "r2"], cv=2)
    assert result.leaderboard("rmse")[-1].method == "Mean"
    assert result.best_estimator(refit=True).predict(X[:2]).shape == (2, 30)
    assert result.report(tmp_path / "report").name == "report.html"

    def command(*arguments):
        code = "from polyleaf.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments), "--json"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    # The report was on another table: the method and its settings carry over.
    told = command(
        "fit", tmp_path / "sensors.csv", "--targets", ",".join(TARGETS[:3]),
        "--from", tmp_path / "report", "--out", tmp_path / "model.polyleaf",
    )  # fmt: skip
    assert told["estimator"] == "TreeRegressor"
    model = polyleaf.load(tmp_path / "model.polyleaf")
    assert model.max_depth == 6
    assert list(model.output_names_) == TARGETS[:3]
