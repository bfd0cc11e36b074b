"""Ctrl-C ends the training of graphs, in all threads."""

import os
import signal
import subprocess
import sys
import time

import pytest

LONG_FIT = """
import sys
import numpy as np
from polyleaf import GraphEnsembleClassifier

rng = np.random.default_rng(0)
X = 100.0 + rng.normal(size=(4000, 20))  # badly scaled, so that training takes long
Y = rng.random((4000, 40)) < 0.5
model = GraphEnsembleClassifier(tol=1e-9, max_iter=10**6, n_jobs=int(sys.argv[1]))
print("training", flush=True)
try:
    model.fit(X, Y)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of consoles work differently there")
@pytest.mark.parametrize("n_jobs", ["1", "2"])
def test_ctrl_c_ends_the_training_of_graphs(n_jobs):
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_FIT, n_jobs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "training\n"
        time.sleep(1.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=15.0)
    finally:
        process.kill()
        process.wait()
    assert output == "interrupted\n"
    assert process.returncode == 0, errors
