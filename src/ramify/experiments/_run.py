"""One run: tune a method on the training rows of a fold, train it, judge it on the test rows."""

from __future__ import annotations

import pickle
import time
import traceback
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from ramify.datasets import stratified_parts
from ramify.estimators.label_scores import label_scores
from ramify.experiments._methods import Method
from ramify.experiments._problem import Fold, Problem
from ramify.metrics import Metric, column_means, label_f1_score, macro_r2_score

_MOST_OUTPUTS = 200  # whose scores are kept one by one
_N_EXAMPLES = 5
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
    budget: float | None

    @property
    def key(self) -> tuple[str, str, int]:
        """Data set, method and fold: what tells runs of a comparison apart."""
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
        "settings", times, sizes, scores per output, and for the first fold leaves,
        examples of predictions and importances.
    """
    row: dict[str, Any] = {
        "dataset": job.problem.name,
        "task": job.problem.task,
        "method": job.method.name,
        "group": job.method.group,
        "fold": job.number,
    }
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row |= _judged(job)
    except Exception as error:  # a method of anyone's may raise anything
        last = traceback.extract_tb(error.__traceback__)[-1]
        row["error"] = f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"[:500]
    row["seconds"] = time.perf_counter() - start
    return row


def _judged(job: Job) -> dict[str, Any]:
    train, test = job.fold
    X, Y = job.problem.rows(train)
    X_test, Y_test = job.problem.rows(test)
    settings, n_tried = _tune(job, X, Y)
    model = _make(job, settings)
    start = time.perf_counter()
    model.fit(X, Y)
    fit_seconds = time.perf_counter() - start
    start = time.perf_counter()
    predicted = _predicted(model, X_test, Y)
    predict_seconds = time.perf_counter() - start
    row: dict[str, Any] = {
        "scores": _scores(job.metrics, model, X_test, Y_test, predicted, Y),
        "settings": {name: _plain(value) for name, value in settings.items()},
        "n_tried": n_tried,
        "fit_seconds": fit_seconds,
        "predict_seconds_per_row": predict_seconds / max(len(test), 1),
        "model_bytes": _model_bytes(model),
        "per_output": _per_output(job.problem, Y_test, predicted),
        "curve": _curve(job, model, X_test, Y_test, Y),
    }
    if job.number == 0:
        row["examples"] = _examples(test, Y_test, predicted)
        row["importances"] = _importances(model)
        row["n_leaves"] = _n_leaves(model)
    return row


def _make(job: Job, settings: dict[str, Any]) -> Any:
    estimator = job.method.make(job.problem, job.random_state)
    return estimator.set_params(**settings) if settings else estimator


def _tune(job: Job, X: Any, Y: Any) -> tuple[dict[str, Any], int]:
    """Choose settings by the first metric, on a part of the training rows.

    With a budget, settings are tried in a random order until its seconds are over; at least one
    is tried.
    """
    candidates = job.method.settings()
    if len(candidates) == 1:
        return candidates[0], 1
    rng = np.random.default_rng(job.random_state)
    kept, held = _inner_split(job, Y)
    problem = job.problem
    inner = Problem(problem.name, X, Y, problem.feature_names, problem.output_names, problem.task)
    X_kept, Y_kept = inner.rows(kept)
    X_held, Y_held = inner.rows(held)
    metric = job.metrics[0]
    order = rng.permutation(len(candidates)) if job.budget else range(len(candidates))
    start = time.perf_counter()
    best, best_score, n_tried = candidates[0], float("nan"), 0
    for i in order:
        if n_tried and job.budget and time.perf_counter() - start > job.budget:
            break
        model = _make(job, candidates[i]).fit(X_kept, Y_kept)
        predicted = _predicted(model, X_held, Y_kept)
        score = _scores((metric,), model, X_held, Y_held, predicted, Y_kept)[metric.name]
        value = float("nan") if score is None else score
        if n_tried == 0 or metric.is_better(value, best_score):
            best, best_score = candidates[i], value
        n_tried += 1
    return best, n_tried


def _inner_split(job: Job, Y: Any) -> tuple[Any, Any]:
    if job.problem.task == "multilabel":
        part_of = stratified_parts(Y, (0.75, 0.25), random_state=job.random_state)
        return np.flatnonzero(part_of == 0), np.flatnonzero(part_of == 1)
    kept, held = train_test_split(
        np.arange(Y.shape[0]), test_size=0.25, random_state=job.random_state
    )
    return np.sort(kept), np.sort(held)


def _predicted(model: Any, X: Any, Y_train: Any) -> Any:
    return _filled(model.predict(X), Y_train)


def _scores(
    metrics: tuple[Metric, ...], model: Any, X: Any, Y: Any, predicted: Any, Y_train: Any
) -> dict[str, float | None]:
    """Return the value of each metric; None where the model gives no scores to judge."""
    scores: Any = None
    values: dict[str, float | None] = {}
    for metric in metrics:
        given = predicted
        if metric.needs == "scores":
            try:
                scores = label_scores(model, X, Y.shape[1]) if scores is None else scores
            except (TypeError, AttributeError):
                values[metric.name] = None
                continue
            given = scores
        value = float(metric.prepare(Y_train)(Y, given))
        values[metric.name] = value if np.isfinite(value) else None
    return values


def _per_output(problem: Problem, Y: Any, predicted: Any) -> list[float | None]:
    if Y.shape[1] > _MOST_OUTPUTS:
        return []
    if problem.task == "regression":
        values = macro_r2_score(Y, predicted, multioutput="raw_values")
    else:
        values = label_f1_score(Y, predicted, average=None)
    return [round(float(v), 5) if np.isfinite(v) else None for v in values]


def _curve(job: Job, model: Any, X: Any, Y: Any, Y_train: Any) -> list[list[float]]:
    """Return pairs of ensemble size and first metric, where the model can stop early."""
    metric = job.metrics[0]
    if not hasattr(model, "staged_predict") or metric.needs == "scores":
        return []
    score = metric.prepare(Y_train)
    points: list[list[float]] = []
    size, last = 0, None
    for predicted in model.staged_predict(X):
        size, last = size + 1, predicted
        if size in _CURVE_SIZES:
            points.append([size, float(score(Y, _filled(predicted, Y_train)))])
    if last is not None and (not points or points[-1][0] != size):
        points.append([size, float(score(Y, _filled(last, Y_train)))])
    return points


def _filled(predicted: Any, Y_train: Any) -> Any:
    """Take the training mean, or 0, where a model says nothing about a target."""
    if isinstance(predicted, np.ndarray):
        predicted = predicted.reshape(predicted.shape[0], -1)
        if predicted.dtype.kind == "f" and np.isnan(predicted).any():
            return np.where(np.isnan(predicted), np.nan_to_num(column_means(Y_train)), predicted)
    return predicted


def _examples(test: Any, Y: Any, predicted: Any) -> list[dict[str, Any]]:
    """Return truth and prediction of the first test rows, for at most 12 outputs."""
    shown = slice(0, _N_EXAMPLES)
    truth, guess = (_dense(matrix[shown])[:, :12] for matrix in (Y, predicted))
    return [
        {"row": int(row), "truth": _floats(t), "predicted": _floats(g)}
        for row, t, g in zip(test[shown], truth, guess)
    ]


def _importances(model: Any) -> list[list[float | None]] | None:
    """Return importances, features by at most 12 outputs, or by one column for all."""
    for name in ("output_importances_", "feature_importances_"):
        try:
            values = np.asarray(getattr(model, name), dtype=np.float64)
        except (AttributeError, ValueError):
            continue
        values = values[:12].T if values.ndim == 2 else values[:, np.newaxis]
        return [_floats(row) for row in values]
    return None


def _model_bytes(model: Any) -> int | None:
    try:
        return len(pickle.dumps(model))
    except Exception:  # not every model can be pickled
        return None


def _n_leaves(model: Any) -> int | None:
    members = getattr(model, "estimators_", None)
    trees = [model] if hasattr(model, "get_n_leaves") else members
    try:
        return int(sum(tree.get_n_leaves() for tree in trees)) if trees is not None else None
    except (AttributeError, TypeError):
        return None


def _floats(values: Any) -> list[float | None]:
    return [round(float(v), 6) if np.isfinite(v) else None for v in np.asarray(values, float)]


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, bool, type(None))) else repr(value)
