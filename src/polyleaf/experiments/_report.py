"""Write what a comparison found as one HTML page that needs no network, as Markdown and as CSV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyleaf.checks.optional import require
from polyleaf.experiments._best import write_best
from polyleaf.experiments._escaping import markdown_cell
from polyleaf.experiments._problem import Problem
from polyleaf.experiments._report_figures import (
    dataset_figures,
    methods_by_score,
    rank_figures,
    time_figure,
)
from polyleaf.experiments._report_tables import (
    corrected_table,
    dataset_table,
    example_table,
    leaderboard,
    level_table,
    verdict_table,
)
from polyleaf.experiments._report_words import (
    method_notes,
    plain_name,
    settings_words,
    summary,
    task_lead,
    task_summary,
)
from polyleaf.metrics import Metric

if TYPE_CHECKING:
    from polyleaf.experiments._comparison import Comparison

_TEMPLATES = Path(__file__).with_name("templates")
_TITLES = {"regression": "Regression", "multilabel": "Labels", "classes": "Classes"}


def write_report(comparison: Comparison, folder: Path) -> Path:
    """Write report.html, report.md, results.csv and best.json into a folder; return the page.

    Parameters
    ----------
    comparison : Comparison
    folder : Path
        Made if it does not exist.

    Returns
    -------
    Path
    """
    jinja2 = require("jinja2", "the report")
    folder.mkdir(parents=True, exist_ok=True)
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True,
        loader=jinja2.FileSystemLoader(_TEMPLATES),
    )  # fmt: skip
    page = folder / "report.html"
    text = environment.get_template("report.html").render(**_content(comparison))
    page.write_text(text, encoding="utf-8")
    (folder / "report.md").write_text(_markdown(comparison), encoding="utf-8")
    comparison.to_csv(folder / "results.csv")
    write_best(comparison, folder)
    return page


def _content(comparison: Comparison) -> dict[str, Any]:
    problems = comparison.problems
    count = f"{len(problems)} data sets"
    failures = comparison.failures
    return {
        "title": f"Comparison on {problems[0].name if len(problems) == 1 else count}",
        "sections": [_section(comparison, task) for task in comparison.metrics],
        "data": [[p.name, p.task, *p.shape] for p in problems],
        "notes": method_notes(comparison),
        "n_runs": len(comparison.rows),
        "failures": failures,
        "settings": [
            [row["dataset"], row["method"], row["fold"], settings_words(row["settings"])]
            for row in comparison.rows
            if row.get("settings")
        ],
        "plan": json.dumps(comparison.plan, indent=2),
        "versions": comparison.plan.get("versions", {}),
    }


def _markdown(comparison: Comparison) -> str:
    parts = [*summary(comparison), comparison.to_markdown()]
    parts += ["\n".join(f"- {name}: {note}" for name, note in method_notes(comparison))]
    for metrics in comparison.metrics.values():
        parts += [_markdown_table(table) for table in _tables(comparison, metrics[0])]
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: dict[str, Any]) -> str:
    header = [markdown_cell(column["name"]) for column in table["columns"]]
    lines = [header, ["---"] * len(header)]
    lines += [[markdown_cell(cell["text"]) for cell in row] for row in table["rows"]]
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"### {table['title']}\n\n{table['caption']}\n\n{body}"


def _section(comparison: Comparison, task: str) -> dict[str, Any]:
    metrics = comparison.metrics[task]
    first = metrics[0]
    figures = [*rank_figures(comparison, first), time_figure(comparison, first)]
    return {
        "id": task,
        "title": _TITLES[task],
        "lead": task_lead(comparison, first),
        "verdict": task_summary(comparison, first),
        "cards": _cards(comparison, first),
        "board": leaderboard(comparison, metrics),
        "metric": plain_name(first.name),
        "figures": [figure for figure in figures if figure["svg"]],
        "tables": _tables(comparison, first),
        "datasets": [
            _dataset(comparison, problem, first)
            for problem in comparison.problems
            if problem.task == task
        ],
    }


def _tables(comparison: Comparison, metric: Metric) -> list[dict[str, Any]]:
    found = (
        table(comparison, metric) for table in (dataset_table, verdict_table, corrected_table)
    )
    levels = (
        level_table(comparison, problem, metric)
        for problem in comparison.problems
        if problem.task == metric.task and problem.hierarchy is not None
    )
    return [table for table in (*found, *levels) if table is not None]


def _cards(comparison: Comparison, metric: Metric) -> list[dict[str, str]]:
    """Return the few numbers to see first."""
    board = [s for s in comparison.leaderboard(metric.name) if s.n_failed < s.n_runs]
    if not board:
        return []
    best = board[0]
    quickest = min((s for s in board if s.method != "Mean"), key=lambda s: s.fit_seconds,
                   default=best)  # fmt: skip
    one_set = len(comparison.datasets(metric.task)) == 1
    place = "best score" if one_set else f"best mean rank, {best.rank:.2f}"
    return [
        {"big": best.method, "small": place},
        {
            "big": f"{best.score:.3f}",
            "small": f"its {plain_name(metric.name)}, ± {best.spread:.3f} over folds",
        },
        {"big": f"{best.fit_seconds:.2g} s", "small": "its time to fit, on one thread"},
        {
            "big": quickest.method,
            "small": f"quickest to fit: {quickest.fit_seconds:.2g} s, {quickest.score:.3f}",
        },
    ]


def _dataset(comparison: Comparison, problem: Problem, metric: Metric) -> dict[str, Any]:
    order = methods_by_score(comparison, problem.name, metric)
    best = ""
    if order:
        score = comparison.fold_scores(problem.name, order[0], metric.name).mean()
        best = f"best: {order[0]}, {plain_name(metric.name)} {score:.3f}"
    n, p, d = problem.shape
    return {
        "name": problem.name,
        "facts": f"{n:,} rows, {p:,} features, {d:,} outputs",
        "best": best,
        "figures": dataset_figures(comparison, problem, metric),
        "examples": example_table(comparison, problem, metric),
    }
