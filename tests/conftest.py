"""Settings for all tests, and a small problem that several rooms read."""

import os
import signal
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from polyleaf import TreeRegressor

# A deadline per example would fail on a busy machine.
settings.register_profile("polyleaf", deadline=None)
settings.load_profile("polyleaf")
os.environ.setdefault("MPLBACKEND", "Agg")
# A shell starts jobs in the background with Ctrl-C ignored; processes of tests would inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def soil():
    """Rows with numbers, categories and gaps, and two targets that depend on them."""
    rng = np.random.default_rng(0)
    n = 240
    X = pd.DataFrame(
        {
            "depth": rng.uniform(0, 10, n),
            "use": rng.choice(["forest", "meadow", "field", "town"], n),
            "noise": rng.normal(size=n),
        }
    )
    Y = pd.DataFrame(
        {
            "carbon": 5.0 * (X["depth"] > 4) + rng.normal(0, 0.1, n),
            "nitrogen": 3.0 * X["use"].isin(["forest", "town"]) + rng.normal(0, 0.1, n),
        }
    )
    X.loc[::6, "depth"] = np.nan
    return X, Y


@pytest.fixture
def soil_tree(soil):
    """A fitted tree of depth 3."""
    return TreeRegressor(max_depth=3, random_state=0).fit(*soil)


@pytest.fixture
def quick(monkeypatch):
    """Two small candidates for automatic estimators: for tests that are not about who wins."""
    from polyleaf import ExtraTreesClassifier, ExtraTreesRegressor
    from polyleaf.auto import candidates as auto
    from polyleaf.auto.baselines import BaselineClassifier, BaselineRegressor

    work = auto.forest_work(0.1)
    kernel = auto._baseline(BaselineClassifier, model="kernel")
    regressors = [
        auto.Candidate("extra_trees", auto._of(ExtraTreesRegressor, n_estimators=5), work),
        auto.Candidate("ridge", auto._baseline(BaselineRegressor), auto.squares_work),
    ]
    classifiers = [
        auto.Candidate("extra_trees", auto._of(ExtraTreesClassifier, n_estimators=5), work),
        auto.Candidate("kernel_ridge", kernel, auto.squares_work),
    ]
    monkeypatch.setattr(auto, "_REGRESSORS", regressors)
    monkeypatch.setattr(auto, "_CLASSIFIERS", classifiers)


@pytest.fixture(autouse=True)
def close_figures():
    """Leave no figure open."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def polyleaf(monkeypatch, capsys):
    """Return a function that runs a command and returns what it printed."""

    def run(*arguments, code=0):
        from polyleaf.cli import main

        monkeypatch.setattr(sys, "argv", ["polyleaf", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        printed, told = capsys.readouterr()
        assert (end.value.code or 0) == code, printed + told
        return printed if code == 0 else told

    return run
