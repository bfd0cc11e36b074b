"""Principal components against a full decomposition of the centred matrix."""

import numpy as np
import pytest
from scipy import sparse

from polyleaf.projections import PCA
from polyleaf.projections import _pca as pca


def decaying_values(n_rows, n_channels, seed=0):
    """Sparse values around 0 whose channels have clearly different variances."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, n_channels)) * 1.3 ** -np.arange(n_channels)
    values[rng.random(values.shape) < 0.3] = 0.0
    return values + rng.normal(size=n_channels) * (values != 0)


def reference_axes(values, observed, weights, n_components):
    """Right singular vectors of the dense, centred and weighted matrix."""
    weights = np.ones(values.shape) if weights is None else weights
    if weights.ndim == 1:
        weights = np.repeat(weights[:, np.newaxis], values.shape[1], axis=1)
    present = weights if observed is None else weights * observed
    centred = values - (present * values).sum(axis=0) / present.sum(axis=0)
    if observed is not None:
        centred[~observed] = 0.0
    axes = np.linalg.svd(np.sqrt(weights) * centred)[2][:n_components].T
    return axes * np.sign(axes[np.argmax(np.abs(axes), axis=0), np.arange(n_components)])


@pytest.mark.parametrize("exact_channels", [0, 1024], ids=["iterative", "exact"])
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("weighted", [None, "rows", "entries"])
def test_components_equal_a_full_decomposition(
    exact_channels, as_sparse, masked, weighted, make_context, monkeypatch
):
    monkeypatch.setattr(pca, "EXACT_CHANNELS", exact_channels)
    rng = np.random.default_rng(1)
    values = decaying_values(60, 16)
    observed = rng.random(values.shape) < 0.8 if masked else None
    if masked:
        values[~observed] = 0.0
    size = {None: None, "rows": 60, "entries": values.shape}[weighted]
    weights = None if size is None else rng.random(size)
    given = sparse.csr_array(values) if as_sparse else values
    view = PCA(3).draw(make_context(given, observed=observed, weights=weights))
    expected = reference_axes(values, observed, weights, 3)
    np.testing.assert_allclose(view.matrix, expected, atol=1e-8)


@pytest.mark.parametrize("exact_channels", [0, 1024], ids=["iterative", "exact"])
def test_components_do_not_depend_on_chance(exact_channels, make_context, monkeypatch):
    monkeypatch.setattr(pca, "EXACT_CHANNELS", exact_channels)
    values = decaying_values(60, 16)
    first, second = (PCA(3).draw(make_context(values, seed=seed)).matrix for seed in (1, 2))
    np.testing.assert_array_equal(first, second)


def test_fewer_rows_than_channels_give_all_directions_with_variance(make_context, monkeypatch):
    values = np.random.default_rng(0).normal(size=(6, 20))
    views = []
    for exact_channels in (0, 1024):
        monkeypatch.setattr(pca, "EXACT_CHANNELS", exact_channels)
        views.append(PCA(20).draw(make_context(values)))
    for view in views:
        assert view.n_channels == 5  # centring takes one of the six rows
    np.testing.assert_allclose(views[0].matrix, views[1].matrix, atol=1e-8)


def test_directions_without_variance_are_left_out(make_context):
    values = np.outer(np.arange(10.0), [1.0, 2.0, 3.0, 4.0])
    assert PCA(1.0).draw(make_context(values)).n_channels == 1


def test_largest_coefficient_is_positive(make_context):
    values = np.outer(np.arange(10.0), [3.0, -4.0])
    matrix = PCA(1).draw(make_context(values)).matrix
    np.testing.assert_allclose(matrix, [[-0.6], [0.8]])


@pytest.mark.parametrize("rounding", [-1e-12, 0.0, 1e-12])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_first_of_coefficients_that_are_equal_up_to_rounding_is_positive(rounding, sign):
    axes = sign * np.array([[0.1], [-0.7], [0.7 + rounding]])
    assert np.sign(pca._with_positive_peaks(axes)).ravel().tolist() == [-1.0, 1.0, -1.0]


def test_components_are_orthonormal_and_constant_channels_have_none(make_context):
    values = decaying_values(60, 16)
    values[:, [0, 9]] = 0.1
    matrix = PCA(1.0).draw(make_context(values)).matrix
    assert matrix.shape == (16, 14)
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(14), atol=1e-12)
    assert not matrix[[0, 9]].any()


def test_more_components_than_channels_are_refused(make_context):
    with pytest.raises(ValueError, match="must be at most 16; got 17"):
        PCA(17).draw(make_context(decaying_values(30, 16)))
