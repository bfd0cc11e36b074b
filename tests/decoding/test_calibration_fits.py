"""Calibrators fit all labels at once; here they meet solvers that take one label at a time."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from polyleaf.decoding import LabelCalibrator
from polyleaf.decoding._label_entries import Entries
from polyleaf.decoding._sigmoids import fit_sigmoids


def problem(kind, n=400, d=6, seed=0):
    """Inputs, labels with NaN where not observed, and the inputs that count."""
    rng = np.random.default_rng(seed)
    given = rng.beta(1.0, 4.0, size=(n, d))
    Y = (rng.random((n, d)) < given).astype(float)
    Y[:, 4], Y[3:, 5] = 0.0, 0.0
    if kind == "ties":
        given = given.round(1)
    if kind == "gaps":
        Y[rng.random((n, d)) < 0.3] = np.nan
        Y[:, 3] = np.nan
    if kind == "sparse":
        given = given * (given > 0.2)
        return sparse.csr_array(given), sparse.csr_array(Y), given, np.where(given > 0, Y, np.nan)
    return given, Y, given, Y


def sigmoid_of_one_label(x, y, center):
    def loss(ab):
        z = ab[0] * x + ab[1]
        penalty = ((ab - center) ** 2).sum()
        return (np.logaddexp(0.0, z) - y * z).sum() + penalty

    def gradient(ab):
        residual = expit(ab[0] * x + ab[1]) - y
        return np.array([(residual * x).sum(), residual.sum()]) + 2.0 * (ab - center)

    free = minimize(loss, center, jac=gradient, tol=1e-14).x
    if free[0] >= 0.0:
        return free
    flat = minimize(lambda b: loss(np.array([0.0, b[0]])), [center[1]], tol=1e-14).x
    return np.array([0.0, flat[0]])


@pytest.mark.parametrize("kind", ["continuous", "ties", "gaps", "sparse"])
def test_sigmoids_of_all_labels_equal_those_of_one_label_at_a_time(kind):
    given, Y, dense, known = problem(kind)
    calibrator = LabelCalibrator().fit(given, Y)
    observed = ~np.isnan(known)
    x = logit(np.clip(dense, 1e-9, 1.0 - 1e-9))
    pooled = sigmoid_of_one_label(x[observed], known[observed], np.array([1.0, 0.0]))
    expected = np.array(
        [
            sigmoid_of_one_label(x[seen, j], known[seen, j], pooled)
            for j, seen in enumerate(observed.T)
        ]
    )
    got = np.stack([calibrator.slopes_, calibrator.intercepts_], axis=1)
    np.testing.assert_allclose(got, expected, atol=2e-4)  # the reference stops that early
    np.testing.assert_allclose(
        expit(got[:, 0] * x + got[:, 1]), expit(expected[:, 0] * x + expected[:, 1]), atol=1e-5
    )


@pytest.mark.parametrize("kind", ["continuous", "ties", "gaps", "sparse"])
def test_the_gradient_of_every_sigmoid_vanishes(kind):
    given, Y, dense, known = problem(kind)
    calibrator = LabelCalibrator().fit(given, Y)
    labels = np.where(np.isnan(known), 0.0, known)
    center = calibrator._fit_pooled(
        given,
        sparse.csr_array(labels) if kind == "sparse" else labels,
        None if kind == "sparse" else ~np.isnan(known),
    )
    for j, seen in enumerate(~np.isnan(known).T):
        x = logit(np.clip(dense[seen, j], 1e-9, 1.0 - 1e-9))
        a, b = calibrator.slopes_[j], calibrator.intercepts_[j]
        residual = expit(a * x + b) - known[seen, j]
        assert residual.sum() + 2.0 * (b - center[1]) == pytest.approx(0.0, abs=1e-6)
        if a > 0.0:
            slope = (residual * x).sum() + 2.0 * (a - center[0])
            assert slope == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("kind", ["continuous", "ties", "gaps", "sparse"])
def test_step_functions_of_all_labels_equal_scikit_learns(kind):
    given, Y, dense, known = problem(kind)
    calibrator = LabelCalibrator("isotonic", min_positives=5).fit(given, Y)
    assert {0, 1, 2} <= set(calibrator.isotonic_) <= {0, 1, 2, 3}
    grid = np.linspace(0.0, 1.0, 501)
    for j, step in calibrator.isotonic_.items():
        seen = ~np.isnan(known[:, j])
        reference = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        reference.fit(dense[seen, j], known[seen, j])
        np.testing.assert_allclose(step.X_thresholds_, reference.X_thresholds_, atol=1e-12)
        np.testing.assert_allclose(step.predict(grid), reference.predict(grid), atol=1e-12)
        column = np.zeros((grid.size, 6))
        column[:, j] = grid
        np.testing.assert_allclose(
            calibrator.transform(column)[:, j], reference.predict(grid), atol=1e-12
        )


def test_step_functions_that_take_one_pass_per_row_equal_scikit_learns():
    # Means rise from 1/100 to 1 and then fall to 0: each pass pools one more.
    levels = np.arange(100)
    x = np.append(np.repeat(levels, 100), np.full(20_000, 100)) / 100.0
    y = np.append((levels[None, :] <= levels[:, None]).ravel(), np.zeros(20_000))
    calibrator = LabelCalibrator("isotonic").fit(x[:, None], y[:, None])
    reference = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(x, y)
    grid = np.linspace(0.0, 1.0, 501)
    np.testing.assert_allclose(
        calibrator.transform(grid[:, None])[:, 0], reference.predict(grid), atol=1e-12
    )


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_a_sparse_matrix_of_many_labels_is_never_made_dense(method):
    rng = np.random.default_rng(0)
    n, d, n_stored = 5000, 200_000, 40_000  # dense: 8 GB
    where = rng.integers(0, n, n_stored), rng.integers(0, 300, n_stored) * 600
    given = sparse.csr_array(sparse.coo_array((np.full(n_stored, 1e-3), where), shape=(n, d)))
    given.sum_duplicates()
    given.data = rng.uniform(0.05, 0.95, given.nnz)
    Y = given.copy()
    Y.data = (rng.random(Y.nnz) < given.data).astype(float)
    calibrator = LabelCalibrator(method).fit(given, Y)
    calibrated = calibrator.transform(given)
    assert calibrated.nnz == given.nnz
    assert np.abs(calibrated.data - given.data).mean() < 0.15
    assert len(calibrator.isotonic_) == (300 if method == "isotonic" else 0)


def test_labels_without_entries_take_the_common_sigmoid():
    empty = Entries(np.empty(0), np.empty(0), np.empty(0), np.array([0, 0, 0]))
    a, b = fit_sigmoids(empty, (0.7, -0.2))
    assert a.tolist() == [0.7, 0.7]
    assert b.tolist() == [-0.2, -0.2]


def test_extreme_scores_end_in_finite_sigmoids():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(300, 3)) * [1.0, 1e6, 1e-6]
    Y = (scores > 0).astype(float)
    calibrator = LabelCalibrator(inputs="score").fit(scores, Y)
    assert np.isfinite(calibrator.slopes_).all()
    assert np.isfinite(calibrator.transform(scores)).all()
