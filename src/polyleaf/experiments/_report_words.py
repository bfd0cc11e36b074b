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
_MOST_NAMED = 3  # methods in a sentence
#: What a method is, in a few words, by its name in `METHODS`.
METHOD_NOTES = {
    "Auto": "races the families and simple baselines, and blends the best.",
    "Tree": "one tree for all outputs.",
    "RandomForest": "trees on bootstrap samples, each split on some of the features.",
    "ExtraTrees": "trees whose cuts are drawn at random.",
    "BaggedTrees": "trees on bootstrap samples, each split on all features.",
    "Boosting": "trees that correct each other, on views of the outputs.",
    "Rule": "boosted rules that can be read.",
    "Graph": "a max-margin labelling on one graph over the labels.",
    "GraphEnsemble": "max-margin labellings on random graphs over the labels, combined.",
    "Mean": "predicts the training mean of every output, or its frequency; whatever is worse "
    "has learnt nothing.",
    "SingleOutput": "scikit-learn's histogram gradient boosting, one model per output.",
    "Linear": "ridge or logistic regression, one model per output.",
    "MultiTask": "scikit-learn's multi-task elastic net: linear, one set of features for all "
    "outputs.",
    "SVM": "support vector machines with a Gaussian kernel, one per output.",
    "RandomCombinations": "gradient boosting of random linear combinations of the targets "
    "(Tsoumakas et al. 2014).",
    "LabelPowerset": "logistic regression with a class for every label set that was seen.",
    "ClassifierChain": "logistic regressions, each of which sees the labels before it.",
    "AdaBoostMH": "boosted trees over pairs of row and label (Schapire and Singer 2000).",
    "XGBoost": "of the package xgboost, with one tree per output or one for all.",
    "LightGBM": "of the package lightgbm, one model per output.",
    "CatBoost": "of the package catboost, one tree for all outputs.",
    "Boomer": "of the package mlrl-boomer, boosted rules for labels.",
}


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
        return "one setting of each method, drawn at random; ranked by"
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
    sureness = _how_sure(comparison, metric, best.method)
    if sureness is not None:
        parts.append(sureness)
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


def _how_sure(comparison: Comparison, metric: Metric, best: str) -> str | None:
    """Say from which methods the tests can tell the best one."""
    result = comparison.friedman(metric.name)
    if result is None:
        return _within_one(comparison, metric, best)
    names = comparison.tested_methods(metric.name)
    if best not in names:
        return None
    sets = f"{_count(result.n_blocks)} data sets"
    if result.iman_davenport_p > _ALPHA:
        which = "the two" if len(names) == 2 else f"these {len(names)} methods"
        return (
            f"But {sets} cannot tell {which} apart (Iman and Davenport's test, "
            f"p = {result.iman_davenport_p:.2g}): take its lead as a hint."
        )
    own = result.ranks[names.index(best)]
    is_worse = {
        name: rank - own >= result.critical_difference
        for name, rank in zip(names, result.ranks)
        if name != best
    }
    return _division(is_worse, sets, "Nemenyi's test")


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
    is_worse = {m: bool(p <= _ALPHA) for m, p in zip(methods, p_values) if m != best}
    return _division(
        is_worse,
        f"{_count(scores.shape[0])} folds",
        "paired t-tests; folds share training rows: take it as a hint",
    )


def _division(is_worse: Mapping[str, bool], evidence: str, test: str) -> str:
    """Say which methods are worse than the best, and which cannot be distinguished from it."""
    worse = [name for name, found in is_worse.items() if found]
    alike = [name for name, found in is_worse.items() if not found]
    if not alike:
        return f"It is better than all others over {evidence} ({test})."
    if not worse:
        return f"But {evidence} cannot tell it from any other method ({test})."
    return (
        f"It is better than {_listed(worse)}; {evidence} cannot tell it from {_listed(alike)} "
        f"({test})."
    )


def _listed(names: list[str]) -> str:
    """Name a few methods; count those of a long list."""
    if len(names) > _MOST_NAMED:
        return f"{len(names)} others" if len(names) < 10 else f"the {len(names)} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _count(number: int) -> str:
    """Write a small number in words."""
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[number] if number < len(words) else str(number)


def method_notes(comparison: Comparison) -> list[tuple[str, str]]:
    """Say in a few words what each method is that took part, where its name does not.

    Returns
    -------
    list of (name, note)
    """
    return [
        (method.name, METHOD_NOTES[base])
        for method in comparison.method_objects
        if (base := method.configuration()["method"]) in METHOD_NOTES
        and any(row["method"] == method.name for row in comparison.rows)
    ]


def _share(part: float) -> str:
    """Write a share in per cent; a small one is not none."""
    return "less than 1%" if part < 0.01 else f"{part:.0%}"
