"""What categories of noise cost, and what those that matter bring: polyleaf and rivals.

    python -m benchmarks.noisy_categories made      # made problems, rivals beside
    python -m benchmarks.noisy_categories real      # public data with categories

Made problems have ten numbers, five of which matter (Friedman 1), and 200 levels in two more
columns, which are noise, or of which one shifts the targets. Scores are macro r2 on 2,000 other
rows, after 100 rounds or with 100 trees. Rivals that know one target are fitted once for each.
The number behind a name is `category_penalty`.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import label_ranking_average_precision_score, r2_score
from sklearn.model_selection import KFold
from sklearn.multioutput import MultiOutputRegressor

import polyleaf
from benchmarks.real_data import REAL_DATA, data_folder

N_LEVELS, N_TEST = 200, 2000
#: Columns of categories of a made problem, and how far the levels of the first shift the targets.
COLUMNS = {"none": (0, 0.0), "noise": (2, 0.0), "one matters": (2, 3.0)}
REAL = (
    "flags",
    "foodtruck",
    "birds",
    "thyroid-L7",
    "hmc-pheno-fun",
    "sf1",
    "sf2",
    "collembola",
    "eco-mite",
)


def made_problem(n_rows: int, n_targets: int, columns: str, seed: int) -> tuple[Any, ...]:
    """Make training and test rows: X_train, X_test, Y_train, Y_test."""
    rng = np.random.default_rng(seed)
    n = n_rows + N_TEST
    numbers = rng.random((n, 10))
    terms = np.column_stack(
        [
            10 * np.sin(np.pi * numbers[:, 0] * numbers[:, 1]),
            20 * (numbers[:, 2] - 0.5) ** 2,
            10 * numbers[:, 3],
            5 * numbers[:, 4],
        ]
    )
    weights = np.ones((4, 1)) if n_targets == 1 else rng.uniform(-1, 1, (4, n_targets))
    signal = terms @ weights
    n_columns, shift = COLUMNS[columns]
    levels = rng.integers(0, N_LEVELS, (n, n_columns))
    if shift:
        signal = signal + shift * rng.normal(size=(N_LEVELS, n_targets))[levels[:, 0]]
    Y = signal + 0.5 * signal.std(0) * rng.normal(size=(n, n_targets))
    X = pd.DataFrame(numbers, columns=[f"x{i}" for i in range(10)])
    for i in range(n_columns):
        X[f"c{i}"] = pd.Categorical(levels[:, i], categories=range(N_LEVELS))
    return X[:n_rows], X[n_rows:], Y[:n_rows], Y[n_rows:]


def methods(seed: int, penalties: list[float]) -> dict[str, Any]:
    """Name the regressors that are compared."""
    found: dict[str, Any] = {}
    for family in ("Boosting", "RandomForest", "BaggedTrees", "ExtraTrees"):
        for penalty in penalties[: 1 if family == "ExtraTrees" else None]:  # it draws subsets
            model = getattr(polyleaf, f"{family}Regressor")
            found[f"{family}, {penalty:g}"] = model(
                category_penalty=penalty, n_estimators=100, random_state=seed, n_jobs=2
            )
    rival = LGBMRegressor(random_state=seed, verbose=-1, n_jobs=2)
    found["LightGBM"] = MultiOutputRegressor(rival)
    rival = HistGradientBoostingRegressor(random_state=seed, early_stopping=False)
    found["HistGradientBoosting"] = MultiOutputRegressor(rival)
    return found


def show(title: str, columns: list[str], table: dict[str, list[list[float]]]) -> None:
    """Print means over seeds or folds, a row per method."""
    print(f"\n## {title}\n")
    print("| method | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name, cells in table.items():
        print(f"| {name} | " + " | ".join(f"{np.mean(cell):.3f}" for cell in cells) + " |")


def run_made(n_seeds: int, penalties: list[float]) -> None:
    """Measure the made problems, rivals beside."""
    for n_rows, n_targets in ((600, 1), (600, 5), (3000, 5)):
        table: dict[str, list[list[float]]] = {}
        for seed in range(n_seeds):
            for at, columns in enumerate(COLUMNS):
                X, X_test, Y, Y_test = made_problem(n_rows, n_targets, columns, seed)
                for name, method in methods(seed, penalties).items():
                    cells = table.setdefault(name, [[] for _ in COLUMNS])
                    cells[at].append(r2_score(Y_test, method.fit(X, Y).predict(X_test)))
        show(f"{n_rows} rows, targets: {n_targets}; macro r2", list(COLUMNS), table)


def run_real(n_seeds: int, penalties: list[float]) -> None:
    """Measure public data with categories; a row per family and penalty."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("The public data are not here; see benchmarks/real_data.py.")
    table: dict[str, list[list[float]]] = {}
    for at, name in enumerate(REAL):
        data = REAL_DATA[name].load(folder)
        Y = np.asarray(data.Y.todense() if hasattr(data.Y, "todense") else data.Y)
        is_regression = REAL_DATA[name].task == "regression"
        n_divisions = 1 if data.X.shape[0] > 5000 or Y.shape[1] > 100 else n_seeds
        for family in ("Boosting", "RandomForest", "BaggedTrees", "Tree"):
            estimator = getattr(
                polyleaf, family + ("Regressor" if is_regression else "Classifier")
            )
            size = {} if family == "Tree" else {"n_estimators": 100, "n_jobs": 2}
            for penalty in penalties:
                model = estimator(random_state=0, category_penalty=penalty, **size)
                cells = table.setdefault(f"{family}, {penalty:g}", [[] for _ in REAL])
                for seed in range(n_divisions):
                    cells[at] += _folds(model, data.X, Y, is_regression, seed)
    title = "public data: macro r2, label ranking average precision, or accuracy (thyroid-L7)"
    show(title, list(REAL), table)


def _folds(model: Any, X: Any, Y: Any, is_regression: bool, seed: int) -> list[float]:
    scores: list[float] = []
    for train, test in KFold(3, shuffle=True, random_state=seed).split(X):
        fitted = clone(model).fit(X.iloc[train], Y[train])
        if is_regression:
            varies = Y[test].std(0) > 0
            scores.append(r2_score(Y[test][:, varies], fitted.predict(X.iloc[test])[:, varies]))
        elif Y.dtype.kind in "US":
            scores.append(float((fitted.predict(X.iloc[test]) == Y[test]).mean()))
        else:
            shown = fitted.predict_proba(X.iloc[test])
            scores.append(label_ranking_average_precision_score(Y[test] > 0.5, shown))
    return scores


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["made", "real"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--penalties", type=float, nargs="*", default=[0.0, 1.25])
    chosen = parser.parse_args()
    run = run_made if chosen.part == "made" else run_real
    run(chosen.seeds, chosen.penalties)


if __name__ == "__main__":
    main()
