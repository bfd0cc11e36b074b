"""Time boosting on two Dask workers of one thread, beside XGBoost's vector leaf and one process.

    python -m benchmarks.dask_speed --rows 200000 --features 50 --outputs 1 10 50 200

Prints seconds, and bytes that were handed over to be reduced per tree beside
nodes built x features x bins x (q + 1) x 4. XGBoost needs its Dask module and release 3.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import dask.array as da
import numpy as np

from distributed import Client, LocalCluster
from polyleaf import BoostingRegressor, projections
from polyleaf.distributed import fit


def make_data(n_rows: int, n_features: int, n_outputs: int) -> tuple[Any, Any]:
    """Draw features and outputs that share hidden factors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    hidden = np.sin(X[:, :10] @ rng.normal(size=(10, 5)).astype(np.float32))
    Y = hidden @ rng.normal(size=(5, n_outputs)) + 0.1 * rng.normal(size=(n_rows, n_outputs))
    return X, Y


def seconds_of(action: Callable[[], Any]) -> tuple[float, Any]:
    """Time a call."""
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def xgboost_on(client: Client, X: Any, Y: Any, n_rounds: int) -> None:
    """Boost vector leaves by XGBoost on the same workers."""
    from xgboost import dask as xgb_dask

    data = xgb_dask.DaskQuantileDMatrix(client, X, Y)
    settings = {"multi_strategy": "multi_output_tree", "max_depth": 6, "nthread": 1}
    xgb_dask.train(client, settings, data, num_boost_round=n_rounds)


def expected_payload(model: Any, n_features: int, max_bins: int, n_components: int) -> float:
    """Bytes of histograms per tree: the root, and the smaller child of each split inside."""
    structure = model._fitted.model.structure
    offsets, built = structure.tree_offsets, 0
    for start, stop in pairwise(offsets):
        feature = structure.feature[start:stop]
        right = structure.right[start:stop]
        depth = np.zeros(stop - start, np.int64)
        for node in np.flatnonzero(feature >= 0):
            depth[[node + 1, right[node]]] = depth[node] + 1
        built += 1 + int(np.count_nonzero((feature >= 0) & (depth < depth.max() - 1)))
    return built / (offsets.size - 1) * n_features * max_bins * (n_components + 1) * 4


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--outputs", type=int, nargs="+", default=[1, 10, 50, 200])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--components", type=int, default=5)
    parser.add_argument("--without-xgboost", action="store_true")
    given = parser.parse_args()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for n_outputs in given.outputs:
            X, Y = make_data(given.rows, given.features, n_outputs)
            size = -(-given.rows // 4)
            lazy = [da.from_array(v, chunks=(size, -1)).persist() for v in (X, Y)]
            q = min(given.components, n_outputs)
            model = BoostingRegressor(
                n_estimators=given.rounds,
                projection=projections.Gaussian(n_components=q),
                max_depth=6,
                sums="fixed",
                random_state=0,
            )
            fit(model.set_params(n_estimators=1), *lazy, client=client)  # imports, connections
            model.set_params(n_estimators=given.rounds)
            on_workers, found = seconds_of(lambda m=model, v=lazy: fit(m, *v, client=client))
            model.set_params(n_jobs=2)
            alone, _ = seconds_of(lambda m=model, x=X, y=Y: m.fit(x, y))
            rounds = found.fit_report_.rounds[0][1:]
            payload = sum(r.bytes_reduced for r in rounds) / max(1, len(rounds))
            expected = expected_payload(found, given.features, 255, q)
            line = f"d={n_outputs} two workers {on_workers:.2f} s, one process {alone:.2f} s, "
            line += f"payload {payload / 1e6:.2f} MB a tree ({payload / expected:.3f} of expected)"
            if not given.without_xgboost:
                rival, _ = seconds_of(lambda v=lazy: xgboost_on(client, *v, given.rounds))
                line += f", XGBoost {rival:.2f} s ({rival / on_workers:.1f} times)"
            print(line, flush=True)


if __name__ == "__main__":
    main()
