"""Run every method on every case, each measurement in a fresh process.

All methods of a case run one after the other on the same draw of the data before the next draw
begins, so that a machine whose speed drifts does so for all of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case
from benchmarks.versus.worker import Cost

_ROOT = Path(__file__).resolve().parents[2]
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


@dataclass(frozen=True)
class Measurement:
    """One run of one method.

    Attributes
    ----------
    case : Case
    method : str
    draw : int
        Which draw of the problem it ran on.
    cost : Cost or None
        None if it did not finish.
    failure : str
        Why it did not finish; empty if it did.
    """

    case: Case
    method: str
    draw: int
    cost: Cost | None
    failure: str = ""


class WorkerError(RuntimeError):
    """A process that draws data failed; there is nothing to measure."""


def run(
    cases: Sequence[Case],
    methods: Sequence[Method],
    *,
    repeats: int,
    timeout: float,
    on_start: Callable[[Case, str, int], None],
    instruction_set: str | None = None,
) -> list[Measurement]:
    """Measure all methods on all cases.

    Parameters
    ----------
    cases : sequence of Case
    methods : sequence of Method
    repeats : int
        Number of draws of each problem.
    timeout : float
        Seconds after which a measurement is cut off, and the method not tried again on that case.
    on_start : callable
        Told the case, the method and the draw before each measurement.
    instruction_set : str, optional
        That of polyleaf's kernels; the best if not given.

    Returns
    -------
    list of Measurement
    """
    measurements: list[Measurement] = []
    given_up: set[tuple[Case, str]] = set()
    for (problem, dtype), same_data in groupby(cases, key=lambda case: (case.problem, case.dtype)):
        data_cases = list(same_data)
        for draw in range(repeats):
            with TemporaryDirectory() as folder:
                data = Path(folder) / "data.joblib"
                _draw(problem, draw, dtype, data)
                for case in data_cases:
                    for method in methods:
                        if not method.applies(case) or (case, method.name) in given_up:
                            continue
                        on_start(case, method.name, draw)
                        measured = measure_apart(
                            method, case, draw, data, timeout, instruction_set
                        )
                        measurements.append(measured)
                        if measured.cost is None:
                            given_up.add((case, method.name))
    return measurements


def measure_apart(
    method: Method,
    case: Case,
    draw: int,
    data: Path,
    timeout: float,
    instruction_set: str | None = None,
) -> Measurement:
    """Measure one method on one case in a process of its own."""
    answer = data.with_name("answer.json")
    answer.unlink(missing_ok=True)
    request = {
        "do": "measure",
        "case": asdict(case),
        "method": method.name,
        "instruction_set": instruction_set,
        "data": str(data),
        "answer": str(answer),
    }
    try:
        finished = _call_worker(request, case.threads, timeout)
    except subprocess.TimeoutExpired:
        return Measurement(case, method.name, draw, None, f"cut off after {timeout:g} s")
    if finished.returncode != 0 or not answer.exists():
        return Measurement(case, method.name, draw, None, _reason(finished))
    return Measurement(case, method.name, draw, Cost(**json.loads(answer.read_text())))


def _draw(problem: str, draw: int, dtype: str, data: Path) -> None:
    # Apart as well: under Linux a child's ru_maxrss starts at the peak of its parent.
    request = {"do": "draw", "problem": problem, "draw": draw, "dtype": dtype, "data": str(data)}
    finished = _call_worker(request, threads=1, timeout=None)
    if finished.returncode != 0:
        raise WorkerError(f"Drawing {problem!r} number {draw} failed: {_reason(finished)}")


def _call_worker(
    request: dict[str, Any], threads: int, timeout: float | None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.versus.worker"],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        cwd=_ROOT,
        env={**os.environ, **dict.fromkeys(_THREAD_VARIABLES, str(threads))},
        timeout=timeout,
        check=False,
    )


def _reason(finished: subprocess.CompletedProcess[str]) -> str:
    """Return the last line of the traceback, or the signal that ended the process."""
    if finished.returncode < 0:
        return f"ended by signal {-finished.returncode}"
    lines = finished.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit code {finished.returncode}"
