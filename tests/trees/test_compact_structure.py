"""Packed trees unpack to the same trees, and damaged ones are refused with a reason."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_tree_structure import put, random_structure

from polyleaf.trees.compact import pack_structure, right_children, unpack_structure

STATISTICS = {"n_samples", "weight", "impurity", "gain"}


def with_categories(structure, seed):
    """Let some splits send sets of 40 categories left."""
    rng = np.random.default_rng(seed)
    is_categorical = (structure.feature >= 0) & (structure.feature == 1)
    offsets = np.full(structure.n_nodes, -1, np.int64)
    offsets[is_categorical] = 2 * np.arange(is_categorical.sum())
    words = np.zeros(2 * int(is_categorical.sum()), np.uint32)
    words[0::2] = rng.integers(1, 2**32, words.size // 2)
    words[1::2] = rng.integers(0, 2**8, words.size // 2)
    return replace(
        structure,
        n_categories=np.array([0, 40, 0], np.int32),
        threshold=np.where(is_categorical, 0.0, structure.threshold),
        category_offset=offsets,
        category_words=words,
    )


def assert_same_trees(one, other):
    for field in fields(one):
        if field.name not in STATISTICS:
            mine, theirs = getattr(one, field.name), getattr(other, field.name)
            assert mine.dtype == theirs.dtype, field.name
            assert np.array_equal(mine, theirs), field.name


@given(
    n_splits=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    seed=st.integers(0, 2**16),
    categorical=st.booleans(),
)
def test_unpacking_gives_the_packed_trees(n_splits, seed, categorical):
    structure = random_structure(seed, n_splits)
    if categorical:
        structure = with_categories(structure, seed)
    assert_same_trees(unpack_structure(pack_structure(structure)), structure)


@given(bits=st.lists(st.booleans(), min_size=1, max_size=12))
def test_any_sequence_of_nodes_is_a_tree_or_refused(bits):
    is_leaf = np.array(bits)
    heights = np.cumsum(np.where(is_leaf, -1, 1))
    is_tree = heights[-1] == -1 and np.all(heights[:-1] >= 0)
    offsets = np.array([0, is_leaf.size])
    if not is_tree:
        with pytest.raises(ValueError, match="preorder"):
            right_children(is_leaf, offsets)
        return
    right = right_children(is_leaf, offsets)
    assert np.array_equal(right < 0, is_leaf)
    # Every node but the root is the left or the right child of exactly one node.
    inner = np.flatnonzero(~is_leaf)
    children = np.concatenate([inner + 1, right[inner]])
    assert sorted(children.tolist()) == list(range(1, is_leaf.size))


def test_packed_arrays_hold_no_statistics_and_nothing_of_leaves():
    structure = random_structure(3)
    arrays = pack_structure(structure)
    assert not STATISTICS & set(arrays)
    assert arrays["feature"].size == arrays["threshold"].size == 55  # splits
    assert arrays["is_leaf_bits"].size == -(-structure.n_nodes // 8)
    assert arrays["category_offset"].size == 0


def flipped(*nodes):
    """Make leaves of splits and splits of leaves."""

    def change(bits):
        for node in nodes:
            bits[node // 8] ^= 1 << (node % 8)
        return bits

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("feature", put(0, -1), "not to be negative"),
        ("feature", put(0, 3), "feature 3 is not in"),
        ("feature", lambda a: a[:-1], "Expected 55 entries of feature, one per split; got 54"),
        ("feature", lambda a: a.astype(np.int64), "1-dimensional int32"),
        ("threshold", put(0, np.nan), "NaN"),
        ("threshold", lambda a: a[:, None], "1-dimensional float64"),
        ("missing_left", lambda a: a[:-1], "55 entries of missing_left"),
        ("category_offset", lambda a: np.zeros(55, np.int64), "0 entries of category_offset"),
        ("is_leaf_bits", lambda a: a[:-1], "rise from 0 to the number of nodes"),
        ("is_leaf_bits", lambda a: np.append(a, a[:1]), "rise from 0 to the number of nodes"),
        ("is_leaf_bits", flipped(0), "Expected 54 entries"),
        ("is_leaf_bits", flipped(0, 40), "form trees"),
        ("tree_offsets", put(0, 1), "tree_offsets"),
        ("tree_offsets", put(1, 39), "form trees"),
        ("tree_offsets", put(1, 10**9), "tree_offsets"),
        ("tree_offsets", put(2, 41), "tree_offsets"),
        ("tree_offsets", lambda a: a[:1], "tree_offsets"),
        ("tree_offsets", lambda a: a[:0], "tree_offsets"),
        ("n_categories", put(0, -5), "category_offset"),
    ],
)
def test_damaged_arrays_are_refused_with_a_reason(name, change, message):
    arrays = pack_structure(random_structure(2))
    arrays[name] = change(arrays[name].copy())
    with pytest.raises(ValueError, match=message):
        unpack_structure(arrays)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("category_offset", lambda a: np.full_like(a, -1), "kind of split"),
        ("category_offset", lambda a: np.where(a >= 0, a + 10**9, a), "category set"),
        ("category_offset", lambda a: a[:-1], "entries of category_offset"),
        ("category_words", lambda a: a[:-1], "category set"),
        ("n_categories", lambda a: np.zeros_like(a), "0 entries of category_offset"),
        ("n_categories", put(1, -5), "n_categories"),
    ],
)
def test_damaged_categories_are_refused_with_a_reason(name, change, message):
    arrays = pack_structure(with_categories(random_structure(2), 0))
    arrays[name] = change(arrays[name].copy())
    with pytest.raises(ValueError, match=message):
        unpack_structure(arrays)


@pytest.mark.parametrize("name", sorted(pack_structure(random_structure(0))))
def test_a_missing_array_is_named(name):
    arrays = pack_structure(random_structure(0))
    del arrays[name]
    with pytest.raises(ValueError, match=f"'{name}'"):
        unpack_structure(arrays)
