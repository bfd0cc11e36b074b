"""Leaf values are weighted means, and an unobserved output takes its nearest ancestor's."""

import numpy as np
import pytest
from problems import mixed_problem

from polyleaf import _core

pytestmark = pytest.mark.kernel

N_OUTPUTS = 37


@pytest.fixture(scope="module")
def tree():
    return mixed_problem(200, n_channels=3).grow(min_samples_leaf=4)


@pytest.fixture
def values():
    return np.random.default_rng(0).normal(size=(200, N_OUTPUTS))


def leaf_arguments(tree):
    leaves = np.flatnonzero(tree.is_leaf)
    leaf_index = np.full(tree.n_nodes, -1, np.int32)
    leaf_index[leaves] = np.arange(leaves.size)
    offsets = np.concatenate([[0], np.cumsum(tree.n_samples[leaves])]).astype(np.int64)
    return {
        "rows": tree.rows,
        "leaf_offsets": offsets,
        "right": tree.right,
        "leaf_index": leaf_index,
    }


def core_means(tree, values, *, observed=None, row_weights=None, entry_weights=None, n_threads=1):
    means = np.full((tree.is_leaf.sum(), values.shape[1]), -77.0)
    _core.leaf_means(
        values=values,
        observed=observed,
        row_weights=row_weights,
        entry_weights=entry_weights,
        means=means,
        n_threads=n_threads,
        **leaf_arguments(tree),
    )
    return means


def naive_means(tree, values, weights):
    """Loop over leaves and outputs, up to the ancestor that has seen the output."""
    rows = tree.node_rows()
    parent = np.full(tree.n_nodes, -1)
    for node in np.flatnonzero(~tree.is_leaf):
        parent[[node + 1, tree.right[node]]] = node
    means = []
    for leaf in np.flatnonzero(tree.is_leaf):
        for output in range(values.shape[1]):
            node = leaf
            while node >= 0 and weights[rows[node], output].sum() == 0:
                node = parent[node]
            if node < 0:
                means.append(np.nan)
                continue
            w = weights[rows[node], output]
            seen = w > 0
            means.append((w[seen] * values[rows[node], output][seen]).sum() / w.sum())
    return np.reshape(means, (-1, values.shape[1]))


def test_plain_means(tree, values):
    expected = naive_means(tree, values, np.ones(values.shape))
    np.testing.assert_allclose(core_means(tree, values), expected, rtol=1e-12, atol=1e-14)


def test_row_weights(tree, values):
    weights = np.random.default_rng(1).uniform(0.1, 3.0, 200)
    expected = naive_means(tree, values, np.broadcast_to(weights[:, None], values.shape))
    means = core_means(tree, values, row_weights=weights)
    np.testing.assert_allclose(means, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("with_rows", [False, True])
@pytest.mark.parametrize("with_entries", [False, True])
def test_masks_and_weights_with_outputs_that_a_leaf_has_not_observed(
    tree, values, with_rows, with_entries, n_threads
):
    rng = np.random.default_rng(2)
    observed = rng.random(values.shape) < 0.3
    observed[:, 5] = False  # never observed
    observed[:, 6] = np.arange(200) == tree.rows[0]  # in one leaf only
    values = np.where(observed, values, np.nan)
    row_weights = rng.uniform(0.1, 3.0, 200) if with_rows else None
    entry_weights = rng.uniform(0.1, 3.0, values.shape) if with_entries else None
    weights = observed.astype(float)
    weights = weights * (row_weights[:, None] if with_rows else 1.0)
    weights = weights * (entry_weights if with_entries else 1.0)
    expected = naive_means(tree, values, weights)
    assert np.isnan(expected[:, 5]).all()
    assert np.ptp(expected[:, 6]) == 0.0
    assert not np.isnan(np.delete(expected, 5, axis=1)).any()
    means = core_means(
        tree,
        values,
        observed=observed.astype(np.uint8),
        row_weights=row_weights,
        entry_weights=entry_weights,
        n_threads=n_threads,
    )
    np.testing.assert_allclose(means, expected, rtol=1e-12, atol=1e-14)


def test_entry_weights_of_zero_are_a_mask(tree, values):
    weights = np.random.default_rng(3).integers(0, 2, values.shape).astype(float)
    expected = core_means(tree, values, observed=weights.astype(np.uint8))
    assert np.array_equal(core_means(tree, values, entry_weights=weights), expected)


def test_one_thread_equals_many(tree, values):
    one = core_means(tree, values)
    for n_threads in (2, 5):
        assert np.array_equal(core_means(tree, values, n_threads=n_threads), one)


@pytest.mark.parametrize("is_masked", [False, True])
def test_a_tree_of_one_leaf_holds_the_overall_mean(values, is_masked):
    root = mixed_problem(200, n_channels=3).grow(max_depth=0)
    observed = np.ones(values.shape, np.uint8) if is_masked else None
    means = core_means(root, values, observed=observed)
    np.testing.assert_allclose(means[0], values.mean(0), rtol=1e-12, atol=1e-14)
