"""Trees on a projection of their outputs: structure from the view, values in all outputs."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from polyleaf import TreeClassifier, TreeRegressor
from polyleaf.projections import PROJECTIONS, Gaussian, Identity, Subsample


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    signal = np.sin(2 * X) @ rng.normal(size=(5, 12))
    Y = signal + 0.3 * rng.normal(size=signal.shape)
    return X, Y * np.geomspace(0.1, 1000, 12) + 5.0


def make_targets(Y, kind):
    rng = np.random.default_rng(1)
    if kind == "masked":
        return np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    if kind == "sparse":
        return sparse.csr_array(np.where(rng.random(Y.shape) < 0.7, 0.0, Y))
    return Y


def naive_leaf_means(tree, X, Y):
    """Mean of every output over the training rows of each row's leaf."""
    leaves = tree.apply(X)
    expected = np.empty(Y.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a leaf without an observed value
        for leaf in np.unique(leaves):
            expected[leaves == leaf] = np.nanmean(Y[leaves == leaf], axis=0)
    return expected


@pytest.mark.parametrize("kind", ["dense", "masked", "sparse"])
@pytest.mark.parametrize("name", sorted(PROJECTIONS))
def test_leaf_values_are_exact_in_all_outputs_for_every_projection(problem, name, kind):
    X, Y = problem
    targets = make_targets(Y, kind)
    tree = TreeRegressor(projection=name, min_samples_leaf=8, random_state=0).fit(X, targets)
    assert tree.get_n_leaves() > 5
    dense = targets.toarray() if kind == "sparse" else targets
    expected = naive_leaf_means(tree, X, dense)
    predicted = tree.predict(X)
    if kind == "sparse":
        assert isinstance(predicted, sparse.csr_array)
        predicted = predicted.toarray()
    seen = ~np.isnan(expected)
    assert seen.mean() > 0.98
    np.testing.assert_allclose(predicted[seen], expected[seen], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "masked", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
def test_identity_projection_equals_no_projection(problem, kind, weighted):
    X, Y = problem
    targets = make_targets(Y, kind)
    weights = np.random.default_rng(2).random(len(X)) if weighted else None
    trees = [
        TreeRegressor(projection=projection, random_state=0).fit(X, targets, weights)
        for projection in (None, "identity", Identity())
    ]
    predictions = [tree.predict(X) for tree in trees]
    for tree, predicted in zip(trees[1:], predictions[1:]):
        assert np.array_equal(tree.apply(X), trees[0].apply(X))
        different = predicted != predictions[0]
        assert different.nnz == 0 if kind == "sparse" else not different.any()


@pytest.mark.parametrize("kind", ["dense", "masked", "sparse"])
def test_a_selection_of_all_outputs_equals_no_projection(problem, kind):
    X, Y = problem
    targets = make_targets(Y, kind)
    whole = TreeRegressor(min_samples_leaf=8, random_state=0).fit(X, targets)
    selected = TreeRegressor(
        projection=Subsample(n_components=1.0), min_samples_leaf=8, random_state=0
    ).fit(X, targets)
    assert np.array_equal(whole.apply(X), selected.apply(X))


@pytest.mark.parametrize("weights_ndim", [1, 2])
def test_weights_count_in_a_projected_tree(problem, weights_ndim):
    X, Y = problem
    rng = np.random.default_rng(3)
    weights = rng.integers(0, 3, Y.shape[:weights_ndim]).astype(float)
    for projection in ("gaussian", "subsample"):
        tree = TreeRegressor(projection=projection, min_samples_leaf=20, random_state=0)
        tree.fit(X, Y, weights)
        by_entry = np.broadcast_to(weights.reshape(len(X), -1), Y.shape)
        leaves = tree.apply(X)
        for leaf in np.unique(leaves):
            members = leaves == leaf
            expected = (by_entry * Y)[members].sum(0) / by_entry[members].sum(0)
            np.testing.assert_allclose(tree.predict(X[members][:1])[0], expected)


def test_the_seed_decides_the_projection(problem):
    X, Y = problem
    fits = [
        TreeRegressor(projection=Gaussian(2), max_depth=4, random_state=seed).fit(X, Y).predict(X)
        for seed in (0, 0, 1)
    ]
    assert np.array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", sorted(PROJECTIONS))
def test_labels_can_be_projected(problem, name, make):
    X, Y = problem
    labels = (np.quantile(Y, 0.8, axis=0) < Y).astype(int)
    tree = TreeClassifier(projection=name, min_samples_leaf=8, random_state=0)
    tree.fit(X, make(labels))
    proba = tree.predict_proba(X)
    proba = proba.toarray() if sparse.issparse(proba) else proba
    np.testing.assert_allclose(proba, naive_leaf_means(tree, X, labels.astype(float)), atol=1e-12)


def test_a_misspelt_projection_is_an_error_with_a_hint(problem):
    X, Y = problem
    with pytest.raises(ValueError, match="Did you mean 'gaussian'"):
        TreeRegressor(projection="gausian").fit(X, Y)
