"""Exported rules do what the model does where inputs are out of the ordinary."""

import json
import sqlite3

import numpy as np
import pandas as pd
import pytest

from polyleaf import RuleClassifier, RuleRegressor
from polyleaf.export import rules_to_python, rules_to_sql
from polyleaf.inspection import rules_json


def python_scores(model, X):
    space = {}
    exec(rules_to_python(model), space)  # our own source
    rows = X.astype(object).where(X.notna(), None).to_dict("records")
    return np.array([space["scores"](row) for row in rows])


def sql_scores(model, X, table="t"):
    with sqlite3.connect(":memory:") as database:
        X.to_sql("t", database, index=False)
        return pd.read_sql(rules_to_sql(model, table), database).to_numpy()


@pytest.fixture(scope="module")
def colours():
    """Rules with =, !=, is missing and is known on strings, numbers and truth values."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "c": rng.choice(["a", "b", "it's", None], 200),
            "n": rng.choice([1.0, 2.0, 5.0, np.nan], 200),
            "flag": rng.choice([True, False], 200),
            "z": rng.normal(size=200),
        }
    )
    Y = np.column_stack(
        [X["c"] == "a", X["c"].isna() ^ (X["z"] > 0), X["n"].isna() | X["flag"], X["n"] == 2.0]
    ).astype(int)
    model = RuleClassifier(n_rules=120, categorical_features=["n"], random_state=0).fit(X, Y)
    bodies = " ".join(model.rules_["body"])
    for part in ("c !=", "c is missing", "c is known", "n !=", "n is missing", "flag !="):
        assert part in bodies
    return X, model


@pytest.mark.parametrize("export", [python_scores, sql_scores])
def test_categories_that_fit_has_not_seen_are_missing_in_exports_too(colours, export):
    X, model = colours
    new = pd.DataFrame(
        {
            "c": ["violet", "a", None, "violet", "b", "it's"],
            "n": [2.0, 7.0, np.nan, 7.0, 1.5, 5.0],
            "flag": [True, False, True, False, True, False],
            "z": [0.5, -0.5, 0.1, -1.0, 2.0, np.nan],
        }
    )
    for rows in (X, new):
        assert np.allclose(export(model, rows), model.decision_function(rows))


def test_the_exported_function_leaves_its_row_alone(colours):
    _, model = colours
    space = {}
    exec(rules_to_python(model, function_name="f"), space)
    row = {"c": "violet", "n": 1.0, "flag": True, "z": 0.0}
    space["f"](row)
    assert row["c"] == "violet"
    for name in ("class", "None", "two words"):
        with pytest.raises(ValueError, match="identifier and no keyword"):
            rules_to_python(model, function_name=name)


def test_a_query_of_thousands_of_rules_runs():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    y = np.sin(3 * X["a"]) * X["b"]
    model = RuleRegressor(n_rules=3000, learning_rate=0.02, random_state=0).fit(X, y)
    assert model.n_rules_ == 3000
    assert np.allclose(sql_scores(model, X)[:, 0], model.predict(X))


def test_infinite_thresholds_are_written_as_each_language_can():
    X = pd.DataFrame({"x": np.resize([-np.inf, 1.0, 2.0, np.inf], 80)})
    y = np.resize([5.0, 0.0, 1.0, -3.0], 80)
    model = RuleRegressor(n_rules=60, random_state=0).fit(X, y)
    assert np.isinf(model._rules.value).any()
    assert np.allclose(python_scores(model, X)[:, 0], model.predict(X))
    assert np.allclose(sql_scores(model, X)[:, 0], model.predict(X))

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    rules = json.loads(rules_json(model), parse_constant=refuse)
    values = {c["value"] for rule in rules for c in rule["body"]}
    assert "-inf" in values
    assert float("-inf") in {float(value) for value in values}


def test_a_table_may_be_named_by_its_parts(colours):
    X, model = colours
    expected = model.decision_function(X)
    assert np.allclose(sql_scores(model, X, ("main", "t")), expected)
    assert 'FROM "main"."t"' in rules_to_sql(model, ("main", "t"))
    assert 'FROM "main.t"' in rules_to_sql(model, "main.t")
    with pytest.raises(ValueError, match="table must be a name or the parts of one"):
        rules_to_sql(model, ())


def test_exported_python_compares_short_numbers_as_the_model_does():
    rng = np.random.default_rng(0)
    X = np.float32(1) + rng.integers(0, 6, (300, 2)).astype(np.float32) * np.float32(2**-23)
    model = RuleClassifier(n_rules=10, random_state=0).fit(X, X - np.median(X, axis=0) > 0)
    space = {}
    exec(rules_to_python(model), space)
    found = [space["scores"]({"x0": row[0], "x1": row[1]}) for row in X]
    np.testing.assert_allclose(found, model.decision_function(X), rtol=1e-12)


def test_exported_python_takes_every_kind_of_missing_value():
    X = np.arange(8.0).reshape(-1, 1)
    model = RuleRegressor(n_rules=3, bootstrap=False).fit(X, X[:, 0] > 3)
    space = {}
    exec(rules_to_python(model), space)
    expected = model.predict([[np.nan]]).tolist()
    for missing in (None, np.nan, pd.NA, pd.NaT):
        assert space["scores"]({"x0": missing}) == pytest.approx(expected)


@pytest.mark.parametrize("table", [None, "", 3, ("schema", "")])
def test_a_table_needs_a_name(colours, table):
    _, model = colours
    with pytest.raises(ValueError, match="table must be a name or the parts of one"):
        rules_to_sql(model, table)


def test_names_of_classes_that_coincide_are_told_apart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    picked = np.arange(90) % 3
    Y = pd.DataFrame(
        {
            "a": np.array(["b=c", "x", "z"])[picked],
            "a=b": np.array(["c", "d", "e"])[(picked + (X[:, 0] > 0)) % 3],
        }
    )
    model = RuleClassifier(n_rules=3, random_state=0).fit(X, Y)
    assert len(json.loads(rules_json(model))[0]["head"]) == 6
