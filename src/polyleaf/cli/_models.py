"""What the commands do with a fitted model: read data for it, judge it, write predictions."""

from __future__ import annotations

import csv
import importlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from polyleaf import datasets, metrics
from polyleaf.cli._data import read_data
from polyleaf.datasets import Dataset
from polyleaf.datasets._files import TABLES, format_suffix
from polyleaf.estimator.label_scores import label_scores


def named(matrix: Any, names: Any) -> Any:
    """Return a frame with names of a dense matrix, where pandas is installed.

    A model remembers the names, and refuses features in another order.
    """
    if not isinstance(matrix, np.ndarray):
        return matrix
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        return matrix
    return pandas.DataFrame(matrix, columns=list(names))


def fit_named(model: Any, dataset: Dataset) -> Any:
    """Train a model that knows the names of features and outputs, of sparse ones too."""
    X = named(dataset.X, dataset.feature_names)
    model.fit(X, named(dataset.Y, dataset.output_names))
    if model._targets.output_names is None:
        schema = replace(model._targets, output_names=tuple(dataset.output_names))
        model._fitted = replace(model._fitted, targets=schema)
    return model


def data_for(fitted: Any, name: str, **options: Any) -> Dataset:
    """Read a data set whose outputs are those of a model, unless something else is said."""
    is_told = any(options[key] is not None for key in ("targets", "n_targets", "xml"))
    try:
        if is_told or format_suffix(name) not in TABLES:
            return read_data([name], **options)[0]
    except ValueError as error:
        if is_told or not str(error).startswith("Nothing says"):
            raise
    names = ",".join(map(str, fitted.output_names_))
    return read_data([name], **(options | {"targets": names}))[0]


def features_for(fitted: Any, name: str, **options: Any) -> Any:
    """Read features for a model; columns that are outputs of the model are left out."""
    if format_suffix(name) in TABLES and options["targets"] is None:
        left_out = [*fitted.output_names_, *(options["exclude"] or "").split(",")]
        X = datasets.read_features(name, exclude=left_out, as_frame=True)
        return _ordered(fitted, X, name)
    dataset = data_for(fitted, name, **options)
    return _ordered(fitted, named(dataset.X, dataset.feature_names), name)


def _ordered(fitted: Any, X: Any, name: str) -> Any:
    """Return the columns that a model was trained on, in its order; others are left out."""
    wanted = getattr(fitted, "feature_names_in_", None)
    if wanted is None or not hasattr(X, "columns"):
        return X
    missing = [column for column in wanted if column not in set(X.columns)]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise ValueError(
            f"{name} must have the columns that the model was trained on; it lacks "
            f"{', '.join(map(repr, missing[:5]))}{more}."
        )
    return X[list(wanted)]


def evaluation(
    fitted: Any, dataset: Dataset, names: list[str] | None, trained_on: Dataset | None
) -> dict[str, float]:
    """Return scores by name: those asked for, or all that can be computed."""
    X = _ordered(fitted, named(dataset.X, dataset.feature_names), dataset.name)
    predicted = fitted.predict(X)
    if isinstance(predicted, np.ndarray):
        predicted = predicted.reshape(len(predicted), -1)
    task = _task(fitted)
    if task == "classes":
        return _class_scores(dataset.Y, predicted, names)
    y_train = None if trained_on is None else trained_on.Y
    scores = None
    values = {}
    for metric in _chosen(names, task, y_train):
        if metric.needs == "scores" and scores is None:
            scores = label_scores(fitted, X, dataset.n_outputs)
        given = scores if metric.needs == "scores" else predicted
        values[metric.name] = metric.prepare(y_train)(dataset.Y, given)
    return values


def _task(fitted: Any) -> str:
    if not hasattr(fitted, "classes_"):
        return "regression"
    trained = getattr(fitted, "estimator_", fitted)  # inside a TunedDecoder
    return "multilabel" if trained._targets.kind == "multilabel" else "classes"


def _chosen(names: list[str] | None, task: str, y_train: Any) -> Iterator[metrics.Metric]:
    if names is None:
        for metric in metrics.METRICS.values():
            if metric.task == task and (y_train is not None or not metric.from_training):
                yield metric
        return
    for metric in map(metrics.resolve, names):
        if metric.task != task:
            raise ValueError(f"{metric.name} is for {metric.task}, but the model is for {task}.")
        if metric.from_training and y_train is None:
            raise ValueError(
                f"{metric.name} is relative to the training rows: say with --train which data "
                "the model was trained on."
            )
        yield metric


def _class_scores(Y: Any, predicted: Any, names: list[str] | None) -> dict[str, float]:
    """Return the share of right entries and of rows that are right as a whole."""
    if names is not None:
        raise ValueError(
            "--metric is for numbers and labels; a model of classes is judged by its accuracy. "
            "Leave it out."
        )
    truth = np.asarray(Y).reshape(len(Y), -1)
    is_known = truth == truth  # only NaN differs from itself
    is_right = truth.astype(str) == predicted.astype(str)
    whole = is_right[is_known.all(axis=1)].all(axis=1)
    return {
        "accuracy": float(is_right[is_known].mean()),
        "exact_match": float(whole.mean()) if whole.size else float("nan"),
    }


def write_predictions(path: Path, fitted: Any, X: Any, *, proba: bool) -> tuple[int, int]:
    """Write a CSV file with a column per output, or per class of each; return rows and columns."""
    names = [str(name) for name in fitted.output_names_]
    if not proba:
        rows = fitted.predict(X)
    elif not hasattr(fitted, "classes_"):
        raise ValueError("--proba is for labels and classes; the model predicts numbers.")
    elif _task(fitted) == "classes":
        names, rows = _class_probabilities(fitted, names, X)
    else:
        rows = label_scores(fitted, X, len(names))
    rows = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    rows = rows.reshape(rows.shape[0], -1)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_text(value) for value in row] for row in rows)
    return rows.shape[0], rows.shape[1]


def _class_probabilities(fitted: Any, names: list[str], X: Any) -> tuple[list[str], Any]:
    chances, classes = fitted.predict_proba(X), fitted.classes_
    if not isinstance(chances, list):
        chances, classes = [chances], [classes]
    columns = [f"{name}={c}" for name, found in zip(names, classes) for c in found]
    return columns, np.hstack(chances)


def _text(value: Any) -> Any:
    return f"{value:.10g}" if isinstance(value, (float, np.floating)) else value
