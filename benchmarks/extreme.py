"""A forest on 100,000 labels: ``python -m benchmarks.extreme``.

Synthetic labels whose frequencies follow a power law, sparse features that tell of them. Time,
peak memory of the whole process, precision at 1 and 5 are printed as one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from typing import Any

import numpy as np
from scipy import sparse

import polyleaf
from polyleaf import projections
from polyleaf.metrics import precision_at_k


def power_law_labels(
    n_rows: int, n_features: int, n_labels: int, seed: int
) -> tuple[sparse.csr_array[Any], sparse.csr_array[Any]]:
    """Generate rows with about 5 labels each, and features that come with their labels.

    The label of rank r is drawn with a chance proportional to 1 / (r + 10). Every label has 8
    features of its own, shared with other labels; a row has some of those of its labels and some
    by chance, with positive weights.
    """
    rng = np.random.default_rng(seed)
    chances = 1.0 / (np.arange(n_labels) + 10.0)
    n_drawn = rng.integers(2, 9, size=n_rows)
    rows = np.repeat(np.arange(n_rows), n_drawn)
    labels = rng.choice(n_labels, size=rows.size, p=chances / chances.sum())
    Y = sparse.csr_array((np.ones(rows.size), (rows, labels)), shape=(n_rows, n_labels))
    Y.data[:] = 1.0
    signature = rng.integers(n_features, size=(n_labels, 8))
    kept = rng.random((rows.size, 8)) < 0.6
    at = np.repeat(rows, 8)[kept.ravel()]
    columns = signature[labels].ravel()[kept.ravel()]
    by_chance = rng.integers(n_features, size=(n_rows, 20))
    at = np.concatenate([at, np.repeat(np.arange(n_rows), 20)])
    columns = np.concatenate([columns, by_chance.ravel()])
    X = sparse.csr_array(
        (rng.uniform(0.1, 1.0, at.size).astype(np.float32), (at, columns)),
        shape=(n_rows, n_features),
    )
    return X, Y


def peak_gigabytes() -> float:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    """Fit, predict the top labels of the test rows, and tell what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=10_000)
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--view", choices=["all", "gaussian"], default="all")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    n_test = max(1, arguments.rows // 10)
    X, Y = power_law_labels(arguments.rows + n_test, arguments.features, arguments.labels, seed=0)
    train, test = slice(0, arguments.rows), slice(arguments.rows, None)
    report: dict[str, Any] = {**vars(arguments), "data_gb": round(peak_gigabytes(), 3)}
    view = None if arguments.view == "all" else projections.Gaussian(n_components="log")
    forest = polyleaf.RandomForestClassifier(
        n_estimators=arguments.trees, projection=view, random_state=0, n_jobs=arguments.jobs
    )
    start, cpu = time.perf_counter(), time.process_time()
    forest.fit(X[train], Y[train])
    report["fit_s"] = round(time.perf_counter() - start, 1)
    report["fit_cpu_s"] = round(time.process_time() - cpu, 1)
    report["fit_peak_gb"] = round(peak_gigabytes(), 3)
    start = time.perf_counter()
    top = forest.predict_topk(X[test], k=5)
    report["predict_ms_per_row"] = round((time.perf_counter() - start) / n_test * 1e3, 3)
    report["peak_gb"] = round(peak_gigabytes(), 3)
    report["p_at_1"] = round(float(precision_at_k(Y[test], top, k=1)), 4)
    report["p_at_5"] = round(float(precision_at_k(Y[test], top, k=5)), 4)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
