"""Threads that die or cannot be started never make the caller wait for ever."""

import _thread
import subprocess
import sys

import pytest

from polyleaf.checks.threads import Pieces

LOW_MEMORY = """
import faulthandler, resource, sys
import numpy as np, polyleaf
faulthandler.dump_traceback_later(60, exit=True)
rng = np.random.RandomState(0)
X, Y = rng.rand(20000, 10), (rng.rand(20000, 20) > 0.7).astype(float)
model = polyleaf.RandomForestClassifier(4, n_jobs=4, random_state=0)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]) * 2**20,) * 2)
try:
    model.fit(X, Y)
    print("fitted")
except MemoryError:
    print("MemoryError")
"""


def test_without_a_single_thread_the_caller_does_the_work(monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    assert list(Pieces(lambda i: i**2, 20, 4, 8).results()) == [i**2 for i in range(20)]


def test_threads_that_never_begin_are_not_waited_for(monkeypatch):
    monkeypatch.setattr(_thread, "start_new_thread", lambda *_: 1)
    pieces = Pieces(lambda i: i**2, 20, 4, 8)
    assert list(pieces.results()) == [i**2 for i in range(20)]
    pieces.close()


def test_a_thread_that_dies_with_a_piece_is_a_memory_error():
    pieces = Pieces(lambda i: i, 3, 1, 3)
    pieces._is_working.append(False)
    pieces._begin(1, 1)  # by a helper that is no more
    results = pieces.results()
    assert next(results) == 0
    with pytest.raises(MemoryError, match="n_jobs=1"):
        next(results)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
@pytest.mark.parametrize("megabytes", [20, 60])
def test_a_fit_with_threads_and_little_memory_ends(megabytes):
    ran = subprocess.run(
        [sys.executable, "-c", LOW_MEMORY, str(megabytes)],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    # glibc and BLAS end the process themselves if they find no memory; nothing may wait for ever.
    assert "Timeout" not in ran.stderr
    if ran.returncode == 0:
        assert ran.stdout.strip() in ("fitted", "MemoryError")
