"""How fast graph classifiers train: in matrix products, in seconds and in memory.

``python -m benchmarks.graph_speed`` prints one line for each of

- one member on yeast to a relative duality gap of 1 %, for some C, in units of the product of an
  n x n kernel matrix and an n x 4|E| matrix, measured in the same run, on one thread;
- 100 members on enron with two threads;
- a linear kernel on 20,000 generated rows, with the largest memory of the process.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.graph_tables import load, make_graphs
from ramify import GraphClassifier
from ramify.datasets import make_multilabel


def products_on_yeast(constant: float) -> tuple[float, float, float]:
    """Time one fit and one product; give CPU seconds of both, and the relative gap reached."""
    X, Y = load("yeast")
    gram = X @ X.T
    model = GraphClassifier(
        kernel="precomputed",
        C=constant,
        intercept_scaling=0.0,
        calibration_folds=None,
        random_state=0,
    )
    right = np.random.default_rng(0).random((len(X), 4 * (Y.shape[1] - 1)))
    with threadpool_limits(1, "blas"):
        gram @ right
        start = time.process_time()
        for _ in range(20):
            gram @ right
        product = (time.process_time() - start) / 20
        start = time.process_time()
        model.fit(gram, Y)
        fit = time.process_time() - start
    return fit, product, model.dual_gap_ / (model.objective_ - model.dual_gap_)


def members_on_enron() -> float:
    """Time a fit of 100 members with two threads, in seconds of the clock."""
    X, Y = load("enron")
    start = time.perf_counter()
    make_graphs(0.5, 100, n_jobs=2).fit(X, Y)
    return time.perf_counter() - start


def many_rows() -> tuple[float, float]:
    """Fit 20,000 rows, 200 features and 50 labels; give CPU seconds and gigabytes."""
    X, Y = make_multilabel(20_000, 200, 50, cardinality=5.0, random_state=0)
    model = GraphClassifier(C=0.1, calibration_folds=None, random_state=0)
    start = time.process_time()
    model.fit(X, Y)
    seconds = time.process_time() - start
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> int:
    """Measure and print."""
    seconds, gigabytes = many_rows()  # first, so that the memory is its own
    print(f"20,000 rows, linear: {seconds:.0f} s of CPU, at most {gigabytes:.2f} GB")
    for constant in (0.1, 1.0, 5.0):
        fit, product, gap = products_on_yeast(constant)
        print(
            f"yeast, C = {constant:g}: gap of {100 * gap:.2f} % in {fit:.2f} s of CPU, "
            f"{fit / product:.0f} products of {1000 * product:.1f} ms"
        )
    print(f"enron, 100 members, 2 threads: {members_on_enron():.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
