"""Measurements that survive a stop: one line of JSON per finished run, skipped the next time."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_data import REAL_DATA, data_folder

RESULTS = Path(__file__).resolve().parents[1] / "results"

Key = Mapping[str, Any]


class Runs:
    """The finished runs of one experiment.

    Parameters
    ----------
    name : str
        Of the experiment; its runs are kept in ``benchmarks/results/<name>.jsonl``.
    """

    def __init__(self, name: str) -> None:
        RESULTS.mkdir(exist_ok=True)
        self._path = RESULTS / f"{name}.jsonl"
        self.rows: list[dict[str, Any]] = []
        if self._path.exists():
            # A run that was killed may leave half a line.
            for line in self._path.read_text().splitlines():
                try:
                    self.rows.append(json.loads(line))
                except json.JSONDecodeError:
                    continue

    def has(self, key: Key) -> bool:
        """Tell whether a run has finished."""
        return any(all(row.get(k) == v for k, v in key.items()) for row in self.rows)

    def measure(self, key: Key, work: Callable[[], dict[str, Any]]) -> None:
        """Do some work, unless it is done, and keep what it returns."""
        if self.has(key):
            return
        start = time.perf_counter()
        row = {**key, **work()}
        self.rows.append(row)
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(
            f"{time.perf_counter() - start:7.1f} s  "
            + "  ".join(
                f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}"
                for k, v in row.items()
                if not isinstance(v, list)
            ),
            file=sys.stderr,
        )

    def values(self, field: str, **key: Any) -> NDArray[np.float64]:
        """Collect one field of all runs with the given key."""
        found = [row[field] for row in self.rows if all(row.get(k) == v for k, v in key.items())]
        return np.array(found, dtype=np.float64)

    def mean_and_std(self, field: str, **key: Any) -> str:
        """Write the mean and the standard deviation over runs, or a dash."""
        values = self.values(field, **key)
        if not values.size:
            return "-"
        spread = f" ± {values.std(ddof=1):.3f}" if values.size > 1 else ""
        return f"{values.mean():.3f}{spread}"


def load(name: str) -> tuple[Any, Any]:
    """Read X and Y of a public data set."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("The data sets are not there: set POLYLEAF_DATA to their folder.")
    data = REAL_DATA[name].load(folder)
    return data.X, data.Y


def take(table: Any, rows: NDArray[np.intp]) -> Any:
    """Take rows of an array, a sparse matrix or a frame."""
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def markdown(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table."""
    header = list(header)
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
