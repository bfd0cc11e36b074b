"""All tables and figures of the five papers: ``python -m benchmarks.papers list | run | all``.

``list`` names the entries, their rows and how many are recorded. ``run NAME...`` measures what an
entry lacks (``--rows data=emotions`` some rows alone, ``--repeats`` fewer repeats, ``--quick`` its
quick rows, ``--again`` what is recorded, too). ``all`` measures the quick row of every table, then
what is missing, until ``--budget`` is over; ``page`` writes docs/benchmarks/papers.md from the
records, which `run` and `all` do at their end. Every finished repeat is recorded, so that a
command that was stopped goes on where it was; quick rows are measured again on another day.

Run one such command at a time.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial

from benchmarks.papers.page import write_page
from benchmarks.papers.records import QUICK, Records, repeats_of, today
from benchmarks.papers.registry import TABLES
from benchmarks.papers.tables import Row, Table, matches
from benchmarks.real_data import data_folder


def seconds_of(text: str) -> float:
    """Read a time such as 90s, 45m or 2h.

    Examples
    --------
    >>> seconds_of("2h"), seconds_of("45m"), seconds_of("30")
    (7200.0, 2700.0, 30.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"a time must be a number with s, m or h, such as 45m; got {text!r}"
        )
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


#: What to do about things that tables need.
HINTS = {
    "data": (
        "the public data sets: set POLYLEAF_DATA to their folder, or put it at ../shared/data "
        "beside the repository"
    ),
    "xgboost": "XGBoost: pip install xgboost",
    "java": "java on the path, 17 or newer, which runs CLUS",
    "clus": "CLUS: pip install pyclus",
    "mlrl": "mlrl-boomer: pip install mlrl-boomer, with Python 3.12 or newer",
}


def lacks(table: Table) -> str | None:
    """Name the first thing that a table needs and that is not there."""
    folder = data_folder()
    there = {
        "data": folder is not None and (folder / "multilabel").is_dir(),
        "xgboost": importlib.util.find_spec("xgboost") is not None,
        "java": shutil.which("java") is not None,
        "clus": importlib.util.find_spec("clus") is not None,
        "mlrl": importlib.util.find_spec("mlrl") is not None,
    }
    return next((need for need in table.needs if not there[need]), None)


class Runner:
    """Measures rows until the time is up.

    Parameters
    ----------
    budget : float
        Seconds by the clock; no repeat starts after that.
    command : str
    """

    def __init__(self, budget: float, command: str) -> None:
        self._end = time.monotonic() + budget
        self._command = command

    @property
    def is_over(self) -> bool:
        """Whether the budget is used up."""
        return time.monotonic() > self._end

    def measure(self, records: Records, table: Table, row: Row, repeats: int) -> None:
        """Do the repeats that a row lacks."""
        line = records.find(table.name, row.labels)
        done = repeats_of(line)
        if line is not None and "values" not in line and done < repeats:
            done = 0  # measured before this runner: repeats cannot be added to a mean
        for repeat in range(done, repeats):
            if self.is_over:
                return
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcome = table.work(row.labels, repeat)
            seconds = time.process_time() - start
            records.add(table, row, outcome, seconds, self._command)
            named = " ".join(str(value) for value in row.labels.values())
            print(f"{seconds:7.1f} s  {table.name}: {named}, {repeat + 1} of {repeats}")
            sys.stdout.flush()

    def quick(self, table: Table) -> None:
        """Measure the quick rows, unless they are of today."""
        records = Records(QUICK)
        old = [line for line in records.of(table.name) if line["date"] != today()]
        if old and not self.is_over:
            records.drop(old)
        for row in table.rows:
            if table.is_quick(row):
                self.measure(records, table, row, table.quick_repeats)


def chosen(table: Table, pairs: list[str]) -> list[Row]:
    """Give the rows that have all given labels."""
    wanted = dict(pair.split("=", 1) for pair in pairs)
    unknown = set(wanted) - set(table.rows[0].labels)
    if unknown:
        raise SystemExit(
            f"{table.name} has the labels {', '.join(table.rows[0].labels)}; got "
            f"{unknown.pop()!r}."
        )
    return [
        row
        for row in table.rows
        if matches({key: str(value) for key, value in row.labels.items()}, wanted)
    ]


def show_list() -> None:
    """Print the entries."""
    for table in TABLES.values():
        records = Records(table.name)
        n_full = sum(
            repeats_of(records.find(table.name, row.labels)) >= table.repeats for row in table.rows
        )
        lack = lacks(table)
        print(
            f"{table.name:26} {n_full:3d} of {len(table.rows):3d} rows"
            f"{'' if lack is None else f' ({lack} is missing)'}: {table.paper}, {table.title}"
        )


def run(options: argparse.Namespace, command: str) -> None:
    """Measure the named tables."""
    runner = Runner(options.budget, command)
    for name in options.names:
        table = TABLES[name]
        lack = lacks(table)
        if lack is not None:
            raise SystemExit(f"{name} needs {lack}, which is not there. It needs {HINTS[lack]}.")
        if options.quick:
            runner.quick(table)
            continue
        records = Records(name)
        rows = chosen(table, options.rows)
        if options.again:
            records.drop(
                [line for row in rows if (line := records.find(name, row.labels)) is not None]
            )
        for row in rows:
            runner.measure(records, table, row, options.repeats or table.repeats)


def run_all(options: argparse.Namespace, command: str) -> None:
    """Measure all quick rows, then what is missing."""
    runner = Runner(options.budget, command)
    there = [table for table in TABLES.values() if lacks(table) is None]
    missing: dict[str, list[str]] = {}
    for table in TABLES.values():
        lack = lacks(table)
        if lack is not None:
            missing.setdefault(lack, []).append(table.name)
    for lack, names in missing.items():
        print(f"Left out: {', '.join(names)}. What is missing: {HINTS[lack]}.", flush=True)
    if not there:
        raise SystemExit("There is nothing to measure.")
    failed: dict[str, str] = {}
    for table in there:
        _unless_it_fails(failed, table, partial(runner.quick, table))
    for table in () if options.quick else there:
        records = Records(table.name)
        for row in table.rows:
            work = partial(runner.measure, records, table, row, table.repeats)
            _unless_it_fails(failed, table, work)
    if runner.is_over:
        print("The budget is used up: the same command goes on from here.")
    if failed:
        write_page()
        shown = "\n".join(f"  {name}: {reason}" for name, reason in failed.items())
        raise SystemExit(f"Some tables failed; the others are recorded:\n{shown}")


def _unless_it_fails(failed: dict[str, str], table: Table, work: Callable[[], None]) -> None:
    """Do some work of a table; an error is kept, and the table is not tried again."""
    if table.name in failed:
        return
    try:
        work()
    except Exception as error:  # an hour of other tables must not be lost
        failed[table.name] = f"{type(error).__name__}: {error}"
        print(f"{table.name} failed: {failed[table.name]}", file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("list", help="name all entries")
    commands.add_parser("page", help="write the page from the records")
    one = commands.add_parser("run", help="measure what some entries lack")
    one.add_argument("names", nargs="+", choices=TABLES, metavar="NAME")
    one.add_argument("--rows", nargs="*", default=[], metavar="LABEL=VALUE")
    one.add_argument("--repeats", type=int)
    one.add_argument("--quick", action="store_true", help="their quick rows alone")
    one.add_argument("--again", action="store_true", help="forget what is recorded")
    one.add_argument("--budget", type=seconds_of, default=float("inf"), metavar="TIME")
    every = commands.add_parser("all", help="quick rows first, then what is missing")
    every.add_argument("--quick", action="store_true", help="quick rows alone")
    every.add_argument("--budget", type=seconds_of, default=3600.0, metavar="TIME")
    options = parser.parse_args(arguments)
    given = sys.argv[1:] if arguments is None else arguments
    command = " ".join(["python -m benchmarks.papers", *given])
    if options.what == "list":
        show_list()
        return
    try:
        if options.what == "run":
            run(options, command)
        elif options.what == "all":
            run_all(options, command)
    except KeyboardInterrupt:
        write_page()
        print("\nStopped; what is done is recorded. The same command goes on from here.")
        raise SystemExit(130) from None
    write_page()


if __name__ == "__main__":
    main()
