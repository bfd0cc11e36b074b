"""The command that compares methods and writes a report."""

from __future__ import annotations

import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from polyleaf.cli._cluster import connect
from polyleaf.cli._data import builtin_data, read_data, split_names
from polyleaf.cli._options import Exclude, Json, MaxBytes, NTargets, Seed, Targets, Xml
from polyleaf.cli._output import console, messages, short, show_json, show_table
from polyleaf.cli._values import parse_time, parse_tuning
from polyleaf.datasets._files import MAX_BYTES
from polyleaf.experiments import METHODS, Comparison
from polyleaf.experiments import compare as compare_methods

#: The exit code after Ctrl-C.
STOPPED = 130
#: The exit code if no run succeeded.
FAILED = 1
_MOST_ERRORS = 5


def compare(
    data: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files, or names listed by `polyleaf datasets`; built-in data if none. "
            "FILE.arff:3 says that the last 3 attributes are outputs."
        ),
    ] = None,
    targets: Targets = None,
    n_targets: NTargets = None,
    xml: Xml = None,
    exclude: Exclude = None,
    max_bytes: MaxBytes = MAX_BYTES,
    classes: Annotated[
        str | None,
        typer.Option(help="Outputs whose values name classes, by commas: a label of each class."),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help=f"Of {', '.join(METHODS)}; by commas. All by default.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="A TOML file with methods of your own: \\[name] with method = 'Boosting' and its "
            "parameters; a list is tuned."
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Names of metrics, by commas; the first one is tuned for.")
    ] = None,
    cv: Annotated[
        int | None, typer.Option(help="Number of folds; 5 by default, 3 for built-in data.")
    ] = None,
    tuning: Annotated[
        str,
        typer.Option(help="Share of the training rows to tune on, or number of inner folds."),
    ] = "0.25",
    settings: Annotated[
        int | None, typer.Option(help="At most so many settings of each method, drawn at random.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="At most so many rows of each data set, drawn at random.")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Time meant for tuning and training in all: 90s, 10m or 2h; "
            "every run fits at least once."
        ),
    ] = None,
    limit: Annotated[
        str | None, typer.Option(help="Longest time of one run, which then counts as failed.")
    ] = None,
    bootstraps: Annotated[
        int, typer.Option(help="Bootstraps for estimates without optimism (BBC-CV), such as 200.")
    ] = 0,
    out: Annotated[Path, typer.Option(help="Folder for results and report.")] = Path("report"),
    jobs: Annotated[int, typer.Option(help="Runs at a time; -1: one per processor.")] = 1,
    dask: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler, whose workers do the runs."),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare methods on data sets, and write a report.

    The same command goes on where it was stopped: results are in results.jsonl in the folder.
    """
    if data:
        problems: Any = read_data(data, targets, n_targets, xml, exclude, max_bytes)
    else:
        problems = list(builtin_data(seed).values())
    if rows is not None:
        problems = [dataset.sample(rows, random_state=seed) for dataset in problems]
    try:
        result = compare_methods(
            problems,
            methods=_chosen(methods, config),
            metrics=split_names(metric),
            classes=split_names(classes) or (),
            cv=(5 if data else 3) if cv is None else cv,
            tuning=parse_tuning(tuning),
            max_settings=settings,
            budget=None if budget is None else parse_time(budget),
            bootstraps=bootstraps,
            limit=None if limit is None else parse_time(limit),
            path=out / "results.jsonl",
            random_state=seed,
            n_jobs=jobs,
            client=None if dask is None else connect(dask),
            verbose=0 if as_json else 1,
        )
    except KeyboardInterrupt:
        messages.print(f"Stopped; what is finished is in {out}. The same command goes on.")
        raise typer.Exit(STOPPED) from None
    page = result.report(out)
    if as_json:
        show_json(_boards(result) | {"report": str(page)})
    else:
        _show_boards(result)
        console.print(f"Report: {page}", soft_wrap=True)
    _tell_failures(result)


def _tell_failures(result: Comparison) -> None:
    """Print each distinct error once; nothing but failures is a failure of the command."""
    by_error: dict[str, list[dict[str, Any]]] = {}
    for row in result.failures:
        first_line = (row["error"].splitlines() or [""])[0]
        by_error.setdefault(f"{row['method']}: {first_line}", []).append(row)
    for told, rows in list(by_error.items())[:_MOST_ERRORS]:
        where = ", ".join(dict.fromkeys(row["dataset"] for row in rows))
        said = f"failed ({len(rows)} runs, on {where}): {told}"
        messages.print(said, soft_wrap=True, markup=False, highlight=False)
    if len(by_error) > _MOST_ERRORS:
        messages.print(f"{len(result.failures)} runs failed; the report lists them all.")
    if len(result.failures) == len(result.rows):
        messages.print("error: no run succeeded.")
        raise typer.Exit(FAILED)


def _chosen(methods: str | None, config: Path | None) -> Any:
    """Return the methods to compare: by name, and those of a configuration file."""
    names = split_names(methods)
    if config is None:
        return names
    try:
        own = tomllib.loads(config.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{config} must be TOML: {error}.") from None
    wrong = [name for name, value in own.items() if not isinstance(value, dict)]
    if wrong or not own:
        raise ValueError(
            f"{config} must hold one table per method, as [mine] with method = 'Boosting'; got "
            f"{', '.join(wrong) or 'nothing'}."
        )
    named = {name.lower(): name for name in METHODS}
    others = [named.get(name.lower(), name) for name in (METHODS if names is None else names)]
    return {name: name for name in others} | own


def _boards(result: Comparison) -> dict[str, Any]:
    return {
        metric.name: [asdict(standing) for standing in result.leaderboard(metric.name)]
        for found in result.metrics.values()
        for metric in found
    }


def _show_boards(result: Comparison) -> None:
    for task, found in result.metrics.items():
        boards = {m.name: {s.method: s for s in result.leaderboard(m.name)} for m in found}
        first = boards[found[0].name]
        # Spaces, so that a narrow terminal breaks the names instead of cutting them.
        arrows = [
            f"{m.name.replace('_', ' ')} {'↑' if m.greater_is_better else '↓'}" for m in found
        ]
        rows = [
            [
                s.method,
                *map(short, (s.rank, *(boards[m.name][s.method].score for m in found))),
                short(s.fit_seconds),
            ]
            for s in first.values()
        ]
        show_table(task, ["method", "mean rank", *arrows, "fit, s"], rows)
