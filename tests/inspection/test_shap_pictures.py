"""Pictures of Shapley values show what was found; shap explains converted models alike."""

import numpy as np
import pandas as pd
import pytest

import polyleaf
from polyleaf.inspection import (
    plot_shap_dependence,
    plot_shap_difference,
    plot_shap_map,
    plot_shap_swarm,
    plot_shap_waterfall,
    shap_values,
    to_shap,
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5)).round(2)
    X[rng.random(X.shape) < 0.1] = np.nan
    known = np.nan_to_num(X)
    return X, np.column_stack([known[:, 0], 5 * known[:, 1], known[:, 0] * known[:, 2]])


@pytest.fixture(scope="module")
def found(data):
    return shap_values(polyleaf.TreeRegressor(max_depth=4, random_state=0).fit(*data), data[0])


def tick_names(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_map_has_a_row_per_output_and_a_column_per_feature(found, data):
    ax = plot_shap_map(found)
    assert tick_names(ax.yaxis) == ["mean", "y0", "y1", "y2"]
    assert set(tick_names(ax.xaxis)) == {"x0", "x1", "x2", "x3", "x4"}
    model = polyleaf.TreeRegressor(max_depth=4, random_state=0).fit(*data)
    reduced = plot_shap_map(shap_values(model, data[0], reduce="mean_abs"))
    for a, b in zip(ax.collections, reduced.collections):
        np.testing.assert_allclose(a.get_array(), b.get_array(), rtol=1e-5)
    many = polyleaf.TreeRegressor(max_depth=3).fit(data[0], np.tile(data[1], 34)[:, :100])
    assert len(tick_names(plot_shap_map(shap_values(many, data[0])).yaxis)) == 101


def test_swarm_has_a_dot_per_row_and_feature(found):
    ax = plot_shap_swarm(found, "y2", max_features=2)
    assert sum(len(dots.get_offsets()) for dots in ax.collections) == 2 * 120
    names = tick_names(ax.yaxis)
    sizes = np.abs(found.values[:, :, 2]).mean(axis=0)
    assert names == [f"x{f}" for f in np.argsort(-sizes)[:2]]


def test_waterfall_leads_to_the_prediction(found, data):
    ax = plot_shap_waterfall(found, row=7, output="y1", max_features=2)
    end = ax.patches[-1].get_x() + ax.patches[-1].get_width()
    predicted = (
        polyleaf.TreeRegressor(max_depth=4, random_state=0).fit(*data).predict(data[0][7:8])[0, 1]
    )
    assert end == pytest.approx(predicted, abs=1e-5)
    assert any("more" in name for name in tick_names(ax.yaxis)) == (len(ax.patches) == 3)


def test_difference_points_to_both_outputs(found):
    for row in (None, 3):
        label = plot_shap_difference(found, "y0", "y1", row=row).get_xlabel()
        assert label.index("y1") < label.index("y0")


def test_dependence_has_a_panel_per_output(found, data):
    assert plot_shap_dependence(found, "x0", color_by=2).size == 3
    assert plot_shap_dependence(found, 1, outputs="y1").size == 1
    many = polyleaf.TreeRegressor(max_depth=3).fit(data[0], np.tile(data[1], 10))
    assert plot_shap_dependence(shap_values(many, data[0]), 0).size == 16


@pytest.fixture(scope="module")
def soils():
    rng = np.random.default_rng(0)
    use = rng.choice(["field", "forest", "meadow"], 90)
    X = pd.DataFrame({"use": use, "rain": rng.integers(300, 900, 90).astype(float)})
    X["state"] = pd.Categorical(
        rng.choice(["poor", "fair", "good"], 90), categories=["poor", "fair", "good"], ordered=True
    )
    X.loc[7, "use"] = None
    y = (use == "forest") * X["rain"] + 100.0 * X["state"].cat.codes
    return shap_values(polyleaf.TreeRegressor(max_depth=5, random_state=0).fit(X, y), X), X


def test_categories_are_drawn_by_their_names(soils):
    found, X = soils
    names = tick_names(plot_shap_waterfall(found, row=3).yaxis)
    assert f"use = {X['use'][3]}" in names
    assert f"state = {X['state'][3]}" in names
    assert "use = missing" in tick_names(plot_shap_waterfall(found, row=7).yaxis)
    assert tick_names(plot_shap_dependence(found, "use")[0].xaxis) == ["field", "forest", "meadow"]
    for by, expected in (
        ("use", ["field", "forest", "meadow"]),
        ("state", ["poor", "fair", "good"]),
    ):
        panel = plot_shap_dependence(found, "rain", color_by=by)[0]
        (bar,) = (ax for ax in panel.figure.axes if ax is not panel)
        assert tick_names(bar.yaxis) == expected
        panel.collections[0].update_scalarmappable()
        assert len(np.unique(panel.collections[0].get_facecolor(), axis=0)) == 3 + (by == "use")


def test_numbers_too_large_for_a_code_are_coloured(data):
    X = np.nan_to_num(data[0])
    X[3, 2] = 1e300
    found = shap_values(polyleaf.TreeRegressor(max_depth=3).fit(X, data[1]), X)
    assert plot_shap_dependence(found, 0, color_by=2).size == 3


def test_a_swarm_does_not_order_categories(soils):
    found, _ = soils
    ax = plot_shap_swarm(found)
    place = tick_names(ax.yaxis).index("use")
    grey, coloured = ax.collections[2 * place : 2 * place + 2]
    assert (len(grey.get_offsets()), len(coloured.get_offsets())) == (90, 0)


def test_times_are_drawn_as_times():
    X = pd.DataFrame({"seen": pd.date_range("2020-01-01", periods=80)})
    X["age"] = pd.to_timedelta(np.tile([12, 36], 40), unit="h")
    X.loc[5, "seen"] = None
    y = np.arange(80.0) + 50 * np.tile([0, 1], 40)
    found = shap_values(polyleaf.TreeRegressor(max_depth=5, random_state=0).fit(X, y), X)
    names = tick_names(plot_shap_waterfall(found, row=3).yaxis)
    assert set(names) == {"seen = 2020-01-04", "age = 1.5 days"}
    (panel,) = plot_shap_dependence(found, "seen")
    panel.figure.canvas.draw()
    assert any(month in "".join(tick_names(panel.xaxis)) for month in ("Feb", "Mar"))
    (panel,) = plot_shap_dependence(found, "age")
    assert panel.get_xlabel() == "age in days"
    assert set(panel.collections[0].get_offsets()[:, 0].tolist()) == {0.5, 1.5}


def test_wrong_arguments_are_explained(found, data):
    model = polyleaf.TreeRegressor(max_depth=4, random_state=0).fit(*data)
    with pytest.raises(ValueError, match="3 were explained: give output="):
        plot_shap_swarm(found)
    with pytest.raises(ValueError, match="one of the 120 rows"):
        plot_shap_waterfall(found, row=120, output=0)
    with pytest.raises(ValueError, match="number below 5"):
        plot_shap_dependence(found, "z")
    reduced = shap_values(model, data[0], reduce="mean_abs")
    with pytest.raises(ValueError, match="without reduce"):
        plot_shap_swarm(reduced, 0)
    top = shap_values(model, data[0], top_outputs=1)
    for draw in (plot_shap_map, lambda f: plot_shap_swarm(f, 0)):
        with pytest.raises(ValueError, match="its own outputs"):
            draw(top)


MODELS = {
    "tree": polyleaf.TreeRegressor(random_state=0),
    "forest": polyleaf.RandomForestRegressor(n_estimators=3, max_depth=6, random_state=0),
    "boosting": polyleaf.BoostingRegressor(n_estimators=4, early_stopping=False, random_state=0),
    "linear": polyleaf.BoostingRegressor(
        n_estimators=4, leaf_fit="linear", early_stopping=False, random_state=0
    ),
    "rules": polyleaf.RuleRegressor(n_rules=10, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_shap_explains_converted_models_alike(name, data):
    shap = pytest.importorskip("shap")
    model = MODELS[name].fit(*data)
    ours = shap_values(model, data[0][:20])
    explainer = shap.TreeExplainer(to_shap(model), feature_perturbation="tree_path_dependent")
    theirs = explainer.shap_values(data[0][:20], check_additivity=False)
    np.testing.assert_allclose(ours.values, theirs, atol=1e-5)
    np.testing.assert_allclose(ours.base_values, explainer.expected_value, atol=1e-9)
    one = shap.TreeExplainer(
        to_shap(model, outputs="y1"), feature_perturbation="tree_path_dependent"
    ).shap_values(data[0][:20], check_additivity=False)
    np.testing.assert_allclose(ours.values[:, :, 1], np.squeeze(one), atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_converted_trees_predict_the_same(name, data):
    model = MODELS[name].fit(*data)
    predicted = np.zeros(data[1].shape)
    for tree in to_shap(model)["trees"]:
        for i, row in enumerate(data[0]):
            node = 0
            while tree["children_left"][node] >= 0:
                value = row[tree["features"][node]]
                side = "left" if value <= tree["thresholds"][node] else "right"
                side = "default" if np.isnan(value) else side
                node = tree[f"children_{side}"][node]
            predicted[i] += tree["values"][node]
    np.testing.assert_allclose(predicted, model.predict(data[0]), rtol=1e-5, atol=1e-5)


def test_sets_of_categories_cannot_be_converted(data):
    X = pd.DataFrame({"kind": list("abcdef") * 20})
    y = X["kind"].isin(["a", "d"]).to_numpy().astype(float)
    model = polyleaf.TreeRegressor().fit(X, y)
    with pytest.raises(ValueError, match="sets of categories"):
        to_shap(model)
    with pytest.raises(TypeError, match="got str"):
        to_shap("model")
