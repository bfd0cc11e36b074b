"""Bin and train on batches that are made as they are read, and measure the largest memory.

    python -m benchmarks.out_of_memory                      # 10^6 x 100 x 10
    python -m benchmarks.out_of_memory --rows 10000000      # the full size: some minutes, 8 GB

Y is a part of what must be kept: it is float32 here. Memory is the largest resident set of the
process, of which the interpreter and its packages take about 0.15 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from polyleaf import BinnedData, BoostingRegressor

BATCH_ROWS = 100_000


def make_batches(n_rows: int, n_features: int, n_targets: int) -> Iterator[tuple[Any, Any]]:
    """Yield (X, Y): normal columns, every fourth one with nine zeros in ten."""
    loadings = np.random.default_rng(0).normal(size=(n_features, n_targets)).astype(np.float32)
    loadings[10:] = 0.0
    for at, first in enumerate(range(0, n_rows, BATCH_ROWS)):
        rng = np.random.default_rng([1, at])
        X = rng.standard_normal((min(BATCH_ROWS, n_rows - first), n_features), dtype=np.float32)
        X[:, ::4] *= rng.random(X[:, ::4].shape) < 0.1
        noise = rng.standard_normal((len(X), n_targets), dtype=np.float32)
        yield X, np.tanh(X) @ loadings + 0.5 * noise


def peak_gigabytes() -> float:
    """Give the largest resident set so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    """Measure, and print one JSON line per step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--targets", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    shape = (given.rows, given.features, given.targets)
    floats = 8 * given.rows * given.features / 2**30
    report("start", 0.0, X_in_floats_gigabytes=round(floats, 2))
    began = time.process_time()
    data = BinnedData.from_batches(lambda: make_batches(*shape), n_threads=given.threads)
    report("binned", time.process_time() - began)
    began = time.process_time()
    model = BoostingRegressor(
        n_estimators=given.rounds, max_depth=6, n_jobs=given.threads, random_state=0
    )
    model.fit(data, data.Y)
    report("trained", time.process_time() - began)
    X, Y = next(make_batches(*shape))
    report("scored", 0.0, r2_of_first_batch=round(float(model.score(X, Y)), 3))


def report(step: str, seconds: float, **more: float) -> None:
    """Print what a step took."""
    taken = {"step": step, "processor_seconds": round(seconds, 1)}
    print(json.dumps({**taken, "peak_gigabytes": round(peak_gigabytes(), 2), **more}), flush=True)


if __name__ == "__main__":
    main()
