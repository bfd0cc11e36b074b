"""Whatever ends a fit early, at whatever point, leaves a rule learner as it was."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import polyleaf
from polyleaf import RuleClassifier, RuleRegressor
from polyleaf.datasets import make_multilabel

SOURCE = str(Path(polyleaf.__file__).parent)
X, Y = make_multilabel(40, 4, 3, random_state=0)
STOPPING = {"early_stopping": True, "n_iter_no_change": 3}
CASES = {
    "labels": RuleClassifier(n_rules=4, random_state=0),
    "whole rows": RuleClassifier(n_rules=4, loss="examplewise_logistic", random_state=0),
    "guarded": RuleClassifier(n_rules=4, step="guarded", random_state=0, **STOPPING),
    "numbers": RuleRegressor(n_rules=4, head="single", random_state=0, **STOPPING),
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


@pytest.mark.parametrize("cause", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("case", CASES)
def test_a_fit_that_ends_early_leaves_the_model_as_it_was(case, cause):
    # A pruned model has measured losses beside its rules; both must stay.
    model = clone(CASES[case]).fit(X, Y).prune(X, Y, n_rules=2).set_params(random_state=1)
    finished = clone(model).fit(X, Y)  # what is cached is then as it will be
    n_calls = fit_until(finished, None)
    before, predicted, losses = vars(model).copy(), model.predict(X), (model.loss_, model.n_rules_)
    for at in np.unique(np.linspace(1, n_calls, 60).astype(int)):
        with pytest.raises(cause):
            fit_until(model, at, cause)
        assert vars(model) == before
    assert np.array_equal(model.predict(X), predicted)
    assert (model.loss_, model.n_rules_) == losses
    # What was ended early can be done again, and ends where it would have.
    assert np.array_equal(model.fit(X, Y)._rules.score, finished._rules.score)
    assert not hasattr(model, "loss_")


@pytest.mark.parametrize("case", CASES)
def test_a_first_fit_that_ends_early_leaves_nothing_behind(case):
    n_calls = fit_until(clone(CASES[case]).fit(X, Y), None)
    model = clone(CASES[case])
    before = vars(model).copy()
    for at in np.unique(np.linspace(1, n_calls, 30).astype(int)):
        with pytest.raises(KeyboardInterrupt):
            fit_until(model, at)
        assert vars(model) == before
