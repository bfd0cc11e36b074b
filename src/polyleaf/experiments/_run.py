"""One run: tune a method on the training rows of a fold, train it, judge it on the test rows."""

from __future__ import annotations

import time
import traceback
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyleaf.estimator.label_scores import label_scores
from polyleaf.experiments._bootstrap import bootstrap_scores
from polyleaf.experiments._class_scores import known_classes, output_accuracies
from polyleaf.experiments._encoding import dense
from polyleaf.experiments._evaluate import check_scores
from polyleaf.experiments._methods import Method, plain_settings
from polyleaf.experiments._model_facts import importances, model_facts, plain_floats
from polyleaf.experiments._problem import Fold, Problem
from polyleaf.experiments._settings import set_by_name
from polyleaf.experiments._sharing import SHARED_ROWS
from polyleaf.experiments._tuning import choose_settings, inner_folds
from polyleaf.metrics import Metric, column_means, label_f1_score, macro_r2_score

_MOST_OUTPUTS = 200  # whose scores are kept one by one
_N_EXAMPLES = 5
#: Of so many targets, examples of predictions are kept.
MOST_NUMBERS_OF_EXAMPLES = 12
_CURVE_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class Job:
    """What one run is about."""

    problem: Problem
    method: Method
    metrics: tuple[Metric, ...]
    fold: Fold
    number: int
    random_state: int
    budget: float | None = None
    tuning: float | int = 0.25
    bootstraps: int = 0
    max_settings: int | None = None
    limit: float | None = None

    def settings(self) -> list[dict[str, Any]]:
        """Return the settings to choose from, the same in all folds; of many, a random draw."""
        found = self.method.settings()
        if self.max_settings is None or len(found) <= self.max_settings:
            return found
        rng = np.random.default_rng(self.random_state - self.number)
        return [found[i] for i in sorted(rng.permutation(len(found))[: self.max_settings])]

    @property
    def key(self) -> tuple[str, str, int]:
        """Data set, method and fold, which identify a run of a comparison."""
        return self.problem.name, self.method.name, self.number


def run(job: Job) -> dict[str, Any]:
    """Do one run; a failure is recorded, not raised.

    Parameters
    ----------
    job : Job

    Returns
    -------
    dict
        In JSON's types. With "error" if it failed; else with "scores" by metric, the chosen
        "settings", times, sizes, scores per output, bootstraps of all settings if asked for, and
        for the first fold examples of predictions and importances.
    """
    row = describe(job)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row |= _judged(job)
    except (Exception, SystemExit) as error:  # a method of anyone's may raise anything
        last = traceback.extract_tb(error.__traceback__)[-1]
        row["error"] = f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"[:500]
    row["seconds"] = time.perf_counter() - start
    return row


def describe(job: Job) -> dict[str, Any]:
    """Return the beginning of a run's row: what the run is about."""
    return {
        "dataset": job.problem.name,
        "task": job.problem.task,
        "method": job.method.name,
        "group": job.method.group,
        "fold": job.number,
    }


def _judged(job: Job) -> dict[str, Any]:
    train, test = job.fold
    X, Y = job.problem.rows(train)
    X_test, Y_test = job.problem.rows(test)
    settings, n_tried = _tune(job, X, Y)
    model = _make(job, settings)
    rows, fit_seconds = SHARED_ROWS.of(X, model)
    start = time.perf_counter()
    model.fit(rows, Y)
    fit_seconds += time.perf_counter() - start
    start = time.perf_counter()
    predicted = _predicted(model, X_test, Y)
    predict_seconds = time.perf_counter() - start
    row: dict[str, Any] = {
        "scores": _scores(job, job.metrics, model, X_test, Y_test, predicted, Y),
        "settings": plain_settings(settings),
        "n_tried": n_tried,
        "fit_seconds": fit_seconds,
        "predict_seconds_per_row": predict_seconds / max(len(test), 1),
        "per_output": _per_output(job.problem, Y_test, predicted),
        **_per_level(job.problem, Y_test, predicted),
        "curve": _curve(job, model, X_test, Y_test, Y),
    }
    row |= model_facts(model)
    if job.number == 0:
        row["examples"] = _examples(job.problem, test, Y_test, predicted)
        row |= importances(model, X_test, *job.problem.shape[1:])
    if job.bootstraps:
        row["bootstraps"] = _bootstraps(job, settings, model)
    return row


def _bootstraps(job: Job, chosen: dict[str, Any], chosen_model: Any) -> list[dict[str, Any]]:
    """Judge every setting, trained on all training rows, on draws of the test rows."""
    (X, Y), (X_test, Y_test) = (job.problem.rows(rows) for rows in job.fold)
    metric = job.metrics[0]
    found = []
    for settings in job.settings():
        model = chosen_model if settings == chosen else _fitted(job, settings, X, Y)
        if metric.needs_scores:
            check_scores(metric, model)
            given = label_scores(model, X_test, Y_test.shape[1])
        else:
            given = _predicted(model, X_test, Y)
        scores = bootstrap_scores(metric, Y, Y_test, given, job.bootstraps, job.random_state)
        found.append(scores | {"settings": plain_settings(settings)})
    return found


def _make(job: Job, settings: dict[str, Any]) -> Any:
    estimator = job.method.make(job.problem, job.random_state)
    return set_by_name(estimator, settings)


def _fitted(job: Job, settings: dict[str, Any], X: Any, Y: Any) -> Any:
    model = _make(job, settings)
    return model.fit(SHARED_ROWS.of(X, model)[0], Y)


def _tune(job: Job, X: Any, Y: Any) -> tuple[dict[str, Any], int]:
    """Choose settings by the first metric, on the training rows alone."""
    candidates = job.settings()
    if len(candidates) == 1:
        return candidates[0], 1
    inner = replace(job.problem, X=X, Y=Y)
    metric = job.metrics[0]

    def fit_and_score(settings: dict[str, Any], fold: Fold) -> float:
        (X_kept, Y_kept), (X_held, Y_held) = (inner.rows(rows) for rows in fold)
        model = _fitted(job, settings, X_kept, Y_kept)
        predicted = _predicted(model, X_held, Y_kept)
        score = _scores(job, (metric,), model, X_held, Y_held, predicted, Y_kept)[metric.name]
        return float("nan") if score is None else score

    return choose_settings(
        candidates,
        fit_and_score,
        inner_folds(inner, job.tuning, job.random_state),
        metric,
        budget=job.budget,
        random_state=job.random_state,
    )


def _predicted(model: Any, X: Any, Y_train: Any) -> Any:
    return _filled(model.predict(X), Y_train)


def _scores(
    job: Job,
    metrics: tuple[Metric, ...],
    model: Any,
    X: Any,
    Y: Any,
    predicted: Any,
    Y_train: Any,
) -> dict[str, float | None]:
    """Return the value of each metric; None where the model gives no scores to judge."""
    values: dict[str, float | None] = {}
    scores: Any = None
    for metric in metrics:
        given = predicted
        if metric.needs_scores:
            try:
                check_scores(metric, model)
                scores = label_scores(model, X, Y.shape[1]) if scores is None else scores
            except (TypeError, AttributeError):
                values[metric.name] = None
                continue
            given = scores
        value = float(metric.prepare(Y_train, hierarchy=job.problem.hierarchy)(Y, given))
        values[metric.name] = value if np.isfinite(value) else None
    return values


def _per_output(problem: Problem, Y: Any, predicted: Any) -> list[float | None]:
    if Y.shape[1] > _MOST_OUTPUTS:
        return []
    if problem.task == "regression":
        values = macro_r2_score(Y, predicted, multioutput="raw_values")
    elif problem.task == "classes":
        values = output_accuracies(Y, predicted)
    else:
        values = label_f1_score(Y, predicted, average=None)
    return [round(float(v), 5) if np.isfinite(v) else None for v in values]


def _per_level(problem: Problem, Y: Any, predicted: Any) -> dict[str, list[float | None]]:
    """Return the F1 of all labels of each depth together, if the labels have a hierarchy."""
    if problem.hierarchy is None:
        return {}
    depth, found = problem.hierarchy.depth, []
    for level in range(int(depth.max()) + 1):
        labels = np.flatnonzero(depth == level)
        value = float(label_f1_score(Y[:, labels], predicted[:, labels], average="micro"))
        found.append(round(value, 5) if np.isfinite(value) else None)
    return {"per_level": found}


def _curve(job: Job, model: Any, X: Any, Y: Any, Y_train: Any) -> list[list[float]]:
    """Return pairs of ensemble size and first metric, where the model can stop early."""
    metric = job.metrics[0]
    if hasattr(model, "steps"):  # a pipeline, whose last step may be an ensemble
        X, model = model[:-1].transform(X), model[-1]
    staged = "staged_predict_proba" if metric.needs_scores else "staged_predict"
    if not hasattr(model, staged):
        return []
    score = metric.prepare(Y_train, hierarchy=job.problem.hierarchy)
    points: list[list[float]] = []
    size, last = 0, None
    for predicted in getattr(model, staged)(X):
        size, last = size + 1, predicted
        if size in _CURVE_SIZES:
            points.append([size, float(score(Y, _filled(predicted, Y_train)))])
    if last is not None and (not points or points[-1][0] != size):
        points.append([size, float(score(Y, _filled(last, Y_train)))])
    return [point for point in points if np.isfinite(point[1])]


def _filled(predicted: Any, Y_train: Any) -> Any:
    """Take the training mean, or 0, where a model says nothing about a target."""
    if isinstance(predicted, np.ndarray):
        predicted = predicted.reshape(predicted.shape[0], -1)
        if predicted.dtype.kind == "f" and np.isnan(predicted).any():
            return np.where(np.isnan(predicted), np.nan_to_num(column_means(Y_train)), predicted)
    return predicted


def _examples(problem: Problem, test: Any, Y: Any, predicted: Any) -> list[dict[str, Any]]:
    """Return truth and prediction of the first test rows.

    Labels as the numbers of those in the set, and of those not observed; else the values of a
    few outputs.
    """
    shown = slice(0, _N_EXAMPLES)
    if problem.task == "classes":
        return _class_examples(test[shown], Y[shown], predicted[shown])
    truth, guess = (dense(m[shown]).astype(np.float64) for m in (Y, predicted))
    rows = test[shown]
    if problem.task == "multilabel":
        return [
            {
                "row": int(row),
                "truth": np.flatnonzero(t == 1).tolist(),
                "predicted": np.flatnonzero(g == 1).tolist(),
                "unknown": np.flatnonzero(np.isnan(t)).tolist(),
            }
            for row, t, g in zip(rows, truth, guess)
        ]
    kept = slice(0, MOST_NUMBERS_OF_EXAMPLES)
    return [
        {"row": int(row), "truth": plain_floats(t[kept]), "predicted": plain_floats(g[kept])}
        for row, t, g in zip(rows, truth, guess)
    ]


def _class_examples(rows: Any, Y: Any, predicted: Any) -> list[dict[str, Any]]:
    """Return truth and prediction of a few outputs, as texts; None where nothing is observed."""
    kept = slice(0, MOST_NUMBERS_OF_EXAMPLES)
    known = known_classes(Y)
    return [
        {
            "row": int(row),
            "truth": [str(v) if k else None for v, k in zip(truth[kept], seen[kept])],
            "predicted": [str(value) for value in guess[kept]],
        }
        for row, truth, guess, seen in zip(rows, Y, predicted, known)
    ]
