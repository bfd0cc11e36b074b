"""How fast graph classifiers train: in matrix products, in seconds and in memory.

``python -m benchmarks.graph_speed`` prints one line for each of

- one member on yeast to a relative duality gap of 1 %, for every C of the paper's grid, in units
  of the product of an n x n kernel matrix and an n x 4|E| matrix, measured in the same run, on
  one thread: from features, from the kernel matrix, and with a kernel of full rank;
- 100 members on enron with two threads;
- a linear kernel on 20,000 generated rows, with the largest memory of the process;
- the largest memory of fits of 5 and of 50 members, beside that of their parameters;
- what the default calibration costs, of one member and of ten, on yeast.

All but the last are of fits without calibration.
"""

from __future__ import annotations

import resource
import sys
import time
import tracemalloc

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.graph_tables import GRID, load, make_graphs
from polyleaf import GraphClassifier, GraphEnsembleClassifier
from polyleaf.datasets import make_multilabel

KERNELS = ("linear", "precomputed", "rbf")


def product_on_yeast() -> float:
    """Time a product of the kernel matrix and an n x 4|E| matrix, in CPU seconds."""
    X, Y = load("yeast")
    gram = X @ X.T
    right = np.random.default_rng(0).random((len(X), 4 * (Y.shape[1] - 1)))
    seconds = []
    with threadpool_limits(1, "blas"):
        for _ in range(20):
            start = time.process_time()
            gram @ right
            seconds.append(time.process_time() - start)
    return min(seconds)


def fit_on_yeast(kernel: str, constant: float) -> tuple[float, float]:
    """Time the best of three fits of one member, in CPU seconds; give the relative gap, too."""
    X, Y = load("yeast")
    given = X @ X.T if kernel == "precomputed" else X
    model = GraphClassifier(
        kernel=kernel,
        C=constant,
        scale_features=False,
        gamma=10.0,
        intercept_scaling=0.0,
        calibration_folds=None,
        random_state=0,
    )
    seconds = []
    with threadpool_limits(1, "blas"):
        for _ in range(3):
            start = time.process_time()
            model.fit(given, Y)
            seconds.append(time.process_time() - start)
    return min(seconds), model.dual_gap_ / (model.objective_ - model.dual_gap_)


def members_on_enron() -> tuple[float, float]:
    """Time a fit of 100 members with two threads, in seconds of the clock and of CPU."""
    X, Y = load("enron")
    clock, cpu = time.perf_counter(), time.process_time()
    make_graphs(0.5, 100, n_jobs=2).fit(X, Y)
    return time.perf_counter() - clock, time.process_time() - cpu


def many_rows() -> tuple[float, float]:
    """Fit 20,000 rows, 200 features and 50 labels; give CPU seconds and gigabytes."""
    X, Y = make_multilabel(20_000, 200, 50, cardinality=5.0, random_state=0)
    model = GraphClassifier(
        kernel="linear", C=0.1, scale_features=False, calibration_folds=None, random_state=0
    )
    start = time.process_time()
    model.fit(X, Y)
    seconds = time.process_time() - start
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def memory_of_members(n_members: int) -> tuple[float, float]:
    """Fit members to 5,000 rows; give the most memory that was held, and that of the members.

    Both in megabytes.
    """
    X, Y = make_multilabel(5000, 100, 20, cardinality=3.0, random_state=0)
    model = GraphEnsembleClassifier(
        n_estimators=n_members,
        kernel="linear",
        C=0.1,
        scale_features=False,
        calibration_folds=None,
        random_state=0,
    )
    tracemalloc.start()
    model.fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20, n_members * (X.shape[1] + 1) * (2 * Y.shape[1] - 1) * 8 / 2**20


def cost_of_calibration(n_members: int) -> float:
    """Fit members on yeast with and without 3 folds of calibration; give the ratio of CPU time."""
    X, Y = load("yeast")
    seconds = []
    with threadpool_limits(1, "blas"):
        for folds in (3, None):
            model = GraphEnsembleClassifier(
                n_estimators=n_members,
                kernel="linear",
                C=1.0,
                scale_features=False,
                calibration_folds=folds,
                random_state=0,
                n_jobs=1,
            )
            start = time.process_time()
            model.fit(X, Y)
            seconds.append(time.process_time() - start)
    return seconds[0] / seconds[1]


def main() -> int:
    """Measure and print."""
    seconds, gigabytes = many_rows()  # first, so that the memory is its own
    print(f"20,000 rows, linear: {seconds:.0f} s of CPU, at most {gigabytes:.2f} GB", flush=True)
    product = product_on_yeast()
    print(f"product on yeast: {1000 * product:.1f} ms of CPU")
    for kernel in KERNELS:
        for constant in GRID:
            fit, gap = fit_on_yeast(kernel, constant)
            print(
                f"yeast, {kernel}, C = {constant:g}: gap of {100 * gap:.2f} % in {fit:.2f} s of "
                f"CPU, {fit / product:.0f} products",
                flush=True,
            )
    for n_members in (5, 50):
        peak, own = memory_of_members(n_members)
        print(f"{n_members} members: at most {peak:.1f} MB, members {own:.1f} MB", flush=True)
    for n_members in (1, 10):
        ratio = cost_of_calibration(n_members)
        print(f"{n_members} members, 3 folds: {ratio:.1f} times as long as without", flush=True)
    clock, cpu = members_on_enron()
    print(f"enron, 100 members, 2 threads: {clock:.0f} s, {cpu:.0f} s of CPU")
    return 0


if __name__ == "__main__":
    sys.exit(main())
