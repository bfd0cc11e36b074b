"""The F-test: statistic, critical value, nested trees and the choice of the level."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from tests.core.training_problems import make_training_data, smooth_problem

from polyleaf.trees.growing import TreeSettings, fit_tree, grow_structure
from polyleaf.trees.pruning import (
    F_TEST_LEVELS,
    choose_f_test_level,
    collapse,
    is_significant,
    prune_by_f_test,
)
from polyleaf.trees.pruning_level import cross_validated_level
from polyleaf.trees.structure import TreeStructure


def hand_made_tree(n_samples, impurity, gain):
    """A root with two leaves."""
    return TreeStructure(
        n_categories=np.zeros(1, np.int32),
        tree_offsets=np.array([0, 3], np.int64),
        feature=np.array([0, -1, -1], np.int32),
        threshold=np.zeros(3),
        right=np.array([2, -1, -1], np.int32),
        missing_left=np.zeros(3, np.uint8),
        category_offset=np.full(3, -1, np.int64),
        category_words=np.zeros(0, np.uint32),
        n_samples=np.array([n_samples, n_samples // 2, n_samples - n_samples // 2], np.int64),
        weight=np.array([n_samples, n_samples / 2, n_samples / 2]),
        impurity=np.array([impurity, 1.0, 1.0]),
        gain=np.array([gain, 0.0, 0.0]),
    )


@pytest.mark.parametrize("n_samples", [4, 10, 100])
@pytest.mark.parametrize("level", [0.001, 0.05, 0.5])
def test_a_split_stays_exactly_if_its_p_value_is_below_the_level(n_samples, level):
    critical = stats.f.ppf(1 - level, 1, n_samples - 2)
    # F = (n - 2) gain / (impurity - gain), solved for the gain.
    gain_at = critical / (n_samples - 2 + critical)
    for factor, stays in ((0.999, False), (1.001, True)):
        gain = gain_at * factor
        statistic = (n_samples - 2) * gain / (1.0 - gain)
        assert (stats.f.sf(statistic, 1, n_samples - 2) < level) == stays
        tree = hand_made_tree(n_samples, 1.0, gain)
        assert is_significant(tree, level).tolist() == [stays, False, False]
        assert prune_by_f_test(tree, level).n_nodes == (3 if stays else 1)


def test_a_split_into_pure_halves_is_significant():
    assert is_significant(hand_made_tree(3, 1.0, 1.0), 0.001)[0]


def test_two_rows_are_too_few_to_test():
    assert not is_significant(hand_made_tree(2, 1.0, 1.0), 0.1)[0]
    assert is_significant(hand_made_tree(2, 1.0, 1.0), 1.0)[0]


@pytest.fixture(scope="module")
def grown():
    X, Y, rng = smooth_problem(0, n_rows=400)
    data = make_training_data(X, Y)
    return data, *grow_structure(data, TreeSettings(), rng, n_threads=1)


def test_level_one_prunes_nothing(grown):
    _, structure, _ = grown
    pruned = prune_by_f_test(structure, 1.0)
    for name, array in structure.to_arrays().items():
        assert np.array_equal(pruned.to_arrays()[name], array)


def test_a_smaller_level_gives_a_subtree_of_a_larger_one(grown):
    _, structure, _ = grown
    trees = [prune_by_f_test(structure, level) for level in F_TEST_LEVELS]
    sizes = [tree.n_nodes for tree in trees]
    assert sizes == sorted(sizes)
    assert 1 < sizes[0] < sizes[-1]
    for small, large in pairwise(trees):
        assert np.array_equal(collapse_to(large, small).feature, small.feature)
        assert np.array_equal(collapse_to(large, small).threshold, small.threshold)


def collapse_to(large, small):
    """Cut `large` where `small` has leaves, walking both at once."""
    keep = np.zeros(large.n_nodes, bool)
    stack = [(0, 0)]
    while stack:
        a, b = stack.pop()
        if small.feature[b] >= 0:
            assert large.feature[a] == small.feature[b]
            keep[a] = True
            stack += [(a + 1, b + 1), (large.right[a], small.right[b])]
    return collapse(large, keep)


def test_collapse_cuts_below_the_first_split_that_is_not_kept(grown):
    _, structure, _ = grown
    keep = np.random.default_rng(0).random(structure.n_nodes) < 0.9
    keep[0] = True
    expected = []

    def visit(node):
        expected.append(structure.n_samples[node])
        if structure.feature[node] >= 0 and keep[node]:
            visit(node + 1)
            visit(structure.right[node])

    visit(0)
    pruned = collapse(structure, keep)
    assert 1 < pruned.n_nodes < structure.n_nodes
    assert pruned.n_samples.tolist() == expected
    assert TreeStructure.from_arrays(pruned.to_arrays()).n_nodes == pruned.n_nodes


@pytest.mark.parametrize("share_missing", [0.0, 0.3])
def test_pruned_tree_predicts_the_means_of_its_leaves(share_missing):
    X, Y, rng = smooth_problem(1, share_missing=share_missing)
    data = make_training_data(X, Y)
    trees = fit_tree(data, TreeSettings(f_test_level=0.01), rng)
    leaves = trees.apply(X)[:, 0]
    assert 2 < len(set(leaves.tolist())) < 40
    for leaf in set(leaves.tolist()):
        members = leaves == leaf
        np.testing.assert_allclose(
            trees.predict(X[members][:1])[0], np.nanmean(Y[members], axis=0)
        )


def test_cross_validation_prunes_strongly_on_pure_noise_and_little_without():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    settings = TreeSettings(min_samples_leaf=2)
    noise = make_training_data(X, rng.normal(size=(300, 2)))
    assert cross_validated_level(noise, settings, rng, 1) == F_TEST_LEVELS[0]
    steps = make_training_data(X, np.floor(2 * X[:, :2]))
    assert cross_validated_level(steps, settings, rng, 1) > F_TEST_LEVELS[0]


def test_the_level_is_chosen_by_the_sum_of_the_errors_of_all_folds():
    seen = []

    def errors(train, test):
        seen.append((set(train.tolist()), set(test.tolist())))
        return np.array([5.0, 4.0, 3.0, 3.0, 6.0, 7.0])

    level = choose_f_test_level(11, np.random.default_rng(0), errors)
    assert level == F_TEST_LEVELS[2]  # the first of two equals: the smaller tree
    assert len(seen) == 3
    assert set.union(*(test for _, test in seen)) == set(range(11))
    assert all(train | test == set(range(11)) and not train & test for train, test in seen)


def test_too_few_rows_for_folds_take_the_strongest_level():
    assert choose_f_test_level(2, np.random.default_rng(0), None) == F_TEST_LEVELS[0]
