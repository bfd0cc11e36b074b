"""Whatever ends a fit early, at whatever point, leaves the estimator as it was."""

import sys
from pathlib import Path

import numpy as np
import pytest
from graph_problems import linear_labels
from sklearn.base import clone

import polyleaf
from polyleaf import GraphClassifier, GraphEnsembleClassifier

SOURCE = str(Path(polyleaf.__file__).parent)
X, Y = linear_labels(24, 3, noise=0.1)
QUICK = {"calibration_folds": 2, "random_state": 0, "tol": 0.1, "n_jobs": 1}
#: An estimator, and the parameters of its second fit.
CASES = {
    "single": (GraphClassifier(**QUICK), {"C": 3.0}),
    "ensemble": (GraphEnsembleClassifier(n_estimators=2, **QUICK), {"C": 3.0}),
    "completed": (
        GraphEnsembleClassifier(n_estimators=2, completion="consistent", **QUICK | {"tol": 1.0}),
        {"C": 0.5},
    ),
    "warm start": (
        GraphEnsembleClassifier(n_estimators=2, warm_start=True, **QUICK),
        {"n_estimators": 4},
    ),
    "warm start without new members": (
        GraphEnsembleClassifier(n_estimators=2, warm_start=True, **QUICK),
        {"calibration_folds": 3},
    ),
}


def fit_until(model, n_calls, cause=KeyboardInterrupt):
    """Fit, and raise once so many functions of polyleaf were entered; give how many were."""
    entered = 0

    def note(frame, event, _):
        nonlocal entered
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            entered += 1
            if entered == n_calls:
                sys.setprofile(None)
                raise cause

    sys.setprofile(note)
    try:
        model.fit(X, Y)
    finally:
        sys.setprofile(None)
    return entered


def refitted(case):
    """Make a fitted model that is about to be fitted again."""
    model, then = CASES[case]
    return clone(model).fit(X, Y).set_params(**then)


@pytest.mark.parametrize("cause", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("case", CASES)
def test_a_fit_that_ends_early_leaves_the_model_as_it_was(case, cause):
    model = refitted(case)
    finished = refitted(case)
    n_calls = fit_until(finished, None)
    before, chances = vars(model).copy(), model.predict_proba(X)
    assert not np.array_equal(finished.predict_proba(X), chances)
    for at in np.unique(np.linspace(1, n_calls, 60).astype(int)):
        with pytest.raises(cause):
            fit_until(model, at, cause)
        assert vars(model) == before
        assert np.array_equal(model.predict_proba(X), chances)
    # What was ended early can be done again, and ends where it would have.
    assert np.array_equal(model.fit(X, Y).predict_proba(X), finished.predict_proba(X))
    assert np.array_equal(model._model.members.parameters, finished._model.members.parameters)


@pytest.mark.parametrize("cls", [GraphClassifier, GraphEnsembleClassifier])
def test_a_first_fit_that_ends_early_leaves_nothing_behind(cls):
    few = {"n_estimators": 2, "warm_start": True} if cls is GraphEnsembleClassifier else {}
    n_calls = fit_until(cls(**QUICK, **few), None)
    model = cls(**QUICK, **few)
    before = vars(model).copy()
    for at in np.unique(np.linspace(1, n_calls, 60).astype(int)):
        with pytest.raises(KeyboardInterrupt):
            fit_until(model, at)
        assert vars(model) == before
