"""Fit with little memory left and say how that ends; the figures of SECURITY.md.

Each fit runs in a forked child that may take so many megabytes of addresses beyond what the
process already holds::

    python tools/little_memory.py GraphEnsembleClassifier --jobs 1 2
"""

import argparse
import os
import resource
import signal
import time
import warnings
from pathlib import Path

import numpy as np

import polyleaf

SIZES = (2, 5, 10, 20, 30, 40, 60, 100)
MOST_SECONDS = 60.0


def fit_in_child(cls, n_jobs, megabytes):
    """Fit in a child with so much memory; return how it ended."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    Y = (X[:, :4] + rng.normal(size=(400, 4)) > 0).astype(int)
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = used + (megabytes << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        code = 4
        try:
            cls(n_estimators=2, random_state=0, n_jobs=n_jobs).fit(X, Y)
            code = 0
        except MemoryError:
            code = 3
        finally:
            os._exit(code)
    begun = time.monotonic()
    while time.monotonic() - begun < MOST_SECONDS:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return {0: "fits", 3: "MemoryError", 4: "error"}.get(code, f"ends with {code}")
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hangs"


def main():
    """Print one line per number of jobs and megabytes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("estimator", nargs="?", default="GraphEnsembleClassifier")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cls = getattr(polyleaf, options.estimator)
    for n_jobs in options.jobs:
        for megabytes in SIZES:
            ends = [fit_in_child(cls, n_jobs, megabytes) for _ in range(options.repeats)]
            print(f"n_jobs={n_jobs}, {megabytes} MB: {', '.join(ends)}", flush=True)


if __name__ == "__main__":
    main()
