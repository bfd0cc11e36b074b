import os
import sys
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from polyleaf.datasets import make_correlated_targets
from polyleaf.experiments import compare

DATA = make_correlated_targets(80, 4, 2, random_state=0)


class Crashing(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        print("last words", file=sys.stderr, flush=True)
        os.abort()


class Endless(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        time.sleep(600)


class Chatty(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        print("much ado")
        os.write(1, b"about nothing\n")
        self.n_outputs = y.shape[1]
        return self

    def predict(self, X):
        return np.zeros((len(X), self.n_outputs))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_crash_and_an_endless_run_are_recorded_and_the_rest_goes_on(n_jobs):
    methods = {"crash": Crashing(), "endless": Endless(), "chatty": Chatty(), "Tree": "Tree"}
    result = compare(DATA, methods=methods, metrics=["r2"], cv=2, limit=5, n_jobs=n_jobs)
    errors = {row["method"]: row["error"] for row in result.failures}
    assert errors == {
        "crash": "its process ended: SIGABRT (last words)",
        "endless": "took longer than the limit of 5 s, and was stopped",
    }
    assert {s.method: s.n_failed for s in result.leaderboard()} == {
        "Tree": 0, "chatty": 0, "crash": 2, "endless": 2,
    }  # fmt: skip


def test_a_run_of_its_own_gives_the_same_row():
    here = compare(DATA, methods=["Tree"], metrics=["r2"], cv=2).rows
    apart = compare(DATA, methods=["Tree"], metrics=["r2"], cv=2, limit=60).rows
    for one, other in zip(here, apart):
        assert one["scores"] == other["scores"]
        assert one["settings"] == other["settings"]


def test_what_cannot_be_sent_is_recorded():
    model = Chatty()
    model.lock = time.time  # a builtin travels; a generator does not
    model.generator = (i for i in range(3))
    result = compare(DATA, methods={"chatty": _Make(model)}, metrics=["r2"], cv=2, limit=60)
    assert all("generator" in row["error"] for row in result.failures)
    assert len(result.failures) == 2


class _Make(RegressorMixin, BaseEstimator):
    """Cloned with its parameter, which cannot be pickled."""

    def __init__(self, inner):
        self.inner = inner

    def fit(self, X, y):
        return self

    def __sklearn_clone__(self):
        return self
