"""Tables 10 to 12 of Joly et al. 2019 under a time budget.

``python -m benchmarks.papers.boosting_real``.

LRAP (labels) and macro-r2 (numbers) of boosting and forests on the data sets of the paper that are
at hand, random divisions of the paper's sizes, published figures beside ours. A fifth of the
training rows chooses between two settings, and when to stop; the model is not trained again on
them. The settings are trees of 8 leaves with the logistic or the squared loss (labels), and of 2
or 8 leaves with the squared loss (numbers), learning rate 0.1, all features at every node; the
paper's grid has 490. Leaves of the logistic loss are Newton steps, and those of either loss are
drawn to 0 by ``l2_regularization=1``, as by default; the paper has neither. A fit
of a setting ends after ``--seconds`` processor seconds, 2,000 rounds, or 100 rounds
(20 for one tree per output) without a better loss on the rows that choose.

Random forests are 100 trees with the paper's settings; one forest per output (st-rf) is left out
beyond 20 outputs. Rows without labels count as 1 in the LRAP. Every finished run is kept; a second
call goes on where the first was stopped. Of several ``--seconds``, tables show the longest.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import rankdata

from benchmarks.papers import boosting_published as published
from benchmarks.papers.runs import Runs, load, markdown, take
from benchmarks.real_data import REAL_DATA
from polyleaf import (
    BoostingClassifier,
    BoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    projections,
)
from polyleaf.metrics import label_ranking_average_precision_score, macro_r2_score

#: Training rows where the paper does not take half of all.
N_TRAIN = {
    "bibtex": 4880,
    "birds": 322,
    "corel5k": 4500,
    "delicious": 12_920,
    "emotions": 391,
    "enron": 1123,
    "genbase": 463,
    "medical": 333,
    "scene": 1211,
}
ONE_OUTPUT = projections.Subsample(1, first_sees_all=False)
BOOSTING: dict[str, dict[str, Any]] = {
    "st-gbrt": {"projection": "round_robin"},
    "gbmort": {"projection": None},
    "gbrt-relabel-rpo-gaussian": {"projection": projections.Gaussian(1)},
    "gbrt-relabel-rpo-subsampled": {"projection": ONE_OUTPUT},
    "gbrt-rpo-gaussian": {"projection": projections.Gaussian(1), "leaf_fit": "linear"},
    "gbrt-rpo-subsampled": {"projection": ONE_OUTPUT, "leaf_fit": "linear"},
}
MOST_SINGLE_FORESTS = 20


def is_labels(name: str) -> bool:
    """Tell whether a data set has labels."""
    return REAL_DATA[name].task == "multilabel"


def divide(name: str, number: int) -> tuple[Any, ...]:
    """Read and divide a data set: training features and outputs, and for test."""
    X, Y = load(name)
    Y = Y.toarray() if sparse.issparse(Y) else np.asarray(Y)
    n_rows = Y.shape[0]
    order = np.random.default_rng(number).permutation(n_rows)
    n_train = N_TRAIN.get(name, n_rows // 2)
    train, test = np.sort(order[:n_train]), np.sort(order[n_train:])
    return take(X, train), Y[train], take(X, test), Y[test]


def score(name: str, model: Any, X: Any, Y: Any) -> float:
    """Score a model: LRAP of labels, macro-r2 of numbers."""
    if is_labels(name):
        return float(label_ranking_average_precision_score(Y, model.predict_proba(X)))
    return float(macro_r2_score(Y, model.predict(X)))


def boost(name: str, method: str, parts: tuple[Any, ...], seconds: float) -> dict[str, Any]:
    """Choose between two settings, and score the better model."""
    X, Y, X_test, Y_test = parts
    order = np.random.default_rng(0).permutation(Y.shape[0])
    aside, kept = np.sort(order[: Y.shape[0] // 5]), np.sort(order[Y.shape[0] // 5 :])
    choosing = take(X, aside), Y[aside]
    make: Any = BoostingClassifier if is_labels(name) else BoostingRegressor
    settings: list[dict[str, Any]] = (
        [{"loss": "logistic"}, {"loss": "squared_error"}]
        if is_labels(name)
        else [{"max_leaf_nodes": 2}, {"max_leaf_nodes": 8}]
    )
    found = []
    for setting in settings:
        model = make(
            **BOOSTING[method],
            **({"max_leaf_nodes": 8} | setting),
            max_depth=None,
            n_estimators=2000,
            early_stopping=True,
            n_iter_no_change=20 if method == "st-gbrt" else 100,
            random_state=0,
            n_jobs=1,
        )
        end = time.process_time() + seconds
        until = [lambda progress, end=end: time.process_time() > end]
        model.fit(take(X, kept), Y[kept], eval_set=choosing, callbacks=until)
        found.append((score(name, model, *choosing), len(found), model))
    _, chosen, model = max(found, key=lambda entry: entry[0])
    rounds = model.n_estimators_
    return {"score": score(name, model, X_test, Y_test), "setting": chosen, "rounds": rounds}


def grow(name: str, method: str, parts: tuple[Any, ...]) -> dict[str, Any]:
    """Grow and score a forest, or one per output."""
    X, Y, X_test, Y_test = parts
    model: Any
    if is_labels(name):
        model = RandomForestClassifier(max_features="sqrt", projection=None, random_state=0)
    else:
        model = RandomForestRegressor(
            max_features=1 / 3, min_samples_split=5, projection=None, random_state=0
        )
    if method == "mo-rf":
        return {"score": score(name, model.fit(X, Y), X_test, Y_test)}
    predicted = np.zeros(Y_test.shape)
    for j in range(Y.shape[1]):
        model.fit(X, Y[:, [j]])
        shown = model.predict_proba(X_test) if is_labels(name) else model.predict(X_test)
        predicted[:, j] = shown[:, 0]
    if is_labels(name):
        return {"score": float(label_ranking_average_precision_score(Y_test, predicted))}
    return {"score": float(macro_r2_score(Y_test, predicted))}


def scores_of(runs: Runs, name: str, method: str) -> NDArray[np.float64]:
    """Collect the scores of a method, those with most seconds for a fit."""
    rows = [row for row in runs.rows if row["data"] == name and row["method"] == method]
    most = max((row.get("seconds", 0.0) for row in rows), default=0.0)
    return np.array([row["score"] for row in rows if row.get("seconds", 0.0) == most])


def table(runs: Runs, names: list[str], what: str) -> str:
    """Write our scores, the published ones in brackets, and mean ranks of both."""
    rows, ours, theirs = [], [], []
    for name in names:
        means = [scores_of(runs, name, method) for method in published.REAL_METHODS]
        if not any(values.size for values in means):
            continue
        mine = [values.mean() if values.size else np.nan for values in means]
        given = [np.nan if v is None else v for v in published.REAL_DATA[name]]
        rows.append(
            [name]
            + [
                ("-" if np.isnan(a) else f"{a:.3f}") + ("" if np.isnan(b) else f" ({b:.3f})")
                for a, b in zip(mine, given, strict=True)
            ]
        )
        if not np.isnan(np.add(mine, given)[2:6]).any():
            ours.append(rankdata(-np.round(mine, 4)[2:6]))
            theirs.append(rankdata(-np.array(given)[2:6]))
    if ours:
        means_of_both = zip(np.mean(ours, axis=0), np.mean(theirs, axis=0), strict=True)
        ranks = [f"{a:.1f} ({b:.1f})" for a, b in means_of_both]
        rows.append(["mean rank among the four", "", "", *ranks, "", ""])
    return markdown([what, *published.REAL_METHODS], rows)


def main() -> None:
    """Measure what is missing, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--data", nargs="+", default=list(published.REAL_DATA))
    parser.add_argument("--only-table", action="store_true")
    options = parser.parse_args()
    runs = Runs("boosting_real")
    for number in range(0 if options.only_table else options.splits):
        for name in options.data:
            parts = divide(name, number)
            for method in published.REAL_METHODS:
                key = {"data": name, "method": method, "split": number}
                if method in BOOSTING:
                    key["seconds"] = options.seconds
                    runs.measure(key, lambda: boost(name, method, parts, options.seconds))  # noqa: B023
                elif method == "mo-rf" or parts[1].shape[1] <= MOST_SINGLE_FORESTS:
                    runs.measure(key, lambda: grow(name, method, parts))  # noqa: B023
    for what in ("LRAP", "macro-r2"):
        measured = {row["data"] for row in runs.rows}
        names = [n for n in published.REAL_DATA if is_labels(n) == (what == "LRAP")]
        if measured.intersection(names):
            print(table(runs, names, what) + "\n")


if __name__ == "__main__":
    main()
