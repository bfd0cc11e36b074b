"""The pictures of a report, with their titles and captions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyleaf.experiments import _charts
from polyleaf.experiments._problem import Problem
from polyleaf.experiments._rank_diagram import critical_difference_diagram
from polyleaf.experiments._report_words import plain_name
from polyleaf.experiments._significance import friedman_over_outputs
from polyleaf.experiments._statistics import FriedmanResult, saturation_size
from polyleaf.metrics import Metric

if TYPE_CHECKING:
    from polyleaf.experiments._comparison import Comparison

Figure = dict[str, str]
_MOST_SHOWN = 30  # outputs in a picture
_MOST_FEATURES = 15


def rank_figures(comparison: Comparison, metric: Metric) -> list[Figure]:
    """Return diagrams of mean ranks: over data sets, against the best method, over outputs."""
    figures = []
    result = comparison.friedman(metric.name)
    if result is not None:
        names = comparison.tested_methods(metric.name)
        over = f"{result.n_blocks} data sets, by {plain_name(metric.name)}"
        figures += [_nemenyi(names, result, over), _dunn(names, result, over)]
    per_output = friedman_over_outputs(comparison, metric.task)
    if per_output is not None:
        names, result = per_output
        over = f"{result.n_blocks} outputs, by {output_score(metric.task)}"
        figure = _nemenyi(names, result, over)
        figure["caption"] += " Outputs of one data set are related: take the p-values as a hint."
        figures.append(figure)
    return figures


def _nemenyi(names: list[str], result: FriedmanResult, over: str) -> Figure:
    return {
        "title": f"Mean ranks over {over}",
        "svg": critical_difference_diagram(
            names, result.ranks.tolist(), result.critical_difference
        ),
        "caption": (
            f"1 is best. Nemenyi's test cannot distinguish methods joined by a bar (level "
            f"{result.alpha:g}). Friedman's test that all are alike: p = {result.p_value:.3g}; "
            f"with Iman and Davenport's correction p = {result.iman_davenport_p:.3g}."
        ),
    }


def _dunn(names: list[str], result: FriedmanResult, over: str) -> Figure:
    best = names[int(np.argmin(result.ranks))]
    return {
        "title": f"All against {best}, over {over}",
        "svg": critical_difference_diagram(
            names, result.ranks.tolist(), result.dunn_difference, control=best
        ),
        "caption": (
            f"Methods in the shaded range cannot be distinguished from {best} by Bonferroni and "
            f"Dunn's test (level {result.alpha:g}), which compares with the best one only and so "
            "detects smaller differences. The best one was chosen afterwards: take this as a hint."
        ),
    }


def time_figure(comparison: Comparison, metric: Metric) -> Figure:
    """Return the chart of scores against the time to fit, without the mean."""
    points = [
        (s.method, s.group, s.fit_seconds, s.score)
        for s in comparison.leaderboard(metric.name)
        if s.method != "Mean"
    ]
    better = "up" if metric.greater_is_better else "down"
    name = plain_name(metric.name)
    return {
        "title": "Score against time",
        "svg": _charts.scatter(points, "seconds to fit", name, "Score against time"),
        "caption": f"Better is {better}, quicker is left. Training time of the chosen setting on "
        "one thread, a mean over runs.",
    }


def dataset_figures(comparison: Comparison, problem: Problem, metric: Metric) -> list[Figure]:
    """Return the pictures about one data set."""
    figures = [
        _output_figure(comparison, problem, metric),
        _curve_figure(comparison, problem, metric),
        _correlation_figure(problem),
        _importance_figure(comparison, problem, metric),
    ]
    return [figure for figure in figures if figure["svg"]]


def output_score(task: str) -> str:
    """Return the name of the score of one output."""
    return {"regression": "r²", "classes": "accuracy"}.get(task, "F1")


def methods_by_score(comparison: Comparison, dataset: str, metric: Metric) -> list[str]:
    """Return the methods from the best to the worst on one data set; failures are left out."""
    scores = {
        name: comparison.fold_scores(dataset, name, metric.name).mean()
        for name in comparison.methods(metric.task)
    }
    known = [name for name, score in scores.items() if np.isfinite(score)]
    sign = -1.0 if metric.greater_is_better else 1.0
    return sorted(known, key=lambda name: sign * scores[name])


_FEWEST_TESTED = 5  # folds: a t-test on fewer finds next to nothing significant
_NOTHING: Figure = {"title": "", "svg": "", "caption": ""}


def _output_figure(comparison: Comparison, problem: Problem, metric: Metric) -> Figure:
    found = comparison.output_scores(problem.name)
    order = [n for n in methods_by_score(comparison, problem.name, metric) if n in found]
    if not order or problem.shape[2] < 2:
        return _NOTHING
    names = problem.output_names[:_MOST_SHOWN]
    values = np.array([found[name][: len(names)] for name in order])
    known = values[np.isfinite(values)]
    if not known.size:
        return _NOTHING
    low = max(0.0, float(known.min()))
    kind = output_score(problem.task)
    return {
        "title": f"{kind} of each output",
        "svg": _charts.heatmap(
            values, order, names, f"{kind} of each output, {problem.name}",
            low=low, high=max(float(known.max()), low + 1e-9),
        ),
        "caption": f"Means over folds, from {low:.2f} (pale{' and below' if low == 0 else ''}) to "
        f"{known.max():.2f} (strong); the best method on top.{_left_out(problem.shape[2])}",
    }  # fmt: skip


def _left_out(n_outputs: int) -> str:
    more = n_outputs - _MOST_SHOWN
    return f" The first {_MOST_SHOWN} of {n_outputs} outputs." if more > 0 else ""


def _curve_figure(comparison: Comparison, problem: Problem, metric: Metric) -> Figure:
    curves, saturated = [], []
    for method in comparison.methods(metric.task):
        runs = [
            row["curve"]
            for row in comparison.rows
            if (row["dataset"], row["method"]) == (problem.name, method) and row.get("curve")
        ]
        sizes = sorted(
            set.intersection(*({size for size, _ in run} for run in runs)) if runs else []
        )
        if not sizes:
            continue
        scores = np.array([[dict(map(tuple, run))[size] for size in sizes] for run in runs])
        curves.append((method, list(zip(sizes, scores.mean(axis=0).tolist()))))
        if len(runs) >= _FEWEST_TESTED:
            size = saturation_size(sizes, scores, greater_is_better=metric.greater_is_better)
            saturated.append(f"{method} {size:g}")
    title = "Curves over the size of ensembles"
    return {
        "title": title,
        "svg": _charts.lines(
            curves, "trees, rounds, rules or graphs", plain_name(metric.name), title
        ),
        "caption": "The score of the first members of each ensemble, a mean over folds. "
        + _saturation_words(saturated),
    }


def _saturation_words(saturated: list[str]) -> str:
    if not saturated:
        return (
            "There are too few folds to test from which size on an ensemble is as good as the "
            f"best; it takes {_FEWEST_TESTED}."
        )
    return (
        "Saturation, the smallest size not significantly worse than the best (paired t-tests "
        "over folds): " + ", ".join(saturated) + "."
    )


def _correlation_figure(problem: Problem) -> Figure:
    names = problem.output_names[:_MOST_SHOWN]
    if len(names) < 2 or problem.task == "classes":  # which have no correlations
        return _NOTHING
    return {
        "title": "How the outputs hang together",
        "svg": _charts.heatmap(
            correlations(problem.Y, len(names)), names, names,
            f"Correlations of the outputs, {problem.name}", low=-1.0, high=1.0,
        ),
        "caption": "Correlations over the rows where both are observed: warm is positive, cold "
        f"negative.{_left_out(problem.shape[2])}",
    }  # fmt: skip


def correlations(Y: Any, n_shown: int) -> Any:
    """Return correlations of the first outputs, each over the rows where both are observed.

    Parameters
    ----------
    Y : ndarray or sparse matrix of shape (n, d)
    n_shown : int

    Returns
    -------
    ndarray of shape (n_shown, n_shown)
        NaN where an output is constant.
    """
    values = (Y[:, :n_shown].toarray() if hasattr(Y, "toarray") else Y[:, :n_shown]).astype(float)
    observed = ~np.isnan(values)
    sums = np.where(observed, values, 0.0).sum(axis=0)
    means = sums / np.maximum(observed.sum(axis=0), 1)
    centred = np.where(observed, values - means, 0.0)
    squares = (centred**2).T @ observed.astype(float)  # over the rows that both have
    scale = np.sqrt(squares * squares.T)
    products = centred.T @ centred
    return np.divide(products, scale, out=np.full(scale.shape, np.nan), where=scale > 0)


def _importance_figure(comparison: Comparison, problem: Problem, metric: Metric) -> Figure:
    """Draw the importances of the best method that has them, for each output if possible."""
    found = {
        row["method"]: np.array(row["importances"], dtype=np.float64)
        for row in comparison.rows
        if row["dataset"] == problem.name and row.get("importances")
    }
    order = [n for n in methods_by_score(comparison, problem.name, metric) if n in found]
    if not order:
        return _NOTHING
    chosen = next((n for n in order if found[n].shape[1] > 1), order[0])
    values = found[chosen]
    kinds = {
        row["method"]: row.get("importances_by", "splits")
        for row in comparison.rows
        if row["dataset"] == problem.name and row.get("importances")
    }
    by_moves = kinds[chosen] == "shap"
    top = np.argsort(-values.sum(axis=1), kind="stable")[:_MOST_FEATURES]
    columns = problem.output_names[: values.shape[1]] if values.shape[1] > 1 else ["all outputs"]
    return {
        "title": "Which feature matters for which output",
        "svg": _charts.heatmap(
            values[top], [problem.feature_names[i] for i in top], columns,
            f"Importances, {problem.name}", low=0.0, high=float(values[top].max()) or 1.0,
        ),
        "caption": (
            f"How far features move the predictions of {chosen} (mean size of Shapley values, as "
            "shares)" if by_moves else f"Shares of the gain in {chosen}"
        )
        + ", the best method here that can tell, first fold; the features that matter most.",
    }  # fmt: skip
