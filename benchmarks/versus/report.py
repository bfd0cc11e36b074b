"""Show a comparison as a table, and write it as JSON, CSV or Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.versus.problems import PROBLEMS
from benchmarks.versus.runner import Measurement
from benchmarks.versus.summary import Row
from benchmarks.versus.tasks import TASKS

_FORMAT_VERSION = 1
_BUSY = 1 / 0.9  # wall time over processor time from which a single thread had to wait
_MEASURABLE = 0.05  # seconds below which the two clocks need not agree
_N_NAME_COLUMNS = 4  # the first columns of the table say what was measured


@dataclass(frozen=True)
class Comparison:
    """All that a run found out.

    Attributes
    ----------
    task : str
    repeats : int
    machine : dict
        See `benchmarks.versus.machine.machine_facts`.
    measurements : sequence of Measurement
    rows : sequence of Row
    """

    task: str
    repeats: int
    machine: dict[str, Any]
    measurements: Sequence[Measurement]
    rows: Sequence[Row]


def columns(task: str) -> dict[str, Callable[[Row], str]]:
    """Return the columns of the table: how to show each for a row."""
    metrics = TASKS[task].metrics
    by_rule: dict[str, Callable[[Row], str]] = {
        "rules": lambda row: _number(row.n_rules),
        "CPU ratio per rule": lambda row: _times(row.rule_speedup),
    }
    by_processor: dict[str, Callable[[Row], str]] = {
        "predict CPU s": lambda row: _number(row.predict_cpu_seconds),
        "predict CPU ratio": lambda row: _times(row.predict_cpu_speedup),
    }
    return {
        "problem": lambda row: row.problem,
        "setting": lambda row: row.setting,
        "X": lambda row: row.dtype,
        "method": lambda row: row.method,
        "fit s": lambda row: row.failure or _number(row.fit_seconds),
        "fit min s": lambda row: _number(row.fit_seconds_min),
        "fit ratio": lambda row: _times(row.fit_speedup),
        "CPU ratio": lambda row: _times(row.fit_cpu_speedup),
        **(by_rule if task == "rules" else {}),
        "predict s": lambda row: _number(row.predict_seconds),
        "predict ratio": lambda row: _times(row.predict_speedup),
        **(by_processor if task == "shap" else {}),
        "peak MB": lambda row: _megabytes(row.fit_peak_bytes),
        "peak ratio": lambda row: _times(row.memory_ratio),
        "model MB": lambda row: _megabytes(row.model_bytes),
        **{metric: _score_column(metric) for metric in metrics},
        f"{metrics[0]} difference": _difference,
    }


def as_table(comparison: Comparison) -> Table:
    """Lay the rows out for a terminal."""
    table = Table(title=_title(comparison), caption=_legend(comparison), title_justify="left")
    shown = columns(comparison.task)
    for position, name in enumerate(shown):
        is_name = position < _N_NAME_COLUMNS
        table.add_column(name, justify="left" if is_name else "right", no_wrap=is_name)
    previous = None
    for row in comparison.rows:
        case = (row.problem, row.setting, row.dtype)
        if previous not in (None, case):
            table.add_section()
        previous = case
        style = "bold" if row.is_ours else None
        table.add_row(*(show(row) for show in shown.values()), style=style)
    return table


def as_markdown(comparison: Comparison) -> str:
    """Return the table in Markdown."""
    shown = columns(comparison.task)
    lines = [
        _title(comparison),
        "",
        _line(list(shown)),
        _line([":--" if i < _N_NAME_COLUMNS else "--:" for i in range(len(shown))]),
        *(_line([show(row) for show in shown.values()]) for row in comparison.rows),
        "",
        _legend(comparison),
    ]
    return "\n".join(lines) + "\n"


def as_csv(comparison: Comparison) -> str:
    """Return one line per row of the table, with all digits; scores have a column each."""
    metrics = TASKS[comparison.task].metrics
    names = [field.name for field in fields(Row) if field.name != "scores"]
    text = io.StringIO()
    writer = csv.DictWriter(text, [*names, *metrics], lineterminator="\n")
    writer.writeheader()
    for row in comparison.rows:
        record = asdict(row)
        writer.writerow({**(record.pop("scores") or {}), **record})
    return text.getvalue()


def as_json(comparison: Comparison) -> str:
    """Return the facts, the rows of the table and every single measurement."""
    used = {row.problem: PROBLEMS[row.problem] for row in comparison.rows}
    document = {
        "format": _FORMAT_VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "task": comparison.task,
        "repeats": comparison.repeats,
        "machine": comparison.machine,
        "problems": {
            name: {
                "n_train": problem.n_train,
                "n_test": problem.n_test,
                "n_features": problem.n_features,
                "n_outputs": problem.n_outputs,
            }
            for name, problem in used.items()
        },
        "rows": [{**asdict(row), "verdict": row.verdict} for row in comparison.rows],
        "measurements": [asdict(measurement) for measurement in comparison.measurements],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


WRITERS: dict[str, Callable[[Comparison], str]] = {
    ".json": as_json,
    ".csv": as_csv,
    ".md": as_markdown,
}


def write(comparison: Comparison, path: Path) -> None:
    """Write the comparison in the format that the file's suffix names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(WRITERS[path.suffix](comparison), encoding="utf-8")


def _title(comparison: Comparison) -> str:
    machine = comparison.machine
    threads = comparison.rows[0].threads
    return (
        f"{comparison.task}, {threads} thread(s), {comparison.repeats} draw(s) of each problem; "
        f"{machine['cpu']}, {machine['cores']} core(s), {machine['instruction_set']}"
    )


def _legend(comparison: Comparison) -> str:
    references = sorted({row.reference for row in comparison.rows if row.reference})
    beside = " or ".join(references) or "none"
    return (
        f"Reference of ratios and differences: {beside}. Time ratios above 1 are in favour of the "
        "method, memory ratios below 1. Peak: resident memory of fit over that of the data. "
        "Times are medians over the draws, scores means on test rows."
        f"{_warning(comparison)}"
    )


def _warning(comparison: Comparison) -> str:
    """Warn of timings that other programs disturbed: one thread waits for nothing else."""
    costs = [run.cost for run in comparison.measurements if run.cost and run.case.threads == 1]
    n_disturbed = sum(
        cost.fit_seconds > _BUSY * cost.fit_cpu_seconds and cost.fit_seconds > _MEASURABLE
        for cost in costs
    )
    if not n_disturbed:
        return ""
    return (
        f" The machine was busy: {n_disturbed} of {len(costs)} fits waited for a processor for "
        f"more than a tenth of their time; trust the CPU ratio there."
    )


def _score_column(metric: str) -> Callable[[Row], str]:
    return lambda row: "" if row.scores is None else f"{row.scores[metric]:.4f}"


def _difference(row: Row) -> str:
    if row.score_difference is None or row.method == row.reference:
        return ""
    error = row.score_difference_error
    spread = "" if error is None else f" ± {error:.4f}"
    return f"{row.score_difference:+.4f}{spread} {row.verdict}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}×"


def _megabytes(value: int | None) -> str:
    return "" if value is None else f"{value / 1e6:.1f}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
