"""Metrics by name: what each one needs, and which direction is better.

Early stopping, tuning, evaluations and comparisons take their metrics from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from polyleaf.checks.matrices import as_floats, is_sparse, read_array, read_sparse
from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.metrics import (
    _auc,
    _average_precision,
    _hierarchical,
    _label_sets,
    _probabilities,
    _ranking,
    _regression,
    _top_k,
)

Score = Callable[..., float]


@dataclass(frozen=True)
class Metric:
    """A metric, with its task, its direction and what it needs.

    Parameters
    ----------
    name : str
        Under which results are shown.
    function : callable
        ``function(y_true, y_pred, *, sample_weight=None, **from_training)``, which returns a
        number.
    task : {"regression", "multilabel", "binary", "multiclass", "classes"}
        What Y holds: numbers, labels (all of `METRICS` are for these two), one class per row, or
        one class per row and output.
    needs : {"values", "labels", "scores", "probabilities"}
        What it compares with Y: predicted numbers, predicted label sets (0 and 1), scores (the
        higher, the likelier), or scores that must be probabilities (for a binary problem those of
        the second class, for a multi-class one of every class).
    greater_is_better : bool
    from_training : mapping of str to callable, default={}
        Further arguments of the function, each with how to compute it from the training Y.
    per_output : callable or None, default=None
        The same with one number for each output, of shape (d,), where outputs can be judged one
        by one.
    takes_hierarchy : bool, default=False
        Whether the function has a parameter `hierarchy`, by which it adds ancestors of labels.

    Examples
    --------
    >>> from polyleaf.metrics import METRICS
    >>> METRICS["arrmse"].needs, METRICS["arrmse"].greater_is_better
    ('values', False)
    >>> score = METRICS["arrmse"].prepare(y_train=[[0.0], [2.0]])
    >>> score([[1.0], [3.0]], [[1.0], [2.0]])
    0.5
    """

    name: str
    function: Score
    task: Literal["regression", "multilabel", "binary", "multiclass", "classes"]
    needs: Literal["values", "labels", "scores", "probabilities"]
    greater_is_better: bool
    from_training: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    per_output: Callable[..., Any] | None = None
    takes_hierarchy: bool = False

    @property
    def needs_scores(self) -> bool:
        """Whether it compares scores or probabilities, not what `predict` gives."""
        return self.needs in ("scores", "probabilities")

    def prepare(
        self, y_train: Any = None, *, per_output: bool = False, hierarchy: Any = None
    ) -> Callable[..., Any]:
        """Compute once what the metric needs from the training rows.

        Parameters
        ----------
        y_train : array-like or sparse matrix of shape (n, d), optional
            The Y that the model was trained on. Some metrics need it, others ignore it.
        per_output : bool, default=False
            Whether the function is to give one number for each output, of shape (d,).
        hierarchy : Hierarchy or None, default=None
            Of the labels, for a metric that takes one; others ignore it.

        Returns
        -------
        callable
            ``score(y_true, y_pred, sample_weight=None)``.
        """
        if self.from_training and y_train is None:
            raise ValueError(
                f"The metric {self.name!r} is relative to the training rows: give y_train, the Y "
                "that the model was trained on."
            )
        if per_output and self.per_output is None:
            raise ValueError(
                f"The metric {self.name!r} compares all outputs of a row together. Those "
                f"that measure single outputs are {_listed(self.task, only_per_output=True)}."
            )
        function = self.per_output if per_output and self.per_output else self.function
        arguments = {name: compute(y_train) for name, compute in self.from_training.items()}
        if self.takes_hierarchy and hierarchy is not None:
            arguments["hierarchy"] = hierarchy
        return partial(function, **arguments) if arguments else function

    def scorer(self) -> Callable[..., float]:
        """Make a scorer, for the `scoring` of scikit-learn's searches and cross-validation.

        It is aware of labels and targets that are not observed, takes what the metric needs
        (predicted values, label sets or probabilities) from the model, and gives the negative of
        a metric that is better when it is lower.

        Returns
        -------
        callable
            ``scorer(model, X, y, sample_weight=None)``.

        Examples
        --------
        >>> from sklearn.model_selection import cross_val_score
        >>> from polyleaf import TreeClassifier
        >>> from polyleaf.datasets import make_multilabel
        >>> from polyleaf.metrics import METRICS
        >>> X, Y = make_multilabel(300, 10, 5, random_state=0)
        >>> tree = TreeClassifier(max_depth=4, random_state=0)
        >>> cross_val_score(tree, X, Y, scoring=METRICS["lrap"].scorer(), cv=3).shape
        (3,)
        """
        if self.from_training:
            raise ValueError(
                f"The metric {self.name!r} is relative to the training rows, which a scorer does "
                "not see. Call prepare(y_train) and score predictions, or use another metric."
            )
        return partial(_score_model, self)

    def is_better(self, score: float, other: float) -> bool:
        """Whether a score is strictly better than another; any number is better than NaN."""
        if np.isnan(score) or np.isnan(other):
            return bool(np.isnan(other) and not np.isnan(score))
        return score > other if self.greater_is_better else score < other


def _score_model(metric: Metric, model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Score a model; a function, so that scorers can be sent to other processes."""
    if not metric.needs_scores:
        predicted = model.predict(X)
    elif hasattr(model, "predict_proba") or metric.needs == "probabilities":
        predicted = model.predict_proba(X)
        if isinstance(predicted, list):  # scikit-learn's: of 0 and 1, for each label
            predicted = np.column_stack([_of_one(p) for p in predicted])
        elif metric.task == "binary":
            predicted = predicted[:, 1]
    else:
        predicted = model.decision_function(X)
    score = metric.function(y, predicted, sample_weight=sample_weight)
    return score if metric.greater_is_better else -score


def _of_one(probabilities: Any) -> Any:
    if probabilities.shape[1] != 2:
        raise ValueError(
            "A scorer of labels needs a model that gives the probabilities of 0 and 1 of each "
            f"label; got one with {probabilities.shape[1]} classes. Were all labels in training "
            "both 0 and 1?"
        )
    return probabilities[:, 1]


def column_means(y: Any) -> Any:
    """Return the mean of the observed values of each column.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n,) or (n, d)
        NaN is not observed.

    Returns
    -------
    ndarray of shape (d,)
        NaN where nothing was observed.

    Examples
    --------
    >>> from polyleaf.metrics import column_means
    >>> column_means([[1.0, float("nan")], [3.0, 5.0]])
    array([2., 5.])
    """
    if is_sparse(y):
        return np.asarray(read_sparse(y, "y").mean(axis=0)).ravel()
    values = as_floats(read_array(y, "y"), "y")
    values = values[:, np.newaxis] if values.ndim == 1 else values
    observed = ~np.isnan(values)
    counts = observed.sum(axis=0)
    sums = np.where(observed, values, 0.0).sum(axis=0)
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


def _of_values(name: str, function: Score, *, greater: bool, **from_training: Any) -> Metric:
    by_target = partial(function, multioutput="raw_values")
    return Metric(name, function, "regression", "values", greater, from_training, by_target)


def _of_labels(name: str, function: Score, *, greater: bool, per_label: Any = None) -> Metric:
    return Metric(name, function, "multilabel", "labels", greater, per_output=per_label)


def _of_closed_labels(name: str, function: Score) -> Metric:
    return Metric(name, function, "multilabel", "labels", True, takes_hierarchy=True)


def _of_scores(name: str, function: Score, *, greater: bool, **from_training: Any) -> Metric:
    return Metric(name, function, "multilabel", "scores", greater, from_training)


def _of_probabilities(name: str, function: Score) -> Metric:
    per_label = partial(function, average=None)
    return Metric(name, function, "multilabel", "probabilities", False, per_output=per_label)


_LRAP = _ranking.label_ranking_average_precision_score
_F1 = _label_sets.label_f1_score
_AUC = _auc.roc_auc_score
_AUPRC = _average_precision.average_precision_score
_PLACES = (1, 3, 5)

#: All metrics by name.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _of_values("r2", _regression.macro_r2_score, greater=True),
        _of_values(
            "arrmse",
            _regression.relative_root_mean_squared_error,
            greater=False,
            train_mean=column_means,
        ),
        _of_values("rmse", _regression.root_mean_squared_error, greater=False),
        _of_values("mae", _regression.mean_absolute_error, greater=False),
        _of_values("mape", _regression.mean_absolute_percentage_error, greater=False),
        _of_labels(
            "hamming_loss",
            _label_sets.hamming_loss,
            greater=False,
            per_label=_label_sets.label_errors,
        ),
        _of_labels(
            "microlabel_accuracy",
            _label_sets.microlabel_accuracy_score,
            greater=True,
            per_label=_label_sets.label_hits,
        ),
        _of_labels("subset_zero_one_loss", _label_sets.subset_zero_one_loss, greater=False),
        _of_labels("multilabel_accuracy", _label_sets.multilabel_accuracy_score, greater=True),
        _of_labels("example_precision", _label_sets.example_precision_score, greater=True),
        _of_labels("example_recall", _label_sets.example_recall_score, greater=True),
        _of_labels("example_f1", _label_sets.example_f1_score, greater=True),
        _of_labels("example_jaccard", _label_sets.example_jaccard_score, greater=True),
        _of_labels(
            "macro_f1",
            partial(_F1, average="macro"),
            greater=True,
            per_label=partial(_F1, average=None),
        ),
        _of_labels("micro_f1", partial(_F1, average="micro"), greater=True),
        _of_closed_labels("hierarchical_precision", _hierarchical.hierarchical_precision_score),
        _of_closed_labels("hierarchical_recall", _hierarchical.hierarchical_recall_score),
        _of_closed_labels("hierarchical_f1", _hierarchical.hierarchical_f1_score),
        _of_probabilities("log_loss", _probabilities.log_loss),
        _of_probabilities("brier_score", _probabilities.brier_score_loss),
        Metric(
            "macro_auc",
            partial(_AUC, average="macro"),
            "multilabel",
            "scores",
            True,
            per_output=partial(_AUC, average=None),
        ),
        _of_scores("micro_auc", partial(_AUC, average="micro"), greater=True),
        _of_scores("micro_auprc", partial(_AUPRC, average="micro"), greater=True),
        Metric(
            "macro_auprc",
            partial(_AUPRC, average="macro"),
            "multilabel",
            "scores",
            True,
            per_output=partial(_AUPRC, average=None),
        ),
        _of_scores("weighted_auprc", partial(_AUPRC, average="weighted"), greater=True),
        _of_scores("lrap", _LRAP, greater=True),
        _of_scores("lrap_drop_empty", partial(_LRAP, empty_rows="drop"), greater=True),
        _of_scores("coverage_error", _ranking.coverage_error, greater=False),
        _of_scores("one_error", _top_k.one_error, greater=False),
        *(
            _of_scores(f"precision_at_{k}", partial(_top_k.precision_at_k, k=k), greater=True)
            for k in _PLACES
        ),
        *(
            _of_scores(f"ndcg_at_{k}", partial(_top_k.ndcg_at_k, k=k), greater=True)
            for k in _PLACES
        ),
        *(
            _of_scores(
                f"propensity_scored_{name}_at_{k}",
                partial(function, k=k),
                greater=True,
                propensities=_top_k.label_propensities,
            )
            for name, function in (
                ("precision", _top_k.propensity_scored_precision_at_k),
                ("ndcg", _top_k.propensity_scored_ndcg_at_k),
            )
            for k in _PLACES
        ),
    )
}


def resolve(metric: str | Metric, task: str | None = None) -> Metric:
    """Return the metric that a `metric` parameter names.

    Parameters
    ----------
    metric : str or Metric
        A key of `METRICS`, or a metric of your own, which is returned.
    task : {"regression", "multilabel"} or None, default=None
        What it is to judge. A metric of another task is refused, and messages name those of this
        one.

    Returns
    -------
    Metric

    Examples
    --------
    >>> from polyleaf.metrics import resolve
    >>> resolve("hamming_loss").greater_is_better
    False
    >>> resolve("rsme", "regression")
    Traceback (most recent call last):
        ...
    ValueError: metric must be one of 'r2', 'arrmse', 'rmse', 'mae', 'mape' (regression)
    or a Metric; got 'rsme'. Did you mean 'rmse'?
    """
    found = METRICS.get(metric) if isinstance(metric, str) else metric
    if isinstance(found, Metric) and (task is None or found.task == task):
        return found
    if isinstance(found, Metric):
        raise ValueError(
            f"{found.name} is a metric of {found.task}; the task is {task}. Use one of "
            f"{_listed(task)}."
        )
    choices = " or ".join(f"{_listed(t)} ({t})" for t in (_TASKS if task is None else (task,)))
    told = f"metric must be one of {choices} or a Metric; got {shown(metric)}."
    if not isinstance(metric, str):
        raise TypeError(told)
    near = [m.name for m in METRICS.values() if task in (None, m.task)]
    raise ValueError(told + did_you_mean(metric, near))


_TASKS = ("regression", "multilabel")


def _listed(task: str | None, *, only_per_output: bool = False) -> str:
    return ", ".join(
        repr(name)
        for name, metric in METRICS.items()
        if metric.task == task and not (only_per_output and metric.per_output is None)
    )
