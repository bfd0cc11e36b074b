"""Sparse label matrices: the same tree as for dense ones, and never a dense array of them."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from polyleaf import TreeClassifier, TreeRegressor
from polyleaf.metrics import log_loss


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    scores = np.sin(2 * X) @ rng.normal(size=(6, 40)) + 0.5 * rng.normal(size=(300, 40))
    return X, (scores > np.quantile(scores, 0.9, axis=0)).astype(np.int8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_bins", [255, None])
def test_sparse_labels_predict_what_the_same_dense_labels_predict(problem, max_bins, weighted):
    X, Y = problem
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else None
    settings = {"max_bins": max_bins, "min_samples_leaf": 10, "random_state": 0}
    dense = TreeClassifier(**settings).fit(X, Y, weights)
    other = TreeClassifier(**settings).fit(X, sparse.csr_array(Y), weights)
    assert dense._trees.leaves.kind == "dense"
    assert other._trees.leaves.kind == "rows"
    assert dense.get_n_leaves() > 10
    assert np.array_equal(dense.apply(X), other.apply(X))
    proba, predicted = other.predict_proba(X), other.predict(X)
    assert isinstance(proba, sparse.csr_array)
    assert isinstance(predicted, sparse.csr_array)
    assert predicted.dtype == np.int64
    np.testing.assert_allclose(proba.toarray(), dense.predict_proba(X), atol=1e-12)
    assert np.array_equal(predicted.toarray(), dense.predict(X))
    np.testing.assert_allclose(
        np.exp(other.predict_log_proba(X)), dense.predict_proba(X), atol=1e-12
    )


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_any_sparse_format_of_y_gives_the_same_tree(problem, make):
    X, Y = problem
    expected = TreeClassifier(max_depth=4, random_state=0).fit(X, sparse.csr_array(Y)).predict(X)
    predicted = TreeClassifier(max_depth=4, random_state=0).fit(X, make(Y)).predict(X)
    assert (predicted != expected).nnz == 0


def test_sparse_numbers_are_regressed_on(problem):
    X, labels = problem
    Y = labels * np.linspace(-3, 3, labels.shape[1])
    settings = {"min_samples_leaf": 10, "random_state": 0}
    for normalize in (False, True):
        dense = TreeRegressor(normalize_outputs=normalize, **settings).fit(X, Y)
        other = TreeRegressor(normalize_outputs=normalize, **settings).fit(X, sparse.csr_array(Y))
        assert np.array_equal(dense.apply(X), other.apply(X))
        np.testing.assert_allclose(other.predict(X).toarray(), dense.predict(X), atol=1e-12)


def test_rows_without_weight_are_in_no_leaf(problem):
    X, Y = problem
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    settings = {"max_bins": None, "min_samples_leaf": 5, "random_state": 0}
    weighted = TreeClassifier(**settings).fit(X, sparse.csr_array(Y), weights)
    kept = weights > 0
    removed = TreeClassifier(**settings).fit(X[kept], sparse.csr_array(Y[kept]))
    assert weighted._trees.leaves.leaf_rows.size == kept.sum()
    assert abs(weighted.predict_proba(X) - removed.predict_proba(X)).max() < 1e-12


@pytest.mark.parametrize("level", [0.05, "cv"])
def test_a_tree_on_sparse_labels_is_pruned_like_one_on_dense_labels(problem, level):
    X, Y = problem
    settings = {"pruning": "f_test", "pruning_level": level, "max_bins": None, "random_state": 0}
    dense = TreeClassifier(min_samples_leaf=10, **settings).fit(X, Y)
    other = TreeClassifier(min_samples_leaf=10, **settings).fit(X, sparse.csr_array(Y))
    assert dense.pruning_level_ == other.pruning_level_
    assert np.array_equal(dense.apply(X), other.apply(X))


def test_labels_per_entry_weights_need_a_dense_y(problem):
    X, Y = problem
    with pytest.raises(ValueError, match="needs a dense Y"):
        TreeClassifier().fit(X, sparse.csr_array(Y), np.ones(Y.shape) * 2)


@pytest.mark.parametrize("projection", [None, "identity", "subsample", "gaussian"])
def test_many_sparse_labels_are_never_made_dense(projection):
    n_rows, n_labels = 20_000, 5_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    Y = sparse.random_array((n_rows, n_labels), density=0.001, rng=rng, format="csr")
    Y.data[:] = 1.0
    as_dense = n_rows * n_labels  # bytes of the smallest dense array, of one byte each
    tracemalloc.start()
    try:
        tree = TreeClassifier(projection=projection, max_depth=5, random_state=0).fit(X, Y)
        predicted = tree.predict(X[:2000])
        tree.predict_proba(X[:100])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert tree.get_n_leaves() > 10
    assert predicted.shape == (2000, n_labels)
    assert peak < as_dense / 10


def test_probabilities_of_sparse_labels_are_no_more_than_one():
    """Shares of rows are summed in floats: a pure leaf must not come to 1 + 2e-16."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    Y = sparse.csr_array((X > -1.5).astype(float))
    for size in range(2, 60):
        tree = TreeClassifier(min_samples_leaf=size, random_state=0).fit(X, Y)
        found = tree.predict_proba(X)
        assert found.data.max() <= 1.0
    assert np.isfinite(log_loss(Y, found))
