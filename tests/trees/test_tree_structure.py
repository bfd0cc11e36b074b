"""Parents, depths and ranges of leaves of preorder trees, and what is refused as a tree."""

from dataclasses import replace

import numpy as np
import pytest

from polyleaf.trees.structure import TreeStructure


def random_structure(seed, n_splits=(20, 0, 35), n_features=3):
    """Trees of random shape with the given numbers of splits."""
    rng = np.random.default_rng(seed)
    feature, right, offsets = [], [], [0]
    for splits in n_splits:
        tree_feature, tree_right = [], []

        def add(budget, feature=tree_feature, right=tree_right):
            node = len(feature)
            feature.append(-1 if budget == 0 else int(rng.integers(n_features)))
            right.append(-1)
            if budget:
                on_left = int(rng.integers(budget))
                add(on_left)
                right[node] = len(feature)
                add(budget - 1 - on_left)

        add(splits)
        feature += tree_feature
        right += tree_right
        offsets.append(len(feature))
    n = len(feature)
    is_inner = np.array(feature) >= 0
    return TreeStructure(
        n_categories=np.zeros(n_features, np.int32),
        tree_offsets=np.array(offsets, np.int64),
        feature=np.array(feature, np.int32),
        threshold=np.where(is_inner, rng.normal(size=n), 0.0),
        right=np.array(right, np.int32),
        missing_left=np.zeros(n, np.uint8),
        category_offset=np.full(n, -1, np.int64),
        category_words=np.zeros(0, np.uint32),
        n_samples=np.full(n, 5, np.int64),
        weight=np.full(n, 5.0),
        impurity=np.ones(n),
        gain=np.where(is_inner, rng.random(n), 0.0),
    )


def naive_walk(structure):
    """Parent, depth and leaves below each node, by recursion."""
    parent = np.full(structure.n_nodes, -1)
    depth = np.zeros(structure.n_nodes, int)
    leaves = [[] for _ in range(structure.n_nodes)]

    def visit(start, node, above, level):
        at = start + node
        parent[at], depth[at] = above, level
        if structure.feature[at] < 0:
            leaves[at] = [structure.leaf_index[at]]
            return leaves[at]
        leaves[at] = visit(start, node + 1, node, level + 1) + visit(
            start, structure.right[at], node, level + 1
        )
        return leaves[at]

    for start in structure.tree_offsets[:-1]:
        visit(int(start), 0, -1, 0)
    return parent, depth, leaves


@pytest.mark.parametrize("seed", range(5))
def test_parents_depths_and_leaf_ranges_equal_a_recursive_walk(seed):
    structure = random_structure(seed)
    parent, depth, leaves = naive_walk(structure)
    assert np.array_equal(structure.parent, parent)
    assert np.array_equal(structure.depth, depth)
    first, last = structure.leaf_ranges
    assert [list(range(a, b)) for a, b in zip(first, last)] == leaves


@pytest.mark.parametrize("is_right_chain", [False, True])
def test_a_tree_as_deep_as_it_has_splits_is_handled(is_right_chain):
    n_splits = 20_000
    n = 2 * n_splits + 1
    feature = np.full(n, -1, np.int32)
    right = np.full(n, -1, np.int32)
    inner = np.arange(0, n - 1, 2) if is_right_chain else np.arange(n_splits)
    feature[inner] = 0
    right[inner] = inner + 2 if is_right_chain else n - 1 - np.arange(n_splits)
    structure = replace(
        random_structure(0, (n_splits,) if n_splits < 100 else (0,)),
        tree_offsets=np.array([0, n], np.int64),
        feature=feature,
        threshold=np.zeros(n),
        right=right,
        missing_left=np.zeros(n, np.uint8),
        category_offset=np.full(n, -1, np.int64),
    )
    assert structure.predictor is not None
    assert structure.depth.max() == n_splits
    assert structure.subtree_end[0] == n


def test_importances_of_trees_without_splits_are_zero_floats():
    importances = random_structure(0, (0, 0)).feature_importances()
    assert importances.dtype == np.float64
    assert importances.tolist() == [0.0, 0.0, 0.0]


def test_left_categories_are_the_set_bits():
    structure = replace(
        random_structure(0, (1,)),
        n_categories=np.array([40, 40, 40], np.int32),
        category_offset=np.array([1, -1, -1], np.int64),
        category_words=np.array([7, 1 << 31 | 2, 1 << 7], np.uint32),
    )
    assert structure.left_categories(0).tolist() == [1, 31, 39]


def test_arrays_round_trip():
    structure = random_structure(1)
    arrays = structure.to_arrays()
    again = TreeStructure.from_arrays(arrays)
    assert all(np.array_equal(arrays[name], value) for name, value in again.to_arrays().items())


def damaged(name, change):
    arrays = dict(random_structure(2).to_arrays())
    arrays[name] = change(arrays[name].copy())
    return arrays


def put(index, value):
    def change(array):
        array[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("feature", put(0, 3), "feature 3 is not in"),
        ("feature", put(0, -2), "feature -2 is not in"),
        ("feature", put(0, -1), "leaf in the middle"),
        ("right", put(0, 1), "right child"),
        ("right", put(0, 10**6), "right child"),
        ("threshold", put(0, np.nan), "NaN"),
        ("category_offset", put(0, 0), "kind of split"),
        ("tree_offsets", put(1, 7), "damaged tree"),
        ("tree_offsets", put(0, -1), "must start at 0"),
        ("n_samples", put(0, 0), "positive weight"),
        ("weight", put(0, 0.0), "positive weight"),
        ("weight", put(3, -1.0), "positive weight"),
        ("gain", put(0, np.inf), "finite"),
        ("impurity", lambda a: a[:-1], "one finite value per node"),
        ("feature", lambda a: a.astype(np.int64), "1-dimensional int32"),
        ("feature", lambda a: a[:, None], "2-dimensional"),
        ("n_categories", put(0, -5), "n_categories"),
    ],
)
def test_damaged_arrays_are_refused_with_a_reason(name, change, message):
    with pytest.raises(ValueError, match=message):
        TreeStructure.from_arrays(damaged(name, change))


def test_a_missing_array_is_named():
    arrays = random_structure(0).to_arrays()
    del arrays["gain"]
    with pytest.raises(ValueError, match="'gain'"):
        TreeStructure.from_arrays(arrays)
