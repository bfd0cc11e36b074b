"""Judge a fitted model on rows that it has not seen, as a whole and output by output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from polyleaf.checks.matrices import as_floats, is_sparse, read_array, read_sparse
from polyleaf.checks.numbers import described
from polyleaf.estimator.label_scores import label_scores, score_kind
from polyleaf.experiments._encoding import feature_rows
from polyleaf.metrics import METRICS, Metric, resolve

#: The scores of a model whose outputs are classes.
CLASS_SCORES = ("accuracy", "exact_match")
_MOST_SHOWN = 30  # outputs in the text of an evaluation


@dataclass(frozen=True)
class Evaluation:
    """How good a model is: see `evaluate`.

    Attributes
    ----------
    scores : dict of str to float
        By metric; NaN where a metric is not defined.
    per_output : dict of str to ndarray of shape (d,)
        By metric, for the metrics that judge outputs one by one.
    output_names : list of str, length d
    task : {"regression", "multilabel", "classes"}

    Examples
    --------
    >>> from polyleaf import TreeRegressor, evaluate
    >>> from polyleaf.datasets import make_correlated_targets
    >>> X, Y = make_correlated_targets(300, 5, 3, random_state=0)
    >>> tree = TreeRegressor(max_depth=4, random_state=0).fit(X[:200], Y[:200])
    >>> evaluate(tree, X[200:], Y[200:], ["r2", "mae"])
    output      r2     mae
    all     0.7403  0.3935
    y0      0.7311  0.4047
    y1      0.7643  0.3694
    y2      0.7255  0.4065
    """

    scores: dict[str, float]
    per_output: dict[str, NDArray[np.float64]]
    output_names: list[str]
    task: str

    def __getitem__(self, metric: str) -> float:
        return self.scores[metric]

    def __repr__(self) -> str:
        return "\n".join("  ".join(cells).rstrip() for cells in _aligned(list(self._lines())))

    def by_output(self) -> dict[str, dict[str, float]]:
        """Return the scores of each output by its name."""
        return {
            name: {metric: float(values[j]) for metric, values in self.per_output.items()}
            for j, name in enumerate(self.output_names)
        }

    def _lines(self) -> Iterator[list[str]]:
        yield ["output", *self.scores]
        yield ["all", *(f"{score:.4g}" for score in self.scores.values())]
        if not self.per_output:
            return
        for j, name in enumerate(self.output_names[:_MOST_SHOWN]):
            own = [self.per_output.get(metric) for metric in self.scores]
            yield [name, *("" if values is None else f"{values[j]:.4g}" for values in own)]
        if len(self.output_names) > _MOST_SHOWN:
            yield [f"... ({len(self.output_names)} outputs)", *("" for _ in self.scores)]


def _aligned(lines: list[list[str]]) -> Iterator[list[str]]:
    widths = [max(map(len, column)) for column in zip(*lines)]
    for first, *cells in lines:
        yield [first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells, widths[1:]))]


def evaluate(
    model: Any,
    X: Any,
    Y: Any,
    metrics: Iterable[str | Metric] | str | None = None,
    *,
    y_train: Any = None,
    sample_weight: Any = None,
) -> Evaluation:
    """Measure a fitted model on rows that it has not seen.

    Parameters
    ----------
    model : estimator
        Fitted: of polyleaf, or any with scikit-learn's methods.
    X : array-like, frame or sparse matrix of shape (n, p)
    Y : array-like, frame or sparse matrix of shape (n,) or (n, d)
        NaN is not observed and does not count. Columns of a frame are found by their names.
    metrics : None, str, or sequence of (str or Metric), default=None
        Names of `metrics.METRICS` for the task at hand; "accuracy" and "exact_match" for classes.
        None: all that can be computed.
    y_train : array-like, frame or sparse matrix of shape (n, d), optional
        The Y that the model was trained on, for metrics that are relative to it, as aRRMSE.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    Evaluation
        With the score of all outputs together and, where a metric allows, of each output.

    See Also
    --------
    polyleaf.experiments.compare : many methods, by cross-validation.

    Examples
    --------
    >>> from polyleaf import RandomForestClassifier, evaluate
    >>> from polyleaf.datasets import make_multilabel
    >>> X, Y = make_multilabel(300, 5, 4, random_state=0)
    >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X[:200], Y[:200])
    >>> result = evaluate(forest, X[200:], Y[200:])
    >>> round(result["macro_auc"], 2)
    0.96
    >>> result.per_output["macro_auc"].round(2)
    array([0.98, 0.95, 0.95, 0.96])
    """
    X = feature_rows(X)
    names, truth = _outputs(model, Y)
    task = _task(model, truth)
    if task == "classes":
        return _judged_classes(model, X, truth, names, metrics, sample_weight)
    chosen = list(_chosen(metrics, task, y_train))
    given = _Predictions(model, X, truth.shape[1])
    hierarchy = getattr(model, "hierarchy_", None)
    scores, per_output = {}, {}
    for metric in chosen:
        predicted = given.of(metric, is_asked=metrics is not None)
        if predicted is None:
            continue
        arguments = (truth, predicted)
        scores[metric.name] = float(
            metric.prepare(y_train, hierarchy=hierarchy)(*arguments, sample_weight=sample_weight)
        )
        if metric.per_output is not None:
            by_output = metric.prepare(y_train, per_output=True)
            per_output[metric.name] = by_output(*arguments, sample_weight=sample_weight)
    return Evaluation(scores, per_output, names, task)


def check_scores(metric: Metric, model: Any) -> None:
    """Raise a TypeError if a model cannot give the scores or probabilities that a metric needs."""
    if metric.needs == "probabilities" and not hasattr(model, "predict_proba"):
        raise TypeError(
            f"{metric.name} needs probabilities; {type(model).__name__} has no predict_proba."
        )
    score_kind(model)


def is_label_model(model: Any) -> bool | None:
    """Whether an estimator of polyleaf was trained on labels; None if it is none of polyleaf."""
    trained = getattr(model, "estimator_", model)  # inside a TunedDecoder
    kind = getattr(getattr(trained, "_targets", None), "kind", None)
    return None if kind is None else bool(kind == "multilabel")


def _task(model: Any, Y: Any) -> str:
    """Tell what a fitted model predicts, where needed by the Y of shape (n, d) to judge it on."""
    if not is_classifier(model):
        return "regression"
    is_known = is_label_model(model)
    if is_known is not None:
        return "multilabel" if is_known else "classes"
    if not is_sparse(Y) and (Y.shape[1] == 1 or Y.dtype.kind not in "biuf"):
        return "classes"
    classes = getattr(model, "classes_", None)
    if isinstance(classes, list) and not all(np.isin(c, (0, 1)).all() for c in classes):
        return "classes"
    values = Y.data if is_sparse(Y) else Y
    has_labels = np.isin(values[~np.isnan(values.astype(np.float64))], (0, 1)).all()
    return "multilabel" if has_labels else "classes"


def _outputs(model: Any, Y: Any) -> tuple[list[str], Any]:
    """Return the names of the outputs and their values, in the order of the model."""
    names = getattr(model, "output_names_", None)
    columns = getattr(Y, "columns", None)
    if columns is not None:
        if names is not None and set(map(str, names)) <= set(map(str, columns)):
            Y = Y[[column for name in names for column in columns if str(column) == str(name)]]
        names = list(Y.columns)
        return [str(name) for name in names], _array(Y)
    values: Any = read_sparse(Y, "Y") if is_sparse(Y) else _array(Y)
    values = values[:, np.newaxis] if values.ndim == 1 else values
    if values.ndim != 2:
        raise ValueError(f"Y must be a matrix with a column per output; got shape {values.shape}.")
    if names is None or len(names) != values.shape[1]:
        names = [f"y{j}" for j in range(values.shape[1])]
    return [str(name) for name in names], values


def _array(Y: Any) -> NDArray[Any]:
    """Return an array, of numbers if objects can be read as such."""
    values = read_array(Y, "Y")
    if values.dtype == object:
        with suppress(ValueError):
            return as_floats(values, "Y")
    return values


def _chosen(metrics: Any, task: str, y_train: Any) -> Iterator[Metric]:
    if metrics is None:
        for metric in METRICS.values():
            if metric.task == task and (y_train is not None or not metric.from_training):
                yield metric
        return
    for name in _listed(metrics):
        yield resolve(name, task)


def _listed(metrics: Any) -> list[Any]:
    if isinstance(metrics, (str, Metric)):
        return [metrics]
    if is_sparse(metrics) or not isinstance(metrics, Iterable):
        raise TypeError(f"metrics must be names of metrics; got {described(metrics)}.")
    return list(metrics)


class _Predictions:
    """What a model predicts for some rows, computed when it is first needed."""

    def __init__(self, model: Any, X: Any, n_outputs: int) -> None:
        self.model, self.X, self.n_outputs = model, X, n_outputs
        self._found: dict[str, Any] = {}

    def of(self, metric: Metric, *, is_asked: bool) -> Any:
        """Return what a metric needs; None if the model cannot give it and nobody asked for it."""
        if not metric.needs_scores:
            return self._once("predict", self._predicted)
        try:
            check_scores(metric, self.model)
        except TypeError:
            if is_asked:
                raise
            return None
        return self._once("scores", self._scores)

    def _once(self, name: str, compute: Any) -> Any:
        if name not in self._found:
            self._found[name] = compute()
        return self._found[name]

    def _predicted(self) -> Any:
        predicted = self.model.predict(self.X)
        return predicted if is_sparse(predicted) else _matrix(predicted)

    def _scores(self) -> Any:
        return label_scores(self.model, self.X, self.n_outputs)


def _matrix(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    return array.reshape(array.shape[0], -1)


def _judged_classes(
    model: Any, X: Any, truth: Any, names: list[str], metrics: Any, sample_weight: Any
) -> Evaluation:
    """Count the entries that are right, and the rows that are right as a whole."""
    asked = CLASS_SCORES if metrics is None else tuple(_listed(metrics))
    if not set(asked) <= set(CLASS_SCORES):
        raise ValueError(
            f"metrics of classes must be among {', '.join(map(repr, CLASS_SCORES))}; got "
            f"{', '.join(map(repr, asked))}. Those of METRICS are for numbers and labels."
        )
    predicted = _matrix(model.predict(X))
    is_known = np.asarray(truth == truth)  # only NaN differs from itself
    is_known &= np.asarray(truth != None)  # noqa: E711 - entry by entry
    is_right = truth.astype(str) == predicted.astype(str)
    weights = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight, float)
    whole = np.where(is_known.all(axis=1), weights, 0.0)
    known = is_known * weights[:, np.newaxis]
    found = {
        "accuracy": _share((known * is_right).sum(), known.sum()),
        "exact_match": _share(whole @ is_right.all(axis=1), whole.sum()),
    }
    shares = [_share((known * is_right)[:, j].sum(), known[:, j].sum()) for j in range(len(names))]
    per_output = {"accuracy": np.array(shares)} if "accuracy" in asked else {}
    return Evaluation({name: found[name] for name in asked}, per_output, names, "classes")


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")
