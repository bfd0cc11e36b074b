"""One model of mixed kinds beside a model per output, on the same rows.

    python -m benchmarks.mixed            # births2, if it is there, and generated data
    python -m benchmarks.mixed --folds 2 --rows 1000

A model per output is the regressor or classifier of its kind (`BoostingMixed` of one column is
`BoostingRegressor` or `BoostingClassifier`, bit by bit). The score of an output is what takes off
the squared error of the trivial prediction: r2 for numbers and counts, the Brier skill score for
classes and labels. Related outputs are noisy views of three hidden numbers, which trees find in
ten features; unrelated ones depend on features of their own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

import polyleaf
from benchmarks.real_data import REAL_DATA, data_folder

MODELS: dict[str, Any] = {
    "RandomForestMixed": {"n_estimators": 100},
    "ExtraTreesMixed": {"n_estimators": 100},
    "BoostingMixed": {"n_estimators": 200},
}


def generated(n_rows: int, related: bool, seed: int) -> tuple[Any, pd.DataFrame, dict[str, str]]:
    """Make eight outputs of four kinds: X, Y and the kinds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 10))
    hidden = np.column_stack(
        [X[:, 0] * X[:, 1], np.sin(2 * X[:, 2]) + X[:, 0], np.abs(X[:, 3]) - X[:, 1]]
    )
    columns = {}
    for j, kind in enumerate(
        ("number", "number", "count", "count", "class", "class", "label", "label")
    ):
        if related:
            signal = hidden @ rng.normal(size=3)
        else:
            signal = X[:, j + 1] * X[:, (j + 5) % 10] + X[:, j + 2]
        signal = signal / signal.std() + rng.normal(size=n_rows)
        name = f"{kind}{j}"
        if kind == "number":
            columns[name] = 100 * signal
        elif kind == "count":
            columns[name] = rng.poisson(np.exp(0.8 * signal.clip(-3, 3)))
        elif kind == "class":
            columns[name] = np.array(["low", "middle", "high"])[np.digitize(signal, [-0.7, 0.7])]
        else:
            columns[name] = signal > 1.0
    Y = pd.DataFrame(columns)
    return X, Y, {name: name[:-1] for name in Y}


def births2(n_rows: int, seed: int) -> tuple[Any, pd.DataFrame, dict[str, str]]:
    """Read birth weight, a score of health, and two conditions of children."""
    data = REAL_DATA["births2"].load(data_folder())
    rows = np.random.default_rng(seed).permutation(data.X.shape[0])[:n_rows]
    Y = pd.DataFrame(np.asarray(data.Y)[rows], columns=list(data.output_names))
    kinds = ["number", "number", "label", "label"]
    return np.asarray(data.X)[rows], Y, dict(zip(Y, kinds))


def scores(
    name: str, data: tuple[Any, pd.DataFrame, dict[str, str]], folds: int
) -> dict[str, tuple[pd.Series, float]]:
    """Give the mean score of each output, and seconds, for one model and for one per output."""
    X, Y, kinds = data
    found: dict[str, list[Any]] = {"mixed": [], "separate": []}
    seconds = dict.fromkeys(found, 0.0)
    cls = getattr(polyleaf, name)
    for train, test in KFold(folds, shuffle=True, random_state=0).split(X):
        for way, groups in (("mixed", [list(Y)]), ("separate", [[c] for c in Y])):
            start, row = time.perf_counter(), {}
            for columns in groups:
                model = cls(random_state=0, n_jobs=-1, **MODELS[name])
                told = {column: kinds[column] for column in columns}
                model.fit(X[train], Y[columns].iloc[train], target_types=told)
                measured = model.output_scores(X[test], Y[columns].iloc[test])
                row |= {column: each["score"] for column, each in measured.items()}
            seconds[way] += time.perf_counter() - start
            found[way].append(row)
    return {way: (pd.DataFrame(rows).mean(), seconds[way]) for way, rows in found.items()}


def problems(n_rows: int, seeds: int) -> Iterator[tuple[str, Any]]:
    """Yield names and data."""
    try:
        yield "births2", births2(4 * n_rows, 0)
    except (FileNotFoundError, OSError, KeyError, ValueError) as error:
        print(f"births2 is not there ({error:.60}).")
    for related in (True, False):
        for seed in range(seeds):
            word = "related" if related else "unrelated"
            yield f"{word} {seed}", generated(n_rows, related, seed)


def main() -> None:
    """Print a table per problem and model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    print(f"{'problem':14}{'model':20}{'mixed':>8}{'separate':>10}{'won':>7}{'seconds':>16}")
    for title, data in problems(arguments.rows, arguments.seeds):
        for name in MODELS:
            both = scores(name, data, arguments.folds)
            one, own = both["mixed"][0], both["separate"][0]
            won = f"{int((one > own).sum())}/{one.size}"
            spent = f"{both['mixed'][1]:.1f} / {both['separate'][1]:.1f}"
            print(f"{title:14}{name:20}{one.mean():8.3f}{own.mean():10.3f}{won:>7}{spent:>16}")


if __name__ == "__main__":
    main()
