"""Leaves and paths of rows through a tree."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.tree import DecisionTreeRegressor

from polyleaf import TreeRegressor


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 4)).astype(np.float32).astype(np.float64)
    Y = np.sin(2 * X[:, :3]) + 0.3 * rng.normal(size=(250, 3))
    return X, Y, TreeRegressor(min_samples_leaf=4, random_state=0).fit(X, Y)


def test_training_rows_reach_the_leaf_whose_mean_they_formed(fitted):
    X, Y, tree = fitted
    leaves = tree.apply(X)
    assert leaves.shape == (250,)
    for leaf in np.unique(leaves):
        members = leaves == leaf
        assert tree._trees.structure.n_samples[leaf] == members.sum()
        np.testing.assert_allclose(
            tree.predict(X[members]), np.tile(Y[members].mean(axis=0), (members.sum(), 1))
        )


def test_paths_end_in_the_leaf_and_start_at_the_root(fitted):
    X, _, tree = fitted
    path = tree.decision_path(X)
    assert isinstance(path, sparse.csr_array)
    assert path.shape == (250, tree._trees.structure.n_nodes)
    assert path.has_sorted_indices
    assert np.array_equal(path.indices[path.indptr[1:] - 1], tree.apply(X))
    assert np.all(path.indices[path.indptr[:-1]] == 0)
    assert np.diff(path.indptr).max() == tree.get_depth() + 1


def test_every_step_of_a_path_obeys_the_split(fitted):
    X, _, tree = fitted
    structure, path = tree._trees.structure, tree.decision_path(X)
    for i in range(0, 250, 17):
        nodes = path.indices[path.indptr[i] : path.indptr[i + 1]]
        for above, below in zip(nodes[:-1], nodes[1:]):  # noqa: RUF007
            goes_left = X[i, structure.feature[above]] <= structure.threshold[above]
            assert below == (above + 1 if goes_left else structure.right[above])


def test_paths_count_the_rows_of_every_node(fitted):
    X, _, tree = fitted
    counts = np.asarray(tree.decision_path(X).sum(axis=0)).ravel()
    assert np.array_equal(counts, tree._trees.structure.n_samples)


def test_apply_and_decision_path_equal_sklearns():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3)).astype(np.float32).astype(np.float64)
    y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=200)
    tree = TreeRegressor(max_bins=None, min_samples_leaf=10, random_state=0).fit(X, y)
    other = DecisionTreeRegressor(min_samples_leaf=10, random_state=0).fit(X, y)
    assert np.array_equal(tree.apply(X), other.apply(X))
    assert (tree.decision_path(X) != other.decision_path(X)).nnz == 0


def test_a_single_leaf_is_node_zero():
    tree = TreeRegressor().fit(np.zeros((3, 1)), [1.0, 2.0, 3.0])
    assert tree.apply([[5.0]]).tolist() == [0]
    assert tree.decision_path([[5.0]]).toarray().tolist() == [[1]]
    assert (tree.get_depth(), tree.get_n_leaves()) == (0, 1)
