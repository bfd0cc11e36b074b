import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from polyleaf.datasets import make_correlated_targets, make_multilabel


def test_targets_without_noise_have_the_rank_asked_for():
    _, Y = make_correlated_targets(200, 8, 12, rank=3, noise=0.0, random_state=0)
    singular = np.linalg.svd(Y - Y.mean(axis=0), compute_uv=False)
    assert singular[2] > 1e-6 * singular[0]
    assert singular[3] < 1e-10 * singular[0]


def test_noise_is_relative_to_unit_variance():
    _, clean = make_correlated_targets(5000, 8, 4, noise=0.0, random_state=1)
    _, noisy = make_correlated_targets(5000, 8, 4, noise=0.5, random_state=1)
    np.testing.assert_allclose(clean.std(axis=0), 1.0)
    np.testing.assert_allclose((noisy - clean).std(axis=0), 0.5, rtol=0.05)


def test_a_tree_learns_the_targets_better_than_a_linear_model():
    X, Y = make_correlated_targets(3000, 10, 5, random_state=0)
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0).fit(X[:2000], Y[:2000])
    linear = LinearRegression().fit(X[:2000], Y[:2000])
    assert tree.score(X[2000:], Y[2000:]) > linear.score(X[2000:], Y[2000:]) + 0.1


def test_only_informative_features_matter():
    X, Y = make_correlated_targets(4000, 6, 3, n_informative=2, noise=0.0, random_state=0)
    tree = DecisionTreeRegressor(max_depth=8, random_state=0).fit(X, Y)
    assert tree.feature_importances_[2:].sum() < 0.05


@pytest.mark.parametrize("make", [make_correlated_targets, make_multilabel])
def test_same_seed_gives_the_same_data(make):
    first, second, other = (make(50, 5, 4, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    assert not np.array_equal(first[1], other[1])


@pytest.mark.parametrize("cardinality", [0.0, 1.0, 2.5, 8.0])
def test_mean_number_of_labels_is_as_asked(cardinality):
    _, Y = make_multilabel(1000, 5, 10, cardinality=cardinality, random_state=0)
    assert set(np.unique(Y)) <= {0, 1}
    assert Y.sum(axis=1).mean() == pytest.approx(cardinality, abs=0.01)


def test_frequencies_fall_with_skew_and_are_equal_without():
    _, Y = make_multilabel(1000, 5, 10, skew=1.0, random_state=0)
    assert (np.diff(Y.sum(axis=0)) <= 0).all()
    assert Y[:, 0].sum() > 5 * Y[:, -1].sum()
    _, Y = make_multilabel(1000, 5, 10, skew=0.0, random_state=0)
    assert np.ptp(Y.sum(axis=0)) <= 1


def test_labels_are_correlated():
    _, Y = make_multilabel(2000, 5, 10, rank=1, noise=0.0, cardinality=3, random_state=0)
    correlation = np.corrcoef(Y.T)[np.triu_indices(10, 1)]
    assert np.abs(correlation).mean() > 0.3


def test_sparse_output_equals_dense_output():
    options = {"cardinality": 3, "random_state": 5}
    _, dense = make_multilabel(80, 4, 600, **options)
    _, csr = make_multilabel(80, 4, 600, sparse_output=True, **options)
    assert isinstance(csr, sparse.csr_array)
    np.testing.assert_array_equal(csr.toarray(), dense)


def test_sparse_output_is_never_dense():
    tracemalloc.start()
    make_multilabel(500, 4, 20_000, cardinality=3, sparse_output=True, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500 * 20_000


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (
            make_correlated_targets,
            {"n_samples": 0},
            "must be an integer, 1 or more; got 0",
        ),
        (make_correlated_targets, {"rank": 0}, "rank must be an integer, 1 or more"),
        (make_correlated_targets, {"noise": -1}, "noise must be 0 or more"),
        (make_correlated_targets, {"n_informative": 21}, "n_informative must be from 1"),
        (make_multilabel, {"n_labels": 0}, "n_labels must be an integer, 1 or more"),
        (make_multilabel, {"cardinality": 11}, "cardinality must be from 0 to n_labels=10"),
        (make_multilabel, {"skew": -1}, "skew must be 0 or more"),
    ],
)
def test_wrong_parameter_says_what_is_allowed(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)
