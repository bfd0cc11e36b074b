"""What ``kernel="auto"`` and ``C="auto"`` choose by held-out rows."""

import numpy as np
import pytest
from scipy import sparse

import polyleaf
from polyleaf import GraphClassifier, GraphEnsembleClassifier
from polyleaf.graphs import training

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 2))
ANGLES = np.linspace(0.0, 1.0, 4)
LINES = (X @ [np.cos(ANGLES), np.sin(ANGLES)] > 0).astype(int)
NOISE = (RNG.random((240, 4)) < 0.5).astype(int)
RINGS = (np.linalg.norm(X, axis=1)[:, None] > [0.6, 1.0, 1.4, 1.8]).astype(int)


def fit(features, labels, cls=GraphClassifier, **parameters):
    return cls(calibration_folds=None, random_state=0, **parameters).fit(features, labels)


def test_rings_are_given_the_rbf_kernel_and_many_are_right():
    model = fit(X[:160], RINGS[:160], GraphEnsembleClassifier, n_estimators=5)
    assert model.kernel_ == "rbf"
    assert (model.predict(X[160:]) == RINGS[160:]).mean() > 0.9
    linear = fit(X[:160], RINGS[:160], kernel="linear")
    assert (linear.predict(X[160:]) == RINGS[160:]).mean() < 0.8


def test_in_doubt_the_kernel_is_linear_and_c_is_the_scale():
    model = fit(X, NOISE)
    plain = fit(X, NOISE, kernel="linear", C="scale")
    assert (model.kernel_, model.C_) == ("linear", plain.C_)
    assert np.array_equal(model.decision_function(X), plain.decision_function(X))


def test_lines_through_clean_labels_are_fitted_closely():
    model = fit(X, LINES)
    assert pytest.approx(10.0 * fit(X, LINES, kernel=model.kernel_, C="scale").C_) == model.C_


def pairs_tried(monkeypatch, mean_errors):
    """Fit with given numbers of wrong labels; give the pairs tried, and the one taken."""
    pairs, prepare = [], training._prepare

    def note(estimator, data, rows, labels, kernel, C, seed):
        pairs.append((kernel, C))
        return prepare(estimator, data, rows, labels, kernel, C, seed)

    def errors(task, fold):
        return mean_errors[pairs[-1]] + np.arange(fold.size) % 2 * 0.1

    monkeypatch.setattr(training, "_prepare", note)
    monkeypatch.setattr(training, "_held_out_errors", errors)
    fit(X, LINES)
    return pairs[:-1], pairs[-1]


LINEAR, CLOSE_LINEAR = ("linear", "scale"), ("linear", "10*scale")
RBF, CLOSE_RBF = ("rbf", "scale"), ("rbf", "10*scale")


def test_a_kernel_is_tried_with_the_c_that_suits_the_linear_one(monkeypatch):
    errors = {LINEAR: 3.0, CLOSE_LINEAR: 1.0, CLOSE_RBF: 1.0}
    assert pairs_tried(monkeypatch, errors) == ([LINEAR, CLOSE_LINEAR, CLOSE_RBF], CLOSE_LINEAR)


def test_c_is_chosen_again_for_another_kernel(monkeypatch):
    errors = {LINEAR: 3.0, CLOSE_LINEAR: 3.0, RBF: 2.0, CLOSE_RBF: 1.0}
    assert pairs_tried(monkeypatch, errors) == ([LINEAR, CLOSE_LINEAR, RBF, CLOSE_RBF], CLOSE_RBF)


def test_few_rows_and_sparse_rows_keep_the_linear_kernel():
    assert fit(X[:99], RINGS[:99]).kernel_ == "linear"
    assert fit(sparse.csr_array(X), RINGS).kernel_ == "linear"


def test_a_kernel_or_a_constant_that_is_given_stays():
    assert fit(X, RINGS, kernel="cosine").kernel_ == "cosine"
    assert fit(X, RINGS, C=0.7).C_ == 0.7


def test_the_choice_depends_on_the_seed_alone_and_is_the_same_for_the_complement():
    one, two = (fit(X, RINGS, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one.decision_function(X), two.decision_function(X))
    turned = fit(X, 1 - RINGS)
    assert (turned.kernel_, turned.C_) == (one.kernel_, one.C_)
    is_clear = np.abs(one.decision_function(X)) > 1e-6
    assert np.array_equal(turned.predict(X)[is_clear], 1 - one.predict(X)[is_clear])


def test_a_file_keeps_the_kernel_that_was_chosen(tmp_path):
    model = fit(X, RINGS)
    polyleaf.save(model, tmp_path / "rings.polyleaf")
    loaded = polyleaf.load(tmp_path / "rings.polyleaf")
    assert (loaded.kernel, loaded.kernel_) == ("auto", "rbf")
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))


def test_members_that_are_added_keep_the_choice():
    grown = fit(X, RINGS, GraphEnsembleClassifier, n_estimators=2, warm_start=True)
    grown.set_params(n_estimators=4).fit(X, RINGS)
    at_once = fit(X, RINGS, GraphEnsembleClassifier, n_estimators=4)
    assert (grown.kernel_, grown.C_) == (at_once.kernel_, at_once.C_)
    assert np.array_equal(grown.predict(X), at_once.predict(X))


def test_classes_of_several_outputs_choose_too():
    classes = np.column_stack([RINGS.sum(axis=1), LINES.sum(axis=1)])
    assert fit(X, classes).predict(X).shape == (240, 2)
