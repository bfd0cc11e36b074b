"""Partial dependence of a forest with ten outputs against scikit-learn's brute force.

Processor time of one thread, after a first call of each. Brute force, on the same forest, takes
one prediction of all rows per value of the grid: a few values are timed and the time is scaled to
the whole grid.

    python -m benchmarks.dependence_speed --rows 100000
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.inspection import partial_dependence as brute

from polyleaf import RandomForestRegressor
from polyleaf.inspection import partial_dependence

N_FEATURES, N_OUTPUTS, N_TREES, N_GRID, N_TIMED = 20, 10, 20, 100, 3


def main() -> None:
    """Print both times, their ratio and the largest difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    n_rows = parser.parse_args().rows
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_FEATURES))
    Y = X @ rng.normal(size=(N_FEATURES, N_OUTPUTS)) + rng.normal(size=(n_rows, N_OUTPUTS))
    forest = RandomForestRegressor(
        n_estimators=N_TREES, max_features="sqrt", n_jobs=1, random_state=0
    )
    forest.fit(X, Y)
    # What both make once, for all later calls.
    partial_dependence(forest, X, 3, grid_resolution=2)
    forest.predict(X)
    start = time.process_time()
    ours = partial_dependence(forest, X, 3, grid_resolution=N_GRID)
    took = time.process_time() - start
    few = ours.grid_values[0][:: N_GRID // N_TIMED][:N_TIMED]
    start = time.process_time()
    theirs = brute(forest, X, [3], custom_values={3: few}, method="brute")
    brute_took = (time.process_time() - start) / N_TIMED * N_GRID
    at = np.searchsorted(ours.grid_values[0], few)
    gap = np.abs(ours.average[:, at] - theirs.average).max()
    print(f"{n_rows:,} rows, {N_FEATURES} features, {N_OUTPUTS} outputs, {N_TREES} trees")
    print(f"polyleaf {took:.2f} s, brute force {brute_took:.1f} s: {brute_took / took:.0f} times; "
          f"largest difference {gap:.1e}")  # fmt: skip


if __name__ == "__main__":
    main()
