"""Defaults against defaults: AutoX, polyleaf's families and rivals, on the judging sets.

    python -m benchmarks.defaults run      # goes on where it stopped
    python -m benchmarks.defaults page     # docs/benchmarks/auto.md

Results are kept in `benchmarks/records/defaults.jsonl`, which is part of the repository: a later
session goes on with them. Lines of methods that have changed since are to be taken out first.

Nothing is tuned on either side. A row of the results is a data set, a division (70 % of the rows
to train on) and a method. Regressions are judged by macro r2 and aRRMSE; labels by LRAP, log loss,
and, with labels chosen from the probabilities by the best decision for each measure, example F1
and subset 0/1 loss. ``--half deciding`` runs the sets that defaults may be chosen on. Every fit
has a process of its own, which ends at the limit of ``--seconds``, whatever library is at work.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import pickle
import resource
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit
from threadpoolctl import threadpool_limits

from benchmarks.defaults_methods import methods_of
from benchmarks.defaults_page import write_page
from benchmarks.division import DECIDING, JUDGING
from benchmarks.real_data import REAL_DATA, data_folder
from polyleaf.decoding import ExampleF1
from polyleaf.metrics import METRICS

RECORDS = Path(__file__).parent / "records" / "defaults.jsonl"
_TEST_SHARE = 0.3
#: Seconds beyond the limit after which a fit that does not listen is ended.
_GRACE = 5


class OverTimeError(Exception):
    """A fit took longer than it may."""


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["run", "page"])
    parser.add_argument("--out", type=Path, default=RECORDS)
    parser.add_argument("--half", choices=["judging", "deciding"], default="judging")
    parser.add_argument("--sets", nargs="*", help="some of the sets; all by default")
    parser.add_argument("--methods", nargs="*", help="some of the methods; all by default")
    parser.add_argument("--divisions", type=int, default=5)
    parser.add_argument(
        "--seconds", type=int, default=3600, help="most processor time that one fit may take"
    )
    parser.add_argument(
        "--for-seconds", type=float, default=float("inf"), help="begin no fit after so many"
    )
    parser.add_argument(
        "--leave-out", nargs="*", default=[], help="page: sets that were begun, but not finished"
    )
    options = parser.parse_args()
    if options.what == "run":
        run(options)
    else:
        write_page(options.out, options.leave_out, options.seconds)


def run(options: argparse.Namespace) -> None:
    """Fill the results file, smallest sets first."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("No public data sets: set POLYLEAF_DATA or add ../shared/data.")
    half = JUDGING if options.half == "judging" else DECIDING
    entries = [REAL_DATA[name] for name in options.sets or half]
    entries = [e for e in entries if e.task != "multiclass" and not e.n_missing_outputs]
    entries.sort(key=lambda e: e.n * (e.p + e.d) * e.d)
    done = read_done(options.out)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    for division in range(options.divisions):
        for entry in entries:
            data = None
            for name in methods_of(entry.task):
                if options.methods and name not in options.methods:
                    continue
                if (entry.name, division, name) in done:
                    continue
                if time.monotonic() - start > options.for_seconds:
                    return
                data = data or entry.load(folder)
                line = measure_apart(entry, data, division, name, options.seconds)
                with options.out.open("a") as file:
                    file.write(json.dumps(line) + "\n")
                print(line["set"], division, name, line["scores"], line["seconds"], flush=True)


def read_done(path: Path) -> set[tuple[str, int, str]]:
    """Read what was done before."""
    if not path.exists():
        return set()
    lines = [json.loads(line) for line in path.read_text().splitlines() if line]
    return {(line["set"], line["division"], line["method"]) for line in lines}


def measure_apart(entry: Any, data: Any, division: int, name: str, seconds: int) -> dict[str, Any]:
    """Measure in a process of its own: loops in C and C++ do not listen to signals."""
    context = multiprocessing.get_context("fork")
    answers, tell = context.Pipe(duplex=False)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds + _GRACE, seconds + 2 * _GRACE))
        tell.send(measure(entry, data, division, name, seconds))

    child = context.Process(target=work)
    with warnings.catch_warnings():
        # Of threads that BLAS keeps and that nothing here has used.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    tell.close()
    try:
        line: dict[str, Any] = answers.recv()
        child.join()
    except EOFError:
        child.join()
        is_over = child.exitcode == -signal.SIGXCPU
        told = f"took more than {seconds} s" if is_over else f"ended with {child.exitcode}"
        line = _told(entry, division, name) | _nothing(OverTimeError(told))
    finally:
        child.kill()
    return line


def _told(entry: Any, division: int, name: str) -> dict[str, Any]:
    return {"set": entry.name, "task": entry.task, "division": division, "method": name}


def _nothing(error: Any) -> dict[str, Any]:
    return {"scores": None, "error": repr(error)[:200], "seconds": None, "bytes": None}


def measure(entry: Any, data: Any, division: int, name: str, seconds: int) -> dict[str, Any]:
    """Fit one method on one division, and judge it."""
    divide = ShuffleSplit(1, test_size=_TEST_SHARE, random_state=division)
    train, test = next(divide.split(np.arange(data.X.shape[0])))
    Y = data.Y.toarray() if hasattr(data.Y, "toarray") else np.asarray(data.Y, dtype=float)
    told = _told(entry, division, name)
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    start, clock = time.process_time(), time.perf_counter()
    try:
        # Threads of OpenMP that wait burn processor time where the machine is busy.
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            model = methods_of(entry.task)[name](division)
            model.fit(_taken(data.X, train), Y[train])
            spent, waited = time.process_time() - start, time.perf_counter() - clock
            found = np.asarray(model.values(_taken(data.X, test)), dtype=np.float64)
            scores = judge(entry.task, Y[train], Y[test], found)
    except (Exception, KeyboardInterrupt) as error:
        # CatBoost turns what a signal raises into an interrupt of its own.
        # The timer was set a little before `start`.
        is_over = time.process_time() - start >= seconds - 1
        if isinstance(error, KeyboardInterrupt) and not is_over:
            raise
        error = OverTimeError(f"took more than {seconds} s") if is_over else error
        return told | _nothing(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    told |= {"seconds": round(spent, 3), "waited": round(waited, 3), "bytes": _size(model)}
    return told | {"scores": scores, "error": None}


def judge(task: str, Y_train: Any, Y_test: Any, found: Any) -> dict[str, float]:
    """Give all measures of a task."""
    if task == "regression":
        names = ("r2", "arrmse")
        return {n: round(METRICS[n].prepare(Y_train)(Y_test, found), 6) for n in names}
    chances = np.clip(found, 0.0, 1.0)
    labels = ExampleF1().decode(chances)
    return {
        "lrap": round(METRICS["lrap"].function(Y_test, found), 6),
        "log_loss": round(METRICS["log_loss"].function(Y_test, chances), 6),
        "example_f1": round(METRICS["example_f1"].function(Y_test, labels), 6),
        "subset_zero_one_loss": round(
            METRICS["subset_zero_one_loss"].function(Y_test, (chances > 0.5).astype(int)), 6
        ),
    }


def _stop(*_: Any) -> None:
    raise OverTimeError


def _taken(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _size(model: Any) -> int | None:
    try:
        return len(pickle.dumps(model))
    except Exception:
        return None


if __name__ == "__main__":
    main()
