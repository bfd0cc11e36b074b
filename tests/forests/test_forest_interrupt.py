"""Ctrl-C ends the fit of a forest in threads; progress goes to standard error alone."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from polyleaf import RandomForestRegressor

#: Single trees take seconds and the forest minutes: only an answered signal ends it soon.
LONG_FIT = """
import signal
import sys
import numpy as np
import polyleaf

signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 60)).astype(np.float32)
Y = rng.normal(size=(20_000, 64))
forest = polyleaf.BaggedTreesRegressor(
    n_estimators=200, n_jobs=int(sys.argv[1]), projection=sys.argv[2], projection_scope=sys.argv[3]
)
data = polyleaf.BinnedData(X)
print("growing", flush=True)
try:
    forest.fit(data, Y)
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("finished", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of consoles work differently there")
@pytest.mark.parametrize(
    ("n_jobs", "projection", "scope"),
    [(1, "identity", "tree"), (3, "identity", "tree"), (2, "gaussian", "node")],
)
def test_ctrl_c_ends_a_fit_and_its_threads(n_jobs, projection, scope):
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_FIT, str(n_jobs), projection, scope],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "growing\n"
        time.sleep(1.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        # The process ends only when all of its threads have.
        output, _ = process.communicate(timeout=10.0)
    finally:
        process.kill()
        process.wait()
    assert output == "interrupted\n"
    assert process.returncode == 0


def test_progress_is_written_to_standard_error_alone(capfd):
    X = np.arange(20.0)[:, None]
    RandomForestRegressor(n_estimators=3, verbose=1).fit(X, X)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "RandomForestRegressor" in shown.err
    assert "3/3" in shown.err
    RandomForestRegressor(n_estimators=3).fit(X, X)
    shown = capfd.readouterr()
    assert shown.out == shown.err == ""
