"""The distributions of the random projections (Joly et al., 2014, section 2.2)."""

import math

import numpy as np
import pytest
from scipy import sparse, stats

from polyleaf.projections import (
    Achlioptas,
    Gaussian,
    Hadamard,
    Rademacher,
    SparseRademacher,
    Subsample,
)
from polyleaf.projections._random import _signed_columns

D = 9


def draw_matrices(projection, make_context, n_draws, n_channels=D):
    values = np.random.default_rng(0).normal(size=(20, n_channels))
    context = make_context(values)
    for _ in range(n_draws):
        view = projection.draw(context)
        if view.kind == "selection":
            yield view.scale * np.eye(n_channels)[:, view.selected]
        else:
            yield view.matrix.toarray() if sparse.issparse(view.matrix) else view.matrix


@pytest.mark.parametrize(
    ("projection", "density"),
    [
        (Gaussian(4), 1),
        (Rademacher(4), 1),
        (Rademacher(4, density=0.5), 1 / 2),
        (Achlioptas(4), 1 / 3),
        (SparseRademacher(4), 1 / math.sqrt(D)),
        (Hadamard(4), 1),
        (Subsample(4), 1),
        (Subsample(4, replace=True), 1),
    ],
    ids=str,
)
def test_squared_norms_are_kept_on_average(projection, density, make_context):
    n_draws = 6_000
    mean = sum(M @ M.T for M in draw_matrices(projection, make_context, n_draws)) / n_draws
    # Drawing empty columns again makes the others more frequent by 1 / P(not empty).
    redrawn = 1 - (1 - density) ** D
    np.testing.assert_allclose(mean, np.eye(D) / redrawn, atol=0.06)


def test_gaussian_coefficients_are_normal_with_variance_one_over_q(make_context):
    matrices = np.stack(list(draw_matrices(Gaussian(5), make_context, 200)))
    assert stats.kstest(matrices.ravel() * math.sqrt(5), "norm").pvalue > 0.01


@pytest.mark.parametrize(
    ("projection", "s"),
    [(Rademacher(6, density=0.25), 4), (Achlioptas(6), 3), (SparseRademacher(6), 20)],
    ids=str,
)
def test_signs_and_zeros_have_the_probabilities_of_the_paper(projection, s, make_context):
    matrices = np.stack(list(draw_matrices(projection, make_context, 50, n_channels=400)))
    size = math.sqrt(s / 6)
    counts = [np.count_nonzero(np.isclose(matrices, value)) for value in (-size, 0, size)]
    assert sum(counts) == matrices.size
    expected = np.array([1 / (2 * s), 1 - 1 / s, 1 / (2 * s)]) * matrices.size
    assert stats.chisquare(counts, expected).pvalue > 0.01


@pytest.mark.parametrize("density", [0.05, 0.2, 0.5])
def test_columns_are_distributed_as_if_empty_ones_were_drawn_again(density):
    n_rows, n_columns = 4, 20_000
    columns = _signed_columns(np.random.default_rng(0), (n_rows, n_columns), density).toarray()
    patterns = (columns != 0).astype(int).T @ (1 << np.arange(n_rows))
    observed = np.bincount(patterns, minlength=2**n_rows)
    ones = np.array([pattern.bit_count() for pattern in range(2**n_rows)])
    probabilities = density**ones * (1 - density) ** (n_rows - ones)
    assert observed[0] == 0
    expected = probabilities[1:] / (1 - probabilities[0]) * n_columns
    # Patterns that are too rare for the chi-squared test are counted together.
    common = expected >= 5
    observed, rare = observed[1:][common], observed[1:][~common].sum()
    if not common.all():
        observed = np.append(observed, rare)
        expected = np.append(expected[common], expected[~common].sum())
    assert stats.chisquare(observed, expected).pvalue > 0.01


def test_sparse_coefficients_are_kept_sparse(make_context):
    values = np.random.default_rng(0).normal(size=(10, 2_500))
    matrix = SparseRademacher(10).draw(make_context(values)).matrix
    assert sparse.issparse(matrix)
    assert matrix.nnz < 2 * 10 * 50
    assert matrix.has_sorted_indices


def test_hadamard_columns_are_distinct_signs(make_context):
    for matrix in draw_matrices(Hadamard(16), make_context, 5):
        np.testing.assert_array_equal(np.abs(matrix), 0.25)
        assert len({tuple(column) for column in matrix.T}) == 16
