"""Models of XGBoost and LightGBM, carried over node by node, have the Shapley values they say."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.inspection.rival_trees import PATH

import polyleaf
from polyleaf.boosting.model import BoostedTrees
from polyleaf.inspection import shap_values
from polyleaf.trees.structure import TreeStructure, join_structures

STORED = json.loads(PATH.read_text(encoding="utf-8"))
ROWS = np.array(STORED["rows"], dtype=np.float64)  # None becomes NaN


def preorder(tree):
    """Nodes with the left child right behind its parent."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if tree["feature"][node] >= 0:
            stack += [tree["right"][node], tree["left"][node]]
    return order


def carried_over(trees, base):
    """A boosted model of polyleaf with these trees."""
    structures, values, rows = [], [], []
    for tree in trees:
        order = preorder(tree)
        place = {node: number for number, node in enumerate(order)}
        feature = np.array([tree["feature"][node] for node in order], np.int32)
        right = [place[tree["right"][n]] if tree["feature"][n] >= 0 else -1 for n in order]
        nothing = np.zeros(0)
        structures.append(
            TreeStructure(
                n_categories=np.zeros(ROWS.shape[1], np.int32),
                tree_offsets=np.array([0, feature.size]),
                feature=feature,
                threshold=np.array([tree["threshold"][node] for node in order]),
                right=np.array(right, np.int32),
                missing_left=np.array([tree["missing_left"][n] for n in order], np.uint8),
                category_offset=np.full(feature.size, -1),
                category_words=np.zeros(0, np.uint32),
                n_samples=np.zeros(0, np.int64),
                weight=nothing,
                impurity=nothing,
                gain=nothing,
            )
        )
        leaves = [node for node in order if tree["feature"][node] < 0]
        values += [tree["values"][node] for node in leaves]
        rows += [tree["rows"][node] for node in leaves]
    model = polyleaf.BoostingRegressor(n_estimators=1, normalize_outputs=False)
    model.fit(np.nan_to_num(ROWS), np.zeros((len(ROWS), len(base))) + ROWS[:, [4]])
    trees = BoostedTrees(
        baseline=np.asarray(base, dtype=np.float64),
        structure=join_structures(structures),
        kind="dense",
        leaf_values=np.array(values, np.float32),
        tree_factors=None,
        tree_channels=None,
        feature_gains=np.ones(ROWS.shape[1]),
        leaf_samples=np.array(rows, np.int32),
    )
    model._fitted = replace(model._fitted, model=trees)
    return model


@pytest.mark.parametrize("name", STORED["models"])
def test_values_are_those_that_the_library_finds_itself(name):
    stored = STORED["models"][name]
    predictions = np.array(stored["predictions"])
    expected = np.array(stored["contributions"])  # rows, outputs, features and base
    model = carried_over(stored["trees"], np.zeros(predictions.shape[1]))
    base = (predictions - model.predict(ROWS))[0]
    np.testing.assert_allclose(model.predict(ROWS) + base, predictions, atol=1e-5)
    model = carried_over(stored["trees"], base)
    for rows in (ROWS, np.tile(ROWS, (4, 1))):  # few rows are walked, many look up tables
        found = shap_values(model, rows)
        values = np.moveaxis(found.values[: len(ROWS)], 1, 2)
        np.testing.assert_allclose(values, expected[:, :, :-1], atol=1e-5)
    np.testing.assert_allclose(found.base_values, expected[0, :, -1], atol=1e-5)
