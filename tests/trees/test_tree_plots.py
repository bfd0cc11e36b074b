from __future__ import annotations

import itertools
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from polyleaf import TreeClassifier, TreeRegressor
from polyleaf.datasets import make_correlated_targets, make_multilabel
from polyleaf.inspection import plot_output_importances, plot_tree
from polyleaf.trees.layout import place_tree
from polyleaf.trees.reader import TreeReader


def _texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("n_targets", [1, 2, 14, 100, 300])
def test_no_two_texts_of_a_picture_overlap(n_targets):
    X, Y = make_correlated_targets(300, 6, n_targets, random_state=0)
    tree = TreeRegressor(max_depth=4, random_state=0).fit(X, Y)
    ax = plot_tree(tree)
    ax.figure.canvas.draw()
    boxes = [
        text.get_window_extent().shrunk(0.98, 0.9) for text in ax.texts if not text.get_rotation()
    ]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.parametrize("n_targets", [2, 14, 100])
def test_all_texts_lie_inside_the_figure(n_targets):
    X, Y = make_correlated_targets(300, 6, n_targets, random_state=0)
    names = [f"a rather long name {j}" for j in range(n_targets)]
    ax = plot_tree(TreeRegressor(max_depth=3).fit(X, Y), output_names=names)
    ax.figure.canvas.draw()
    sheet = ax.figure.bbox
    for text in ax.texts:
        box = text.get_window_extent()
        assert box.x0 >= sheet.x0 - 1, text.get_text()
        assert box.x1 <= sheet.x1 + 1, text.get_text()
        assert box.y0 >= sheet.y0 - 1, text.get_text()
        assert box.y1 <= sheet.y1 + 1, text.get_text()


def test_a_picture_tells_conditions_rows_and_means(soil, soil_tree):
    texts = _texts(plot_tree(soil_tree))
    assert "n = 240" in texts
    assert f"{soil[1]['carbon'].mean():.2f}" in texts
    assert {"carbon", "nitrogen", "yes / missing", "no"} <= set(texts)
    assert any(text.startswith("use in {") for text in texts)
    assert not any("missing" in text for text in _texts(plot_tree(soil_tree, show_missing=False)))


def test_only_shown_levels_are_drawn(soil_tree):
    texts = _texts(plot_tree(soil_tree, max_depth=1))
    assert sum(text.endswith("leaves") for text in texts) == 2


def test_of_very_many_outputs_a_hundred_are_shown():
    X, Y = make_multilabel(200, 5, 400, sparse_output=True, random_state=0)
    tree = TreeClassifier(max_depth=2, random_state=0).fit(X, Y)
    assert any(
        "100 of 400 values are shown" in text.replace("\n", " ")
        for text in _texts(plot_tree(tree))
    )
    chosen = _texts(plot_tree(tree, outputs=["y3", "y5"]))
    assert {"y3", "y5"} <= set(chosen)
    assert "y4" not in chosen


def test_a_single_leaf_and_unknown_outputs_are_drawn():
    Y = np.column_stack([np.full(4, 2.0), np.full(4, np.nan)])
    with pytest.warns(UserWarning, match="without a single observed value"):
        tree = TreeRegressor().fit(np.ones((4, 1)), Y)
    assert {"2.00", "?"} <= set(_texts(plot_tree(tree)))


def test_dollars_in_names_are_not_mathematics(soil):
    X, Y = soil
    tree = TreeRegressor(max_depth=2).fit(X.rename(columns={"depth": "$a_{"}), Y)
    plot_tree(tree, output_names=["$1", "$x^{"]).figure.canvas.draw()
    plot_output_importances(tree, output_names=["$1", "$x^{"]).figure.canvas.draw()


def test_pictures_can_be_drawn_into_given_axes(soil_tree):
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
    assert plot_tree(soil_tree, ax=left) is left
    assert plot_output_importances(soil_tree, ax=right) is right
    sizes = {text.get_fontsize() for text in left.texts}
    assert max(sizes) < 7, "fonts shrink with the axes"
    figure.canvas.draw()


def test_leaves_of_a_layout_do_not_touch():
    X, Y = make_correlated_targets(400, 6, 3, random_state=1)
    reader = TreeReader(TreeRegressor(min_samples_leaf=3, random_state=0).fit(X, Y))
    layout = place_tree(reader, None, 3)
    assert len(layout.ends) == reader.structure.n_leaves
    columns: dict[float, list[tuple[float, float]]] = {}
    for placed in layout.nodes.values():
        span = (placed.y - placed.height / 2, placed.y + placed.height / 2)
        columns.setdefault(placed.x, []).append(span)
    for spans in columns.values():
        ordered = sorted(spans)
        assert all(above[1] < below[0] for above, below in itertools.pairwise(ordered))


def test_importances_are_drawn_for_the_top_features():
    X, Y = make_correlated_targets(200, 30, 5, random_state=0)
    tree = TreeRegressor(random_state=0).fit(X, Y)
    ax = plot_output_importances(tree, max_features=4)
    labels = [label.get_text() for label in ax.get_xticklabels()]
    order = np.argsort(-tree.output_importances_.mean(axis=0), kind="stable")
    assert labels == [f"x{j}" for j in order[:4]] + ["26 more"]
    assert ax.get_yticklabels()[0].get_text() == "mean"
    drawn = tree.output_importances_[:, order[:4]]
    np.testing.assert_allclose(ax.collections[1].get_array(), drawn)
    with pytest.raises(ValueError, match="max_features must be an integer, 1 or more; got 0"):
        plot_output_importances(tree, max_features=0)


@pytest.mark.parametrize("plot", [plot_tree, plot_output_importances])
def test_without_matplotlib_the_error_says_what_to_install(soil_tree, monkeypatch, plot):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib$"):
        plot(soil_tree)


def test_a_negative_depth_is_refused(soil_tree):
    with pytest.raises(ValueError, match="max_depth must be an integer, 0 or more; got -2"):
        plot_tree(soil_tree, max_depth=-2)
