"""Check that a refactoring leaves fitted models bit for bit the same.

``record`` fits a table of small models and writes hashes of what users see of each; ``compare``
lists the models whose hashes differ between two such files::

    python tools/same_models record before.json
    python tools/same_models record after.json
    python tools/same_models compare before.json after.json

A tree that is grown best-first (``max_leaf_nodes``) may split leaves of equal gain in another
order. Such models count as the same if their training losses agree to a relative 1e-6.

Only public names are used, so that the table outlives changes of the inside. All data are drawn
here by NumPy, but for 'extreme' and the cases of the library's own generators. Hashes hold for one
machine and one set of installed packages. The test group of pyproject.toml must be installed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import platform
import sys
import time
import warnings
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy
import sklearn
from boosting_cases import add_boosting, add_boosting_corners
from cases import Case, Table
from facts import SAME_LOSS, digest
from growth_cases import add_finders, add_inputs, add_large
from other_cases import add_decoders, add_files, add_generators, add_graphs, add_rules
from threadpoolctl import threadpool_limits
from tree_cases import add_forest_corners, add_forests, add_trees

ALL = (
    add_trees,
    add_forests,
    add_forest_corners,
    add_boosting,
    add_boosting_corners,
    add_inputs,
    add_finders,
    add_large,
    add_rules,
    add_graphs,
    add_decoders,
    add_files,
    add_generators,
)

# Recording and comparing ------------------------------------------------------------------------


def record(package: str, only: str, n_jobs: int | None) -> dict[str, Any]:
    """Fit all cases whose name matches, and give what a file of them holds."""
    table = Table(importlib.import_module(package), n_jobs)
    for add in ALL:
        add(table)
    chosen = [case for case in table.cases if fnmatch(case.name, f"*{only}*")]
    recorded: dict[str, Any] = {}
    with threadpool_limits(1), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in chosen:
            recorded[case.name] = _record_case(case)
    return {"environment": _environment(), "cases": recorded}


def _record_case(case: Case) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        seen, summary = case.look()
    except Exception as error:
        print(f"{case.name}: {type(error).__name__}: {error}", file=sys.stderr)
        return {"by_gain": case.by_gain, "error": f"{type(error).__name__}: {error}"}
    finally:
        if (seconds := time.perf_counter() - start) > 1.0:
            print(f"{seconds:.1f} s: {case.name}", file=sys.stderr)
    facts = {name: digest(value) for name, value in sorted(seen.items())}
    return {"by_gain": case.by_gain, "facts": facts, "numbers": summary}


def _environment() -> dict[str, str]:
    versions = {module.__name__: module.__version__ for module in (np, scipy, sklearn, pd, pl)}
    return {"python": platform.python_version(), "machine": platform.machine(), **versions}


def compare(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Say of every case that differs what differs, and by how much its numbers do."""
    lines = []
    old, new = before["cases"], after["cases"]
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in old or name not in new:
            lines.append(f"{name}: only {'before' if name in old else 'after'}")
        elif difference := _difference(old[name], new[name]):
            lines.append(f"{name}: {difference}")
    return lines


def _difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    if "error" in old or "error" in new:
        told = [f"{side.get('error', 'no error')}" for side in (old, new)]
        return "" if told[0] == told[1] else f"{told[0]} before, {told[1]} after"
    gaps = {
        name: _relative_gap(old["numbers"].get(name), new["numbers"].get(name))
        for name in old["numbers"] | new["numbers"]
    }
    if old["by_gain"] and new["by_gain"]:
        gap = gaps["train_loss"]
        return "" if gap <= SAME_LOSS else f"train_loss differs by {gap:.1e}"
    facts = old["facts"] | new["facts"]
    differ = [name for name in facts if old["facts"].get(name) != new["facts"].get(name)]
    if not differ:
        return ""
    largest = max(gaps, key=gaps.__getitem__, default=None)
    told = "" if largest is None else f"; numbers by up to {gaps[largest]:.1e} ({largest})"
    return f"{', '.join(differ)}{told}"


def _relative_gap(old: float | None, new: float | None) -> float:
    if old == new or (old is not None and new is not None and math.isnan(old) and math.isnan(new)):
        return 0.0
    if old is None or new is None or not math.isfinite(old) or not math.isfinite(new):
        return math.inf
    return abs(old - new) / max(abs(old), abs(new))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="fit all models and write a file")
    recording.add_argument("file", type=Path)
    recording.add_argument("--package", default="polyleaf", help="what to import")
    recording.add_argument("--only", default="*", help="cases whose name has this pattern in it")
    recording.add_argument("--n-jobs", type=int, help="overrides n_jobs of all cases")
    comparing = commands.add_parser("compare", help="list the models that differ")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Record or compare; 1 if models differ or a case fails."""
    options = _parser().parse_args(argv)
    if options.command == "record":
        start = time.perf_counter()
        recorded = record(options.package, options.only, options.n_jobs)
        options.file.write_text(json.dumps(recorded, indent=1) + "\n")
        cases = recorded["cases"].values()
        n_failed = sum("error" in case for case in cases)
        seconds = time.perf_counter() - start
        print(f"{len(cases)} cases in {seconds:.0f} s, {n_failed} failed: {options.file}")
        return int(n_failed > 0)
    before, after = (json.loads(path.read_text()) for path in (options.before, options.after))
    if before["environment"] != after["environment"]:
        print(f"Other packages: {before['environment']} before, {after['environment']} after")
    lines = compare(before, after)
    print("\n".join([*lines, f"{len(lines)} of {len(before['cases'])} cases differ"]))
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
