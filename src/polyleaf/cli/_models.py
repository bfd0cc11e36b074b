"""What the commands do with a fitted model: read data for it, judge it, predict."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from polyleaf import datasets
from polyleaf.cli._data import read_data
from polyleaf.datasets import Dataset
from polyleaf.datasets._files import TABLES, format_suffix
from polyleaf.estimator.label_scores import label_scores
from polyleaf.experiments import Evaluation, evaluate
from polyleaf.experiments._best import named
from polyleaf.experiments._evaluate import is_label_model
from polyleaf.metrics import METRICS


def last_step(fitted: Any) -> Any:
    """Give the estimator at the end of a pipeline; any other model as it is."""
    return fitted[-1] if isinstance(fitted, Pipeline) else fitted


def data_for(fitted: Any, name: str, **options: Any) -> Dataset:
    """Read a data set whose outputs are those of a model, unless something else is said."""
    is_told = any(options[key] is not None for key in ("targets", "n_targets", "xml"))
    try:
        if is_told or format_suffix(name) not in TABLES:
            return read_data([name], **options)[0]
    except ValueError as error:
        if is_told or not str(error).startswith("Nothing says"):
            raise
    names = ",".join(map(str, last_step(fitted).output_names_))
    return read_data([name], **(options | {"targets": names}))[0]


def features_for(fitted: Any, name: str, **options: Any) -> Any:
    """Read features for a model; columns that are outputs of the model are left out."""
    if format_suffix(name) in TABLES and options["targets"] is None:
        left_out = [*last_step(fitted).output_names_, *(options["exclude"] or "").split(",")]
        X = datasets.read_features(
            name, exclude=left_out, as_frame=True, max_bytes=options["max_bytes"]
        )
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
) -> Evaluation:
    """Judge a model by the metrics that are asked for, or by all that can be computed."""
    X = _ordered(fitted, named(dataset.X, dataset.feature_names), dataset.name)
    y_train = None if trained_on is None else _in_order(fitted, trained_on)
    relative = [n for n in names or () if n in METRICS and METRICS[n].from_training]
    if relative and y_train is None and not hasattr(fitted, "classes_"):
        raise ValueError(
            f"{relative[0]} is relative to the training rows: say with --train which data the "
            "model was trained on."
        )
    return evaluate(fitted, X, _in_order(fitted, dataset), names, y_train=y_train)


def _in_order(fitted: Any, dataset: Dataset) -> Any:
    """Return Y with the outputs of a model, in its order, where they have the same names."""
    found, wanted = (
        list(map(str, dataset.output_names)),
        list(map(str, last_step(fitted).output_names_)),
    )
    if found == wanted or set(found) != set(wanted):
        return dataset.Y
    return dataset.Y[:, [found.index(name) for name in wanted]]


def predictions(fitted: Any, X: Any, *, proba: bool) -> tuple[list[str], NDArray[Any]]:
    """Predict; give the names of the columns, one per output or per class of each, and rows."""
    names = [str(name) for name in last_step(fitted).output_names_]
    if not proba:
        rows = fitted.predict(X)
    elif not hasattr(fitted, "classes_"):
        raise ValueError("--proba is for labels and classes; the model predicts numbers.")
    elif not is_label_model(fitted):
        names, rows = _class_probabilities(fitted, names, X)
    else:
        rows = label_scores(fitted, X, len(names))
    rows = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    return names, rows.reshape(rows.shape[0], -1)


def _class_probabilities(fitted: Any, names: list[str], X: Any) -> tuple[list[str], Any]:
    chances, classes = fitted.predict_proba(X), fitted.classes_
    if not isinstance(chances, list):
        chances, classes = [chances], [classes]
    columns = [f"{name}={c}" for name, found in zip(names, classes) for c in found]
    return columns, np.hstack(chances)
