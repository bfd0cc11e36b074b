from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from polyleaf import TreeClassifier, TreeRegressor
from polyleaf.datasets import make_multilabel
from polyleaf.estimator.wording import format_number
from polyleaf.inspection import tree_text
from polyleaf.trees.layout import place_tree
from polyleaf.trees.leaves import DenseLeaves
from polyleaf.trees.model import Trees
from polyleaf.trees.reader import TreeReader
from polyleaf.trees.structure import TreeStructure


def test_text_has_one_line_per_branch_and_tells_rows(soil_tree):
    lines = tree_text(soil_tree).split("\n")
    n_nodes = soil_tree._trees.structure.n_nodes
    assert len(lines) == 2 + n_nodes - 1
    assert lines[0] == (
        f"TreeRegressor: 2 outputs, {soil_tree.get_n_leaves()} leaves, depth 3, 240 training rows"
    )
    assert sum("carbon" in line for line in lines[2:]) == soil_tree.get_n_leaves()


def test_each_split_sends_missing_values_one_way(soil_tree):
    n_splits = soil_tree.get_n_leaves() - 1
    text = tree_text(soil_tree)
    assert text.count(" or missing  [") + text.count(" is missing  [") == n_splits
    assert " or missing" not in tree_text(soil_tree, show_missing=False)


def test_cut_off_branches_are_summed_up(soil_tree):
    lines = tree_text(soil_tree, max_depth=1).split("\n")
    assert len(lines) == 4
    assert all("leaves below]  carbon" in line for line in lines[2:])


def test_of_many_outputs_those_that_deviate_most_are_named():
    quarter = np.repeat(np.arange(4), 25)
    Y = np.zeros((100, 50))
    Y[quarter == 0, 7] = 0.001
    Y[quarter == 0, 30] = -0.001
    Y[:, 12] = 1e6 * (quarter % 2)  # a large unit is not a large deviation
    tree = TreeRegressor(random_state=0).fit(quarter[:, None], Y)
    leaves = tree_text(tree, max_outputs=2).split("\n")
    expected = "[25 rows]  y7 0.001 (+0.00075), y30 -0.001 (-0.00075), 48 more"
    assert sum(leaf.endswith(expected) for leaf in leaves) == 1


def test_rare_labels_are_compared_by_their_own_spread():
    X = np.repeat([0.0, 1.0], [95, 5])[:, None]
    Y = np.column_stack([np.tile([0, 1], 50), X[:, 0] == 1, np.zeros(100)]).astype(int)
    text = tree_text(TreeClassifier(max_depth=1).fit(X, Y), max_outputs=1)
    assert "[5 rows]  y1 1 (+0.95), 2 more" in text


def test_outputs_can_be_chosen_and_named(soil_tree):
    text = tree_text(soil_tree, outputs=["N"], output_names=["C", "N"])
    assert "N " in text
    assert "C " not in text


def test_a_single_leaf_is_written_as_one():
    tree = TreeRegressor().fit([[1.0], [1.0]], [[2.0, 3.0], [2.0, 3.0]])
    assert tree_text(tree).split("\n")[2] == "A single leaf: y0 2 (+0), y1 3 (+0)"


def test_an_output_that_was_never_observed_is_unknown():
    X = np.arange(6.0)[:, None]
    with pytest.warns(UserWarning, match="without a single observed value"):
        tree = TreeRegressor(max_depth=1).fit(X, np.column_stack([X[:, 0], np.full(6, np.nan)]))
    assert "y1 unknown" in tree_text(tree)


def test_sparse_labels_are_readable():
    X, Y = make_multilabel(150, 4, 500, sparse_output=True, random_state=0)
    text = tree_text(TreeClassifier(max_depth=2, random_state=0).fit(X, Y))
    assert "probabilities" in text
    assert "495 more" in text


@pytest.mark.parametrize("parameter", ["max_depth", "decimals", "max_outputs"])
def test_negative_limits_are_refused(soil_tree, parameter):
    with pytest.raises(ValueError, match=rf"{parameter} must be an integer, 0 or more; got -1"):
        tree_text(soil_tree, **{parameter: -1})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.5, "-0.5"),
        (100.0, "100"),
        (1234.5678, "1234.568"),
        (0.00012345, "0.000123"),
        (3e-9, "3e-09"),
        (2.5e12, "2.5e+12"),
        (np.inf, "inf"),
    ],
)
def test_numbers_keep_their_leading_digits(value, text):
    assert format_number(value, 3) == text


def _chain(n_leaves: int) -> Trees:
    """A tree whose every split cuts off a single leaf."""
    n_nodes = 2 * n_leaves - 1
    is_split = (np.arange(n_nodes) % 2 == 0) & (np.arange(n_nodes) < n_nodes - 1)
    nodes = np.arange(n_nodes)
    structure = TreeStructure(
        n_categories=np.zeros(1, np.int32),
        tree_offsets=np.array([0, n_nodes]),
        feature=np.where(is_split, 0, -1).astype(np.int32),
        threshold=nodes / 2,
        right=np.where(is_split, nodes + 2, -1).astype(np.int32),
        missing_left=np.zeros(n_nodes, np.uint8),
        category_offset=np.full(n_nodes, -1),
        category_words=np.zeros(0, np.uint32),
        n_samples=np.where(is_split, n_leaves - nodes // 2, 1),
        weight=np.ones(n_nodes),
        impurity=np.ones(n_nodes),
        gain=np.ones(n_nodes),
    )
    return Trees(
        structure, DenseLeaves(np.arange(n_leaves)[:, None] + 0.0, np.ones((n_leaves, 1)))
    )


def test_a_tree_may_be_deeper_than_python_recurses():
    n_leaves = 2 * sys.getrecursionlimit()
    tree = TreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    tree._fitted = replace(tree._fitted, trees=_chain(n_leaves))
    assert tree_text(tree, show_missing=False).count("\n") == 2 * (n_leaves - 1) + 1
    assert len(place_tree(TreeReader(tree), None, 1).ends) == n_leaves
