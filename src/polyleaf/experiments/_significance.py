"""How sure a comparison is: methods against the best one, over data sets, outputs and folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.experiments._statistics import FriedmanResult, friedman_test, pairwise_tests
from polyleaf.metrics import Metric

if TYPE_CHECKING:
    from polyleaf.experiments._comparison import Comparison

Floats = NDArray[np.float64]
_FEWEST_FOLDS = 3  # for a t-test that can tell anything


@dataclass(frozen=True)
class Verdict:
    """One method against another, the control.

    Attributes
    ----------
    method : str
    rank : float
        Its mean rank over the data sets, or over the outputs of the only one.
    nemenyi, wilcoxon : float
        P-values over the data sets; NaN where there are too few, and for Nemenyi's test also
        without scikit-posthocs.
    wilcoxon_outputs : float
        P-value over all outputs of all data sets.
    n_better, n_alike, n_worse : int
        Data sets on which it is significantly better than the control, not significantly
        different from it, or worse, by paired t-tests over the folds.

    Examples
    --------
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.experiments import compare
    >>> data = make_correlated_targets(120, 5, 4, random_state=0)
    >>> verdict = compare(data, methods=["Mean", "Tree"], metrics=["r2"], cv=3).verdicts()[0]
    >>> verdict.method, verdict.n_better, verdict.n_worse
    ('Mean', 0, 1)
    """

    method: str
    rank: float
    nemenyi: float
    wilcoxon: float
    wilcoxon_outputs: float
    n_better: int
    n_alike: int
    n_worse: int


def output_matrix(comparison: Comparison, task: str) -> tuple[list[str], Floats]:
    """Return scores of outputs by methods: r² of targets, F1 of labels, means over folds.

    Parameters
    ----------
    comparison : Comparison
    task : str

    Returns
    -------
    methods : list of str
        Those without a failure.
    scores : ndarray of shape (outputs of all data sets, methods)
        Outputs for which a method has no score are left out.
    """
    failed = {row["method"] for row in comparison.failures}
    methods = [name for name in comparison.methods(task) if name not in failed]
    blocks = []
    for dataset in comparison.datasets(task):
        found = comparison.output_scores(dataset)
        if methods and all(name in found for name in methods):
            blocks.append(np.column_stack([found[name] for name in methods]))
    scores = np.concatenate(blocks) if blocks else np.empty((0, len(methods)))
    return methods, scores[np.isfinite(scores).all(axis=1)]


def friedman_over_outputs(
    comparison: Comparison, task: str, *, alpha: float = 0.05
) -> tuple[list[str], FriedmanResult] | None:
    """Test whether the methods differ over the outputs of all data sets of a task.

    Outputs of one data set are related, so that p-values are too small: read them as a hint.
    """
    methods, scores = output_matrix(comparison, task)
    if scores.shape[0] < 2 or scores.shape[1] < 3:
        return None
    return methods, friedman_test(scores, greater_is_better=True, alpha=alpha)


def verdicts(
    comparison: Comparison, metric: Metric, control: str, *, alpha: float = 0.05
) -> list[Verdict]:
    """Hold every method without a failure against the control, in the order of the leaderboard.

    Parameters
    ----------
    comparison : Comparison
    metric : Metric
    control : str
        A method without a failure.
    alpha : float, default=0.05
        The level of the t-tests.

    Returns
    -------
    list of Verdict
        Without the control itself.
    """
    tested = comparison.tested_methods(metric.name)
    if control not in tested:
        return []
    methods, matrix = comparison.score_matrix(metric.name)
    scores = matrix[:, [methods.index(name) for name in tested]]
    over_sets = {kind: _p_values(scores, kind, tested.index(control)) for kind in _KINDS}
    names, outputs = output_matrix(comparison, metric.task)
    over_outputs = (
        dict(zip(names, _p_values(outputs, "wilcoxon", names.index(control))))
        if control in names
        else {}
    )
    found = []
    for standing in comparison.leaderboard(metric.name):
        name = standing.method
        if name == control or name not in tested:
            continue
        place = tested.index(name)
        signs = [
            fold_verdict(comparison, metric, dataset, name, control, alpha=alpha)
            for dataset in comparison.datasets(metric.task)
        ]
        found.append(
            Verdict(
                name,
                standing.rank,
                float(over_sets["nemenyi"][place]),
                float(over_sets["wilcoxon"][place]),
                float(over_outputs.get(name, np.nan)),
                signs.count(1),
                signs.count(0),
                signs.count(-1),
            )
        )
    return found


def fold_verdict(
    comparison: Comparison,
    metric: Metric,
    dataset: str,
    method: str,
    control: str,
    *,
    alpha: float = 0.05,
) -> int:
    """Tell by a paired t-test over folds: 1 if a method is better than the control, -1 if worse.

    Folds share training rows, so that p-values are too small: read them as a hint.
    """
    pair = np.column_stack(
        [comparison.fold_scores(dataset, name, metric.name) for name in (method, control)]
    )
    if pair.shape[0] < _FEWEST_FOLDS or not np.isfinite(pair).all():
        return 0
    if pairwise_tests(pair, test="t")[0, 1] > alpha:
        return 0
    return 1 if metric.is_better(*pair.mean(axis=0)) else -1


_KINDS = ("nemenyi", "wilcoxon")


def _p_values(scores: Floats, kind: Any, control: int) -> Floats:
    """Return the p-value of each method against the control; NaN if there are too few blocks."""
    nothing = np.full(scores.shape[1], np.nan)
    if scores.shape[0] < 2 or scores.shape[1] < 2:
        return nothing
    try:
        return np.asarray(pairwise_tests(scores, test=kind)[control])
    except ImportError:
        return nothing
