"""Memory and time of explaining 983 labels: ``python -m benchmarks.explain_delicious``.

A forest on the training rows of delicious (12,920 rows, 500 sparse binary features, 983 labels),
whose X stays sparse. ``reduce="mean_abs"`` streams the map of features by labels: values of all
rows would take 500 x 983 floats for each. Prints seconds and the largest memory of the process.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.real_data import data_folder
from polyleaf import RandomForestClassifier
from polyleaf.datasets import read_mulan
from polyleaf.inspection import shap_values


def most_memory() -> float:
    """Give the largest resident memory so far, in gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    """Fit, explain, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--rows", type=int, default=500, help="that are explained")
    options = parser.parse_args()
    folder = data_folder()
    if folder is None or not (folder / "multilabel" / "delicious").is_dir():
        raise SystemExit("delicious is not there; see benchmarks.real_data.data_folder")
    folder = folder / "multilabel" / "delicious"
    data: Any = read_mulan(folder / "delicious-train.arff", folder / "delicious.xml")
    X: Any = sparse.csr_array(data.X, dtype=np.float64)
    Y: Any = sparse.csr_array(data.Y)
    forest = RandomForestClassifier(n_estimators=options.trees, random_state=0, n_jobs=1)
    forest.fit(X, Y)
    print(f"fitted: {most_memory():.2f} GB at most", flush=True)
    rows = X[: options.rows]
    start = time.process_time()
    found = shap_values(forest, rows, reduce="mean_abs")
    took = time.process_time() - start
    entries = options.rows * found.values.size * 4 / 2**30
    print(
        f"{options.rows} rows, {options.trees} trees: map of {found.values.shape}, "
        f"{took:.1f} s of the processor, {most_memory():.2f} GB at most "
        f"(values of all rows: {entries:.1f} GB)"
    )


if __name__ == "__main__":
    main()
