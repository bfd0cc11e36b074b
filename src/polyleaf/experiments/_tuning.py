"""Choose the settings of a method on the training rows of a fold.

A part of the training rows is held back once (as in Joly et al. 2019), or the rows are cut into
inner folds (nested cross-validation). With a budget, all methods have the same time: settings are
tried in a random order while there is time for one more and for the training that follows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, train_test_split

from polyleaf.checks.numbers import shown
from polyleaf.datasets import MultiLabelKFold, stratified_parts
from polyleaf.experiments._problem import Fold, Problem
from polyleaf.metrics import Metric

Settings = dict[str, Any]
#: ``fit_and_score(settings, fold)``: the score on the held rows, NaN if there is none.
FitAndScore = Callable[[Settings, Fold], float]


def check_tuning(tuning: Any) -> float | int:
    """Return a valid `tuning` parameter of `compare`, or raise a ValueError."""
    is_share = isinstance(tuning, float) and 0.0 < tuning < 1.0
    is_count = isinstance(tuning, (int, np.integer)) and not isinstance(tuning, bool)
    if is_share or (is_count and tuning >= 2):
        return float(tuning) if is_share else int(tuning)
    raise ValueError(
        "tuning must be the share of the training rows to hold back, such as 0.25, or a number of "
        f"inner folds, 2 or more; got {shown(tuning)}."
    )


def choose_settings(
    candidates: list[Settings],
    fit_and_score: FitAndScore,
    folds: list[Fold],
    metric: Metric,
    *,
    budget: float | None,
    random_state: int,
) -> tuple[Settings, int]:
    """Return the settings with the best mean score over the inner folds.

    Parameters
    ----------
    candidates : list of dict
        At least one; of equal ones, the first is taken.
    fit_and_score : callable
    folds : list of (rows to train on, rows held back)
    metric : Metric
        What is better.
    budget : float or None
        Seconds for tuning and the training after it. At least one candidate is tried.
    random_state : int
        Draws the order of candidates where there is a budget.

    Returns
    -------
    settings : dict
    n_tried : int
    """
    if len(candidates) == 1:
        return candidates[0], 1
    order: Any = range(len(candidates))
    if budget is not None:
        order = np.random.default_rng(random_state).permutation(len(candidates))
    start = time.perf_counter()
    best, best_score, n_tried, longest = candidates[0], float("nan"), 0, 0.0
    for i in order:
        began = time.perf_counter()
        # One more candidate, and a last training on all rows, which takes about as long as one
        # inner training, or a little more.
        needed = longest * (1.0 + 1.0 / len(folds))
        if n_tried and budget is not None and began - start + needed > budget:
            break
        value = float(np.mean([fit_and_score(candidates[i], fold) for fold in folds]))
        if n_tried == 0 or metric.is_better(value, best_score):
            best, best_score = candidates[i], value
        n_tried += 1
        longest = max(longest, time.perf_counter() - began)
    return best, n_tried


def inner_folds(problem: Problem, tuning: float | int, random_state: int) -> list[Fold]:
    """Return the inner folds of a training set: one for a share, else as many as `tuning` says.

    Parameters
    ----------
    problem : Problem
        Of the training rows alone.
    tuning : float or int
    random_state : int

    Returns
    -------
    list of (rows to train on, rows held back)
    """
    if isinstance(tuning, float):
        return [_held_back(problem, tuning, random_state)]
    return list(_cut(problem, tuning, random_state))


def _held_back(problem: Problem, share: float, random_state: int) -> Fold:
    if problem.task == "multilabel":
        part_of = stratified_parts(problem.Y, (1.0 - share, share), random_state=random_state)
        return np.flatnonzero(part_of == 0), np.flatnonzero(part_of == 1)
    kept, held = train_test_split(
        np.arange(problem.shape[0]), test_size=share, random_state=random_state
    )
    return np.sort(kept), np.sort(held)


def _cut(problem: Problem, n_folds: int, random_state: int) -> Iterator[Fold]:
    splitter: Any = KFold(n_folds, shuffle=True, random_state=random_state)
    if problem.task == "multilabel":
        splitter = MultiLabelKFold(n_folds, random_state=random_state)
    rows: NDArray[np.intp] = np.arange(problem.shape[0])
    for kept, held in splitter.split(rows, problem.Y):
        yield np.asarray(kept), np.asarray(held)
