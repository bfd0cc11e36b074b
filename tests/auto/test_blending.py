"""Weights of a blend."""

import numpy as np
import pytest
from scipy.optimize import minimize

from polyleaf.auto.blending import choose_weights, error_products, on_simplex


def naive_weights(products, centre, pull):
    n = centre.size
    found = minimize(
        lambda w: w @ products @ w + pull * ((w - centre) ** 2).sum(),
        centre,
        bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return found.fun


@pytest.mark.parametrize("seed", range(4))
def test_weights_on_the_simplex_are_the_best_ones(seed):
    rng = np.random.default_rng(seed)
    errors = rng.normal(size=(5, 30, 4)) + rng.normal(size=(5, 30, 1))
    products = np.einsum("kia,kib->kab", errors, errors)
    centre = rng.dirichlet(np.ones(4), size=5)
    pull = np.array([0.0, 0.1, 1.0, 10.0, 1e4])
    weights = on_simplex(products, centre, pull)
    assert weights.min() >= 0.0
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    for k in range(5):
        w = weights[k]
        value = w @ products[k] @ w + pull[k] * ((w - centre[k]) ** 2).sum()
        assert value <= naive_weights(products[k], centre[k], pull[k]) * (1 + 1e-6)


def blend_of(errors, n_folds=5):
    n_rows, n_outputs = errors[0].shape
    fold_of = np.sort(np.arange(n_rows) % n_folds)
    offsets = np.arange(n_outputs + 1, dtype=np.int32)
    products = error_products([e.astype(np.float32) for e in errors], None, fold_of, offsets)
    mass = np.full((n_folds, n_outputs), n_rows / n_folds)
    return choose_weights(products, mass, np.ones(n_outputs))


def test_products_are_sums_over_rows_and_channels_of_an_output():
    rng = np.random.default_rng(0)
    errors = [rng.normal(size=(12, 3)).astype(np.float32) for _ in range(2)]
    weights = rng.random((12, 1))
    fold_of = np.repeat([0, 1, 2], 4)
    found = error_products(errors, weights, fold_of, np.array([0, 1, 3], np.int32))
    rows = fold_of == 1
    expected = (weights[rows] * errors[0][rows, 1:] * errors[1][rows, 1:]).sum()
    assert found[1, 1, 0, 1] == pytest.approx(expected, rel=1e-5)


def test_noise_gives_all_outputs_nearly_common_weights():
    rng = np.random.default_rng(1)
    shared = rng.normal(size=(40, 6))
    errors = [shared + 0.5 * rng.normal(size=(40, 6)) for _ in range(3)]
    weights = blend_of(errors).weights
    np.testing.assert_allclose(weights, np.tile(weights[0], (6, 1)), atol=0.05)


def test_outputs_that_differ_get_weights_of_their_own():
    rng = np.random.default_rng(2)
    scale = np.array([[0.2, 0.2, 2.0, 2.0], [2.0, 2.0, 0.2, 0.2]])
    errors = [scale[m] * rng.normal(size=(500, 4)) for m in range(2)]
    weights = blend_of(errors).weights
    assert (weights[:2, 0] > 0.9).all()
    assert (weights[2:, 1] > 0.9).all()


def test_a_poor_member_weighs_next_to_nothing_even_for_few_rows():
    rng = np.random.default_rng(3)
    good = rng.normal(size=(20, 3))
    errors = [good, good + 0.3 * rng.normal(size=(20, 3)), 6.0 * rng.normal(size=(20, 3))]
    assert blend_of(errors).weights[:, 2].max() < 0.1
