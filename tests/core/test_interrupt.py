"""Ctrl-C ends a long fit."""

import os
import signal
import subprocess
import sys
import time

import pytest

#: A fit that takes far longer than the test waits, so that only an answered signal ends it soon.
LONG_FIT = """
import sys
import numpy as np
from polyleaf import _core

n_rows, n_features, n_channels = 80_000, 120, 256
rng = np.random.default_rng(0)
codes = rng.integers(0, 255, (n_features // 4, n_rows, 4), dtype=np.uint8)
edges = np.tile(np.arange(255.0), n_features)
none = {dtype: np.zeros(0, dtype) for dtype in (np.int32, np.uint32)}
binned = _core.Binned(
    n_rows,
    np.zeros(n_features, np.uint8),
    np.arange(n_features + 1, dtype=np.int64) * 255,
    edges,
    edges,
    np.arange(n_features, dtype=np.int32),
    codes,
    None,
    none[np.int32],
    none[np.uint32],
    np.zeros(n_rows + 1, np.int64),
    none[np.int32],
    none[np.uint32],
)
params = _core.GrowParams()
params.max_features = n_features
params.n_threads = int(sys.argv[1])
params.max_leaf_nodes = int(sys.argv[2])
some_rows = rng.standard_normal((997, n_channels), dtype=np.float32)
gradient = np.resize(some_rows, (n_rows, n_channels))
rows = np.arange(n_rows, dtype=np.int32)
print("growing", flush=True)
try:
    _core.grow_tree(binned, _core.Channels.of_gradients(gradient), rows, params)
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("finished", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of consoles work differently there")
@pytest.mark.parametrize(
    ("n_threads", "max_leaf_nodes"),
    [(1, -1), (2, 10**6)],
    ids=["one thread, depth-first", "two threads, best-first"],
)
def test_ctrl_c_ends_a_fit_with_keyboard_interrupt(n_threads, max_leaf_nodes):
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_FIT, str(n_threads), str(max_leaf_nodes)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "growing\n"
        time.sleep(1.0)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=4.0)
    finally:
        process.kill()
        process.wait()
    assert output == "interrupted\n"
    assert process.returncode == 0
