"""How fast graph classifiers train: in matrix products, in seconds and in memory.

``python -m benchmarks.graph_speed`` prints one line for each of

- one member on yeast to a relative duality gap of 1 %, for every C of the paper's grid, in units
  of the product of an n x n kernel matrix and an n x 4|E| matrix, measured in the same run, on
  one thread: from features, from the kernel matrix, and with a kernel of full rank;
- 100 members on enron with two threads;
- 100 members on 10,000 generated rows of 50 features and 100 labels, with two threads: linear, and
  with default settings;
- a linear kernel on 20,000 generated rows, with the largest memory of the process;
- the largest memory of fits of 5 and of 50 members, beside that of their parameters;
- what the default calibration costs, of one member and of ten, on yeast.

All but the last are of fits without calibration, default settings apart. ``--only`` measures some.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import tracemalloc
from collections.abc import Sequence
from typing import Any

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


def many_labels(n_members: int, **settings: Any) -> tuple[float, float]:
    """Fit members to 10,000 rows and 100 labels; give seconds of the clock and of CPU."""
    X, Y = make_multilabel(10_000, 50, 100, cardinality=5.0, random_state=0)
    model = GraphEnsembleClassifier(n_estimators=n_members, random_state=0, n_jobs=2, **settings)
    clock, cpu = time.perf_counter(), time.process_time()
    model.fit(X, Y)
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


def show_many_rows() -> None:
    """Print time and memory of a fit to 20,000 rows."""
    seconds, gigabytes = many_rows()
    print(f"20,000 rows, linear: {seconds:.0f} s of CPU, at most {gigabytes:.2f} GB", flush=True)


def show_yeast() -> None:
    """Print what one member on yeast takes, in matrix products."""
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


def show_memory() -> None:
    """Print the memory that members take."""
    for n_members in (5, 50):
        peak, own = memory_of_members(n_members)
        print(f"{n_members} members: at most {peak:.1f} MB, members {own:.1f} MB", flush=True)


def show_calibration() -> None:
    """Print what calibration costs."""
    for n_members in (1, 10):
        ratio = cost_of_calibration(n_members)
        print(f"{n_members} members, 3 folds: {ratio:.1f} times as long as without", flush=True)


def show_enron() -> None:
    """Print the time of 100 members on enron."""
    clock, cpu = members_on_enron()
    print(f"enron, 100 members, 2 threads: {clock:.0f} s, {cpu:.0f} s of CPU")


def show_many_labels(n_members: int = 100) -> None:
    """Print the time of many members with 100 labels."""
    plain: dict[str, Any] = {"kernel": "linear", "C": "scale", "calibration_folds": None}
    for name, settings in (("linear, C = scale, no calibration", plain), ("defaults", {})):
        clock, cpu = many_labels(n_members, **settings)
        print(
            f"10,000 rows, 100 labels, {n_members} members, 2 threads, {name}: {clock:.1f} s, "
            f"{cpu:.1f} s of CPU",
            flush=True,
        )


#: The first one is first, so that the memory is its own.
PARTS = {
    "many-rows": show_many_rows,
    "yeast": show_yeast,
    "memory": show_memory,
    "calibration": show_calibration,
    "enron": show_enron,
    "many-labels": show_many_labels,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graph_speed", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--members", type=int, default=100, help="of many-labels (default 100)")
    options = parser.parse_args(argv)
    for name, show in PARTS.items():
        if name == "many-labels" and name in options.only:
            show_many_labels(options.members)
        elif name in options.only:
            show()
    return 0


if __name__ == "__main__":
    sys.exit(main())
