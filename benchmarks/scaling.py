"""Curves of time and memory: ``python -m benchmarks.scaling``.

    python -m benchmarks.scaling measure            # goes on where an earlier run was stopped
    python -m benchmarks.scaling measure --curves rows --largest 1e7 --for-seconds 600
    python -m benchmarks.scaling measure --curves threads --again     # on a quiet machine
    python -m benchmarks.scaling page               # docs/benchmarks/speed_curves.md, pictures

polyleaf beside the best rival that can run. Numbers: boosted trees of depth 6 beside LightGBM on
quantised gradients for one output, and XGBoost's vector leaves for several; words: the same with a
sparse X; labels: forests on a sparse Y beside scikit-learn's. One size changes along a curve, the
others stay. Every point runs in a process of its own; a method is left out of larger points once
one took longer than ``--limit`` processor seconds, failed, or did not end within ``--timeout``.

Results are kept in `benchmarks/records/scaling.jsonl`, which is part of the repository, with the
machine's facts. Times are processor seconds of one thread, which other work on the machine
disturbs least; the curve over threads is by the clock and wants a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.extreme import power_law_labels
from benchmarks.versus.machine import machine_facts
from benchmarks.versus.memory import peak, restart_peak

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks/records/scaling.jsonl"
DEPTH = 6
METHODS = ("polyleaf", "rival")
#: Words of a row of sparse features.
WORDS = 30


@dataclass(frozen=True)
class Point:
    """Work of one measurement; `kind` is "numbers", "words" or "labels"."""

    rows: int = 100_000
    features: int = 28
    outputs: int = 4
    threads: int = 1
    trees: int = 10
    kind: str = "numbers"


@dataclass(frozen=True)
class Curve:
    """One size changes, in `point` the others stay."""

    size: str
    point: Point
    sizes: tuple[int, ...]

    @property
    def points(self) -> list[Point]:
        """The points, from small to large."""
        return [replace(self.point, **{self.size: size}) for size in self.sizes]


_WORDS = Point(rows=20_000, features=10_000, kind="words")
_LABELS = Point(rows=10_000, features=2_000, kind="labels")
CURVES = {
    "rows": Curve("rows", Point(), (1_000, 10_000, 100_000, 1_000_000, 10_000_000)),
    "rows-1": Curve("rows", Point(outputs=1), (1_000, 10_000, 100_000, 1_000_000, 10_000_000)),
    "features": Curve("features", Point(rows=20_000), (10, 30, 100, 300, 1_000)),
    "words": Curve("features", _WORDS, (1_000, 10_000, 100_000)),
    "outputs": Curve("outputs", Point(rows=20_000), (1, 4, 16, 64, 256)),
    "labels": Curve("outputs", _LABELS, (10, 100, 1_000, 10_000, 100_000)),
    "threads": Curve("threads", Point(rows=300_000), (1, 2)),
    "trees": Curve("trees", Point(rows=20_000), (10, 30, 100, 300)),
}


def make_data(point: Point) -> tuple[Any, Any]:
    """Draw X and Y.

    Normal features, and waves of ten of them with noise; or `WORDS` words per row that are drawn
    by a power law, and outputs that weigh them; or labels of a power law with their features.
    """
    if point.kind == "labels":
        X, Y = power_law_labels(point.rows, point.features, point.outputs, seed=0)
        # scikit-learn takes positions of 32 bits only.
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X, Y
    rng = np.random.default_rng(0)
    if point.kind == "words":
        columns = (point.features ** rng.random((point.rows, WORDS))).astype(np.int64) - 1
        rows = np.repeat(np.arange(point.rows), WORDS)
        values = np.ones(rows.size, np.float32)
        shape = (point.rows, point.features)
        X = sparse.csr_array((values, (rows, columns.ravel())), shape=shape)
        Y = X @ rng.standard_normal((point.features, point.outputs), dtype=np.float32)
    else:
        X = rng.standard_normal((point.rows, point.features), dtype=np.float32)
        n_used = min(10, point.features)
        loadings = rng.normal(size=(n_used, point.outputs)).astype(np.float32)
        Y = np.sin(2.0 * X[:, :n_used]) @ loadings
    Y = Y + rng.standard_normal(Y.shape, dtype=np.float32)
    return X, Y


def make_model(method: str, point: Point) -> tuple[str, Any]:
    """Give the name of the library and the unfitted model."""
    if point.kind == "labels":
        return _make_forest(method, point)
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


def _make_forest(method: str, point: Point) -> tuple[str, Any]:
    shared = {"n_estimators": point.trees, "n_jobs": point.threads, "random_state": 0}
    if method == "polyleaf":
        from polyleaf import RandomForestClassifier
        from polyleaf.projections import Gaussian

        return method, RandomForestClassifier(projection=Gaussian("log"), **shared)
    from sklearn.ensemble import RandomForestClassifier as Forest

    return "scikit-learn", Forest(**shared)


def measure(method: str, point: Point) -> dict[str, Any]:
    """Fit once, after a few rows."""
    X, Y = make_data(point)
    y = Y[:, 0] if point.outputs == 1 else Y
    library, warm = make_model(method, point)
    if library == "scikit-learn":  # takes no sparse Y
        y = y.astype(np.uint8).toarray()
    warm.fit(X[:300], y[:300])
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


def measure_apart(method: str, point: Point, timeout: float) -> dict[str, Any]:
    """Measure in a process of its own; what failed has a "failure" instead of times."""
    request = json.dumps({"method": method, "point": asdict(point)})
    command = [sys.executable, "-m", "benchmarks.scaling", "point", request]
    library = make_model(method, point)[0]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return {"library": library, "failure": f"over {timeout:.0f} s"}
    if answer.returncode == 0:
        found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
        return found
    reason = (answer.stderr.strip().splitlines() or ["it was ended"])[-1]
    return {"library": library, "failure": reason[:200]}


def run(options: argparse.Namespace) -> None:
    """Measure what is missing of the curves that were asked for."""
    options.records.parent.mkdir(exist_ok=True)
    done = {} if options.again else {_key(row): row for row in read_records(options.records)}
    end = time.monotonic() + options.for_seconds
    for name in options.curves:
        is_slow = dict.fromkeys(METHODS, False)
        for point in CURVES[name].points:
            if point.rows > options.largest:
                break
            for method in METHODS:
                key = {"curve": name, "method": method, **asdict(point)}
                row = done.get(_key(key))
                if row is None:
                    if is_slow[method] or time.monotonic() > end:
                        continue
                    row = key | measure_apart(method, point, options.timeout)
                    row["machine"] = machine_facts(["xgboost", "lightgbm"])
                    print(json.dumps({k: v for k, v in row.items() if k != "machine"}), flush=True)
                    with options.records.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                is_slow[method] |= row.get("processor_seconds", np.inf) > options.limit


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure", help="measure what is missing")
    measuring.add_argument("--curves", nargs="+", choices=list(CURVES), default=list(CURVES))
    measuring.add_argument("--largest", type=float, default=1e6, help="most rows (1e6)")
    measuring.add_argument(
        "--limit", type=float, default=60.0, help="processor seconds of a method's last point (60)"
    )
    measuring.add_argument("--timeout", type=float, default=300.0, help="of one point (300 s)")
    measuring.add_argument(
        "--for-seconds", type=float, default=np.inf, help="begin no point after so long"
    )
    measuring.add_argument("--again", action="store_true", help="measure again what is there")
    writing = commands.add_parser("page", help="write the page from the records")
    for command in (measuring, writing):
        command.add_argument("--records", type=Path, default=RECORDS)
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

        write_page(read_records(options.records))


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("curve", "method", *asdict(Point())))


def read_records(path: Path) -> list[dict[str, Any]]:
    """Give the last measurement of every point."""
    if not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return list({_key(row): row for row in lines}.values())


if __name__ == "__main__":
    main()
