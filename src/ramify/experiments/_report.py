"""Write what a comparison found as one HTML page that needs no network, as Markdown and as CSV."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ramify.experiments import _charts
from ramify.experiments._report_words import summary, task_lead
from ramify.experiments._statistics import saturation_size
from ramify.metrics import Metric

if TYPE_CHECKING:
    from ramify.experiments._comparison import Comparison

_TEMPLATE = Path(__file__).with_name("templates") / "report.html"
_TITLES = {"regression": "Regression", "multilabel": "Labels"}
_MOST_SHOWN = 40  # outputs or features in a picture


def write_report(comparison: Comparison, folder: Path) -> Path:
    """Write report.html, report.md and results.csv into a folder; return the page.

    Parameters
    ----------
    comparison : Comparison
    folder : Path
        Made if it does not exist.

    Returns
    -------
    Path
    """
    try:
        jinja2 = importlib.import_module("jinja2")
    except ImportError as error:
        raise ImportError(
            "The report needs jinja2, which is not installed; install it with: "
            "pip install 'ramify[report]'"
        ) from error
    folder.mkdir(parents=True, exist_ok=True)
    environment = jinja2.Environment(autoescape=True, trim_blocks=True)
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    page = folder / "report.html"
    page.write_text(template.render(**_content(comparison)), encoding="utf-8")
    (folder / "report.md").write_text(_markdown(comparison), encoding="utf-8")
    comparison.to_csv(folder / "results.csv")
    return page


def _content(comparison: Comparison) -> dict[str, Any]:
    names = [problem.name for problem in comparison.problems]
    return {
        "title": f"Comparison on {names[0]}" if len(names) == 1 else
                 f"Comparison on {len(names)} data sets",
        "summary": summary(comparison),
        "sections": [_section(comparison, task) for task in comparison.metrics],
        "data": [[p.name, p.task, *p.shape] for p in comparison.problems],
        "failures": comparison.failures,
        "settings": [row for row in comparison.rows if row.get("settings")],
        "plan": json.dumps(comparison.plan, indent=2),
    }  # fmt: skip


def _markdown(comparison: Comparison) -> str:
    return "\n\n".join([*summary(comparison), comparison.to_markdown()])


def _section(comparison: Comparison, task: str) -> dict[str, Any]:
    metrics = comparison.metrics[task]
    first = metrics[0]
    return {
        "id": task,
        "title": _TITLES[task],
        "lead": task_lead(comparison, first),
        "columns": [
            "method",
            "mean rank",
            *(f"{m.name} {'↑' if m.greater_is_better else '↓'}" for m in metrics),
            "fit, s",
            "predict, ms per row",
            "model, MB",
            "failed",
        ],
        "board": _board(comparison, metrics),
        "figures": [figure for figure in _figures(comparison, task) if figure["svg"]],
        "tables": _tables(comparison, first),
    }


def _board(comparison: Comparison, metrics: tuple[Metric, ...]) -> list[dict[str, Any]]:
    boards = {m.name: {s.method: s for s in comparison.leaderboard(m.name)} for m in metrics}
    first = list(boards[metrics[0].name].values())
    best = {}
    for metric in metrics:
        scores = [s.score for s in boards[metric.name].values() if np.isfinite(s.score)]
        best[metric.name] = (max if metric.greater_is_better else min)(scores, default=np.nan)
    rows = []
    for standing in first:
        cells = [_cell(standing.rank, "{:.2f}")]
        for metric in metrics:
            s = boards[metric.name][standing.method]
            cell = _cell(s.score, f"{{:.4f}} ± {s.spread:.3f}")
            cells.append(cell | {"best": s.score == best[metric.name]})
        cells += [
            _cell(standing.fit_seconds, "{:.3g}"),
            _cell(standing.predict_seconds_per_row * 1e3, "{:.3g}"),
            _cell(standing.model_bytes / 1e6, "{:.3g}"),
            _cell(standing.n_failed, f"{{:.0f}} of {standing.n_runs}"),
        ]
        rows.append({"method": standing.method, "group": standing.group, "cells": cells})
    return rows


def _cell(value: float, form: str) -> dict[str, Any]:
    if not np.isfinite(value):
        return {"value": "", "text": "–", "best": False}
    return {"value": f"{value:.10g}", "text": form.format(value), "best": False}


def _figures(comparison: Comparison, task: str) -> list[dict[str, str]]:
    first = comparison.metrics[task][0]
    return [
        _rank_figure(comparison, first),
        _time_figure(comparison, first),
        _curve_figure(comparison, task, first),
        *_output_figures(comparison, task),
        *_importance_figures(comparison, task, first),
    ]


def _rank_figure(comparison: Comparison, metric: Metric) -> dict[str, str]:
    result = comparison.friedman(metric.name)
    if result is None:
        return {"title": "", "svg": "", "caption": ""}
    names = comparison.tested_methods(metric.name)
    svg = _charts.critical_difference_diagram(
        names, result.ranks.tolist(), result.critical_difference
    )
    return {
        "title": "Critical differences",
        "svg": svg,
        "caption": (
            f"Mean ranks by {metric.name} over {result.n_blocks} data sets. Methods joined by a "
            f"bar are not told apart by Nemenyi's test (level {result.alpha:g}). Friedman's test "
            f"that all are alike: p = {result.p_value:.3g} (Iman and Davenport: p = "
            f"{result.iman_davenport_p:.3g})."
        ),
    }


def _time_figure(comparison: Comparison, metric: Metric) -> dict[str, str]:
    board = comparison.leaderboard(metric.name)
    points = [(s.method, s.fit_seconds, s.score) for s in board]
    return {
        "title": "Score against time",
        "svg": _charts.scatter(points, "seconds to fit", metric.name, "Score against time"),
        "caption": "Training time of the chosen setting on one thread, a mean over runs.",
    }


def _curve_figure(comparison: Comparison, task: str, metric: Metric) -> dict[str, str]:
    dataset = comparison.datasets(task)[0]
    curves, saturated = [], []
    for method in comparison.methods(task):
        runs = [
            row["curve"]
            for row in comparison.rows
            if (row["dataset"], row["method"]) == (dataset, method) and row.get("curve")
        ]
        if runs:
            n_points = min(map(len, runs))
            values = np.array([run[:n_points] for run in runs])
            sizes, scores = values[0, :, 0], values[:, :, 1]
            curves.append((method, list(zip(sizes.tolist(), scores.mean(axis=0).tolist()))))
            size = saturation_size(
                sizes.tolist(), scores, greater_is_better=metric.greater_is_better
            )
            saturated.append(f"{method} {size:g}")
    title = f"Curves over the size of ensembles, {dataset}"
    return {
        "title": title,
        "svg": _charts.lines(curves, "trees", metric.name, title),
        "caption": "The score of the first members of each ensemble, a mean over folds. The "
        "smallest size not significantly worse than the best (paired t-tests over folds): "
        + ", ".join(saturated)
        + ".",
    }


def _output_figures(comparison: Comparison, task: str) -> list[dict[str, str]]:
    figures = []
    for problem in comparison.problems:
        if problem.task != task or problem.shape[2] < 2:
            continue
        names = problem.output_names[:_MOST_SHOWN]
        per_output = _scores_per_output(comparison, problem.name, len(names))
        kind = "r²" if task == "regression" else "F1"
        if per_output:
            figures.append(
                {
                    "title": f"{kind} of each output, {problem.name}",
                    "svg": _charts.heatmap(
                        np.array(list(per_output.values())), list(per_output), names,
                        f"{kind} of each output", low=-1.0, high=1.0,
                    ),
                    "caption": "Means over folds: the stronger, the better; cold is below 0.",
                }
            )  # fmt: skip
        figures.append(
            {
                "title": f"How the outputs hang together, {problem.name}",
                "svg": _charts.heatmap(
                    _correlations(problem.Y, len(names)), names, names,
                    "Correlations of the outputs", low=-1.0, high=1.0,
                ),
                "caption": "Correlations over the rows where both are observed: warm is positive, "
                "cold negative.",
            }
        )  # fmt: skip
        if len(figures) >= 4:  # two data sets
            break
    return figures


def _scores_per_output(comparison: Comparison, dataset: str, n_shown: int) -> dict[str, Any]:
    found: dict[str, list[Any]] = {}
    for row in comparison.rows:
        if row["dataset"] == dataset and row.get("per_output"):
            values = [np.nan if v is None else v for v in row["per_output"][:n_shown]]
            found.setdefault(row["method"], []).append(values)
    return {method: np.nanmean(np.array(rows), axis=0) for method, rows in found.items()}


def _correlations(Y: Any, n_shown: int) -> Any:
    values = (Y[:, :n_shown].toarray() if hasattr(Y, "toarray") else Y[:, :n_shown]).astype(float)
    observed = ~np.isnan(values)
    sums = np.where(observed, values, 0.0).sum(axis=0)
    means = sums / np.maximum(observed.sum(axis=0), 1)
    centred = np.where(observed, values - means, 0.0)
    squares = (centred**2).T @ observed.astype(float)  # over the rows that both have
    scale = np.sqrt(squares * squares.T)
    products = centred.T @ centred
    return np.divide(products, scale, out=np.full(scale.shape, np.nan), where=scale > 0)


def _importance_figures(comparison: Comparison, task: str, metric: Metric) -> list[dict[str, str]]:
    dataset = comparison.datasets(task)[0]
    problem = next(p for p in comparison.problems if p.name == dataset)
    for standing in comparison.leaderboard(metric.name):
        for row in comparison.rows:
            if (row["dataset"], row["method"]) != (dataset, standing.method):
                continue
            if not row.get("importances"):
                continue
            values = np.array(row["importances"], dtype=np.float64)
            top = np.argsort(-values.sum(axis=1), kind="stable")[:20]
            columns = problem.output_names[: values.shape[1]] if values.shape[1] > 1 else ["all"]
            high = float(values[top].max()) or 1.0
            return [
                {
                    "title": f"Which feature matters for which output, {dataset}",
                    "svg": _charts.heatmap(
                        values[top], [problem.feature_names[i] for i in top], columns,
                        "Importances", low=-high, high=high,
                    ),
                    "caption": f"Importances in {standing.method}, first fold; the features that "
                    "matter most.",
                }
            ]  # fmt: skip
    return []


def _tables(comparison: Comparison, metric: Metric) -> list[dict[str, Any]]:
    methods, matrix = comparison.score_matrix(metric.name)
    names = comparison.datasets(metric.task)
    tables = []
    if len(names) > 1:
        tables.append(
            {
                "title": f"{metric.name} on each data set",
                "caption": "Means over folds.",
                "header": ["method", *names],
                "rows": [
                    [method, *("–" if np.isnan(v) else f"{v:.4f}" for v in matrix[:, j])]
                    for j, method in enumerate(methods)
                ],
            }
        )
    tables += _example_table(comparison, metric)
    return tables


def _example_table(comparison: Comparison, metric: Metric) -> list[dict[str, Any]]:
    dataset = comparison.datasets(metric.task)[0]
    problem = next(p for p in comparison.problems if p.name == dataset)
    best = comparison.leaderboard(metric.name)[0].method
    for row in comparison.rows:
        if (row["dataset"], row["method"]) == (dataset, best) and row.get("examples"):
            names = problem.output_names[: len(row["examples"][0]["truth"])]
            rows = []
            for example in row["examples"]:
                for kind in ("truth", "predicted"):
                    values = ["?" if v is None else f"{v:.4g}" for v in example[kind]]
                    rows.append([f"row {example['row']}, {kind}", *values])
            return [
                {
                    "title": f"Examples: what {best} predicts on {dataset}",
                    "caption": "Rows of the first test fold; ? is not observed.",
                    "header": ["", *names],
                    "rows": rows,
                }
            ]
    return []
