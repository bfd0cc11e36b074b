"""Time of predictions beside other libraries: ``python -m benchmarks.prediction``.

100 trees of depth 6 are fitted to 28 normal features and d outputs (XGBoost: trees with vector
leaves), and forests of 100 deep trees to 16 outputs. Every library predicts the same C-ordered
float64 rows with the same number of threads, in one process, by turns; the quickest of several
calls counts. LightGBM has one output per model: its time for d outputs is that of d models, which
is d times that of one (``--lightgbm-outputs`` fits that many at most and scales).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_FEATURES, N_TREES, DEPTH = 28, 100, 6
Predict = Callable[[NDArray[np.float64]], Any]


def make_data(n_rows: int, n_outputs: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw normal features and outputs with interactions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_FEATURES))
    signal = np.tanh(X[:, :12]) @ rng.normal(size=(12, n_outputs))
    signal += (X[:, :6] * X[:, 6:12]) @ rng.normal(size=(6, n_outputs))
    return X, signal + rng.normal(size=signal.shape)


def boosted(X: Any, Y: Any, n_threads: int, most_lightgbm: int) -> dict[str, Predict]:
    """Fit every library that is installed."""
    from polyleaf import BoostingRegressor

    y = Y[:, 0] if Y.shape[1] == 1 else Y
    ours = BoostingRegressor(
        n_estimators=N_TREES, max_depth=DEPTH, n_jobs=n_threads, random_state=0
    ).fit(X, y)
    models: dict[str, Predict] = {"polyleaf": ours.predict}
    try:
        from catboost import CatBoostRegressor

        loss = "RMSE" if Y.shape[1] == 1 else "MultiRMSE"
        cat = CatBoostRegressor(
            iterations=N_TREES,
            depth=DEPTH,
            loss_function=loss,
            thread_count=2,
            verbose=False,
            allow_writing_files=False,
        ).fit(X, y)
        models["CatBoost"] = lambda rows: cat.predict(rows, thread_count=n_threads)
    except ImportError:
        pass
    try:
        from xgboost import XGBRegressor

        strategy = {} if Y.shape[1] == 1 else {"multi_strategy": "multi_output_tree"}
        xgb = XGBRegressor(
            n_estimators=N_TREES, max_depth=DEPTH, tree_method="hist", n_jobs=2, **strategy
        ).fit(X, y)
        xgb.set_params(n_jobs=n_threads)
        xgb.get_booster().set_param({"nthread": n_threads})
        models["XGBoost"] = xgb.predict
    except ImportError:
        pass
    try:
        from lightgbm import LGBMRegressor

        n_fitted = min(Y.shape[1], most_lightgbm)
        each = [
            LGBMRegressor(
                n_estimators=N_TREES, max_depth=DEPTH, num_leaves=64, n_jobs=2, verbosity=-1
            ).fit(X, Y[:, j])
            for j in range(n_fitted)
        ]

        def predict_each(rows: NDArray[np.float64]) -> None:
            for model in each:
                model.predict(rows, num_threads=n_threads)

        scale = "" if n_fitted == Y.shape[1] else f" x{Y.shape[1] / n_fitted:g}"
        models["LightGBM" + scale] = predict_each
    except ImportError:
        pass
    return models


def forests(X: Any, Y: Any, n_threads: int) -> dict[str, Predict]:
    """Fit our forest and scikit-learn's."""
    from sklearn.ensemble import RandomForestRegressor as Theirs

    from polyleaf import RandomForestRegressor

    settings = {"n_estimators": 100, "random_state": 0, "n_jobs": 2}
    ours = RandomForestRegressor(**settings).fit(X, Y)
    theirs = Theirs(max_features=1 / 3, **settings).fit(X, Y)
    for model in (ours, theirs):
        model.set_params(n_jobs=n_threads)
    return {"polyleaf": ours.predict, "scikit-learn": theirs.predict}


def measure(models: dict[str, Predict], rows: NDArray[np.float64]) -> dict[str, float]:
    """Time every model in turns: milliseconds of the quickest call."""
    times = dict.fromkeys(models, np.inf)
    for predict in models.values():
        predict(rows)  # what is made once, is made
    end = time.perf_counter() + 1.0
    for turn in range(200):
        for name, predict in models.items():
            start = time.perf_counter()
            predict(rows)
            times[name] = min(times[name], 1e3 * (time.perf_counter() - start))
        if turn >= 2 and time.perf_counter() > end:
            break
    return times


def show(title: str, times: dict[str, float]) -> None:
    """Print a line of the table, with ratios to our time."""
    scaled = {
        name.split(" x")[0]: ms * float(name.split(" x")[1] if " x" in name else 1)
        for name, ms in times.items()
    }
    ours = scaled["polyleaf"]
    cells = [f"{name} {ms:.3f} ({ms / ours:.1f}x)" for name, ms in scaled.items()]
    print(f"{title}: " + ", ".join(cells), flush=True)


def main() -> None:
    """Measure and print milliseconds and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=int, nargs="*", default=[1, 16, 100])
    parser.add_argument("--rows", type=int, nargs="*", default=[1, 100, 5000, 20000, 1000000])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--train-rows", type=int, default=5000)
    parser.add_argument("--lightgbm-outputs", type=int, default=2)
    parser.add_argument("--no-forests", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    queries, _ = make_data(max(options.rows), 1)
    print(f"milliseconds, {options.threads} thread(s), {N_TREES} trees")
    for d in options.outputs:
        X, Y = make_data(options.train_rows, d)
        models = boosted(X, Y, options.threads, options.lightgbm_outputs)
        for n in options.rows:
            show(f"depth {DEPTH}, d = {d}, {n} rows", measure(models, queries[:n]))
    if options.no_forests:
        return
    X, Y = make_data(options.train_rows, 16)
    models = forests(X, Y, options.threads)
    for n in [n for n in options.rows if n <= 20000]:
        show(f"forest, d = 16, {n} rows", measure(models, queries[:n]))


if __name__ == "__main__":
    main()
