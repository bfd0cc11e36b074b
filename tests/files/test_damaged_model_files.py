"""Two thousand damaged and hostile model files: an error of ours or a working model, no crash."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("fuzz_model_files.py")


@pytest.mark.parametrize("seed", [0, 1])
def test_damaged_model_files_are_refused_or_harmless(seed):
    # In a process of its own, so that a crash of the interpreter is a failure and not the end.
    command = [sys.executable, str(SCRIPT), "1000", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found = re.search(r"(\d+) files, (\d+) loaded, (\d+) failures", done.stdout)
    assert found, done.stdout[-3000:]
    n_files, n_loaded, n_failures = map(int, found.groups())
    assert n_failures == 0, done.stdout[-3000:]
    assert n_files == 1000
    assert 0 < n_loaded < 500  # some changes do no harm, most are noticed
