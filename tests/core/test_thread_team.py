"""A team makes do with the threads that the system gives it."""

import subprocess
import sys

import pytest

#: Address space for some of the stacks of 1,024 threads, but not for all.
FEW_THREADS = """
import resource, sys
sys.path.insert(0, {folder!r})
from agreement import assert_identical
from problems import numeric_problem

problem = numeric_problem(6_000)
one = problem.grow(n_threads=1)
limit = 4 << 30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
assert_identical(one, problem.grow(n_threads=1024))
print("same")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are those of Linux")
def test_threads_that_cannot_be_started_change_nothing(request):
    code = FEW_THREADS.format(folder=str(request.path.parent))
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.stdout == "same\n", result.stderr
