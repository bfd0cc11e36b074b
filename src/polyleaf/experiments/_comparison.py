"""What a comparison found: tables, ranks, tests, and where to read them."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import check_choice
from polyleaf.experiments._best import choices, fitted
from polyleaf.experiments._bootstrap import CorrectedScore, corrected_score
from polyleaf.experiments._escaping import csv_cell, markdown_cell
from polyleaf.experiments._methods import Method
from polyleaf.experiments._problem import Problem
from polyleaf.experiments._significance import Verdict, verdicts
from polyleaf.experiments._statistics import (
    FriedmanResult,
    average_ranks,
    dense_order,
    friedman_test,
    means_over_folds,
)
from polyleaf.metrics import Metric

#: Methods that a comparison names when it is printed.
_SHOWN = 5


@dataclass(frozen=True)
class Standing:
    """How one method did by one metric, over all data sets of its task.

    Attributes
    ----------
    method, group : str
    score : float
        The mean over data sets of the mean over folds.
    spread : float
        The mean over data sets of the standard deviation over folds.
    rank : float
        The mean rank over data sets; 1 is best. Failed runs rank last.
    fit_seconds, predict_seconds_per_row : float
        Means over runs.
    model_bytes : float
        Mean over runs.
    n_nodes, n_rules : float
        Means over runs of the nodes of all trees, and of the rules; NaN for other models.
    n_runs, n_failed : int

    Examples
    --------
    >>> from polyleaf.datasets import make_multilabel
    >>> from polyleaf.experiments import compare
    >>> X, Y = make_multilabel(200, 5, 4, random_state=0)
    >>> result = compare(X, Y, methods=["Mean", "Tree"], metrics=["hamming_loss"], cv=2)
    >>> first = result.leaderboard()[0]
    >>> first.method, first.rank, first.n_runs
    ('Tree', 1.0, 2)
    """

    method: str
    group: str
    score: float
    spread: float
    rank: float
    fit_seconds: float
    predict_seconds_per_row: float
    model_bytes: float
    n_nodes: float
    n_rules: float
    n_runs: int
    n_failed: int


class Comparison:
    """The results of `compare`.

    Parameters
    ----------
    rows : list of dict
        One per run: data set, method, fold, and scores or an error.
    problems : list of Problem
    metrics : dict of str to tuple of Metric
        By task.
    plan : dict
        What was compared, and with which versions.
    methods : sequence of Method, default=()
        How the methods are made, for :meth:`best_estimator`.

    Examples
    --------
    >>> from polyleaf.datasets import make_multilabel
    >>> from polyleaf.experiments import compare
    >>> X, Y = make_multilabel(200, 5, 4, random_state=0)
    >>> result = compare(X, Y, methods=["Mean", "Tree"], metrics=["hamming_loss"], cv=2)
    >>> result
    Comparison of methods (2) on data sets (1): 4 runs, 0 failed
    multilabel, by hamming_loss: Tree 0.1588, Mean 0.3912
    >>> [standing.method for standing in result.leaderboard()]
    ['Tree', 'Mean']
    >>> result.score_matrix("hamming_loss")[1].shape  # data sets by methods
    (1, 2)
    """

    def __init__(
        self,
        rows: list[dict[str, Any]],
        problems: list[Problem],
        metrics: dict[str, tuple[Metric, ...]],
        plan: dict[str, Any],
        methods: Sequence[Method] = (),
    ) -> None:
        self.rows = rows
        self.problems = problems
        self.metrics = metrics
        self.plan = plan
        self.method_objects = list(methods)

    def __repr__(self) -> str:
        tasks = {metrics[0].name: task for task, metrics in self.metrics.items()}
        n_methods = len({row["method"] for row in self.rows})
        lines = [
            f"Comparison of methods ({n_methods}) on data sets ({len(self.problems)}): "
            f"{len(self.rows)} runs, {len(self.failures)} failed"
        ]
        for name, task in tasks.items():
            standings = [f"{s.method} {s.score:.4g}" for s in self.leaderboard(name)]
            more = ", ..." if len(standings) > _SHOWN else ""
            lines.append(f"{task}, by {name}: {', '.join(standings[:_SHOWN])}{more}")
        return "\n".join(lines)

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The runs that failed, with their errors."""
        return [row for row in self.rows if "error" in row]

    def _metric(self, name: str | None, task: str | None = None) -> Metric:
        groups = self.metrics.values() if task is None else [self.metrics[task]]
        found = [metric for group in groups for metric in group]
        if name is None:
            return found[0]
        for metric in found:
            if metric.name == name:
                return metric
        raise ValueError(
            f"metric must be one of {', '.join(repr(m.name) for m in found)}; got {shown(name)}."
        )

    def datasets(self, task: str) -> list[str]:
        """Return the names of the data sets of a task."""
        return [problem.name for problem in self.problems if problem.task == task]

    def methods(self, task: str) -> list[str]:
        """Return the names of the methods that took part in a task."""
        return list(dict.fromkeys(row["method"] for row in self.rows if row["task"] == task))

    def _check_names(self, dataset: str, method: str | None = None) -> None:
        """Raise a ValueError for a data set or a method that did not take part."""
        check_choice("dataset", dataset, [problem.name for problem in self.problems])
        if method is not None:
            check_choice("method", method, dict.fromkeys(row["method"] for row in self.rows))

    def fold_scores(self, dataset: str, method: str, metric: str) -> NDArray[np.float64]:
        """Return the score in each fold; NaN where the run failed.

        Parameters
        ----------
        dataset, method, metric : str

        Returns
        -------
        ndarray of shape (folds,)
        """
        self._check_names(dataset, method)
        metric = self._metric(metric).name
        values = [
            row.get("scores", {}).get(metric)
            for row in self.rows
            if row["dataset"] == dataset and row["method"] == method
        ]
        return np.array([np.nan if value is None else value for value in values])

    def output_scores(self, dataset: str) -> dict[str, NDArray[np.float64]]:
        """Return the score of each output, r² of targets, F1 of labels, accuracy of classes.

        Parameters
        ----------
        dataset : str

        Returns
        -------
        dict of str to ndarray of shape (d,)
            Means over the folds in which there is one; NaN where there is none. Methods that
            failed, and data sets with very many outputs, have no entry.
        """
        return self._means_over_folds(dataset, "per_output")

    def _means_over_folds(self, dataset: str, key: str) -> dict[str, NDArray[np.float64]]:
        self._check_names(dataset)
        found: dict[str, list[list[float]]] = {}
        for row in self.rows:
            if row["dataset"] == dataset and row.get(key):
                values = [np.nan if v is None else v for v in row[key]]
                found.setdefault(row["method"], []).append(values)
        return {method: means_over_folds(np.array(rows)) for method, rows in found.items()}

    def level_scores(self, dataset: str) -> dict[str, NDArray[np.float64]]:
        """Return the F1 of all labels of each depth of a hierarchy together, by method.

        Parameters
        ----------
        dataset : str

        Returns
        -------
        dict of str to ndarray of shape (levels,)
            Means over the folds, the roots first. Empty if the labels have no hierarchy.
        """
        return self._means_over_folds(dataset, "per_level")

    def score_matrix(self, metric: str | None = None) -> tuple[list[str], NDArray[np.float64]]:
        """Return mean scores over folds, of data sets by methods.

        Parameters
        ----------
        metric : str, optional
            The first one by default.

        Returns
        -------
        methods : list of str
        scores : ndarray of shape (data sets, methods)
            NaN where a run failed.
        """
        chosen = self._metric(metric)
        methods = self.methods(chosen.task)
        matrix = [
            [self.fold_scores(name, method, chosen.name).mean() for method in methods]
            for name in self.datasets(chosen.task)
        ]
        return methods, np.array(matrix)

    def leaderboard(self, metric: str | None = None) -> list[Standing]:
        """Rank the methods by one metric, best first; of equal ranks, the better score first.

        Parameters
        ----------
        metric : str, optional
            The first one by default.

        Returns
        -------
        list of Standing
        """
        chosen = self._metric(metric)
        methods, matrix = self.score_matrix(chosen.name)
        worst = np.inf if not chosen.greater_is_better else -np.inf
        filled = np.where(np.isnan(matrix), worst, matrix)
        ranks = average_ranks(
            np.apply_along_axis(dense_order, 1, filled),
            greater_is_better=chosen.greater_is_better,
        )
        standings = [
            self._standing(method, chosen, matrix[:, j], ranks[j])
            for j, method in enumerate(methods)
        ]
        sign = -1.0 if chosen.greater_is_better else 1.0
        return sorted(
            standings, key=lambda s: (s.rank, bool(np.isnan(s.score)), sign * s.score, s.method)
        )

    def _standing(self, method: str, metric: Metric, scores: Any, rank: float) -> Standing:
        rows = [r for r in self.rows if r["method"] == method and r["task"] == metric.task]
        good = [row for row in rows if "error" not in row]
        spreads = [
            self.fold_scores(name, method, metric.name).std()
            for name in self.datasets(metric.task)
        ]
        return Standing(
            method,
            rows[0]["group"],
            _nanmean(scores),
            _nanmean(spreads),
            float(rank),
            _nanmean([row["fit_seconds"] for row in good]),
            _nanmean([row["predict_seconds_per_row"] for row in good]),
            _known_mean(good, "model_bytes"),
            _known_mean(good, "n_nodes"),
            _known_mean(good, "n_rules"),
            len(rows),
            len(rows) - len(good),
        )

    @property
    def best_settings(self) -> dict[str, dict[str, Any]]:
        """The best method on each data set, with the settings that most folds chose.

        By data set, in the form in which `compare` takes a method: ``{"method": "Boosting",
        "learning_rate": 0.05}``. The best one is that with the best mean over folds of the first
        metric.
        """
        found = {}
        for problem in self.problems:
            choice = next(choices(self, problem, self.metrics[problem.task][0]), None)
            if choice is not None:
                found[problem.name] = choice.configuration()
        return found

    def best_estimator(
        self, dataset: str | None = None, *, metric: str | None = None, refit: bool = True
    ) -> Any:
        """Make the estimator that did best on a data set, and train it on all of its rows.

        Parameters
        ----------
        dataset : str, optional
            Its name; needed if there are several.
        metric : str, optional
            The first one of the task by default.
        refit : bool, default=True
            False leaves the estimator unfitted.

        Returns
        -------
        estimator
            With the settings that most folds chose. Its score on new rows is what the
            leaderboard shows for the method, or a little better, as it sees more rows.

        Examples
        --------
        >>> from polyleaf.datasets import make_multilabel
        >>> from polyleaf.experiments import compare
        >>> X, Y = make_multilabel(200, 5, 4, random_state=0)
        >>> result = compare(X, Y, methods=["Mean", "Tree"], metrics=["hamming_loss"], cv=2)
        >>> result.best_settings
        {'data': {'method': 'Tree', 'min_samples_leaf': 1}}
        >>> result.best_estimator().predict(X[:2])
        array([[1, 1, 1, 0],
               [1, 1, 1, 0]])
        """
        problem = self._problem(dataset)
        chosen = self._metric(metric, problem.task)
        choice = next(choices(self, problem, chosen), None)
        if choice is None:
            raise ValueError(f"No method has a score by {chosen.name} on {problem.name}.")
        seed = int(self.plan.get("random_state", 0))
        return fitted(choice, seed) if refit else choice.estimator(seed)

    def _problem(self, name: str | None) -> Problem:
        by_name = {problem.name: problem for problem in self.problems}
        if name is None and len(by_name) == 1:
            return self.problems[0]
        check_choice("dataset", name, by_name)
        return by_name[str(name)]

    def corrected(self, dataset: str, method: str) -> CorrectedScore | None:
        """Estimate the score of a tuned method without the optimism of tuning (BBC-CV).

        Parameters
        ----------
        dataset, method : str

        Returns
        -------
        CorrectedScore or None
            By the first metric of the task; None without `bootstraps`, or if a fold failed.
        """
        self._check_names(dataset, method)
        rows = [r for r in self.rows if r["dataset"] == dataset and r["method"] == method]
        folds: list[Any] = [row.get("bootstraps") for row in rows]
        if not folds or not all(folds):
            return None
        return corrected_score(folds, self.metrics[rows[0]["task"]][0])

    def friedman(self, metric: str | None = None, *, alpha: float = 0.05) -> FriedmanResult | None:
        """Test whether the methods differ over the data sets.

        Parameters
        ----------
        metric : str, optional
            The first one by default.
        alpha : float, default=0.05

        Returns
        -------
        FriedmanResult or None
            Over the methods without a failure, in the order of :meth:`tested_methods`; None if
            there are fewer than two data sets or three such methods.
        """
        chosen = self._metric(metric)
        _, matrix = self.score_matrix(chosen.name)
        complete = matrix[:, ~np.isnan(matrix).any(axis=0)]
        if complete.shape[0] < 2 or complete.shape[1] < 3:
            return None
        return friedman_test(complete, greater_is_better=chosen.greater_is_better, alpha=alpha)

    def verdicts(self, metric: str | None = None, control: str | None = None) -> list[Verdict]:
        """Hold every method against one of them, over data sets, outputs and folds.

        Parameters
        ----------
        metric : str, optional
            The first one by default.
        control : str, optional
            By default the best method without a failure.

        Returns
        -------
        list of Verdict
            Without the control, the best first; empty if the control has a failure.
        """
        chosen = self._metric(metric)
        tested = self.tested_methods(chosen.name)
        board = [s.method for s in self.leaderboard(chosen.name) if s.method in tested]
        if control is None and not board:
            return []
        return verdicts(self, chosen, control or board[0])

    def tested_methods(self, metric: str | None = None) -> list[str]:
        """Return the methods without a failure, which :meth:`friedman` compares."""
        methods, matrix = self.score_matrix(metric)
        return [methods[j] for j in np.flatnonzero(~np.isnan(matrix).any(axis=0))]

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write a report: one HTML page that needs no network, a Markdown and a CSV file.

        Parameters
        ----------
        path : path-like
            A folder; made if it does not exist. The page is ``report.html`` in it.

        Returns
        -------
        Path
            Of the page.
        """
        from polyleaf.experiments._report import write_report

        return write_report(self, Path(path))

    def to_markdown(self) -> str:
        """Return the leaderboards of all metrics as Markdown tables."""
        parts = []
        for task, metrics in self.metrics.items():
            for metric in metrics:
                better = "higher" if metric.greater_is_better else "lower"
                lines = [
                    f"### {metric.name} ({task}; {better} is better)",
                    "",
                    "| method | mean rank | score | spread | fit s | failed |",
                    "|---|---|---|---|---|---|",
                ]
                lines += [
                    f"| {markdown_cell(s.method)} | {s.rank:.2f} | {s.score:.4f} | "
                    f"{s.spread:.4f} | "
                    f"{s.fit_seconds:.2f} | {s.n_failed} of {s.n_runs} |"
                    for s in self.leaderboard(metric.name)
                ]
                parts.append("\n".join(lines))
        return "\n\n".join(parts) + "\n"

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one line per run and metric.

        Parameters
        ----------
        path : path-like
        """
        names = ("dataset", "task", "method", "group", "fold", "metric", "score", "fit_seconds",
                 "predict_seconds_per_row", "model_bytes", "n_nodes", "n_rules", "settings",
                 "error")  # fmt: skip
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names, restval="", extrasaction="ignore")
            writer.writeheader()
            for row in self.rows:
                scores = row.get("scores") or {"": None}
                for metric, score in scores.items():
                    cells = row | {"metric": metric, "score": score}
                    writer.writerow({name: csv_cell(cells.get(name)) for name in names})


def _known_mean(rows: list[dict[str, Any]], key: str) -> float:
    return _nanmean([np.nan if row.get(key) is None else row[key] for row in rows])


def _nanmean(values: Any) -> float:
    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[~np.isnan(numbers)]
    return float(numbers.mean()) if numbers.size else float("nan")
