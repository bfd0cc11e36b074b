"""Two thousand hostile inputs: a TypeError or ValueError, or a working model, no crash."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("fuzz_inputs.py")


@pytest.mark.parametrize("seed", [0, 1])
def test_hostile_inputs_are_refused_or_fitted(seed):
    # In a process of its own, so that a crash of the interpreter is a failure and not the end.
    command = [sys.executable, str(SCRIPT), "1000", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found = re.search(r"(\d+) fitted, (\d+) refused, (\d+) failures", done.stdout)
    assert found, done.stdout[-3000:]
    n_fitted, n_refused, n_failures = map(int, found.groups())
    assert n_failures == 0, done.stdout[-3000:]
    assert n_fitted + n_refused == 1000
    assert min(n_fitted, n_refused) > 100
