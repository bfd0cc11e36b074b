"""What the row of a run must hold before a results file is believed.

A results file can be edited, joined with another one or damaged. Tables and reports read rows
without further checks, so a row comes in whole and of this comparison, or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from polyleaf.experiments._model_facts import MOST_OUTPUTS_OF_IMPORTANCES
from polyleaf.experiments._run import MOST_NUMBERS_OF_EXAMPLES, Job, describe

Test = Callable[[Any, Job], bool]


def fault_of(row: dict[str, Any], job: Job) -> str | None:
    """Say what is wrong with a row that claims to be of a run.

    Parameters
    ----------
    row : dict
        As read from JSON; its data set, method and fold are those of the job.
    job : Job

    Returns
    -------
    str or None
        None if the row can be used.
    """
    about = describe(job)
    for name, value in about.items():
        if row.get(name) != value or type(row[name]) is not type(value):
            return f"{name!r} must be {value!r}"
    has_failed = "error" in row
    needed = _OF_FAILURES if has_failed else _OF_RESULTS
    known = needed if has_failed else needed | _OPTIONAL
    missing = [name for name in needed if name not in row]
    if missing:
        return f"{missing[0]!r} is missing"
    strange = [name for name in row if name not in known and name not in about]
    if strange:
        return f"{strange[0][:40]!r} is unknown"
    wrong = [name for name, test in known.items() if name in row and not test(row[name], job)]
    return f"{wrong[0]!r} has a value that no run can have" if wrong else None


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _is_number_or_none(value: Any) -> bool:
    return value is None or _is_number(value)


def _is_time(value: Any, job: Job) -> bool:
    return _is_number(value) and value >= 0


def _is_count(value: Any, job: Job) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_count_or_none(value: Any, job: Job) -> bool:
    return value is None or _is_count(value, job)


def _is_list_of_numbers(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length and all(map(_is_number_or_none, value))


def _is_text(value: Any, job: Job) -> bool:
    return isinstance(value, str)


def _are_scores(value: Any, job: Job) -> bool:
    names = {metric.name for metric in job.metrics}
    is_complete = isinstance(value, dict) and set(value) == names
    return is_complete and all(map(_is_number_or_none, value.values()))


def _are_settings(value: Any, job: Job) -> bool:
    plain = (str, int, float, bool, type(None))
    return isinstance(value, dict) and all(isinstance(item, plain) for item in value.values())


def _are_output_scores(value: Any, job: Job) -> bool:
    return value == [] or _is_list_of_numbers(value, job.problem.shape[2])


def _is_curve(value: Any, job: Job) -> bool:
    return isinstance(value, list) and all(
        isinstance(point, list) and len(point) == 2 and all(map(_is_number, point))
        for point in value
    )


def _are_examples(value: Any, job: Job) -> bool:
    is_example = _EXAMPLES[job.problem.task]
    return isinstance(value, list) and all(
        isinstance(item, dict)
        and _is_count(item.get("row"), job)
        and item["row"] < job.problem.shape[0]
        and is_example(item, job.problem.shape[2])
        for item in value
    )


def _is_label_example(item: dict[str, Any], n_labels: int) -> bool:
    return set(item) == {"row", "truth", "predicted", "unknown"} and all(
        isinstance(found := item[name], list)
        and all(type(label) is int and 0 <= label < n_labels for label in found)
        for name in ("truth", "predicted", "unknown")
    )


def _is_number_example(item: dict[str, Any], n_targets: int) -> bool:
    length = min(n_targets, MOST_NUMBERS_OF_EXAMPLES)
    return set(item) == {"row", "truth", "predicted"} and all(
        _is_list_of_numbers(item[name], length) for name in ("truth", "predicted")
    )


def _is_class_example(item: dict[str, Any], n_outputs: int) -> bool:
    length = min(n_outputs, MOST_NUMBERS_OF_EXAMPLES)
    return set(item) == {"row", "truth", "predicted"} and all(
        isinstance(found := item[name], list)
        and len(found) == length
        and all(value is None or isinstance(value, str) for value in found)
        for name in ("truth", "predicted")
    )


_EXAMPLES = {
    "regression": _is_number_example,
    "multilabel": _is_label_example,
    "classes": _is_class_example,
}


def _are_level_scores(value: Any, job: Job) -> bool:
    hierarchy = job.problem.hierarchy
    return hierarchy is not None and _is_list_of_numbers(value, int(hierarchy.depth.max()) + 1)


def _are_importances(value: Any, job: Job) -> bool:
    if value is None:
        return True
    _, n_features, n_outputs = job.problem.shape
    if not isinstance(value, list) or len(value) != n_features:
        return False
    width = len(value[0]) if value and isinstance(value[0], list) else 0
    return 1 <= width <= min(n_outputs, MOST_OUTPUTS_OF_IMPORTANCES) and all(
        _is_list_of_numbers(line, width) for line in value
    )


def _are_bootstraps(value: Any, job: Job) -> bool:
    return (
        isinstance(value, list)
        and len(value) == len(job.settings())
        and all(
            isinstance(item, dict)
            and set(item) == {"score", "inside", "outside", "settings"}
            and _is_number_or_none(item["score"])
            and all(_is_list_of_numbers(item[k], job.bootstraps) for k in ("inside", "outside"))
            and _are_settings(item["settings"], job)
            for item in value
        )
    )


_OF_FAILURES: dict[str, Test] = {"error": _is_text, "seconds": _is_time}
_OF_RESULTS: dict[str, Test] = {
    "scores": _are_scores,
    "settings": _are_settings,
    "n_tried": _is_count,
    "fit_seconds": _is_time,
    "predict_seconds_per_row": _is_time,
    "per_output": _are_output_scores,
    "curve": _is_curve,
    "model_bytes": _is_count_or_none,
    "n_nodes": _is_count_or_none,
    "n_rules": _is_count_or_none,
    "seconds": _is_time,
}
_OPTIONAL: dict[str, Test] = {
    "examples": _are_examples,
    "importances": _are_importances,
    "importances_by": lambda value, job: value in ("shap", "splits"),
    "bootstraps": _are_bootstraps,
    "per_level": _are_level_scores,
}
