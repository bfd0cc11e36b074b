"""Two installed versions of the library beside each other, cell by cell.

::

    python -m benchmarks.before_after \
        --before old/.venv/bin/python:polyleaf --after .venv/bin/python:polyleaf

Each version is a worker process that lives as long as the run and keeps its data. The workers take
turns within a cell, and the one that starts changes from repeat to repeat, so that a machine whose
speed drifts does so for both. Times are medians over the repeats, after a run that does not count.
The ratio of processor times suffers less than that of wall times from whatever else runs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse

_LEAST_WIDTH = 100
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Run = Callable[[], object]

# Problems ---------------------------------------------------------------------------------------


@cache
def targets(n: int, p: int, d: int) -> tuple[Any, Any]:
    """Draw numbers of rank 5 that depend on the features in steps, interactions and waves."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    parts = [X[:, 0] > 0, (X[:, 1] > 0.3) ^ (X[:, 2] < 0), np.sin(2 * X[:, 3]), X[:, 4] * X[:, 0]]
    factors = np.column_stack([*parts, np.abs(X[:, 5])]).astype(float)
    return X, factors @ rng.normal(size=(5, d)) + 0.3 * rng.normal(size=(n, d))


@cache
def labels(n: int, p: int, d: int) -> tuple[Any, Any]:
    """Draw labels, each of which three rows in ten have."""
    X, scores = targets(n, p, d)
    return X, (scores > np.quantile(scores, 0.7, axis=0)).astype(np.int64)


@cache
def tags(n: int = 5000, p: int = 500, d: int = 983) -> tuple[Any, Any]:
    """Draw words and tags in the shape of delicious: sparse, binary, with rare tags."""
    rng = np.random.default_rng(1)
    n_topics = 60
    topics = sparse.random_array((n, n_topics), density=0.04, rng=rng, format="csr")
    X = _present(topics, n_topics, p, 18.0, rng)
    Y = _present(topics, n_topics, d, 19.0, rng)
    return X.astype(np.float64), Y.astype(np.int8)


def _present(topics: Any, n_topics: int, n_columns: int, mean: float, rng: Any) -> Any:
    """Draw which columns a row has: those of its topics, the first columns most often."""
    share = rng.gamma(0.1, size=(n_topics, n_columns)) / np.sqrt(np.arange(1, n_columns + 1))
    chance = np.asarray(topics @ share) + 0.02 * share.mean(axis=0)
    chance *= mean / chance.sum(axis=1, keepdims=True)
    return sparse.csr_array(rng.random(chance.shape) < chance)


# Cells ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """Something that is timed.

    Attributes
    ----------
    name : str
    prepare : callable
        Takes the library and gives what is timed.
    """

    name: str
    prepare: Callable[[Any], Run]


def fit(name: str, estimator: str, data: Callable[[], Any], **parameters: Any) -> Cell:
    """Time a fit; a projection is given by its class and number of components."""

    def prepare(library: Any) -> Run:
        model, (X, Y) = _make(library, estimator, parameters), data()
        return lambda: model.fit(X, Y)

    return Cell(name, prepare)


def predict(name: str, estimator: str, n_rows: int, n_calls: int = 1, **parameters: Any) -> Cell:
    """Time some calls of predict."""

    def prepare(library: Any) -> Run:
        X, Y = targets(20_000, 20, 4)
        model = _make(library, estimator, parameters).fit(X[:5000], Y[:5000])
        rows = X[:n_rows]

        def run() -> None:
            for _ in range(n_calls):
                model.predict(rows)

        return run

    return Cell(name, prepare)


def _make(library: Any, estimator: str, parameters: dict[str, Any]) -> Any:
    given = dict(parameters)
    if isinstance(given.get("projection"), tuple):
        kind, n_components = given["projection"]
        given["projection"] = getattr(library.projections, kind)(n_components)
    return getattr(library, estimator)(random_state=0, n_jobs=1, **given)


_BOOSTING: dict[str, Any] = {"projection": None, "max_depth": 6}


def _boosting(n: int, d: int, n_estimators: int, note: str = "", **changed: Any) -> Cell:
    return fit(
        f"boosting {n // 1000}k x 20, d={d}{note}",
        "BoostingRegressor",
        lambda: targets(n, 20, d),
        n_estimators=n_estimators,
        **{**_BOOSTING, **changed},
    )


def _best_first(n: int, d: int, n_estimators: int) -> Cell:
    return _boosting(n, d, n_estimators, ", best first", max_depth=None, max_leaf_nodes=31)


_RULES: dict[str, Any] = {"n_rules": 100}
CELLS = (
    *(_boosting(10_000, d, n) for d, n in ((1, 60), (4, 30), (16, 15), (100, 5))),
    *(_boosting(100_000, d, n) for d, n in ((1, 10), (4, 5), (16, 3), (100, 1))),
    _boosting(10_000, 100, 20, ", view of 2", projection=("Gaussian", 2)),
    _best_first(10_000, 4, 20),
    _best_first(100_000, 1, 5),
    fit(
        "boosting of labels 10k x 20, d=16",
        "BoostingClassifier",
        lambda: labels(10_000, 20, 16),
        n_estimators=12,
        **_BOOSTING,
    ),
    fit("forest, sparse labels", "RandomForestClassifier", tags, n_estimators=5),
    fit(
        "forest, sparse labels, view of 7",
        "RandomForestClassifier",
        tags,
        n_estimators=8,
        projection=("Gaussian", "log"),
    ),
    fit("extra trees, sparse labels", "ExtraTreesClassifier", tags, n_estimators=5),
    fit(
        "forest 10k x 60, d=16",
        "RandomForestRegressor",
        lambda: targets(10_000, 60, 16),
        n_estimators=3,
        max_features="sqrt",
        projection=None,
    ),
    fit(
        "forest 10k x 60, d=100, view of 5",
        "RandomForestRegressor",
        lambda: targets(10_000, 60, 100),
        n_estimators=3,
        projection=("Gaussian", "log"),
    ),
    fit(
        "extra trees 10k x 60, d=16",
        "ExtraTreesRegressor",
        lambda: targets(10_000, 60, 16),
        n_estimators=4,
        projection=None,
    ),
    fit("rules, label-wise", "RuleClassifier", lambda: labels(2000, 60, 14), **_RULES),
    fit(
        "rules, example-wise",
        "RuleClassifier",
        lambda: labels(2000, 60, 14),
        loss="examplewise_logistic",
        **_RULES,
    ),
    fit(
        "graph ensemble",
        "GraphEnsembleClassifier",
        lambda: labels(600, 30, 12),
        n_estimators=3,
        calibration_folds=None,
        kernel="linear",
        C=0.1,
    ),
    predict("boosting predicts 1 row", "BoostingRegressor", 1, 500, n_estimators=50, **_BOOSTING),
    predict(
        "boosting predicts 20000 rows",
        "BoostingRegressor",
        20_000,
        3,
        n_estimators=50,
        **_BOOSTING,
    ),
    predict("forest predicts 1 row", "RandomForestRegressor", 1, 300, n_estimators=30),
    predict("forest predicts 20000 rows", "RandomForestRegressor", 20_000, n_estimators=30),
)


# The worker -------------------------------------------------------------------------------------


def work(package: str) -> None:
    """Run a cell for every line of standard input that names one, and write what it took."""
    library = importlib.import_module(package)
    cells = {cell.name: cell for cell in CELLS}
    name, run = "", None
    for line in sys.stdin:
        if run is None or line.strip() != name:
            name = line.strip()
            run = cells[name].prepare(library)
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        print(json.dumps(took), flush=True)


class Worker:
    """A process with one version of the library.

    Parameters
    ----------
    version : str
        The interpreter and the package, with a colon between them.
    """

    def __init__(self, version: str) -> None:
        python, _, package = version.rpartition(":")
        self._process = subprocess.Popen(
            # -P: this folder must not shadow packages that the library imports
            [python, "-P", str(Path(__file__).resolve()), "--worker", package],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **dict.fromkeys(_THREAD_VARIABLES, "1")},
        )

    def time(self, cell: Cell) -> dict[str, float]:
        """Run a cell once; gives its wall and processor seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{cell.name}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"The worker ended during {cell.name!r}; see its error above.")
        took: dict[str, float] = json.loads(answer)
        return took

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


# The run ----------------------------------------------------------------------------------------


def measure(workers: Sequence[Worker], cell: Cell, repeats: int) -> list[dict[str, float]]:
    """Give the median seconds of each worker, of the wall clock and of the processor."""
    for worker in workers:
        worker.time(cell)
    took: list[list[dict[str, float]]] = [[] for _ in workers]
    for repeat in range(repeats):
        for at in range(len(workers))[:: 1 if repeat % 2 == 0 else -1]:
            took[at].append(workers[at].time(cell))
    return [
        {clock: median(t[clock] for t in times) for clock in ("wall", "cpu")} for times in took
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Time all cells with both versions, and print a table."""
    options = _parser().parse_args(argv)
    if options.worker is not None:
        work(options.worker)
        return
    if options.before is None or options.after is None:
        raise SystemExit("Two versions are needed: --before PYTHON:PACKAGE --after PYTHON:PACKAGE")
    table = Table(title="after / before: less than 1 is faster")
    for name in ("cell", "before, ms", "after, ms", "ratio", "ratio of processor time"):
        table.add_column(name, justify="left" if name == "cell" else "right")
    workers = [Worker(options.before), Worker(options.after)]
    ratios: dict[str, list[float]] = {"wall": [], "cpu": []}
    start = time.perf_counter()
    for cell in CELLS:
        if not fnmatch(cell.name, f"*{options.only}*"):
            continue
        before, after = measure(workers, cell, options.repeats)
        for clock, found in ratios.items():
            found.append(after[clock] / before[clock])
        table.add_row(
            cell.name,
            f"{1e3 * before['wall']:.1f}",
            f"{1e3 * after['wall']:.1f}",
            *(f"{found[-1]:.3f}" for found in ratios.values()),
        )
    for worker in workers:
        worker.close()
    if not ratios["wall"]:
        raise SystemExit(f"No cell matches {options.only!r}; there are:\n{_names()}")
    table.add_section()
    means = (f"{geometric_mean(found):.3f}" for found in ratios.values())
    table.add_row("geometric mean", "", "", *means)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _LEAST_WIDTH)
    console.print(table)
    console.print(f"{len(ratios['wall'])} cells in {time.perf_counter() - start:.0f} s")


def _names() -> str:
    return "\n".join(cell.name for cell in CELLS)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.before_after",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--before", metavar="PYTHON:PACKAGE", help="the interpreter and its package"
    )
    parser.add_argument("--after", metavar="PYTHON:PACKAGE")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="*", help="cells whose name has this pattern in it")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    main()
