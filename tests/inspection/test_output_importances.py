from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest

from polyleaf import ExtraTreesRegressor, RuleClassifier, RuleRegressor
from polyleaf.inspection import (
    ImportanceTable,
    output_importances,
    plot_output_importances,
)


def test_table_is_labelled_by_outputs_and_features(soil_tree):
    table = output_importances(soil_tree)
    assert list(table.index) == ["carbon", "nitrogen"]
    assert list(table.columns) == ["depth", "use", "noise"]
    np.testing.assert_array_equal(table.to_numpy(), soil_tree.output_importances_)


def test_each_output_has_the_feature_it_depends_on(soil_tree):
    table = output_importances(soil_tree)
    assert table.loc["carbon"].idxmax() == "depth"
    assert table.loc["nitrogen"].idxmax() == "use"
    np.testing.assert_allclose(table.sum(axis=1), 1.0)


def test_without_pandas_a_plain_table_has_the_same_content(soil_tree, monkeypatch):
    expected = output_importances(soil_tree, output_names=["C", "N"])
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = output_importances(soil_tree, output_names=["C", "N"])
    assert isinstance(table, ImportanceTable)
    np.testing.assert_array_equal(table.values, expected.to_numpy())
    assert table.index == ["C", "N"]
    assert table.columns == ["depth", "use", "noise"]


def test_names_must_fit(soil_tree):
    with pytest.raises(ValueError, match="output_names must have 2 names; got 3"):
        output_importances(soil_tree, output_names=["a", "b", "c"])


@pytest.fixture
def wide_forest():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(80, 40)), rng.normal(size=(80, 45))
    return ExtraTreesRegressor(n_estimators=2, random_state=0).fit(X, Y)


def test_the_sum_of_many_features_takes_no_colour_from_single_ones(wide_forest):
    values = wide_forest.output_importances_
    ax = plot_output_importances(wide_forest, max_features=5)
    mesh = ax.collections[1]
    top = np.sort(values.mean(axis=0))[-5:]
    assert mesh.get_array().shape == (45, 5)
    assert mesh.norm.vmax == mesh.get_array().max() < values.sum(axis=1).max()
    np.testing.assert_allclose(np.sort(mesh.get_array().mean(axis=0)), top)
    assert ax.get_xticklabels()[-1].get_text() == "35 more"


def test_all_names_of_up_to_100_outputs_are_written(wide_forest):
    ax = plot_output_importances(wide_forest)
    assert len(ax.get_yticklabels()) == 1 + 45
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()[1:]]
    assert all(above.y0 >= below.y1 - 1 for above, below in pairwise(boxes))


@pytest.mark.parametrize("n_outputs", [1, 2, 4, 14])
def test_the_label_of_the_legend_is_not_cut_off(n_outputs):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 5)), rng.normal(size=(60, n_outputs))
    model = ExtraTreesRegressor(n_estimators=2, random_state=0).fit(X, Y)
    figure = plot_output_importances(model).figure
    figure.canvas.draw()
    (legend,) = (axes for axes in figure.axes if axes.get_label() == "<colorbar>")
    box = legend.yaxis.label.get_window_extent()
    assert box.y0 >= 0
    assert box.x1 <= figure.bbox.width + 1
    assert box.y1 <= figure.bbox.height


def test_rules_know_which_feature_an_output_depends_on():
    X = np.random.default_rng(0).normal(size=(200, 4))
    Y = np.column_stack([X[:, 0] > 0, X[:, 2] > 0, np.zeros(200)]).astype(int)
    model = RuleClassifier(n_rules=30, random_state=0).fit(X, Y)
    table = output_importances(model)
    np.testing.assert_allclose(table.sum(axis=1)[:2], 1.0)
    assert table.to_numpy()[:2].argmax(axis=1).tolist() == [0, 2]
    assert plot_output_importances(model).get_yticklabels()[1].get_text() == "y0"
    numbers = RuleRegressor(n_rules=30, random_state=0).fit(X, X[:, [3, 1]])
    assert numbers.output_importances_.argmax(axis=1).tolist() == [3, 1]


def test_importances_of_rules_are_the_variances_of_what_they_add():
    X = np.random.default_rng(1).normal(size=(100, 3))
    model = RuleRegressor(n_rules=4, max_conditions=1, bootstrap=False, random_state=0)
    model.fit(X, X[:, :2])
    expected = np.zeros((2, 3))
    covers, rules = model.covers(X), model._rules
    for number in range(1, model.n_rules_):
        feature = rules.feature[rules.body_offsets[number]]
        added = covers[:, [number]] * rules.heads()[number]
        expected[:, feature] += added.var(axis=0)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.output_importances_, expected, rtol=1e-6)


def test_models_without_importances_per_output_are_refused():
    with pytest.raises(
        TypeError, match="tree, forest, boosted or rule model of polyleaf; got object"
    ):
        output_importances(object())
