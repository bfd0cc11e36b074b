"""Holds a tree of the core against the reference, node by node."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from core_tree import Tree
from numpy.typing import NDArray
from problems import Problem
from reference import Mask, Reference, Rules

#: Relative and absolute error of gains. The absolute one is relative to the scores that a gain is
#: a difference of. Channels are float32 in either case and centred in it; only the sums differ.
FLOAT_TOLERANCE = (1e-4, 1e-5)
DOUBLE_TOLERANCE = (1e-6, 1e-7)
#: Settings of the grower that the reference knows about.
RULES = {field.name for field in fields(Rules)}


def side_of_split(reference: Reference, tree: Tree, node: int, rows: NDArray[Any]) -> Mask:
    """Tell which rows of a node the tree's split sends left, by the values it compares."""
    feature = int(tree.feature[node])
    missing_left = bool(tree.missing_left[node])
    if not reference.binned.is_categorical[feature]:
        assert tree.category_offset[node] == -1
        return reference.numeric_left(rows, feature, tree.threshold[node], missing_left)
    n_categories = len(reference.bins(feature)[0])
    goes_left = tree.left_categories(node, n_categories)
    return reference.category_left(rows, feature, goes_left, missing_left)


def assert_agrees(
    tree: Tree,
    problem: Problem,
    *,
    rows: NDArray[np.int32] | None = None,
    is_best: bool = True,
    greedy: bool = True,
    tolerance: tuple[float, float] | None = None,
    statistics: float = 1e-5,
    **settings: Any,
) -> None:
    """Check every node of a tree that was grown with `settings`.

    Parameters
    ----------
    is_best : bool
        Whether splits must be the best ones (not so for random cuts and drawn features).
    greedy : bool
        Whether categories are selected one by one (not so for sparse labels).
    tolerance : (float, float), optional
        Of the gains, relative and absolute; by default that of the precision of the sums.
    statistics : float
        Relative tolerance of weights (a tenth of it) and impurities.
    """
    rules = {name: value for name, value in settings.items() if name in RULES}
    reference = problem.reference(**rules)
    default = DOUBLE_TOLERANCE if settings.get("double_precision") else FLOAT_TOLERANCE
    relative, absolute = tolerance or default
    root = problem.all_rows if rows is None else rows
    least = reference.least_gain(root)
    root_impurity = reference.impurity(root)
    node_rows = tree.node_rows()
    assert np.array_equal(node_rows[0], np.sort(root))
    for node, (own, depth) in enumerate(zip(node_rows, tree.depths, strict=True)):
        impurity = reference.impurity(own)
        slack = absolute * (impurity + reference.base_score(own))
        assert_close(tree.weight[node], reference.weight(own), 0.1 * statistics)
        rounding = 0.1 * statistics * root_impurity / len(root)
        assert_close(tree.impurity[node], impurity, statistics, rounding)
        can_split = reference.can_split(own, int(depth), root)
        if tree.is_leaf[node]:
            assert tree.gain[node] == 0.0
            if can_split and is_best and settings.get("max_leaf_nodes", -1) < 0:
                best = reference.best_gain(own, greedy)
                assert best == -np.inf or best < least + relative * max(least, 0.0) + slack
            continue
        assert can_split
        left = side_of_split(reference, tree, node, own)
        assert np.array_equal(node_rows[node + 1], own[left])
        assert np.array_equal(node_rows[tree.right[node]], own[~left])
        assert min(left.sum(), (~left).sum()) >= reference.rules.min_samples_leaf
        recorded = tree.gain[node]
        assert_close(recorded, reference.gain(own, left), relative, slack)
        credited = recorded * reference.credits(own, int(tree.feature[node]), left[None])[0]
        assert credited >= least - slack
        assert credited > 0 or recorded == 0 or reference.rules.category_penalty == 0
        assert_missing_side(reference, tree, node, own, left)
        if is_best:
            assert reference.best_gain(own, greedy) <= credited * (1 + relative) + slack


def assert_close(actual: float, expected: float, relative: float, absolute: float = 0.0) -> None:
    """As `np.testing.assert_allclose` for two numbers, but quick."""
    assert abs(actual - expected) <= relative * abs(expected) + absolute


def assert_missing_side(
    reference: Reference, tree: Tree, node: int, rows: NDArray[Any], left: Mask
) -> None:
    """Where a node has seen no missing value, they go to the larger child, or left."""
    if not (reference.codes[rows, tree.feature[node]] < 0).any():
        assert bool(tree.missing_left[node]) == (2 * left.sum() >= len(rows))


def assert_same_gains(a: Tree, b: Tree, tolerance: float = 1e-4) -> None:
    """Check that two trees split the same rows in the same order, at the same gains."""
    assert a.n_nodes == b.n_nodes
    assert np.array_equal(a.n_samples, b.n_samples)
    atol = tolerance * 1e-2 * a.impurity[0] / a.n_samples[0]
    np.testing.assert_allclose(a.gain, b.gain, rtol=tolerance, atol=atol)


def assert_identical(a: Tree, b: Tree) -> None:
    """Check that two trees are equal to the last bit, and were found in the same ways."""
    for name in {field.name for field in fields(Tree)} - {"plan", "finder_counts"}:
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes(), name
    assert a.finder_counts == b.finder_counts


def assert_served(tree: Tree, *finders: str) -> None:
    """Check that each of the finders searched at least one node."""
    missing = set(finders) - set(tree.finder_counts)
    assert not missing, f"{missing} served no node; {tree.finder_counts}"
