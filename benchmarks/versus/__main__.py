"""The command ``python -m benchmarks.versus``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.versus import dask_cluster
from benchmarks.versus.machine import machine_facts, use_instruction_set
from benchmarks.versus.methods import Method, methods_of
from benchmarks.versus.names import pick
from benchmarks.versus.problems import PROBLEMS
from benchmarks.versus.report import WRITERS, Comparison, as_table, write
from benchmarks.versus.runner import Measurement, WorkerError, run
from benchmarks.versus.summary import summarise
from benchmarks.versus.tasks import TASKS, Case

_RESULTS = Path(__file__).resolve().parents[1] / "results"
#: Has options of its own: see `benchmarks.versus.dask_cluster`.
_ON_DASK = "dask"
_DTYPES = ("float64", "float32")
_LEAST_WIDTH = 200  # columns that the table needs where no terminal sets a width


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; return 1 if a method failed, 2 for wrong arguments, else 0."""
    parser = _parser()
    options, rest = parser.parse_known_args(argv)
    if options.task == _ON_DASK:
        return dask_cluster.main(rest)
    options = parser.parse_args(argv)
    if options.list:
        _list()
        return 0
    try:
        cases, methods = _cases(options), _methods(options)
        targets = _targets(options)
        if options.instruction_set is not None:
            use_instruction_set(options.instruction_set)
    except ValueError as error:
        parser.error(str(error))
    try:
        measurements = _run(cases, methods, options)
    except WorkerError as error:
        _console(stderr=True).print(str(error))
        return 1
    comparison = Comparison(
        task=options.task,
        repeats=options.repeats,
        machine=machine_facts(method.package for method in methods),
        measurements=measurements,
        rows=summarise(measurements, methods, options.reference),
    )
    _console().print(as_table(comparison))
    for path in targets:
        write(comparison, path)
    return 1 if any(row.failure for row in comparison.rows) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versus", description=__doc__)
    parser.add_argument("--task", choices=[*TASKS, _ON_DASK], default="tree")
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="default: the task's")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="default: all installed")
    parser.add_argument("--settings", nargs="+", metavar="NAME", help="default: all")
    parser.add_argument(
        "--dtypes", nargs="+", choices=_DTYPES, default=list(_DTYPES), help="of X; default: both"
    )
    parser.add_argument("--threads", type=_positive_int, default=1)
    parser.add_argument(
        "--repeats", type=_positive_int, default=3, help="draws of each problem (default 3)"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=1200.0,
        metavar="SECONDS",
        help="cut a measurement off after this long (default 1200)",
    )
    parser.add_argument(
        "--reference", metavar="METHOD", help="what ratios refer to; default: the quickest rival"
    )
    parser.add_argument(
        "--instruction-set",
        choices=("baseline", "avx2", "avx512"),
        help="of polyleaf's kernels; default: the best that this processor has",
    )
    parser.add_argument(
        "--out",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="files to write, .json, .csv or .md; default: all three in benchmarks/results",
    )
    parser.add_argument("--list", action="store_true", help="show what there is and stop")
    return parser


def _positive_int(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more; got {text}.")
    return value


def _cases(options: argparse.Namespace) -> list[Case]:
    task = TASKS[options.task]
    problems = pick("--problems", PROBLEMS, options.problems or task.problems)
    settings = pick("--settings", task.settings, options.settings or list(task.settings))
    return [
        Case(task.name, problem, setting, dtype, options.threads)
        for problem in problems
        for dtype in options.dtypes
        for setting in settings
    ]


def _methods(options: argparse.Namespace) -> list[Method]:
    known = methods_of(options.task)
    asked = options.methods or [name for name, method in known.items() if method.by_default]
    chosen = list(pick("--methods", known, asked).values())
    missing = [method for method in chosen if not method.is_installed]
    for method in missing:
        message = f"{method.name} needs {method.package}, which is not installed"
        if options.methods:
            raise ValueError(f"{message}; install it or leave the method out.")
        _console(stderr=True).print(f"left out: {message}.")
    present = [method for method in chosen if method.is_installed]
    if options.reference is not None:
        pick("--reference", {method.name: method for method in present}, [options.reference])
    return present


def _targets(options: argparse.Namespace) -> list[Path]:
    targets: list[Path] = options.out or [_RESULTS / f"{options.task}{s}" for s in WRITERS]
    for path in targets:
        if path.suffix not in WRITERS:
            raise ValueError(
                f"--out must end in {', '.join(WRITERS)}; got {path.name!r}. "
                "Name a file with one of these endings."
            )
    return targets


def _run(
    cases: Sequence[Case], methods: Sequence[Method], options: argparse.Namespace
) -> list[Measurement]:
    shown = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    total = len(cases) * len(methods) * options.repeats
    with Progress(*shown, console=_console(stderr=True)) as progress:
        bar = progress.add_task("starting", total=total)

        n_begun = count()

        def on_start(case: Case, method: str, draw: int) -> None:
            text = f"{case.problem} {case.setting} {case.dtype} {method}, draw {draw}"
            progress.update(bar, description=text, completed=next(n_begun))

        return run(
            cases,
            methods,
            repeats=options.repeats,
            timeout=options.timeout,
            on_start=on_start,
            instruction_set=options.instruction_set,
        )


def _list() -> None:
    console = _console()
    for task in TASKS.values():
        console.print(f"task {task.name}: metrics {', '.join(task.metrics)}")
        console.print(f"  settings: {', '.join(task.settings)}")
        console.print(f"  default problems: {', '.join(task.problems)}")
        for name, method in methods_of(task.name).items():
            notes = [] if method.by_default else ["only when asked for"]
            notes += [] if method.is_installed else [f"needs {method.package}"]
            console.print(f"  method {name}" + (f" ({', '.join(notes)})" if notes else ""))
    for problem in PROBLEMS.values():
        console.print(
            f"problem {problem.name}: {problem.n_train} training and {problem.n_test} test rows, "
            f"{problem.n_features} features, {problem.n_outputs} outputs"
        )


def _console(stderr: bool = False) -> Console:
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _LEAST_WIDTH)
    return console


if __name__ == "__main__":
    sys.exit(main())
