"""Theorem 1 of Joly et al., 2014: variances in a view are as close as its distances.

For the distortion eps that the drawn matrix shows on the pairs of a sample, every subset S of the
sample has (1 - eps) Var(S) <= Var(projected S) <= (1 + eps) Var(S); so has every split score.
"""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from polyleaf.projections import (
    PCA,
    PROJECTIONS,
    Achlioptas,
    Gaussian,
    Hadamard,
    Rademacher,
    Subsample,
)

# Rounding of float32 views, relative to the variance of the sample.
ROUNDING = 1e-5

PROBLEMS = {
    "normal": lambda rng: rng.normal(size=(40, 24)),
    "correlated": lambda rng: rng.normal(size=(40, 3)) @ rng.normal(size=(3, 24)) + 5,
    "labels": lambda rng: (rng.random((40, 24)) < 0.2).astype(float) + np.eye(40, 24),
}


def total_variance(sample):
    return np.var(sample, axis=0, dtype=np.float64).sum()


def within_variance(sample, is_left):
    """Impurity of both sides of a split, weighted by their share of the rows."""
    share = is_left.mean()
    return share * total_variance(sample[is_left]) + (1 - share) * total_variance(sample[~is_left])


def measured_distortion(view, values):
    """Largest relative error of a squared distance, from the coefficients themselves."""
    if view.kind == "selection":
        projected = view.scale * values[:, view.selected]
    else:
        projected = values @ view.matrix
    before, after = pdist(values, "sqeuclidean"), pdist(projected, "sqeuclidean")
    assert np.all(after[before == 0] <= 1e-20)
    return np.max(np.abs(after[before > 0] / before[before > 0] - 1))


def random_splits(rng, n_rows, n_splits=60):
    """Yield masks with at least one row on either side."""
    for _ in range(n_splits):
        is_left = np.arange(n_rows) < rng.integers(1, n_rows)
        yield rng.permutation(is_left)


every_case = pytest.mark.parametrize("problem", PROBLEMS)
every_reduction = pytest.mark.parametrize(
    "name", [n for n in PROJECTIONS if n not in ("identity", "adaptive", "round_robin")]
)


@every_case
@every_reduction
@pytest.mark.parametrize("size", ["log", 0.5, 1.0])
def test_variance_in_the_view_is_within_the_measured_distortion(name, problem, size, make_context):
    rng = np.random.default_rng(5)
    values = PROBLEMS[problem](rng)
    view = PROJECTIONS[name](n_components=size).draw(make_context(values, seed=1))
    shown, eps = view.apply(values), measured_distortion(view, values)
    rounding = ROUNDING * total_variance(values)
    subsets = [rng.choice(40, rng.integers(2, 41), replace=False) for _ in range(60)]
    for rows in [np.arange(40), *subsets]:
        variance = total_variance(values[rows])
        error = abs(total_variance(shown[rows]) - variance)
        assert error <= eps * variance + rounding


@every_case
@every_reduction
def test_split_scores_in_the_view_are_within_the_measured_distortion(name, problem, make_context):
    rng = np.random.default_rng(6)
    values = PROBLEMS[problem](rng)
    view = PROJECTIONS[name](n_components=0.5).draw(make_context(values, seed=2))
    shown, eps = view.apply(values), measured_distortion(view, values)
    parent, shown_parent = total_variance(values), total_variance(shown)
    rounding = ROUNDING * parent
    for is_left in random_splits(rng, 40):
        within, shown_within = within_variance(values, is_left), within_variance(shown, is_left)
        assert abs(shown_within - within) <= eps * within + rounding
        reduction, shown_reduction = parent - within, shown_parent - shown_within
        assert abs(shown_reduction - reduction) <= eps * (parent + within) + 2 * rounding


@every_case
@pytest.mark.parametrize(
    "projection", [Gaussian(400), Rademacher(400), Achlioptas(400), Hadamard(30)], ids=str
)
def test_best_split_in_the_view_is_nearly_best(projection, problem, make_context):
    rng = np.random.default_rng(7)
    values = PROBLEMS[problem](rng)
    view = projection.draw(make_context(values, seed=3))
    shown, eps = view.apply(values), measured_distortion(view, values)
    assert 0 < eps < 1  # or the bound would say nothing
    splits = list(random_splits(rng, 40))
    chosen = min(splits, key=lambda is_left: within_variance(shown, is_left))
    best = min(within_variance(values, is_left) for is_left in splits)
    bound = (1 + eps) / (1 - eps) * best
    assert within_variance(values, chosen) <= bound + ROUNDING * total_variance(values)


@every_case
@pytest.mark.parametrize(
    "projection", [Subsample(1.0), Subsample(24), Hadamard(32), PCA(1.0)], ids=str
)
def test_distances_are_exact_at_full_size(projection, problem, make_context):
    values = PROBLEMS[problem](np.random.default_rng(8))
    for given in (values, sparse.csr_array(values)):
        shown = projection.draw(make_context(given)).apply(given)
        np.testing.assert_allclose(pdist(shown.astype(float)), pdist(values), rtol=1e-5, atol=1e-5)


def test_gaussian_distortion_vanishes_as_components_grow(make_context):
    values = PROBLEMS["normal"](np.random.default_rng(9))
    views = [Gaussian(size).draw(make_context(values)) for size in (4, 64, 1024, 16384)]
    distortions = [measured_distortion(view, values) for view in views]
    assert distortions == sorted(distortions, reverse=True)
    assert distortions[-1] < 0.06
