"""Rows in words: the table of explain, its text, and the command."""

import re

import numpy as np
import pandas as pd
import pytest

import polyleaf
from polyleaf.inspection import explanation_text, shap_values


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 4)).round(2), columns=["rain", "slope", "depth", "age"])
    X["use"] = rng.choice(["field", "forest"], len(X))
    return X


@pytest.fixture(scope="module")
def targets(frame):
    return pd.DataFrame(
        {
            "pH": frame["rain"] + 0.1 * frame["slope"],
            "carbon": np.where(frame["use"] == "field", 10.0, 30.0),
            "iron": 1000.0 * frame["depth"],
            "zinc": frame["age"],
        }
    )


@pytest.mark.parametrize(
    "model",
    [
        polyleaf.TreeRegressor(random_state=0),
        polyleaf.ExtraTreesRegressor(n_estimators=5, random_state=0),
        polyleaf.BoostingRegressor(n_estimators=10, random_state=0),
    ],
    ids=["tree", "forest", "boosting"],
)
def test_the_table_tells_the_largest_contributions(model, frame, targets):
    model.fit(frame, targets)
    table = model.explain(frame[:4], outputs=["pH", "carbon"], top_features=2)
    assert list(table.columns) == ["row", "output", "feature", "value", "contribution"]
    values = shap_values(model, frame[:4], outputs=["pH", "carbon"]).values
    for (row, output), lines in table.groupby(["row", "output"]):
        moves = values[row, :, ["pH", "carbon"].index(output)]
        best = np.argsort(-np.abs(moves), kind="stable")[:2]
        best = best[moves[best] != 0]
        assert lines["feature"].tolist() == frame.columns[best].tolist()
        np.testing.assert_allclose(lines["contribution"], moves[best])
        assert lines["value"].tolist() == [frame.iloc[row, f] for f in best]


def test_outputs_of_a_regressor_are_chosen_by_their_distance_from_the_expected(frame, targets):
    model = polyleaf.TreeRegressor(random_state=0).fit(frame, targets)
    table = model.explain(frame[:5], top_outputs=2)
    assert table.groupby("row")["output"].nunique().eq(2).all()
    # Iron has the largest numbers, but is not always the one that is furthest off.
    assert table["output"].nunique() > 2


def test_outputs_of_a_classifier_are_those_with_the_highest_scores(frame, targets):
    labels = (targets > targets.median()).astype(int)
    model = polyleaf.RandomForestClassifier(n_estimators=10, random_state=0).fit(frame, labels)
    table = model.explain(frame[:6], top_outputs=1)
    best = np.array(list(targets.columns))[model.predict_proba(frame[:6]).argmax(axis=1)]
    assert table.groupby("row")["output"].first().tolist() == best.tolist()


def test_the_text_reads_as_words(frame, targets):
    model = polyleaf.TreeRegressor(max_depth=3, random_state=0).fit(frame, targets)
    text = explanation_text(model.explain(frame[:2], outputs="pH", top_features=1))
    first, second = text.splitlines()[:2]
    assert first == "Row 0"
    assert re.fullmatch(r"  [a-z]+ = \S+: pH [+-][0-9.]+", second)


def test_the_table_of_a_rule_model_is_no_table_of_contributions(frame, targets):
    rules = polyleaf.RuleRegressor(n_rules=2, random_state=0)
    table = rules.fit(frame, targets[["pH", "carbon"]]).explain(frame[:1])
    assert table.shape[1] == 5  # as many columns as a table of contributions has
    with pytest.raises(TypeError, match=r"row, output, feature.*Print the table of a rule model"):
        explanation_text(table)


def test_an_unknown_output_is_answered_with_a_name(frame, targets):
    model = polyleaf.TreeRegressor(max_depth=2, random_state=0).fit(frame, targets)
    with pytest.raises(ValueError, match=r"such as 'pH'; got 'silver'"):
        model.explain(frame[:1], outputs="silver")


@pytest.mark.parametrize("wrong", [0, 1.5, "all", True])
def test_counts_must_be_positive_whole_numbers(wrong, frame, targets):
    model = polyleaf.TreeRegressor(max_depth=2).fit(frame, targets)
    for name in ("top_outputs", "top_features"):
        with pytest.raises(ValueError, match=f"{name} must be a positive whole number"):
            model.explain(frame[:1], **{name: wrong})


def test_the_command_explains_a_row(frame, targets, tmp_path):
    from typer.testing import CliRunner

    from polyleaf.cli._app import app

    data, path = tmp_path / "soil.csv", tmp_path / "soil.polyleaf"
    pd.concat([frame, targets], axis=1).to_csv(data, index=False)
    polyleaf.save(polyleaf.TreeRegressor(random_state=0).fit(frame, targets), path)
    run = CliRunner().invoke(app, ["explain", str(path), str(data), "--row", "3"])
    assert run.exit_code == 0, run.output
    assert run.output.startswith("Row 3\n")
    refused = CliRunner().invoke(app, ["explain", str(path), str(data), "--row", "80"])
    assert "from 0 to 79" in str(refused.exception)


def test_outputs_that_were_never_observed_have_no_lines(frame, targets):
    unknown = targets.assign(never=np.nan)
    model = polyleaf.RandomForestRegressor(n_estimators=2, random_state=0)
    with pytest.warns(UserWarning, match="observed"):
        model.fit(frame, unknown)
    told = model.explain(frame[:2], top_outputs=len(unknown.columns))
    assert "never" not in set(told["output"])
    assert not told["contribution"].isna().any()


def test_days_are_written_without_a_time_and_missing_dates_as_missing(frame, targets):
    dated = frame[["rain", "slope"]].assign(
        day=pd.date_range("2024-03-01", periods=80), slope=np.arange(80) % 7 / 1.0
    )
    dated.loc[1, "day"] = pd.NaT
    model = polyleaf.TreeRegressor(random_state=0).fit(dated, np.arange(80.0))
    text = explanation_text(model.explain(dated[:2]))
    assert "day = 2024-03-01: " in text
    assert "day = missing: " in text
