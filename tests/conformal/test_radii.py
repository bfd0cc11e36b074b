"""Radii hold the exact set: scores standardised by all rows, the new one included."""

import numpy as np
import pytest

from polyleaf.conformal.radii import (
    box_distances,
    box_radii,
    ellipsoid_distances,
    ellipsoid_radii,
    second_moments,
    split_moments,
    training_moments,
)
from polyleaf.conformal.ranks import kth_smallest, promised_rank


def draws(seed, n=25, d=4):
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(d, d)) * rng.uniform(0.1, 10.0, d)
    return rng.standard_t(4, size=(n, d)) @ mix, rng.standard_t(2, size=(40, d)) @ mix


def exact_scores(rows, known, unknown, kind):
    """Naive: regress unknown on known outputs over all rows, standardise by all rows."""
    moments = rows.T @ rows
    left = rows[:, unknown]
    if len(known):
        weights = np.linalg.solve(moments[np.ix_(known, known)], moments[np.ix_(known, unknown)])
        left = left - rows[:, known] @ weights
    rest = left.T @ left
    if kind == "box":
        return (left**2 / np.diag(rest)).max(axis=1)
    return np.einsum("ij,jk,ik->i", left, np.linalg.inv(rest), left)


def in_exact_set(residuals, new, known, unknown, kind, rank):
    scores = exact_scores(np.vstack([residuals, new]), known, unknown, kind)
    return scores[-1] <= np.sort(scores[:-1])[rank - 1]


def in_region(residuals, new, known, unknown, kind, rank):
    split = split_moments(second_moments(residuals), known, unknown)
    radii = (box_radii if kind == "box" else ellipsoid_radii)(split, residuals, new[None, known])
    radius = kth_smallest(radii, rank)[0]
    left = new[unknown] - new[known] @ split.weights
    if kind == "box":
        return (np.abs(left) <= radius * np.sqrt(np.diag(split.rest)) * (1 + 1e-9)).all()
    return left @ np.linalg.solve(split.rest, left) <= radius**2 * (1 + 1e-9)


@pytest.mark.parametrize("kind", ["box", "ellipsoid"])
@pytest.mark.parametrize("known", [[], [1], [3, 0]])
def test_regions_hold_the_exact_conformal_set_and_little_more(kind, known):
    known = np.array(known, dtype=np.intp)
    unknown = np.setdiff1d(np.arange(4), known)
    n_exact = n_more = 0
    for seed in range(30):
        residuals, new_rows = draws(seed)
        for new in new_rows:
            rank = promised_rank(0.2, residuals.shape[0])
            exact = in_exact_set(residuals, new, known, unknown, kind, rank)
            ours = in_region(residuals, new, known, unknown, kind, rank)
            assert ours or not exact
            n_exact += exact
            n_more += ours and not exact
    assert n_exact > 500
    assert n_more < 0.12 * n_exact


@pytest.mark.parametrize("kind", ["box", "ellipsoid"])
def test_without_known_outputs_radii_are_leave_one_out_distances(kind):
    residuals, _ = draws(0)
    split = split_moments(second_moments(residuals), np.arange(0), np.arange(4))
    radii = (box_radii if kind == "box" else ellipsoid_radii)(split, residuals, np.empty((1, 0)))
    for i, row in enumerate(residuals):
        others = np.delete(residuals, i, axis=0)
        moments = others.T @ others
        if kind == "box":
            expected = np.sqrt((row**2 / np.diag(moments)).max())
        else:
            expected = np.sqrt(row @ np.linalg.solve(moments, row))
        assert radii[0, i] == pytest.approx(expected, rel=1e-5)


def test_units_of_outputs_do_not_matter():
    residuals, new_rows = draws(1)
    units = np.array([1e-12, 1.0, 1e9, 1e3])
    known, unknown = np.array([2]), np.array([0, 1, 3])
    for kind in (box_radii, ellipsoid_radii):
        found = [
            kind(split_moments(second_moments(z), known, unknown), z, new[:, known])
            for z, new in ((residuals, new_rows), (residuals * units, new_rows * units))
        ]
        np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_outputs_that_depend_on_each_other_are_no_obstacle():
    residuals = np.repeat(draws(2)[0][:, :1], 3, axis=1) * [1.0, 2.0, 0.0]
    split = split_moments(second_moments(residuals), np.array([0]), np.array([1, 2]))
    assert np.isfinite(box_radii(split, residuals, np.array([[1.0]]))).all()


@pytest.mark.parametrize(
    ("alpha", "n_rows", "rank"),
    [(0.1, 9, 9), (0.1, 8, 9), (0.1, 19, 18), (0.3, 9, 7), (0.05, 100, 96), (0.2, 0, 1)],
)
def test_ranks_follow_the_decimal_that_was_written(alpha, n_rows, rank):
    assert promised_rank(alpha, n_rows) == rank


def test_a_rank_beyond_all_rows_is_infinite():
    assert kth_smallest(np.arange(3.0), 4) == np.inf
    assert kth_smallest(np.array([3.0, 1.0, 2.0]), 2) == 2.0


@pytest.mark.parametrize("known", [[], [1], [3, 0]])
def test_distances_by_moments_of_other_rows_equal_naive_ones(known):
    trained, _ = draws(1)
    residuals, _ = draws(2)
    known = np.array(known, dtype=np.intp)
    unknown = np.setdiff1d(np.arange(4), known)
    moments = trained.T @ trained / trained.shape[0]
    rest, left = moments[np.ix_(unknown, unknown)], residuals[:, unknown]
    if known.size:
        across = moments[np.ix_(known, unknown)]
        weights = np.linalg.solve(moments[np.ix_(known, known)], across)
        left, rest = left - residuals[:, known] @ weights, rest - across.T @ weights
    split = split_moments(training_moments(trained, np.zeros(4)), known, unknown)
    boxes = (np.abs(left) / np.sqrt(np.diag(rest))).max(axis=1)
    np.testing.assert_allclose(box_distances(split, residuals)[0], boxes, rtol=1e-6)
    lengths = np.sqrt(np.einsum("ij,jk,ik->i", left, np.linalg.inv(rest), left))
    np.testing.assert_allclose(ellipsoid_distances(split, residuals)[0], lengths, rtol=1e-6)


def test_outputs_that_training_rows_fit_exactly_keep_a_scale():
    moments = training_moments(np.zeros((20, 2)), np.array([1.0, 500.0]))
    np.testing.assert_allclose(np.sqrt(np.diag(moments)), [1e-3, 0.5])


def test_few_or_gappy_training_rows_give_each_output_its_own_scale():
    rows = np.array([[3.0, np.nan], [np.nan, 4.0], [3.0, np.nan]])
    np.testing.assert_allclose(training_moments(rows, np.zeros(2)), np.diag([9.0, 16.0]))
