"""Defaults against defaults on real data: ``python -m benchmarks.boosting_ranks``.

BoostingRegressor and BoostingClassifier, XGBoost, CatBoost (MultiRMSE, MultiLogloss) and LightGBM
(one model per output), all with their default settings and one thread, on the same rows: at most
``--rows`` of each data set, two thirds of them for training, and as many divisions as ``--folds``
says. Where a rival would take longer than ``--cap`` processor seconds (estimated from a fit of a
few rounds), it gets fewer rounds; the table says how many. Every finished run is kept; a second
call goes on where the first was stopped.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import rankdata
from sklearn.metrics import label_ranking_average_precision_score
from sklearn.multioutput import MultiOutputRegressor

from benchmarks.papers.runs import Runs, markdown
from benchmarks.real_data import REAL_DATA, data_folder
from polyleaf.metrics import macro_r2_score

DATA = (
    "rf1",
    "wq",
    "atp1d",
    "bibtex",
    "yeast",
    "scene",
    "enron",
    "medical",
    "delicious",
    "corel5k",
)
#: Rounds by default.
N_ROUNDS = {"polyleaf": 0, "xgboost": 100, "catboost": 1000, "lightgbm": 100}


class PerLabel:
    """LightGBM for every label; the ones that do not vary are predicted as they are."""

    def __init__(self, n_rounds: int) -> None:
        self.n_rounds = n_rounds

    def fit(self, X: Any, Y: NDArray[Any]) -> PerLabel:
        """Fit a model per label that varies."""
        from lightgbm import LGBMClassifier

        self.models = [
            LGBMClassifier(n_estimators=self.n_rounds, n_jobs=1, verbosity=-1).fit(X, y)
            if y.min() < y.max()
            else float(y[0])
            for y in Y.T
        ]
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities of the labels."""
        columns = [
            np.full(len(X), model) if isinstance(model, float) else model.predict_proba(X)[:, 1]
            for model in self.models
        ]
        return np.column_stack(columns)


class VaryingLabels:
    """A classifier on the labels that vary; CatBoost refuses the others."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, Y: NDArray[Any]) -> VaryingLabels:
        """Fit the model."""
        self.constants = Y[0].astype(float)
        self.varies = Y.min(axis=0) < Y.max(axis=0)
        self.model.fit(X, Y[:, self.varies])
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities of the labels."""
        predicted = np.tile(self.constants, (len(X), 1))
        predicted[:, self.varies] = self.model.predict_proba(X)
        return predicted


def make_polyleaf(is_labels: bool, n_rounds: int) -> Any:
    """Take polyleaf's defaults."""
    from polyleaf import BoostingClassifier, BoostingRegressor

    return (BoostingClassifier if is_labels else BoostingRegressor)(n_jobs=1, random_state=0)


def make_xgboost(is_labels: bool, n_rounds: int) -> Any:
    """Take XGBoost's defaults."""
    from xgboost import XGBClassifier, XGBRegressor

    return (XGBClassifier if is_labels else XGBRegressor)(n_estimators=n_rounds, n_jobs=1)


def make_catboost(is_labels: bool, n_rounds: int) -> Any:
    """Take CatBoost's defaults, with its losses of several targets."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    model = (CatBoostClassifier if is_labels else CatBoostRegressor)(
        iterations=n_rounds,
        loss_function="MultiLogloss" if is_labels else "MultiRMSE",
        thread_count=1,
        random_seed=0,
        allow_writing_files=False,
        verbose=False,
    )
    return VaryingLabels(model) if is_labels else model


def make_lightgbm(is_labels: bool, n_rounds: int) -> Any:
    """Take LightGBM's defaults for every output."""
    from lightgbm import LGBMRegressor

    if is_labels:
        return PerLabel(n_rounds)
    return MultiOutputRegressor(LGBMRegressor(n_estimators=n_rounds, n_jobs=1, verbosity=-1))


METHODS: dict[str, Callable[[bool, int], Any]] = {
    "polyleaf": make_polyleaf,
    "xgboost": make_xgboost,
    "catboost": make_catboost,
    "lightgbm": make_lightgbm,
}


def load(name: str, n_rows: int, fold: int) -> tuple[Any, ...]:
    """Read and divide a data set; X becomes dense float32."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("Set POLYLEAF_DATA to the folder of data sets.")
    data = REAL_DATA[name].load(folder)
    X: Any = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X, dtype=float)
    Y: Any = data.Y.toarray() if sparse.issparse(data.Y) else np.asarray(data.Y)
    order = np.random.default_rng(fold).permutation(len(X))[:n_rows]
    train, test = order[: len(order) * 2 // 3], order[len(order) * 2 // 3 :]
    X = X.astype(np.float32)
    return X[train], Y[train], X[test], Y[test]


def rounds_within(cap: float, method: str, is_labels: bool, X: Any, Y: Any) -> int:
    """Estimate how many rounds fit into `cap` seconds, by the difference of two short fits."""
    most = N_ROUNDS[method]
    if not most:
        return 0
    seconds = []
    for n_rounds in (1, 4):
        start = time.process_time()
        METHODS[method](is_labels, n_rounds).fit(X, Y)
        seconds.append(time.process_time() - start)
    per_round = max(1e-4, (seconds[1] - seconds[0]) / 3)
    return int(np.clip((cap - seconds[0]) / per_round, 1, most))


def measure(name: str, method: str, n_rows: int, fold: int, cap: float) -> dict[str, Any]:
    """Train and score one method on one division."""
    X, Y, X_test, Y_test = load(name, n_rows, fold)
    is_labels = REAL_DATA[name].task == "multilabel"
    n_rounds = rounds_within(cap, method, is_labels, X, Y)
    start = time.process_time()
    model = METHODS[method](is_labels, n_rounds).fit(X, Y)
    seconds = time.process_time() - start
    if is_labels:
        scores = np.asarray(model.predict_proba(X_test))
        score = label_ranking_average_precision_score(Y_test, scores)
    else:
        score = macro_r2_score(Y_test, np.asarray(model.predict(X_test)))
    chosen = repr(getattr(model, "projection_", ""))
    return {"score": float(score), "rounds": n_rounds, "seconds": seconds, "chosen": chosen}


def table(runs: Runs, n_rows: int) -> str:
    """Write scores, ranks and seconds."""
    rows, ranks = [], []
    for name in DATA:
        scores = [runs.values("score", data=name, method=m, rows=n_rows) for m in METHODS]
        n_folds = min(len(s) for s in scores)
        if not n_folds:
            continue
        means = [float(np.mean(s[:n_folds])) for s in scores]
        ranks.append(rankdata(-np.round(means, 4)))
        seconds = [
            float(np.mean(runs.values("seconds", data=name, method=m, rows=n_rows)[:n_folds]))
            for m in METHODS
        ]
        cut = [
            int(np.min(runs.values("rounds", data=name, method=m, rows=n_rows))) for m in METHODS
        ]
        cells = [
            f"{mean:.3f} ({s:.1f} s" + (f", {r} rounds" if r < N_ROUNDS[m] else "") + ")"
            for m, mean, s, r in zip(METHODS, means, seconds, cut, strict=True)
        ]
        rows.append([name, str(n_folds), *cells])
    if not rows:
        return "No data set has been measured with all methods yet."
    mean_ranks = [f"**{rank:.2f}**" for rank in np.mean(ranks, axis=0)]
    return markdown(["data", "folds", *METHODS], [*rows, ["mean rank", "", *mean_ranks]])


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--cap", type=float, default=40.0, help="runs of each cap are kept apart")
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--only-table", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    runs = Runs(f"boosting_ranks_{options.cap:g}s")
    for fold in range(0 if options.only_table else options.folds):
        for name in options.data:
            for method in options.methods:
                key = {"data": name, "method": method, "rows": options.rows, "fold": fold}
                runs.measure(
                    key,
                    lambda: measure(name, method, options.rows, fold, options.cap),  # noqa: B023
                )
    print(table(runs, options.rows))


if __name__ == "__main__":
    main()
