"""Means and standard deviations of channels."""

import numpy as np
import pytest
from scipy import sparse
from tests.core.training_problems import make_training_data, smooth_problem

from polyleaf.trees.moments import _exact_moments, _exact_moments_of_all, channel_moments
from polyleaf.trees.shards import Shard


def naive_moments(Y, weights):
    """Column by column, over observed entries."""
    mean, std = np.zeros(Y.shape[1]), np.zeros(Y.shape[1])
    for k in range(Y.shape[1]):
        seen = ~np.isnan(Y[:, k])
        w = np.ones(len(Y)) if weights is None else weights[:, k] if weights.ndim == 2 else weights
        mean[k] = np.average(Y[seen, k], weights=w[seen])
        std[k] = np.sqrt(np.average((Y[seen, k] - mean[k]) ** 2, weights=w[seen]))
    return mean, std


@pytest.mark.parametrize("share_missing", [0.0, 0.3])
@pytest.mark.parametrize("ndim", [0, 1, 2])
def test_moments_equal_a_naive_computation(ndim, share_missing, monkeypatch):
    monkeypatch.setattr("polyleaf.trees.moments._BLOCK_ENTRIES", 100)  # many blocks
    X, Y, rng = smooth_problem(0, share_missing=share_missing)
    weights = None if ndim == 0 else rng.uniform(0.1, 4.0, Y.shape[:ndim])
    moments = channel_moments(make_training_data(X, Y).targets.weighted(weights))
    mean, std = naive_moments(Y, weights)
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(moments.std, std, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_sparse_targets_equal_those_of_dense_ones(weighted):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 2))
    Y = np.where(rng.random((50, 7)) < 0.2, rng.normal(size=(50, 7)), 0.0)
    Y[:, 2], Y[:, 3] = 0.0, 4.0
    weights = rng.uniform(0.1, 4.0, 50) if weighted else None
    dense = channel_moments(make_training_data(X, Y).targets.weighted(weights))
    other = channel_moments(make_training_data(X, sparse.csr_array(Y)).targets.weighted(weights))
    np.testing.assert_allclose(other.mean, dense.mean, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(other.std, dense.std, rtol=1e-9)
    assert other.std[2] == other.std[3] == 0.0


def test_a_large_mean_does_not_hide_a_small_deviation():
    rng = np.random.default_rng(2)
    y = rng.normal(size=1000)
    targets = make_training_data(y[:, None], np.column_stack([y, y + 1e9])).targets
    std = channel_moments(targets).std
    np.testing.assert_allclose(std[1], std[0], rtol=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.1, -3e7, 1e100, 5e-324])
def test_a_constant_has_no_deviation(value):
    targets = make_training_data(np.zeros((333, 1)), np.full((333, 2), value)).targets
    assert channel_moments(targets).std.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_outputs_too_large_to_be_squared_are_refused(make):
    Y = np.ones((4, 2))
    Y[2, 1] = -1e160
    with pytest.raises(ValueError, match=r"output 1 of y holds 1e\+160 in absolute value"):
        channel_moments(make_training_data(np.zeros((4, 1)), make(Y)).targets)


@pytest.mark.parametrize("n_rows", [1, 9, 9000])
@pytest.mark.parametrize("n_channels", [1, 3, 16, 70])
def test_the_core_finds_the_exact_moments_bit_for_bit(n_rows, n_channels):
    Y = np.random.default_rng(n_rows).normal(3.0, 2.0, (n_rows, n_channels)) ** 3
    targets = make_training_data(np.zeros((n_rows, 1)), Y).targets
    shard = Shard(np.arange(n_rows))
    largest, mean, variance = _exact_moments(targets, shard)
    for n_threads in (1, 3):
        found = _exact_moments_of_all(targets.values, n_threads)
        for mine, theirs in zip(found, (largest, mean, variance)):
            np.testing.assert_array_equal(mine, theirs)


def test_exact_moments_refuse_squares_beyond_numbers():
    targets = make_training_data(np.zeros((4, 1)), np.full((4, 2), 1e200)).targets
    with pytest.raises(ValueError, match="Divide it by a constant"):
        channel_moments(targets, Shard(np.arange(4)))
