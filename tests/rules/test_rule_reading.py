"""Rules as tables, text, JSON, code and pictures."""

import itertools
import json
import sqlite3

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from polyleaf import RuleClassifier, RuleRegressor, TreeRegressor
from polyleaf.export import rules_to_python, rules_to_sql
from polyleaf.inspection import (
    plot_rules,
    rules_json,
    rules_text,
)
from polyleaf.rules.reader import RuleReader


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


def test_a_score_of_zero_has_no_minus():
    model = RuleClassifier(n_rules=1).fit([[0.0], [1.0]], [[0, 1], [1, 0]])
    assert rules_text(model) == "0: always -> y0 +0, y1 +0 (2 rows)"
    assert "-0" not in rules_json(model) + rules_to_sql(model, "t") + rules_to_python(model)


def test_sentences_hold_for_the_rows_that_rules_cover():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            100_000 + rng.permutation(120),
            1e5 + 100 * rng.random(120),
            rng.normal(size=120) * 1e-7,
            1 + np.arange(120) * 2.0**-52,
            rng.integers(0, 3, 120),
        ]
    )
    y = np.sin(X[:, 0] / 5) + np.sin(X[:, 1] / 7) + 3 * X[:, 3] * (X[:, 2] > 0)
    for max_bins in (None, 20):
        model = RuleRegressor(n_rules=200, max_bins=max_bins, random_state=0).fit(X, y)
        bodies = [line.split(": ")[1].split(" ->")[0] for line in rules_text(model).split("\n")]
        thresholds = np.unique(model._rules.value[model._rules.feature == 0])
        covers = model.covers(X)
        for body, covered in zip(bodies[1:], covers.T[1:], strict=True):
            holds = np.ones(120, dtype=bool)
            for part in body.split(" and "):
                names = {f"x{j}": X[:, j] for j in range(5)}
                if part.count("<") == 2:  # a < x <= b
                    low, name, high = part.replace("<=", "<").split(" < ")
                    holds &= (names[name] > float(low)) & (names[name] <= float(high))
                elif " > " in part:
                    name, low = part.split(" > ")
                    holds &= names[name] > float(low)
                else:
                    name, high = part.split(" <= ")
                    holds &= names[name] <= float(high)
            assert np.array_equal(holds, covered), body
        assert thresholds.size > 5


def test_numbers_are_printed_shortest_however_many_digits_are_asked_for():
    model = RuleRegressor(n_rules=2, bootstrap=False).fit([[2.5], [2.6]], [0.0, 1.0])
    assert model._rules.value.tolist() == [2.55]
    for digits in (4, 16, 17):
        assert "x0 > 2.55 " in rules_text(model, digits=digits)
    assert '"value": 2.55}' in rules_json(model)
    assert "> 2.55 " in rules_to_sql(model, "t")


def test_pictures_of_targets_are_in_standard_deviations():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    small = X[:, 0] + 0.1 * rng.normal(size=100)
    Y = np.column_stack([small, 1e6 * small])
    ax = plot_rules(RuleRegressor(n_rules=20, random_state=0).fit(X, Y))
    shown = ax.images[0].get_array()
    assert np.allclose(shown[:, 0], shown[:, 1])
    assert 0.01 < np.abs(shown).max() < 10
    assert ax.figure.axes[1].get_ylabel() == "score in standard deviations"


def test_thresholds_have_no_more_digits_than_they_need(model):
    assert max(len(word) for word in rules_text(model).split() if word[-1].isdigit()) <= 9
    X = np.array([[0.0], [1.0], [2.0], [3.0]]) / 3
    third = RuleRegressor(n_rules=2, bootstrap=False).fit(X, [0.0, 0.0, 0.0, 1.0])
    assert "0.8333 " in rules_text(third)
    assert "0.83 " in rules_text(third, digits=2)
    assert "0.83333333 " in rules_text(third, digits=8)
    assert "0.8 " in rules_text(third, digits=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_rules": -1}, "max_rules must be an integer >= 0; got -1"),
        ({"max_outputs": -1}, "max_outputs must be an integer >= 0; got -1"),
        ({"digits": 18}, "digits must be an integer from 1 to 17; got 18"),
        ({"digits": 2.5}, "digits must be an integer"),
    ],
)
def test_limits_of_text_that_make_no_sense_are_refused(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        rules_text(model, **arguments)


def test_names_and_categories_with_line_breaks_stay_on_their_line():
    X = pd.DataFrame({"two\nlines": np.resize(["a\nb", "c"], 40)})
    Y = pd.DataFrame({"out\rput": (X["two\nlines"] == "c").astype(int)})
    text = rules_text(RuleClassifier(n_rules=5, random_state=0).fit(X, Y))
    assert len(text.splitlines()) == 5
    assert r"two\nlines " in text
    assert r"out\rput" in text


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


def test_outputs_named_like_columns_of_explanations_are_told_apart(data):
    X, Y = data
    Y = Y.rename(columns={"big": "body", "odd": "rule"})
    table = RuleClassifier(n_rules=4, random_state=0).fit(X, Y).explain(X.iloc[:2])
    assert table.columns.tolist() == ["row", "rule", "body", "body (output)", "rule (output)"]


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


def test_the_picture_shows_rules_and_outputs(model):
    ax = plot_rules(model, max_rules=6)
    assert len(ax.get_yticklabels()) == 6
    assert [label.get_text() for label in ax.get_xticklabels()] == ["big", "odd"]
    ax.figure.canvas.draw()
    plt.close(ax.figure)
    for name in ("max_rules", "max_outputs"):
        with pytest.raises(ValueError, match=f"{name} must be an integer >= 1; got -1"):
            plot_rules(model, **{name: -1})


def test_the_picture_takes_dollar_signs_as_they_are(data):
    X, Y = data
    X = X.rename(columns={"width": "$w_$ in $", "z": r"\$z"})
    model = RuleClassifier(n_rules=10, random_state=0).fit(X, Y.rename(columns={"big": "$x$y$"}))
    ax = plot_rules(model)
    ax.figure.canvas.draw()
    plt.close(ax.figure)


def test_long_names_of_outputs_leave_room_for_the_rules(data):
    X, Y = data
    Y = Y.rename(columns="What do you think of {}? (very little, little, much, or all)".format)
    ax = plot_rules(RuleClassifier(n_rules=12, random_state=0).fit(X, Y))
    names = [label.get_text() for label in ax.get_xticklabels()]
    assert names == ["0: What do yo...uch, or all)", "1: What do yo...uch, or all)"]
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]  # from top to bottom
    assert all(above.y0 > below.y1 for above, below in itertools.pairwise(boxes))
    plt.close(ax.figure)


def test_other_models_are_refused():
    tree = TreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    for function in (rules_text, rules_json, plot_rules, rules_to_python):
        with pytest.raises(TypeError, match="RuleClassifier or RuleRegressor"):
            function(tree)


def test_features_whose_names_print_alike_are_told_apart():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a\nb", "a\\nb"])
    y = (X.iloc[:, 0] > 0) & (X.iloc[:, 1] <= -0.5)
    model = RuleClassifier(n_rules=20, max_features=None, bootstrap=False).fit(X, y)
    reader = RuleReader(model)
    for t in range(reader.rules.n_rules):
        # Both bounds only where they are bounds of the same feature.
        bounds = [(f, o) for f, o, _ in reader.conditions(t)]
        n_both = sum((f, ">") in bounds and (f, "<=") in bounds for f in X.columns)
        assert sum(" < " in part for part in reader.body(t).split(" and ")) == n_both


def test_a_picture_needs_a_rule():
    model = RuleRegressor(n_rules=1).fit(np.zeros((5, 1)), np.arange(5.0))
    with pytest.raises(ValueError, match="only its default rule"):
        plot_rules(model)


def test_a_list_is_a_row():
    X = np.random.default_rng(0).normal(size=(50, 2))
    numbers = RuleRegressor(n_rules=3, random_state=0).fit(X, X[:, 0])
    pd.testing.assert_frame_equal(numbers.explain(X[0].tolist()), numbers.explain(X[0]))
