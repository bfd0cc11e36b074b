"""Models leave no memory behind, and the interpreter ends without a word."""

import os
import subprocess
import sys

import pytest

from polyleaf._registry import ESTIMATORS

PROBLEM = """
import gc, sys, threading, warnings
import numpy as np
from scipy import sparse
import polyleaf
from polyleaf import _core
from polyleaf._registry import ESTIMATORS

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
Y = (X[:, :3] > 0.3).astype(float)
small = {"n_estimators": 2, "n_rules": 2, "max_depth": 2, "max_iter": 5, "calibration_folds": None,
         "random_state": 0}

def fit(name, X=X, Y=Y, **given):
    known = ESTIMATORS[name]().get_params()
    small_ones = {k: v for k, v in small.items() if k in known}
    return ESTIMATORS[name](**small_ones | given).fit(X, Y)
"""

#: Kinds of fits that hold different things of the core.
FITS = """
models = [fit(name) for name in ESTIMATORS]
models += [fit(name, sparse.csr_array(X), sparse.csr_array(Y)) for name in ESTIMATORS
           if name.endswith("Classifier")]
models += [fit("RandomForestRegressor", projection="gaussian", n_jobs=2),
           fit("BoostingRegressor", projection="subsample", max_bins=16),
           fit("BoostingClassifier", early_stopping=True),
           fit("ExtraTreesClassifier", max_bins=None)]
models.append(polyleaf.TunedDecoder(polyleaf.TreeClassifier(max_depth=2), cv=2).fit(X, Y))
for model in models:
    for method in ("predict", "predict_proba", "apply"):
        try:
            getattr(model, method)(X)
        except (AttributeError, NotImplementedError, TypeError, ValueError):
            pass
"""


def run(code):
    """Run in an interpreter of its own; return what it said on standard error as it ended."""
    # Under the address sanitizer, memory that was given back would wait for a while.
    options = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=0"
    result = subprocess.run(
        [sys.executable, "-c", PROBLEM + code],
        env=os.environ | {"ASAN_OPTIONS": options + ":thread_local_quarantine_size_kb=0"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return result.stderr


def test_models_in_reference_cycles_are_freed():
    # With its warnings on, nanobind lists what is alive when the interpreter has ended.
    code = FITS + "for model in models: model.itself = [model, models]\n"
    assert run("_core.warn_of_leaks(True)\n" + code) == ""


def test_models_that_failed_to_fit_or_predict_are_freed():
    code = """
kept = []
for name in ESTIMATORS:
    model = fit(name)
    for call in (lambda: model.predict("x"), lambda: model.fit(X, "y"), lambda: fit(name, X[:0])):
        try:
            call()
        except (TypeError, ValueError) as error:
            error.model = model
            kept.append(error)
"""
    assert run("_core.warn_of_leaks(True)\n" + code) == ""


@pytest.mark.parametrize(
    "hold",
    [
        "threading.Thread(target=lambda m=model: threading.Event().wait(), daemon=True).start()",
        "model.itself = np.array([model, None], dtype=object)",
    ],
    ids=["daemon thread", "cycle through an array of objects"],
)
def test_the_interpreter_ends_without_a_word_whoever_holds_a_model(hold):
    code = f"model = fit('GraphEnsembleClassifier')\nmodel.predict(X)\n{hold}\n"
    assert run(code) == ""
    assert "leaked" in run("_core.warn_of_leaks(True)\n" + code)  # so the warnings do work


def test_memory_does_not_grow_over_fits_and_loads(tmp_path):
    code = f"""
def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def once(i):
    for name in {list(ESTIMATORS)!r}:
        model = fit(name)
        model.predict(X)
        path = {str(tmp_path / "model.polyleaf")!r}
        polyleaf.save(model, path)
        polyleaf.load(path).predict(X)

for i in range(3):
    once(i)
before = resident()
for i in range(5):
    once(i)
print(resident() - before, file=sys.stderr)
"""
    if sys.platform != "linux":
        pytest.skip("reads /proc/self/statm")
    assert int(run(code)) < 4_000_000
