"""Compare methods on data sets, on the same folds, with results that survive a stop."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import joblib
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

from polyleaf.checks.numbers import expect_list, shown
from polyleaf.checks.optional import require
from polyleaf.estimator.notebook_bar import NotebookBar, in_notebook
from polyleaf.experiments._baseline_methods import METHODS
from polyleaf.experiments._class_scores import CLASS_METRICS
from polyleaf.experiments._comparison import Comparison
from polyleaf.experiments._identity import digest_of
from polyleaf.experiments._methods import Method, check_settings, resolve_methods
from polyleaf.experiments._problem import Problem, read_problems
from polyleaf.experiments._results_file import ResultsFile
from polyleaf.experiments._run import Job, run
from polyleaf.experiments._tuning import check_tuning
from polyleaf.experiments._worker import end_with, run_apart
from polyleaf.metrics import METRICS, Metric
from polyleaf.metrics import resolve as resolve_metric

#: The metrics that are computed if none are named; methods are tuned for the first one.
DEFAULT_METRICS = {
    "regression": ("arrmse", "r2"),
    "multilabel": ("example_f1", "hamming_loss", "subset_zero_one_loss", "macro_f1", "lrap"),
    "classes": tuple(CLASS_METRICS),
}
#: Packages of the rivals, by the name of the method.
_RIVAL_PACKAGES = {
    "XGBoost": "xgboost",
    "LightGBM": "lightgbm",
    "CatBoost": "catboost",
    "Boomer": "mlrl-boomer",
}
_PACKAGES = ("polyleaf", "numpy", "scipy", "scikit-learn", "scikit-posthocs")


def compare(
    data: Any,
    y: Any = None,
    *,
    methods: Sequence[Any] | Mapping[str, Any] | None = None,
    metrics: Sequence[str | Metric] | None = None,
    classes: Sequence[str] = (),
    cv: Any = 5,
    tuning: float | int = 0.25,
    max_settings: int | None = None,
    budget: float | None = None,
    bootstraps: int = 0,
    limit: float | None = None,
    path: str | os.PathLike[str] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    client: Any = None,
    verbose: int = 0,
) -> Comparison:
    """Compare methods on data sets by cross-validation.

    Every method is tuned on the training rows of each fold by the first metric, trained on all of
    them, and judged on the test rows. The folds are the same for all methods. A method that fails
    is recorded with its error; the others go on.

    Parameters
    ----------
    data : Dataset, X, tuple (X, Y), sequence of Dataset, or mapping of str to Dataset or (X, Y)
        What to compare on.
    y : array-like, frame or sparse matrix of shape (n,) or (n, d), optional
        The outputs, where `data` is X alone.
    methods : None, sequence of (str, estimator, Method or dict), or mapping, default=None
        Names of `METHODS`, estimators, or configurations: ``{"method": "Boosting",
        "n_estimators": 50, "learning_rate": [0.05, 0.2]}``, in which a list is tuned; a bare
        name stands for the innermost parameter of that name. A mapping gives names to them.
        None: all methods that can do the task.
    metrics : None or sequence of (str or Metric), default=None
        Names of `metrics.METRICS`, or for outputs with classes "accuracy", "exact_match" and
        "class_f1" (F1 of every class, averaged). Methods are tuned for the first one of the task.
        None: a selection for each task.
    classes : sequence of str, default=()
        Names of outputs whose values name classes, as texts or as numbers: each class becomes a
        label ("quality=good"), of two classes the second one. Other outputs are labels if all of
        a data set's are 0 or 1, classes if all are texts (classifiers then predict a class of
        each), and numbers (regression) otherwise; a few whole numbers that are taken for numbers
        are warned of.
    cv : int or splitter, default=5
        The number of folds, or an object with `split`.
    tuning : float or int, default=0.25
        How settings are chosen: on this share of the training rows, held back once, or by nested
        cross-validation with so many inner folds.
    max_settings : int or None, default=None
        At most so many settings of each method are tried, drawn at random.
    budget : float or None, default=None
        About how many seconds the whole comparison is meant to take. Every run has an equal
        share for tuning and training, as in Joly et al. 2019: settings are tried in a random
        order, and tuning stops when the share is used up. A training that has begun is not cut
        short, and every run tries at least one setting and trains once, so a comparison with slow
        methods takes longer; what a run leaves of its share is not passed on. None: all settings
        are tried, which gives the same results every time.
    bootstraps : int, default=0
        If not 0, every setting is also judged on so many draws of the test rows, for estimates
        without the optimism of tuning (BBC-CV): see `Comparison.corrected`.
    limit : float or None, default=None
        Seconds after which a run is stopped and counts as failed.
    path : path-like or None, default=None
        A file to which results are written as they come. If it exists, runs that are in it are
        not done again; lines that are no row of this comparison are warned of and left out. One
        comparison uses a file at a time; a second one is refused.
    random_state : int, default=0
        Draws folds and seeds methods.
    n_jobs : int or None, default=None
        How many runs are done at a time; results do not depend on it.
    client : distributed.Client or None, default=None
        Runs are spread over the workers of its Dask cluster.
    verbose : int, default=0
        1 shows a progress bar with the time left.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.experiments import compare
    >>> X, Y = make_correlated_targets(200, 5, 4, random_state=0)
    >>> result = compare(X, Y, methods=["Mean", "Linear", "Tree"], metrics=["r2"], cv=2)
    >>> result.leaderboard("r2")[0].method
    'Tree'
    """
    problems = read_problems(data, classes, y)
    chosen = resolve_methods(methods, METHODS)
    by_task = _metrics_by_task(problems, metrics)
    check_settings(chosen, problems)
    options = {
        "tuning": check_tuning(tuning),
        "max_settings": None if max_settings is None else _count("max_settings", max_settings, 1),
        "bootstraps": _count("bootstraps", bootstraps, 0),
        "limit": _checked_seconds("limit", limit),
    }
    random_state = _count("random_state", random_state, 0)
    if n_jobs is not None and (not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0):
        raise ValueError(
            "n_jobs must be None or an integer other than 0 (-1: one per processor); got "
            f"{shown(n_jobs)}."
        )
    jobs = list(_jobs(problems, chosen, by_task, cv, random_state, options))
    if not jobs:
        raise ValueError(
            "No method can do the task of any data set: "
            + "; ".join(f"{p.name} is {p.task}" for p in problems)
            + f". Methods: {', '.join(m.name for m in chosen)}."
        )
    if _checked_seconds("budget", budget) is not None:
        share = float(budget or 0.0) * _n_at_a_time(n_jobs, client) / len(jobs)
        jobs = [replace(job, budget=share) for job in jobs]
    options["budget"] = budget
    plan = _plan(problems, chosen, by_task, jobs, random_state, options)
    with nullcontext() if path is None else ResultsFile(path, plan, jobs) as file:
        rows = [] if file is None else list(file.rows)
        done = {(row["dataset"], row["method"], row["fold"]) for row in rows}
        left = [job for job in jobs if job.key not in done]
        for row in _with_progress(_results(left, n_jobs, client), len(jobs), len(done), verbose):
            rows.append(row)
            if file is not None:
                file.add(row)
    order = {job.key: place for place, job in enumerate(jobs)}
    rows.sort(key=lambda row: order[row["dataset"], row["method"], row["fold"]])
    return Comparison(rows, problems, by_task, plan | {"versions": _versions(chosen)}, chosen)


def _metrics_by_task(
    problems: list[Problem], names: Sequence[str | Metric] | None
) -> dict[str, tuple[Metric, ...]]:
    if isinstance(names, str):
        names = [names]
    tasks: list[str] = sorted({problem.task for problem in problems})
    if names is None:
        known = METRICS | CLASS_METRICS
        return {task: tuple(known[name] for name in DEFAULT_METRICS[task]) for task in tasks}
    only = tasks[0] if len(tasks) == 1 else None  # unknown names are told those of the task
    given = [
        CLASS_METRICS[name]
        if isinstance(name, str) and name in CLASS_METRICS
        else resolve_metric(name, None if isinstance(name, Metric) or name in METRICS else only)
        for name in expect_list("metrics", names, "names or Metrics")
    ]
    by_task = {task: tuple(m for m in given if m.task == task) for task in tasks}
    for task, found in by_task.items():
        if not found:
            known = METRICS | CLASS_METRICS
            fitting = ", ".join(repr(name) for name, m in known.items() if m.task == task)
            raise ValueError(
                f"metrics must hold one for {task}, the task of some of the data; choose among "
                f"{fitting}."
            )
    return by_task


def _count(name: str, value: Any, least: int) -> int:
    is_count = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_count or value < least:
        raise ValueError(f"{name} must be an integer, {least} or more; got {shown(value)}.")
    return int(value)


def _checked_seconds(name: str, seconds: Any) -> float | None:
    if seconds is None:
        return None
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds < float("inf"):
        raise ValueError(
            f"{name} must be None or a number of seconds above 0; got {shown(seconds)}."
        )
    return float(seconds)


def _jobs(
    problems: list[Problem],
    methods: list[Method],
    by_task: dict[str, tuple[Metric, ...]],
    cv: Any,
    random_state: int,
    options: dict[str, Any],
) -> Iterator[Job]:
    for problem in problems:
        folds = problem.folds(cv, random_state)
        for number, fold in enumerate(folds):
            for method in methods:
                if problem.task in method.tasks:
                    yield Job(
                        problem,
                        method,
                        by_task[problem.task],
                        fold,
                        number,
                        random_state + number,
                        **options,
                    )


def _n_at_a_time(n_jobs: int | None, client: Any) -> int:
    if client is None:
        return int(joblib.effective_n_jobs(n_jobs))
    return int(max(1, sum(client.nthreads().values())))


def _results(jobs: list[Job], n_jobs: int | None, client: Any) -> Iterator[dict[str, Any]]:
    """Yield results as they come; every run uses one thread, so that times can be compared."""
    if client is not None:
        yield from _results_of_cluster(jobs, client)
        return
    if joblib.effective_n_jobs(n_jobs) == 1:
        for job in jobs:
            yield _run_on_one_thread(job)
        return
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    parent = os.getpid()
    yield from parallel(joblib.delayed(_run_beside_others)(job, parent) for job in jobs)


def _results_of_cluster(jobs: list[Job], client: Any) -> Iterator[dict[str, Any]]:
    """Yield results of runs on the workers of a Dask cluster, as they come."""
    distributed = require("distributed", "runs on a cluster (pip install 'polyleaf[dask]')")
    left = client.map(_run_on_one_thread, jobs, pure=False)
    try:
        for future in distributed.as_completed(left):
            yield future.result()
    finally:
        client.cancel(left, force=True)


def _run_beside_others(job: Job, parent: int) -> dict[str, Any]:
    if os.getppid() == parent:  # and not a thread of the same process
        end_with(parent)
    return _run_on_one_thread(job)


def _run_on_one_thread(job: Job) -> dict[str, Any]:
    if job.limit is not None or job.method.group == "rival":
        return run_apart(job)
    with threadpool_limits(1):
        return run(job)


def _with_progress(
    rows: Iterator[dict[str, Any]], n_all: int, n_done: int, verbose: int
) -> Iterator[dict[str, Any]]:
    if verbose and in_notebook():
        yield from _with_notebook_bar(rows, n_all, n_done)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not verbose) as progress:
        bar = progress.add_task("comparing", total=n_all, completed=n_done)
        for row in rows:
            outcome = " failed" if "error" in row else ""
            name = f"{row['dataset']}, {row['method']}, fold {row['fold']}{outcome}"
            progress.update(bar, advance=1, description=name[:60])
            yield row


def _with_notebook_bar(
    rows: Iterator[dict[str, Any]], n_all: int, n_done: int
) -> Iterator[dict[str, Any]]:
    bar = NotebookBar("comparing", n_all)
    bar.advance(n_done)
    try:
        for row in rows:
            bar.advance()
            yield row
    finally:
        bar.finish()


def _plan(
    problems: list[Problem],
    methods: list[Method],
    by_task: dict[str, tuple[Metric, ...]],
    jobs: list[Job],
    random_state: int,
    options: dict[str, Any],
) -> dict[str, Any]:
    """Say what is compared; the same plan gives the same results."""
    folds: dict[str, dict[int, Any]] = {}
    for job in jobs:
        folds.setdefault(job.problem.name, {})[job.number] = job.fold
    versions = _versions(methods)
    packages = ["polyleaf", *_RIVAL_PACKAGES.values()]
    return {
        "data": {p.name: [*p.shape, p.task, p.fingerprint()] for p in problems},
        "methods": {m.name: m.description() for m in methods},
        "metrics": {task: [_metric_words(m) for m in found] for task, found in by_task.items()},
        "folds": {name: len(found) for name, found in folds.items()},
        "rows_of_folds": {name: digest_of(found) for name, found in folds.items()},
        "versions": {name: versions[name] for name in packages if name in versions},
        "random_state": random_state,
        **options,
    }


def _metric_words(metric: Metric) -> list[Any]:
    functions = digest_of((metric.function, metric.from_training))
    return [metric.name, metric.needs, metric.greater_is_better, functions]


def _versions(methods: Iterable[Method]) -> dict[str, str]:
    """Give the versions of what takes part: Python, the packages below, and those of rivals."""
    names = {method.configuration()["method"] for method in methods}
    rivals = [package for name, package in _RIVAL_PACKAGES.items() if name in names]
    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for package in (*_PACKAGES, *rivals):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
