import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from polyleaf.decoding import LabelCalibrator


def problem(n=3000, d=4, seed=0):
    """True probabilities, and what an overconfident model says about them."""
    rng = np.random.default_rng(seed)
    truth = rng.beta(1.0, 3.0, size=(n, d))
    distorted = expit(2.0 * logit(truth) + np.linspace(-1, 1, d))
    return truth, distorted, (rng.random((n, d)) < truth).astype(float)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_recovers_the_true_probabilities(method):
    truth, distorted, Y = problem()
    calibrated = LabelCalibrator(method).fit(distorted, Y).transform(distorted)
    assert np.abs(distorted - truth).mean() > 0.1
    assert np.abs(calibrated - truth).mean() < 0.03


def test_sigmoids_are_logistic_regressions_on_log_odds():
    _, distorted, Y = problem()
    calibrator = LabelCalibrator().fit(distorted, Y)
    for j in range(Y.shape[1]):
        model = LogisticRegression(C=np.inf, tol=1e-8).fit(logit(distorted[:, [j]]), Y[:, j])
        assert calibrator.slopes_[j] == pytest.approx(model.coef_[0, 0], abs=0.02)
        assert calibrator.intercepts_[j] == pytest.approx(model.intercept_[0], abs=0.02)


def test_rare_labels_follow_all_labels_together():
    truth, distorted, Y = problem(seed=1)
    distorted = expit(2.0 * logit(truth))
    Y[:, 3] = 0.0
    Y[0, 3] = 1.0
    calibrator = LabelCalibrator().fit(distorted, Y)
    slope = np.median(calibrator.slopes_[:3])
    assert slope == pytest.approx(0.5, abs=0.05)
    assert 0.0 < calibrator.slopes_[3] < 1.5
    assert np.isfinite(calibrator.transform(distorted)).all()
    assert calibrator.transform(distorted)[:, 3].mean() < 0.02


def test_labels_without_positive_or_negative_rows_stay_finite():
    _, distorted, Y = problem(n=50)
    Y[:, 0], Y[:, 1] = 0.0, 1.0
    for method in ("sigmoid", "isotonic"):
        calibrated = LabelCalibrator(method).fit(distorted, Y).transform(distorted)
        assert ((calibrated >= 0) & (calibrated <= 1)).all()
        assert calibrated[:, 0].mean() < 0.1
        assert calibrated[:, 1].mean() > 0.7


def test_isotonic_falls_back_on_the_sigmoid_for_rare_labels():
    _, distorted, Y = problem()
    Y[:, 2] = 0.0
    Y[:10, 2] = 1.0
    calibrator = LabelCalibrator("isotonic").fit(distorted, Y)
    assert set(calibrator.isotonic_) == {0, 1, 3}


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_lowers_the_log_loss_on_new_rows(method):
    _, distorted, Y = problem()
    calibrator = LabelCalibrator(method).fit(distorted[:2000], Y[:2000])
    calibrated = np.clip(calibrator.transform(distorted[2000:]), 1e-6, 1 - 1e-6)
    before = log_loss(Y[2000:].ravel(), distorted[2000:].ravel())
    assert log_loss(Y[2000:].ravel(), calibrated.ravel()) < before - 0.05


def test_calibration_keeps_the_order_of_the_rows():
    _, distorted, Y = problem(n=300)
    for method in ("sigmoid", "isotonic"):
        calibrated = LabelCalibrator(method).fit(distorted, Y).transform(distorted)
        for j in range(4):
            assert (np.diff(calibrated[np.argsort(distorted[:, j]), j]) >= 0).all()


def test_a_label_whose_rows_contradict_the_model_is_not_turned_round():
    rng = np.random.default_rng(0)
    given = rng.uniform(0.05, 0.95, (400, 3))
    Y = (rng.random((400, 3)) < given).astype(int)
    Y[:, 2] = 0
    Y[np.argsort(given[:, 2])[:6], 2] = 1  # rare, and on the rows with the lowest chances
    calibrator = LabelCalibrator().fit(given, Y)
    assert (calibrator.slopes_[:2] > 0.5).all()
    assert calibrator.slopes_[2] == 0.0
    chance = calibrator.transform(given)[:, 2]
    assert np.ptp(chance) == 0.0
    # The best level under the penalty, by brute force.
    level, center = calibrator.intercepts_[2], calibrator._fit_pooled(given, Y, None)[1]

    def loss(b):
        return 400 * np.logaddexp(0.0, b) - 6 * b + (b - center) ** 2

    grid = np.linspace(-8.0, 2.0, 10_001)
    assert level == pytest.approx(grid[loss(grid).argmin()], abs=1e-3)


def test_scores_of_any_scale_become_probabilities():
    truth, _, Y = problem()
    scores = 10.0 * logit(truth) + 3.0
    calibrated = LabelCalibrator(inputs="score").fit(scores, Y).transform(scores)
    assert np.abs(calibrated - truth).mean() < 0.03


def test_unobserved_entries_do_not_count():
    _, distorted, Y = problem()
    hidden = Y.copy()
    hidden[1500:] = np.nan
    part = LabelCalibrator().fit(distorted[:1500], Y[:1500])
    whole = LabelCalibrator().fit(distorted, hidden)
    np.testing.assert_allclose(whole.slopes_, part.slopes_, atol=1e-3)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_what_a_sparse_matrix_does_not_store_stays_zero(method):
    _, distorted, Y = problem()
    distorted[distorted < 0.1] = 0.0
    stored = distorted > 0
    given = sparse.csr_array(distorted)
    calibrator = LabelCalibrator(method).fit(given, sparse.csr_array(Y))
    calibrated = calibrator.transform(given)
    assert sparse.issparse(calibrated)
    assert (calibrated.toarray()[~stored] == 0).all()
    known = np.where(stored, Y, np.nan)
    dense = LabelCalibrator(method).fit(distorted, known).transform(distorted)
    np.testing.assert_allclose(calibrated.toarray()[stored], dense[stored], atol=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LabelCalibrator("platt").fit([[0.5]], [[1]]), "'sigmoid' or 'isotonic'"),
        (lambda: LabelCalibrator(inputs="x").fit([[0.5]], [[1]]), "'probability' or 'score'"),
        (lambda: LabelCalibrator().fit([[5.0]], [[1]]), "from 0 to 1"),
        (lambda: LabelCalibrator().fit([[0.5, 0.5]], [[1]]), "the shape of Y"),
        (lambda: LabelCalibrator(inputs="score").fit([[np.inf]], [[1]]), "finite numbers"),
        (
            lambda: LabelCalibrator().fit([[0.5]], [[1]]).transform([[0.5, 0.5]]),
            "must have 1 columns, as Y in fit; got 2",
        ),
    ],
)
def test_wrong_inputs_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
