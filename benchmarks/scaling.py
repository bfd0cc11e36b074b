"""Curves of time and memory: ``python -m benchmarks.scaling``.

    python -m benchmarks.scaling measure            # appends to benchmarks/results/scaling.jsonl
    python -m benchmarks.scaling measure --curves rows --largest 1e7
    python -m benchmarks.scaling page               # docs/benchmarks/speed_curves.md, pictures

Boosted trees of depth 6 on normal features, polyleaf beside the quickest rival that has trees of
the kind: LightGBM on quantised gradients for one output, XGBoost's vector leaves for several. One
size changes along a curve, the others stay. Every point runs in a process of its own; a method is
left out of larger points once one took longer than ``--limit`` processor seconds. Times are
processor seconds of one thread, which other work on the machine disturbs least; the curve over
threads is by the clock and wants a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.versus.machine import machine_facts
from benchmarks.versus.memory import peak, restart_peak

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks/results/scaling.jsonl"
DEPTH = 6
METHODS = ("polyleaf", "rival")


@dataclass(frozen=True)
class Point:
    """Work of one measurement."""

    rows: int = 100_000
    features: int = 28
    outputs: int = 4
    threads: int = 1
    trees: int = 10


#: What changes along a curve, and the work that stays.
CURVES: dict[str, tuple[Point, tuple[int, ...]]] = {
    "rows": (Point(), (1_000, 10_000, 100_000, 1_000_000, 10_000_000)),
    "features": (Point(rows=20_000), (10, 30, 100, 300)),
    "outputs": (Point(rows=20_000), (1, 4, 16, 64)),
    "threads": (Point(rows=300_000), (1, 2)),
    "trees": (Point(rows=20_000), (10, 30, 100)),
}


def points_of(curve: str) -> list[Point]:
    """Give the points of a curve, from small to large."""
    point, sizes = CURVES[curve]
    return [replace(point, **{curve: size}) for size in sizes]


def make_data(point: Point) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Draw normal features, and waves of ten of them with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((point.rows, point.features), dtype=np.float32)
    n_used = min(10, point.features)
    loadings = rng.normal(size=(n_used, point.outputs)).astype(np.float32)
    Y = np.sin(2.0 * X[:, :n_used]) @ loadings
    Y += rng.standard_normal(Y.shape, dtype=np.float32)
    return X, Y


def make_model(method: str, point: Point) -> tuple[str, Any]:
    """Give the name of the library and the unfitted model."""
    shared = {"n_estimators": point.trees, "learning_rate": 0.1, "n_jobs": point.threads}
    if method == "polyleaf":
        from polyleaf import BoostingRegressor

        return method, BoostingRegressor(
            max_depth=DEPTH, projection=None, random_state=0, **shared
        )
    if point.outputs == 1:
        from lightgbm import LGBMRegressor

        trees = {"max_depth": DEPTH, "num_leaves": 2**DEPTH, "max_bin": 255}
        return "LightGBM", LGBMRegressor(**trees, use_quantized_grad=True, verbosity=-1, **shared)
    from xgboost import XGBRegressor

    trees = {"max_depth": DEPTH, "max_bin": 255, "tree_method": "hist"}
    return "XGBoost", XGBRegressor(**trees, multi_strategy="multi_output_tree", **shared)


def measure(method: str, point: Point) -> dict[str, Any]:
    """Fit once, after a few rows."""
    X, Y = make_data(point)
    y = Y[:, 0] if point.outputs == 1 else Y
    library, warm = make_model(method, point)
    warm.fit(X[:500], y[:500])
    _, model = make_model(method, point)
    before = restart_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "library": library,
        "seconds": wall,
        "processor_seconds": cpu,
        "peak_bytes": max(0, peak() - before),
    }


def run(options: argparse.Namespace) -> None:
    """Measure the curves that were asked for, each point in a process of its own."""
    options.results.parent.mkdir(exist_ok=True)
    facts = machine_facts(["xgboost", "lightgbm"])
    options.results.with_suffix(".machine.json").write_text(json.dumps(facts))
    for curve in options.curves:
        is_slow = dict.fromkeys(METHODS, False)
        for point in points_of(curve):
            if point.rows > options.largest:
                break
            for method in METHODS:
                if is_slow[method]:
                    continue
                request = json.dumps({"method": method, "point": asdict(point)})
                command = [sys.executable, "-m", "benchmarks.scaling", "point", request]
                answer = subprocess.run(command, capture_output=True, text=True, check=False)
                if answer.returncode != 0:
                    reason = answer.stderr.strip().splitlines()[-1:] or ["it was ended"]
                    print(f"{curve} {point}: {method} failed: {reason[0]}", flush=True)
                    is_slow[method] = True
                    continue
                row = {"curve": curve, "method": method, **asdict(point)}
                row |= json.loads(answer.stdout.splitlines()[-1])
                is_slow[method] = row["processor_seconds"] > options.limit
                print(json.dumps(row), flush=True)
                with options.results.open("a") as file:
                    file.write(json.dumps(row) + "\n")


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure", help="measure and append to the results")
    measuring.add_argument("--curves", nargs="+", choices=list(CURVES), default=list(CURVES))
    measuring.add_argument("--largest", type=float, default=1e6, help="most rows")
    measuring.add_argument("--limit", type=float, default=20.0, metavar="SECONDS")
    writing = commands.add_parser("page", help="write the page from the results")
    for command in (measuring, writing):
        command.add_argument("--results", type=Path, default=RESULTS)
    one = commands.add_parser("point")
    one.add_argument("request", type=json.loads)
    options = parser.parse_args()
    if options.command == "measure":
        run(options)
    elif options.command == "point":
        given = options.request
        print(json.dumps(measure(given["method"], Point(**given["point"]))))
    else:
        from benchmarks.scaling_page import write_page

        write_page(read_results(options.results), options.results)


def read_results(path: Path) -> list[dict[str, Any]]:
    """Give the last measurement of every point."""
    names = ("curve", "method", *asdict(Point()))
    rows: Iterable[dict[str, Any]] = map(json.loads, path.read_text().splitlines())
    return list({tuple(row[name] for name in names): row for row in rows}.values())


if __name__ == "__main__":
    main()
