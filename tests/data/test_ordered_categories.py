"""Ordered categoricals of pandas are split by their order, unless they are asked to be nominal."""

import json

import numpy as np
import pandas as pd
import pytest

import polyleaf
from polyleaf import RuleRegressor, TreeRegressor
from polyleaf.data import FeatureSchema
from polyleaf.export import rules_to_python, rules_to_sql
from polyleaf.inspection import rules_json, rules_text, tree_text

SIZES = ["small", "medium", "large", "huge"]


def frame(values, ordered=True, categories=SIZES):
    return pd.DataFrame({"size": pd.Categorical(values, categories, ordered=ordered)})


@pytest.fixture
def sizes():
    values = np.array(SIZES)[np.random.default_rng(0).integers(4, size=80)]
    place = np.array([SIZES.index(v) for v in values])
    return frame(values), np.where(place <= 1, 0.0, 10.0)


def test_codes_are_places_in_the_declared_order_and_no_categories():
    schema, encoded = FeatureSchema.fit(frame(["large", "small", None, "huge"]))
    assert np.array_equal(encoded[:, 0], [2.0, 0.0, np.nan, 3.0], equal_nan=True)
    assert not schema.is_categorical.any()
    assert schema.levels[0].tolist() == SIZES


def test_a_level_that_fit_has_not_seen_lies_between_its_neighbours(sizes):
    X, _ = sizes
    seen = (X["size"] != "medium").to_numpy()
    model = TreeRegressor(max_depth=1).fit(
        X[seen], np.where(X["size"][seen] == "small", 0.0, 10.0)
    )
    predicted = model.predict(frame(SIZES))
    assert predicted[0] == 0.0
    assert predicted[2] == predicted[3] == 10.0
    assert predicted[1] in (0.0, 10.0)


def test_an_ordered_column_is_split_as_its_places_would_be(sizes):
    X, y = sizes
    rng = np.random.default_rng(1)
    noisy = y + rng.normal(size=y.size) * X["size"].cat.codes
    codes = X["size"].cat.codes.to_numpy(float)[:, None]
    by_order = TreeRegressor(random_state=0).fit(X, noisy)
    assert np.array_equal(
        by_order.predict(X), TreeRegressor(random_state=0).fit(codes, noisy).predict(codes)
    )


def test_a_set_that_is_no_interval_takes_two_ordered_splits_and_one_nominal_one(sizes):
    X, _ = sizes
    y = np.isin(X["size"], ["small", "huge"]).astype(float)
    ordered = TreeRegressor(max_depth=1).fit(X, y)
    nominal = TreeRegressor(max_depth=1, categorical_features=["size"]).fit(X, y)
    unordered = TreeRegressor(max_depth=1).fit(frame(X["size"].to_numpy(), ordered=False), y)
    assert np.abs(ordered.predict(X) - y).max() > 0.1
    assert np.array_equal(nominal.predict(X), y)
    assert np.array_equal(unordered.predict(frame(X["size"].to_numpy(), ordered=False)), y)


def test_trees_and_rules_name_levels(sizes):
    X, y = sizes
    assert "size <= medium" in tree_text(TreeRegressor(max_depth=1).fit(X, y))
    rules = RuleRegressor(n_rules=10, bootstrap=False, random_state=0).fit(X, y)
    assert "size > medium" in rules_text(rules)
    conditions = [c for rule in json.loads(rules_json(rules)) for c in rule["body"]]
    assert {"feature": "size", "operator": "in", "value": ["large", "huge"]} in conditions
    assert "\"size\" IN ('large', 'huge')" in rules_to_sql(rules, "parcels")


def test_exported_python_agrees_with_the_model(sizes):
    X, y = sizes
    rules = RuleRegressor(n_rules=10, random_state=0).fit(X, y)
    scope = {}
    exec(rules_to_python(rules), scope)
    for size in [*SIZES, None]:
        expected = rules.predict(frame([size]))[0]
        assert scope["scores"]({"size": size})[0] == pytest.approx(expected)


@pytest.mark.parametrize("categories", [SIZES, [3, 1, 2, 7], [0.5, 0.1, 2.0, 9.0]])
def test_levels_stay_with_model_files(tmp_path, categories):
    values = np.array(categories, dtype=object)[np.random.default_rng(0).integers(4, size=40)]
    X = frame(values.tolist(), categories=categories)
    model = TreeRegressor().fit(X, X["size"].cat.codes.to_numpy(float))
    polyleaf.save(model, tmp_path / "model")
    loaded = polyleaf.load(tmp_path / "model")
    assert loaded._features.levels[0].tolist() == categories
    assert np.array_equal(loaded.predict(X), model.predict(X))


def test_damaged_levels_are_refused():
    schema, _ = FeatureSchema.fit(frame(["large", "small"]))
    stored = schema.to_json()
    for damaged in ({"0": {"kind": "str", "values": ["a", "a"]}}, {"7": {}}, ["a"]):
        with pytest.raises(ValueError, match=r"levels|categories|Feature 0"):
            FeatureSchema.from_json({**stored, "levels": damaged})
    nominal, _ = FeatureSchema.fit(frame(["large", "small"]), ["size"])
    with pytest.raises(ValueError, match="numeric features"):
        FeatureSchema.from_json({**nominal.to_json(), "levels": stored["levels"]})


def test_values_that_are_no_level_are_missing(sizes):
    X, y = sizes
    model = TreeRegressor(max_depth=1).fit(X, y)
    other = frame(["gigantic"], categories=["gigantic"])
    assert model.predict(other) == model.predict(frame([None]))
