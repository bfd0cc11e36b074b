"""Rules as tables, text, JSON, code and pictures; smaller models."""

import json
import sqlite3

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from ramify import RuleClassifier, RuleRegressor, TreeRegressor
from ramify.inspection import (
    plot_rules,
    rules_json,
    rules_text,
    rules_to_python,
    rules_to_sql,
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "width": rng.normal(size=160),
            "it's": rng.choice(["a'b", "c"], 160),
            "z": rng.random(160),
        }
    )
    X.loc[::9, "width"] = np.nan
    width = X["width"].fillna(3.0)
    Y = pd.DataFrame({"big": (width > 0).astype(int), "odd": (X["it's"] == "c").astype(int)})
    return X, Y


@pytest.fixture(scope="module")
def model(data):
    return RuleClassifier(n_rules=25, random_state=0).fit(*data)


def test_the_table_has_a_line_per_rule(data, model):
    table = model.rules_
    assert table.columns.tolist() == ["body", "head", "coverage", "support", "gain"]
    assert len(table) == model.n_rules_ == 25
    assert table["body"][0] == "always"
    assert table["coverage"][0] == 160
    assert np.allclose(table["support"], table["coverage"] / 160)
    assert np.array_equal(table["coverage"], model.covers(data[0]).sum(axis=0))
    assert (table["gain"] >= 0).all()


def test_text_names_features_categories_and_outputs(model):
    text = rules_text(model)
    assert text.count("\n") == 24
    assert "width > " in text
    assert "it's = a'b" in text
    assert "big +" in text
    assert rules_text(model, max_rules=2).endswith("... and 23 more rules")


def test_json_holds_the_whole_rules(data, model):
    rules = json.loads(rules_json(model))
    scores = np.zeros((160, 2))
    X, _ = data
    compare = {
        "<=": lambda x, v: x <= v,
        ">": lambda x, v: x > v,
        "=": lambda x, v: x == v,
        "!=": lambda x, v: x != v,
        "is missing": lambda x, v: x.isna(),
        "is known": lambda x, v: ~x.isna(),
    }
    for rule in rules:
        covered = np.ones(160, dtype=bool)
        for c in rule["body"]:
            covered &= compare[c["operator"]](X[c["feature"]], c["value"]).to_numpy()
        scores += covered[:, None] * [rule["head"][name] for name in ("big", "odd")]
    assert np.allclose(scores, model.decision_function(X))


def test_explanations_add_up_to_the_scores(data, model):
    X, _ = data
    table = model.explain(X.iloc[:4])
    sums = table.groupby("row")[["big", "odd"]].sum().to_numpy()
    assert np.allclose(sums, model.decision_function(X.iloc[:4]))
    assert set(table["rule"]) <= set(range(25))


def test_a_single_row_is_explained_as_a_table_of_one(data, model):
    X, _ = data
    expected = model.explain(X.iloc[3:4])
    assert model.explain(X.iloc[3]).equals(expected)
    numbers = RuleClassifier(n_rules=5, random_state=0).fit(X[["z"]].to_numpy(), data[1])
    assert numbers.explain(np.array([0.3])).equals(numbers.explain([[0.3]]))


def test_exported_python_computes_the_scores(data, model):
    X, _ = data
    space = {}
    exec(rules_to_python(model), space)  # our own source
    rows = X.astype(object).where(X.notna(), None).to_dict("records")
    assert np.allclose([space["scores"](row) for row in rows], model.decision_function(X))
    with pytest.raises(ValueError, match="identifier"):
        rules_to_python(model, function_name="1x")


def test_exported_sql_computes_the_scores(data, model):
    X, _ = data
    with sqlite3.connect(":memory:") as database:
        X.to_sql("rows of X", database, index=False)
        found = pd.read_sql(rules_to_sql(model, "rows of X", prefix="score_"), database)
    assert found.columns.tolist() == ["score_big", "score_odd"]
    assert np.allclose(found, model.decision_function(X))


def test_a_selection_is_a_working_model(data, model):
    X, _ = data
    chosen = model.select([3, 5])
    assert chosen.n_rules_ == 3
    assert chosen.rules_["body"].tolist() == model.rules_["body"][[0, 3, 5]].tolist()
    heads = model._rules.heads()
    covers = model.covers(X)[:, [0, 3, 5]]
    assert np.allclose(chosen.decision_function(X), covers @ heads[[0, 3, 5]])
    assert model.n_rules_ == 25
    assert model.select(np.arange(25) < 7).n_rules_ == 7
    for wrong in ([99], [[1]], [0.5], "x"):
        with pytest.raises(ValueError, match="rules must be"):
            model.select(wrong)


def test_pruning_keeps_the_loss_with_fewer_rules(data, model):
    X, Y = data
    smaller = model.prune(X, Y, tolerance=0.1)
    assert smaller.n_rules_ < model.n_rules_
    assert smaller.loss_ <= 1.1 * smaller.full_loss_
    assert model.prune(X, Y, n_rules=3).n_rules_ <= 3
    signs = 2.0 * Y.to_numpy() - 1
    loss = np.log1p(np.exp(-signs * smaller.decision_function(X))).sum(axis=1).mean()
    assert np.isclose(loss, smaller.loss_)
    with pytest.raises(ValueError, match="outputs and classes of fit"):
        model.prune(X, Y[["big"]])


def test_pruning_a_regression_in_its_own_units():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    Y = np.column_stack([1000 * X[:, 0], X[:, 1] + 5])
    model = RuleRegressor(n_rules=80, random_state=0).fit(X, Y)
    smaller = model.prune(X, Y, tolerance=0.2)
    assert smaller.n_rules_ < 80
    errors = (smaller.predict(X) - Y) / Y.std(axis=0)
    assert np.isclose(0.5 * (errors**2).sum(axis=1).mean(), smaller.loss_)


def test_the_picture_shows_rules_and_outputs(model):
    ax = plot_rules(model, max_rules=6)
    assert len(ax.get_yticklabels()) == 6
    assert [label.get_text() for label in ax.get_xticklabels()] == ["big", "odd"]
    ax.figure.canvas.draw()
    plt.close(ax.figure)


def test_other_models_are_refused():
    tree = TreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    for function in (rules_text, rules_json, plot_rules, rules_to_python):
        with pytest.raises(TypeError, match="RuleClassifier or RuleRegressor"):
            function(tree)
