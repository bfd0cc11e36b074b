"""The tables of a report: the leaderboard, scores per data set, tests, estimates, examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyleaf.experiments._problem import Problem
from polyleaf.experiments._report_figures import methods_by_score
from polyleaf.experiments._report_words import capital, plain_name, settings_words
from polyleaf.experiments._significance import fold_verdict, verdicts
from polyleaf.metrics import Metric

if TYPE_CHECKING:
    from polyleaf.experiments._comparison import Comparison

Cell = dict[str, Any]
Table = dict[str, Any]


def leaderboard(comparison: Comparison, metrics: tuple[Metric, ...]) -> Table:
    """Return the table of all methods by all metrics."""
    boards = {m.name: {s.method: s for s in comparison.leaderboard(m.name)} for m in metrics}
    shares = {m.name: _shares(boards[m.name], m) for m in metrics}
    columns = [_column("method", best="ascending"), _column("mean rank", best="ascending")]
    columns += [
        _column(
            f"{plain_name(m.name)} {'↑' if m.greater_is_better else '↓'}",
            best="descending" if m.greater_is_better else "ascending",
        )
        for m in metrics
    ]
    columns += [
        _column(n) for n in ("fit, s", "predict, ms per row", "model, MB", "nodes or rules")
    ]
    has_failed = bool(comparison.failures)
    if has_failed:
        columns.append(_column("failed"))
    rows = []
    for standing in boards[metrics[0].name].values():
        cells = [_number(standing.rank, "{:.2f}")]
        for metric in metrics:
            s = boards[metric.name][standing.method]
            share = shares[metric.name].get(standing.method)
            cell = _number(s.score, "{:.3f}") | {"spread": f"{s.spread:.3f}", "share": share}
            cells.append(cell | {"best": share == 1.0})
        n_parts = standing.n_rules if np.isfinite(standing.n_rules) else standing.n_nodes
        cells += [
            _number(standing.fit_seconds, "{:.3g}"),
            _number(standing.predict_seconds_per_row * 1e3, "{:.3g}"),
            _number(standing.model_bytes / 1e6, "{:.3g}"),
            _number(n_parts, "{:,.0f}"),
        ]
        if has_failed:
            cells.append(_number(standing.n_failed, f"{{:.0f}} of {standing.n_runs}"))
        rows.append({"method": standing.method, "group": standing.group, "cells": cells})
    return {"columns": columns, "rows": rows, "groups": _groups(rows)}


def _groups(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["group"] for row in rows))


def _column(name: str, *, best: str = "ascending", is_text: bool = False) -> dict[str, Any]:
    return {"name": name, "first": best, "is_text": is_text}


def _shares(board: dict[str, Any], metric: Metric) -> dict[str, float]:
    """Return where each score lies from the worst (0) to the best (1); without the mean's."""
    known = {name: s.score for name, s in board.items() if np.isfinite(s.score)}
    judged = [score for name, score in known.items() if name != "Mean"] or list(known.values())
    if not judged:
        return {}
    best, worst = (max(judged), min(judged)) if metric.greater_is_better else (
        min(judged), max(judged))  # fmt: skip
    width = best - worst
    return {
        name: float(np.clip((score - worst) / width, 0.0, 1.0)) if width else 1.0
        for name, score in known.items()
    }


def dataset_table(comparison: Comparison, metric: Metric) -> Table | None:
    """Return scores by data set; faint if significantly worse than the best of a column."""
    names = comparison.datasets(metric.task)
    if len(names) < 2:
        return None
    best = {name: methods_by_score(comparison, name, metric)[:1] for name in names}
    methods, matrix = comparison.score_matrix(metric.name)
    rows = []
    order = [s.method for s in comparison.leaderboard(metric.name)]
    for method in order:
        cells = [{"text": method}]
        for i, name in enumerate(names):
            cell = _number(float(matrix[i, methods.index(method)]), "{:.3f}")
            is_best = best[name] == [method]
            if not is_best and best[name] and cell["value"]:
                sign = fold_verdict(comparison, metric, name, method, best[name][0])
                cell["faint"] = sign < 0
            cells.append(cell | {"best": is_best})
        rows.append(cells)
    return {
        "title": f"{capital(plain_name(metric.name))} on each data set",
        "caption": "Means over folds. Green: the best of the column. Grey: worse than that in a "
        "paired t-test over the folds (p < 0.05; folds share training rows: take it as a hint).",
        "columns": [_column("method"), *(_column(n, best=_direction(metric)) for n in names)],
        "rows": rows,
    }


def level_table(comparison: Comparison, problem: Problem, metric: Metric) -> Table | None:
    """Return the scores of the levels of a hierarchy, by method."""
    found = comparison.level_scores(problem.name)
    order = [name for name in methods_by_score(comparison, problem.name, metric) if name in found]
    if not order or problem.hierarchy is None:
        return None
    sizes = np.bincount(problem.hierarchy.depth)
    best = {level: max(found[name][level] for name in order) for level in range(sizes.size)}
    rows = [
        [
            {"text": name},
            *(
                _number(float(score), "{:.3f}") | {"best": score == best[level]}
                for level, score in enumerate(found[name])
            ),
        ]
        for name in order
    ]
    heads = [f"level {level} ({n:,} labels)" for level, n in enumerate(sizes)]
    return {
        "title": f"F1 of each level of the hierarchy, {problem.name}",
        "caption": "Of all labels of that depth together, means over folds; level 0 are the "
        "roots. Green: the best of the column.",
        "columns": [_column("method"), *(_column(head, best="descending") for head in heads)],
        "rows": rows,
    }


def _direction(metric: Metric) -> str:
    return "descending" if metric.greater_is_better else "ascending"


def verdict_table(comparison: Comparison, metric: Metric) -> Table | None:
    """Return the p-values of all methods against the best one."""
    tested = comparison.tested_methods(metric.name)
    control = next(
        (s.method for s in comparison.leaderboard(metric.name) if s.method in tested), None
    )
    if control is None:
        return None
    found = verdicts(comparison, metric, control)
    if not found:
        return None
    columns = ["method", "mean rank", "Nemenyi, data sets", "Wilcoxon, data sets",
               "Wilcoxon, outputs", "t-tests: better", "alike", "worse"]  # fmt: skip
    rows = [
        [
            {"text": v.method},
            _number(v.rank, "{:.2f}"),
            *(_p_cell(p) for p in (v.nemenyi, v.wilcoxon, v.wilcoxon_outputs)),
            *(_number(n, "{:.0f}") for n in (v.n_better, v.n_alike, v.n_worse)),
        ]
        for v in found
    ]
    return {
        "title": f"How sure: all against {control}",
        "caption": f"P-values that a method is as good as {control}, over data sets and over all "
        "outputs; bold is below 0.05. Nemenyi's are corrected for the number of pairs, Wilcoxon's "
        "are not. On the right, the number of data sets on which the method is better, not "
        "distinguishable, or worse in a paired t-test over the folds.",
        "columns": [_column(name) for name in columns],
        "rows": rows,
    }


def _p_cell(p: float) -> Cell:
    if not np.isfinite(p):
        return _number(p, "{}")
    text = "< 0.001" if p < 0.001 else f"{p:.3f}"
    return {"value": f"{p:.10g}", "text": text, "strong": p < 0.05}


def corrected_table(comparison: Comparison, metric: Metric) -> Table | None:
    """Return BBC-CV estimates of the tuned methods."""
    rows = []
    for dataset in comparison.datasets(metric.task):
        for method in methods_by_score(comparison, dataset, metric):
            found = comparison.corrected(dataset, method)
            if found is not None:
                span = f"{found.low:.3f} to {found.high:.3f}"
                rows.append([
                    {"text": dataset}, {"text": method}, _number(found.score, "{:.3f}"),
                    {"text": span}, _number(found.optimistic, "{:.3f}"),
                    {"text": settings_words(found.settings)},
                ])  # fmt: skip
    if not rows:
        return None
    columns = ("data set", "method", "corrected", "95 % of the bootstraps", "uncorrected",
               "best setting")  # fmt: skip
    texts = ("method", "95 % of the bootstraps", "best setting")
    return {
        "title": "Estimates without the optimism of tuning",
        "caption": f"{capital(plain_name(metric.name))} of the best setting over all folds. "
        "Uncorrected: as measured on the rows that chose it. Corrected: chosen on rows drawn with "
        "replacement, judged on the others (BBC-CV).",
        "columns": [_column(name, is_text=name in texts) for name in columns],
        "rows": rows,
        "is_folded": True,
    }


def example_table(
    comparison: Comparison, problem: Problem, metric: Metric
) -> dict[str, Any] | None:
    """Return truth and prediction of a few test rows, by the best method on the data set."""
    for method in methods_by_score(comparison, problem.name, metric):
        for row in comparison.rows:
            if (row["dataset"], row["method"]) == (problem.name, method) and row.get("examples"):
                title = f"What {method} predicts for rows it has not seen"
                if problem.task != "multilabel":
                    return {"title": title, **_values_of(row["examples"], problem)}
                return {"title": title, **_labels_of(row["examples"], problem)}
    return None


def _values_of(examples: list[dict[str, Any]], problem: Problem) -> dict[str, Any]:
    names = problem.output_names[: len(examples[0]["truth"])]
    rows = []
    for example in examples:
        pairs = zip(example["truth"], example["predicted"])
        cells = [f"{_value(guess)} (true {_value(truth)})" for truth, guess in pairs]
        rows.append([{"text": f"row {example['row']}"}, *({"text": cell} for cell in cells)])
    columns = [_column("test row"), *(_column(name, is_text=True) for name in names)]
    return {"columns": columns, "rows": rows}


def _value(value: float | str | None) -> str:
    if isinstance(value, str):
        return value
    return "?" if value is None else f"{value:.3g}"


def _labels_of(examples: list[dict[str, Any]], problem: Problem) -> dict[str, Any]:
    names = problem.output_names
    found = []
    for example in examples:
        truth, predicted = set(example["truth"]), set(example["predicted"])
        unknown = set(example.get("unknown", ()))
        found.append(
            {
                "row": example["row"],
                "right": [names[j] for j in sorted(truth & predicted)],
                "missed": [names[j] for j in sorted(truth - predicted)],
                "wrong": [names[j] for j in sorted(predicted - truth - unknown)],
            }
        )
    return {"label_sets": found}


def _number(value: float, form: str) -> Cell:
    if not np.isfinite(value):
        return {"value": "", "text": "–"}
    return {"value": f"{value:.10g}", "text": form.format(value)}
