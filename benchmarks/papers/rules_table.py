"""Table 1 of Rapp et al. 2020, by cross-validation as in the paper.

That is BBC-CV (Tsamardinos et al. 2018).

Every setting is fitted on the same five folds, and every row is predicted by a model that has
not seen it. Then rows are drawn with replacement: the setting that is best on those drawn is
measured on those left out, 500 times, and the results are averaged, so that choosing among
settings costs no further fits and flatters nobody.

Settings of rules are pairs of shrinkage and penalty and the number of rules. Baselines are XGBoost
as in the paper: early stopping finds the number of trees, settings are learning rate and penalty,
and for chains one of ten orders.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

from benchmarks.papers.rules_published import (
    BASELINES,
    MEASURES,
    VARIANTS,
)
from benchmarks.papers.runs import load, take
from benchmarks.papers.stopped_trees import StoppedTrees
from benchmarks.papers.tables import Made, paper
from polyleaf import RuleClassifier

Labels = NDArray[np.bool_]
#: Losses of every row, by measure, for one setting.
RowLosses = NDArray[np.float64]

N_FOLDS = 5
N_DRAWS = 500
#: (shrinkage or learning rate, penalty) to choose from, for rules and for XGBoost.
SETTINGS = ((0.1, 0.25), (0.1, 1.0), (0.3, 0.25), (0.3, 1.0), (0.3, 4.0), (0.3, 16.0))
#: Orders of a chain to choose from.
N_ORDERS = 10
#: Most rules to choose from.
MOST_RULES = 6000


def row_losses(predicted: Any, truth: Labels) -> RowLosses:
    """Compute the three measures of every row; without labels on both sides, F1 is 1."""
    if sparse.issparse(predicted):
        predicted = predicted.toarray()
    found = np.asarray(predicted) == 1
    wrong = found != truth
    both, either = (found & truth).sum(axis=1), found.sum(axis=1) + truth.sum(axis=1)
    f1 = np.where(either > 0, 2.0 * both / np.maximum(either, 1), 1.0)
    return np.array([wrong.any(axis=1), wrong.mean(axis=1), f1], dtype=np.float64)


def stages(n_rules: int) -> list[int]:
    """Give the numbers of rules to choose from, close at first and wider apart later."""
    marks = [50, 100, 200, 400, 600, 800, 1000, 1500, 2000, 3000, 4000, 6000]
    return [mark for mark in marks if mark <= n_rules]


def rule_predictions(
    variant: str, parts: tuple[Any, ...], n_rules: int | None, seed: int
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Fit each setting once, and predict with prefixes of its rules."""
    X, Y, X_test = parts
    most = MOST_RULES if n_rules is None else n_rules
    for shrinkage, penalty in SETTINGS:
        model = make_rules(variant, most, shrinkage, penalty, seed).estimator.fit(X, Y * 1)
        for mark in stages(most):
            setting = {"rules": mark, "shrinkage": shrinkage, "penalty": penalty}
            yield setting, model.select(range(mark)).predict(X_test)


def make_rules(variant: str, n_rules: int, shrinkage: float, penalty: float, seed: int) -> Made:
    """Make a learner with the paper's settings, but thresholds from 255 bins."""
    return paper(
        RuleClassifier,
        variant.replace(" ", "-"),
        n_rules=n_rules,
        learning_rate=shrinkage,
        l2_regularization=penalty,
        max_bins=255,
        random_state=seed,
    )


def base_learners(seed: int) -> Iterator[tuple[dict[str, Any], Any]]:
    """Give the settings of a baseline, with XGBoost for each."""
    for rate, penalty in SETTINGS:
        yield {"rate": rate, "penalty": penalty}, StoppedTrees(rate, penalty, seed)


def baseline_predictions(
    name: str, parts: tuple[Any, ...], n_rules: int | None, seed: int
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Fit boosted trees by label, by label set or along a chain."""
    X, Y, X_test = parts
    # A constant label cannot be fitted; it is predicted as it is.
    varies = Y.any(axis=0) & ~Y.all(axis=0)
    constant = np.broadcast_to(Y.all(axis=0), (X_test.shape[0], Y.shape[1]))
    for setting, trees in base_learners(seed):
        if name.startswith("LP"):
            sets, codes = np.unique(Y, axis=0, return_inverse=True)
            yield setting, sets[trees.fit(X, codes.ravel()).predict(X_test)]
            continue
        for order in range(N_ORDERS if name.startswith("CC") else 1):
            meta = (
                MultiOutputClassifier(trees)
                if name.startswith("BR")
                else ClassifierChain(trees, order="random", random_state=order)
            )
            predicted = constant.copy()
            predicted[:, varies] = meta.fit(X, Y[:, varies] * 1).predict(X_test) == 1
            yield {**setting, "order": order}, predicted


def cross_validate(method: str, data: tuple[Any, Labels], n_rules: int | None, seed: int) -> Any:
    """Give all settings, and the losses of all rows for each: (n_settings, 3, n_rows)."""
    X, Y = data
    if method not in VARIANTS and isinstance(X, pd.DataFrame):
        X = pd.get_dummies(X).to_numpy(dtype=np.float64)
    if method in BASELINES and not sparse.issparse(X) and np.mean(X != 0) < 0.25:
        X = sparse.csr_array(X)  # zeros are missing to XGBoost then: four times as fast on langlog
    fold_of = np.random.default_rng(seed).permutation(len(Y)) % N_FOLDS
    predict = rule_predictions if method in VARIANTS else baseline_predictions
    losses: list[RowLosses] = []
    settings: list[dict[str, Any]] = []
    for fold in range(N_FOLDS):
        train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        parts = take(X, train), Y[train], take(X, test)
        for i, (setting, predicted) in enumerate(predict(method, parts, n_rules, seed)):
            if fold == 0:
                settings.append(setting)
                losses.append(np.empty((len(MEASURES), len(Y))))
            losses[i][:, test] = row_losses(predicted, Y[test])
    return settings, np.array(losses)


def goal_of(method: str) -> int:
    """Tell which measure a method is tuned for."""
    return 1 if method.startswith(("BR", "lw")) else 0


def choose(settings: list[dict[str, Any]], losses: Any, goal: int, seed: int) -> dict[str, Any]:
    """Choose on rows drawn with replacement, measure on those left out, and average."""
    rng = np.random.default_rng(seed)
    n_rows = losses.shape[2]
    draws, times = np.empty((N_DRAWS, len(MEASURES))), np.zeros(len(settings), dtype=int)
    for draw in range(N_DRAWS):
        counts = np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows)
        best = int(np.argmin(losses[:, goal] @ counts))
        draws[draw] = 100 * losses[best][:, counts == 0].mean(axis=1)
        times[best] += 1
    found = dict(zip(MEASURES, draws.mean(axis=0).tolist()))
    # Methods see the same draws, so that they can be compared draw by draw.
    single = {f"{m} draws": draws[:, i].round(3).tolist() for i, m in enumerate(MEASURES)}
    return {**found, **settings[int(np.argmax(times))], **single}


def read(name: str) -> tuple[Any, Labels]:
    """Read a data set, with dense labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, Y = load(name)
    return X, (Y.toarray() if sparse.issparse(Y) else np.asarray(Y)) == 1
