"""``python -m benchmarks.versus --task dask``: boosting on two Dask workers of one thread each.

    python -m benchmarks.versus --task dask --rows 200000 --features 50 --outputs 1 10 50 200

Beside polyleaf on one process of two threads, XGBoost's vector leaf (`multi_output_tree`) and
LightGBM with a model per output, on the same workers and parts. Prints seconds per tree, ratios,
and the bytes that were handed over to be reduced per tree beside
nodes built x features x bins x (q + 1) x 4. Rivals boost fewer rounds (--rival-rounds), LightGBM
fewer outputs (--rival-outputs): both are scaled up. Results are added to
``benchmarks/results/dask.json``, which `python -m benchmarks.cluster_scaling` draws on.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

_RESULTS = Path(__file__).resolve().parents[1] / "results"
_MAX_BINS, _DEPTH = 255, 6


@dataclass
class Row:
    """What was measured with some number of outputs; seconds are per tree (rivals: per round)."""

    n_outputs: int
    two_workers: float
    one_process: float
    payload_mb: float
    payload_share: float
    xgboost: float | None = None
    lightgbm: float | None = None


def make_data(n_rows: int, n_features: int, n_outputs: int) -> tuple[Any, Any]:
    """Draw features and outputs that share hidden factors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    hidden = np.sin(X[:, :10] @ rng.normal(size=(10, 5)).astype(np.float32))
    Y = hidden @ rng.normal(size=(5, n_outputs)) + 0.1 * rng.normal(size=(n_rows, n_outputs))
    return X, Y.astype(np.float32)


def seconds_of(action: Callable[[], Any]) -> tuple[float, Any]:
    """Time a call."""
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def xgboost_seconds(client: Any, lazy: Sequence[Any], n_rounds: int) -> float | None:
    """Seconds per round of vector leaves by XGBoost; a fit of one round is taken off."""
    from xgboost import dask as xgb_dask

    settings = {"multi_strategy": "multi_output_tree", "max_depth": _DEPTH, "nthread": 1}
    settings |= {"tree_method": "hist", "max_bin": _MAX_BINS}
    data = xgb_dask.DaskQuantileDMatrix(client, *lazy, max_bin=_MAX_BINS)

    def train(rounds: int) -> None:
        xgb_dask.train(client, settings, data, num_boost_round=rounds)

    first, _ = seconds_of(lambda: train(1))
    more, _ = seconds_of(lambda: train(1 + n_rounds))
    return round_seconds(first, more, n_rounds)


def round_seconds(first: float, more: float, n_rounds: int) -> float | None:
    """Give the seconds of a round; None if further rounds did not take longer than their noise."""
    return (more - first) / n_rounds if more > first else None


def lightgbm_seconds(
    client: Any, lazy: Sequence[Any], n_rounds: int, n_outputs: int
) -> float | None:
    """Seconds per round of LightGBM with a model per output; some outputs stand for all."""
    import lightgbm

    X, Y = lazy
    shown = min(n_outputs, Y.shape[1])
    given = {"max_depth": _DEPTH, "num_leaves": 2**_DEPTH, "max_bin": _MAX_BINS, "verbose": -1}

    def train(output: int, rounds: int) -> None:
        model = lightgbm.DaskLGBMRegressor(client=client, n_estimators=rounds, **given)
        model.fit(X, Y[:, output])

    total = 0.0
    for output in range(shown):
        first, _ = seconds_of(lambda o=output: train(o, 1))
        more, _ = seconds_of(lambda o=output: train(o, 1 + n_rounds))
        seconds = round_seconds(first, more, n_rounds)
        if seconds is None:
            return None
        total += seconds
    return total / shown * Y.shape[1]


def expected_payload(model: Any, n_features: int, n_components: int) -> float:
    """Bytes of histograms per tree: the root, and the smaller child of each split inside."""
    structure = model._fitted.model.structure
    offsets, built = structure.tree_offsets, 0
    for start, stop in pairwise(offsets):
        feature = structure.feature[start:stop]
        right = structure.right[start:stop]
        depth = np.zeros(stop - start, np.int64)
        for node in np.flatnonzero(feature >= 0):
            depth[[node + 1, right[node]]] = depth[node] + 1
        built += 1 + int(np.count_nonzero((feature >= 0) & (depth < _DEPTH - 1)))
    return built / (offsets.size - 1) * n_features * _MAX_BINS * (n_components + 1) * 4


def measure(client: Any, n_outputs: int, given: argparse.Namespace) -> Row:
    """Boost on two workers and in one process; the first tree of a fit does not count."""
    import dask.array as da

    from polyleaf import BoostingRegressor, projections
    from polyleaf.distributed import fit

    X, Y = make_data(given.rows, given.features, n_outputs)
    size = -(-given.rows // 4)
    lazy = [da.from_array(v, chunks=(size, -1)).persist() for v in (X, Y)]
    q = min(given.components, n_outputs)
    model = BoostingRegressor(
        n_estimators=given.rounds,
        projection=projections.Gaussian(n_components=q),
        max_depth=_DEPTH,
        max_bins=_MAX_BINS,
        sums="fixed",
        random_state=0,
    )
    found = fit(model, *lazy, client=client)
    two_workers = float(np.median(found.fit_report_.table()["seconds"][1:]))
    ends: list[float] = []
    model.set_params(n_jobs=2)
    model.fit(X, Y, callbacks=lambda progress: ends.append(time.perf_counter()))
    one_process = float(np.median(np.diff(ends)))
    rounds = found.fit_report_.rounds[0][1:]
    payload = sum(r.bytes_reduced for r in rounds) / max(1, len(rounds))
    share = payload / expected_payload(found, given.features, q)
    row = Row(n_outputs, two_workers, one_process, payload / 1e6, share)
    if find_spec("xgboost") and not given.without_rivals:
        row.xgboost = xgboost_seconds(client, lazy, given.rival_rounds)
    if find_spec("lightgbm") and not given.without_rivals:
        row.lightgbm = lightgbm_seconds(client, lazy, given.rival_rounds, given.rival_outputs)
    return row


def told(row: Row) -> str:
    """Say what was measured."""
    line = (
        f"d={row.n_outputs}: two workers {row.two_workers * 1e3:.0f} ms a tree, one process "
        f"{row.one_process * 1e3:.0f} ms ({row.two_workers / row.one_process:.2f} times), payload "
        f"{row.payload_mb:.2f} MB a tree ({row.payload_share:.3f} of expected)"
    )
    for name in ("xgboost", "lightgbm"):
        seconds = getattr(row, name)
        if seconds is not None:
            times = seconds / row.two_workers
            line += f", {name} {seconds * 1e3:.0f} ms a round ({times:.1f} times)"
    return line


def main(argv: Sequence[str]) -> int:
    """Measure, print and write down."""
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.versus --task dask", description=__doc__
    )
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--outputs", type=int, nargs="+", default=[1, 10, 50, 200])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--components", type=int, default=5)
    parser.add_argument("--rival-rounds", type=int, default=2)
    parser.add_argument("--rival-outputs", type=int, default=2)
    parser.add_argument("--without-rivals", action="store_true")
    given = parser.parse_args(argv)
    rows: list[Row] = []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for n_outputs in given.outputs:
            rows.append(measure(client, n_outputs, given))
            print(told(rows[-1]), flush=True)
            keep(rows[-1], given)
    return 0


def keep(row: Row, given: argparse.Namespace) -> None:
    """Write a row down; those of other numbers of outputs and the same sizes stay."""
    sizes = {name: getattr(given, name) for name in ("rows", "features", "components", "rounds")}
    path = _RESULTS / "dask.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    others = known.get("rows", []) if known.get("sizes") == sizes else []
    kept = [other for other in others if other["n_outputs"] != row.n_outputs] + [asdict(row)]
    _RESULTS.mkdir(exist_ok=True)
    kept.sort(key=lambda one: int(one["n_outputs"]))
    path.write_text(json.dumps({"sizes": sizes, "rows": kept}, indent=1) + "\n")
