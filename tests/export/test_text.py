import json
import sqlite3

import numpy as np
import pandas as pd
import pytest

import polyleaf
from polyleaf.export import CannotExportError, to_json, to_python, to_sql

MODELS = [
    ("TreeRegressor", {"max_depth": 6}),
    ("TreeClassifier", {"max_depth": 4}),
    ("RandomForestRegressor", {"n_estimators": 5, "max_depth": 5}),
    ("ExtraTreesClassifier", {"n_estimators": 5, "max_depth": 5}),
    ("BoostingRegressor", {"n_estimators": 5}),
    ("BoostingClassifier", {"n_estimators": 5}),
    ("RuleRegressor", {"n_rules": 20}),
    ("RuleClassifier", {"n_rules": 20}),
]


def make_frame(n, seed, n_cities):
    rng = np.random.default_rng(seed)
    cities = [f"o'{i}" for i in range(n_cities)]
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n).round(1),
            "city": rng.choice(cities, n),
            'the "code"': rng.integers(0, 20, n).astype(float),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True
            ),
        }
    )
    frame.loc[rng.random(n) < 0.1, ["size", 'the "code"']] = np.nan
    frame.loc[rng.random(n) < 0.1, ["city", "grade"]] = None
    return frame


def fitted(name, parameters):
    frame = make_frame(400, 0, n_cities=8)
    place = frame["city"].map(lambda city: 0 if pd.isna(city) else int(city[2:]))
    codes = frame['the "code"'].fillna(3)
    numbers = np.column_stack([place % 3 + codes % 4, frame["grade"].cat.codes + place])
    if "Classifier" in name:
        numbers = (numbers > 3).astype(int)
    model = getattr(polyleaf, name)(
        random_state=0, categorical_features=['the "code"', "city"], **parameters
    )
    return model.fit(frame, numbers)


def sums_of(model, frame):
    """Predictions, probabilities or scores: what the trees add up to."""
    if not hasattr(model, "predict_proba"):
        return model.predict(frame)
    if isinstance(model, polyleaf.BoostingClassifier | polyleaf.RuleClassifier):
        return model.decision_function(frame)
    return model.predict_proba(frame)


NEW = make_frame(500, 1, n_cities=12)  # with cities that fit has not seen


@pytest.mark.parametrize(("name", "parameters"), MODELS)
def test_queries_agree_with_the_model(name, parameters):
    model = fitted(name, parameters)
    with sqlite3.connect(":memory:") as database:
        NEW.astype({"grade": object}).to_sql("rows", database, index=False)
        found = pd.read_sql(to_sql(model, "rows", prefix="p_"), database)
    assert list(found.columns) == ["p_y0", "p_y1"]
    np.testing.assert_allclose(found.to_numpy(), sums_of(model, NEW), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "parameters"), [MODELS[1], MODELS[2], MODELS[4], MODELS[6]])
def test_queries_agree_with_the_model_in_duckdb(name, parameters):
    duckdb = pytest.importorskip("duckdb")
    model = fitted(name, parameters)
    rows = NEW.astype({"grade": object}).astype(object)
    rows = rows.where(rows.notna(), None)
    with duckdb.connect() as database:
        database.execute(
            'CREATE TABLE rows (size DOUBLE, city TEXT, "the ""code""" DOUBLE, grade TEXT)'
        )
        database.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", rows.to_numpy().tolist())
        found = np.array(database.execute(to_sql(model, "rows")).fetchall(), dtype=float)
    np.testing.assert_allclose(found, sums_of(model, NEW), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "parameters"), MODELS)
def test_functions_agree_with_the_model(name, parameters):
    model = fitted(name, parameters)
    space = {}
    exec(to_python(model, function_name="f"), space)  # our own source
    found = [space["f"](row) for row in NEW.to_dict(orient="records")]
    np.testing.assert_allclose(found, sums_of(model, NEW), rtol=1e-5, atol=1e-5)


def walk(node, row):
    while "values" not in node:
        value = row[node["feature"]]
        if value is None or value != value:
            side = node["missing"]
        elif "threshold" in node:
            side = "left" if value <= node["threshold"] else "right"
        else:
            side = "left" if value in node["categories"] else "right"
        node = node[side]
    return np.array(node["values"])


def test_json_holds_trees_that_can_be_walked():
    model = fitted("BoostingRegressor", {"n_estimators": 5})
    found = json.loads(to_json(model))
    known = NEW[NEW["city"].isna() | NEW["city"].isin(model._features.categories[1])]
    rows = known.to_dict(orient="records")
    sums = [found["base"] + sum(walk(tree, row) for tree in found["trees"]) for row in rows]
    np.testing.assert_allclose(sums, model.predict(known), rtol=1e-5, atol=1e-5)
    assert found["outputs"] == ["y0", "y1"]


def test_rules_are_written_as_before():
    model = fitted("RuleClassifier", {"n_rules": 5})
    assert json.loads(to_json(model))
    assert not hasattr(polyleaf.inspection, "rules_to_sql")


def test_large_and_deep_models_are_refused(monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2000, 3)), rng.normal(size=(2000, 20))
    forest = polyleaf.ExtraTreesRegressor(n_estimators=10, random_state=0).fit(X, Y)
    for write in (lambda model: to_sql(model, "t"), to_python, to_json):
        with pytest.raises(CannotExportError, match="too many for"):
            write(forest)
    monkeypatch.setattr("polyleaf.export._text._DEEPEST_PYTHON", 3)
    with pytest.raises(CannotExportError, match="nested ifs; this TreeRegressor has trees of"):
        to_python(polyleaf.TreeRegressor(max_depth=4).fit(X, Y))
