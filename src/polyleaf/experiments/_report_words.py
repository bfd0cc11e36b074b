"""Say in words what a comparison found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polyleaf.experiments._statistics import pairwise_tests
from polyleaf.metrics import Metric

if TYPE_CHECKING:
    from polyleaf.experiments._comparison import Comparison, Standing

_ALPHA = 0.05


def summary(comparison: Comparison) -> list[str]:
    """Return a few sentences for each task: who is best, how sure that is, and who is quick.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    list of str
    """
    sentences = [task_summary(comparison, metrics[0]) for metrics in comparison.metrics.values()]
    n_failed = len(comparison.failures)
    if n_failed:
        sentences.append(
            f"{n_failed} of {len(comparison.rows)} runs failed; see the list of failed runs."
        )
    return sentences


def plain_name(metric: str) -> str:
    """Return the name of a metric as people write it."""
    return _NAMES.get(metric, metric.replace("_", " "))


_NAMES = {
    "r2": "r²",
    "arrmse": "aRRMSE",
    "lrap": "LRAP",
    "lrap_drop_empty": "LRAP without empty rows",
    "example_f1": "example F1",
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "example_jaccard": "example Jaccard",
    "subset_zero_one_loss": "subset 0/1 loss",
    "hamming_loss": "Hamming loss",
}


def capital(text: str) -> str:
    """Return a text that begins with a capital letter, unless its first word has one inside."""
    return text if text[:2] in ("aR", "r²") else text[:1].upper() + text[1:]


def settings_words(settings: Mapping[str, Any]) -> str:
    """Return settings as people write them, without the names of the steps around a model."""
    shown = {name.rpartition("__")[2]: value for name, value in settings.items()}
    return ", ".join(f"{name} = {value}" for name, value in shown.items()) or "none to choose"


def task_lead(comparison: Comparison, metric: Metric) -> str:
    """Return what was compared for a task, in one sentence."""
    names = comparison.datasets(metric.task)
    folds = comparison.plan["folds"]
    counts = sorted({folds[name] for name in names})
    n_folds = " or ".join(map(str, counts))
    better = "higher" if metric.greater_is_better else "lower"
    return (
        f"{len(comparison.methods(metric.task))} methods on {len(names)} data "
        f"{'set' if len(names) == 1 else 'sets'}, {n_folds} folds each, the same for all; "
        f"{_tuning_words(comparison.plan)} {plain_name(metric.name)} ({better} is better)."
    )


def _tuning_words(plan: Mapping[str, Any]) -> str:
    """Say how settings were chosen."""
    if plan.get("max_settings") == 1:
        return "one setting of each method, drawn by lot; ranked by"
    tuning = plan.get("tuning", 0.25)
    rows = (
        f"{tuning:.0%} of them held back" if isinstance(tuning, float) else f"{tuning} inner folds"
    )
    return f"tuned within the training rows ({rows}) for"


def task_summary(comparison: Comparison, metric: Metric) -> str:
    """Say who is best by a metric, how sure that is, and who comes close in less time."""
    board = comparison.leaderboard(metric.name)
    best = board[0]
    place = "does best" if len(comparison.datasets(metric.task)) == 1 else "has the best mean rank"
    if not np.isfinite(best.score):
        return f"By {plain_name(metric.name)}, no method has a score."
    name = plain_name(metric.name)
    parts = [f"By {name}, {best.method} {place} ({best.score:.3f} ± {best.spread:.3f})."]
    equals = _not_told_apart(comparison, metric, best.method)
    if equals is not None:
        parts.append(equals)
    quick = [s for s in board if s.fit_seconds < best.fit_seconds / 5 and _is_close(s, best)]
    if quick:
        fastest = min(quick, key=lambda s: s.fit_seconds)
        parts.append(
            f"{fastest.method} comes close ({fastest.score:.3f}) in "
            f"{_share(fastest.fit_seconds / best.fit_seconds)} of the training time."
        )
    return " ".join(parts)


def _is_close(standing: Standing, best: Standing) -> bool:
    difference = abs(standing.score - best.score)
    return bool(np.isfinite(difference) and difference <= 0.05 * max(abs(best.score), 1e-9))


def _not_told_apart(comparison: Comparison, metric: Metric, best: str) -> str | None:
    """Say which methods the tests cannot tell from the best one."""
    result = comparison.friedman(metric.name)
    if result is not None:
        names = comparison.tested_methods(metric.name)
        if best not in names:
            return None
        own = result.ranks[names.index(best)]
        alike = [
            name
            for name, rank in zip(names, result.ranks)
            if name != best and rank - own < result.critical_difference
        ]
        over = f"over the {result.n_blocks} data sets"
        if result.iman_davenport_p > _ALPHA:
            return (
                f"The differences between methods are not significant {over} (Iman and "
                f"Davenport's test, p = {result.iman_davenport_p:.2g})."
            )
        if not alike:
            return f"It is significantly better than all others {over} (Nemenyi's test)."
        return f"Not told apart from it {over} (Nemenyi's test): {', '.join(alike)}."
    return _within_one(comparison, metric, best)


def _within_one(comparison: Comparison, metric: Metric, best: str) -> str | None:
    """Compare over the folds of the only data set, by paired t-tests."""
    names = comparison.datasets(metric.task)
    methods = comparison.tested_methods(metric.name)
    if len(names) != 1 or best not in methods or len(methods) < 2:
        return None
    scores = np.column_stack(
        [comparison.fold_scores(names[0], method, metric.name) for method in methods]
    )
    if scores.shape[0] < 3:
        return None
    p_values = pairwise_tests(scores, test="t")[methods.index(best)]
    alike = [m for m, p in zip(methods, p_values) if m != best and p > _ALPHA]
    if not alike:
        return (
            "It is better than all others in paired t-tests over the folds (which share training "
            "rows: take the p-values as a hint)."
        )
    return f"Paired t-tests over the folds do not tell it from {', '.join(alike)}."


def _share(part: float) -> str:
    """Write a share in per cent; a small one is not none."""
    return "less than 1%" if part < 0.01 else f"{part:.0%}"
