"""A fit of the comparison of defaults ends at its limit, in a process of its own."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.defaults_methods import Ours

from benchmarks import defaults
from polyleaf import TreeRegressor

RNG = np.random.default_rng(0)
DATA = SimpleNamespace(X=RNG.normal(size=(60, 3)), Y=RNG.normal(size=(60, 2)))
ENTRY = SimpleNamespace(name="made", task="regression")


class _Deaf:
    """Counts, and swallows every exception on the way, as a loop in C does."""

    def fit(self, X, Y):
        while True:
            try:
                time.sleep(0)
            except Exception:
                continue


class _Broken:
    def fit(self, X, Y):
        raise ValueError("no")


@pytest.fixture
def method(monkeypatch):
    def offer(made):
        monkeypatch.setattr(defaults, "methods_of", lambda task: {"m": lambda seed: made})

    return offer


def test_a_fit_is_measured_in_a_process_of_its_own(method):
    method(Ours(TreeRegressor(max_depth=2, random_state=0)))
    line = defaults.measure_apart(ENTRY, DATA, 0, "m", 60)
    alone = defaults.measure(ENTRY, DATA, 0, "m", 60)
    assert line["scores"] == alone["scores"]
    assert set(line["scores"]) == {"r2", "arrmse"}
    assert line["bytes"] > 0
    assert line["error"] is None


def test_a_fit_that_does_not_listen_is_ended(method, monkeypatch):
    method(_Deaf())
    monkeypatch.setattr(defaults, "_GRACE", 1)
    line = defaults.measure_apart(ENTRY, DATA, 0, "m", 1)
    assert line["scores"] is None
    assert "took more than 1 s" in line["error"]


def test_what_a_fit_raises_is_noted(method):
    method(_Broken())
    line = defaults.measure_apart(ENTRY, DATA, 0, "m", 60)
    assert line["scores"] is None
    assert line["error"] == "ValueError('no')"
