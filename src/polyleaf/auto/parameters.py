"""Parameters of AutoRegressor and AutoClassifier."""

from __future__ import annotations

from typing import Any

from polyleaf import metrics
from polyleaf.estimator.parameters import Parameter, is_int, is_one_of, is_real
from polyleaf.estimator.shared_parameters import SHARED_PARAMETERS
from polyleaf.files.parameters import Stored, parameter_to_json


def _is_metric(value: Any) -> bool:
    if value is not None:
        metrics.resolve(value)  # raises with a message of its own
    return True


def _metric_to_json(name: str, value: Any) -> Any:
    if isinstance(value, metrics.Metric) and metrics.METRICS.get(value.name) is value:
        return value.name
    return parameter_to_json(name, value)


def _is_cv(value: Any) -> bool:
    if is_int(value, 2):
        return True
    is_text = isinstance(value, str | bytes)
    return not is_text and (hasattr(value, "split") or hasattr(value, "__iter__"))


AUTO_PARAMETERS: dict[str, Parameter] = {
    "budget": Parameter(
        "{'small', 'medium', 'large'}",
        "How much work is done, counted in additions and not in seconds, so that the same seed\n"
        "gives the same model on every machine. ``'small'`` races the strong defaults,\n"
        "``'medium'`` all families and baselines, ``'large'`` also slower settings of them.",
        is_one_of("small", "medium", "large"),
        "'small', 'medium' or 'large'",
        names=("small", "medium", "large"),
    ),
    "metric": Parameter(
        "str, Metric or None",
        "What you care about: one of `metrics.METRICS` of the task, or your own. Candidates are\n"
        "ranked by it. One that compares label sets, such as ``'example_f1'``, also calibrates\n"
        "the probabilities and chooses how `predict` decodes them. Classes of a multi-class\n"
        "output count as labels. None: ``'r2'`` for numbers, ``'log_loss'`` for classes and\n"
        "labels.",
        _is_metric,
        "None, the name of a metric or a Metric",
        stored=Stored(_metric_to_json, lambda stored: stored),
    ),
    "time_limit": Parameter(
        "float or None",
        "Seconds after which no further candidate is begun; what has finished is blended. The\n"
        "first candidate always finishes. Models may then differ from run to run.",
        lambda v: v is None or (is_real(v, 0.0) and v > 0),
        "None or a number above 0",
    ),
    "cv": Parameter(
        "int, splitter, or iterable of (train, test)",
        "The folds on which candidates are compared and weights chosen. A number means folds in\n"
        "which labels and classes are about equally frequent, random ones for numbers, and with\n"
        "``groups`` folds that keep groups together.",
        _is_cv,
        "an integer >= 2, an object with split, or pairs of rows (train, test)",
    ),
    **{name: SHARED_PARAMETERS[name] for name in ("random_state", "n_jobs", "verbose")},
}
