"""Time of predictions beside other libraries: ``python -m benchmarks.prediction``.

100 trees of depth 6 are fitted to 28 normal features and d outputs (XGBoost: trees with vector
leaves), and forests of 100 deep trees to 16 outputs. Every library predicts the same C-ordered
float64 rows with the same number of threads, in one process, by turns; the quickest of several
calls counts. LightGBM has one output per model: its time for d outputs is that of d models, which
is d times that of one (``--lightgbm-outputs`` fits that many at most and scales). ``--models``
keeps the fitted models, so that ``--fit-only`` can come before a measurement.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import joblib
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


def fit_boosted(X: Any, Y: Any, most_lightgbm: int) -> dict[str, Any]:
    """Fit every library that is installed: its name and its model."""
    from polyleaf import BoostingRegressor

    y = Y[:, 0] if Y.shape[1] == 1 else Y
    ours = BoostingRegressor(n_estimators=N_TREES, max_depth=DEPTH, n_jobs=2, random_state=0)
    models: dict[str, Any] = {"polyleaf": ours.fit(X, y)}
    try:
        from catboost import CatBoostRegressor

        models["CatBoost"] = CatBoostRegressor(
            iterations=N_TREES,
            depth=DEPTH,
            loss_function="RMSE" if Y.shape[1] == 1 else "MultiRMSE",
            thread_count=2,
            verbose=False,
            allow_writing_files=False,
        ).fit(X, y)
    except ImportError:
        pass
    try:
        from xgboost import XGBRegressor

        strategy = {} if Y.shape[1] == 1 else {"multi_strategy": "multi_output_tree"}
        models["XGBoost"] = XGBRegressor(
            n_estimators=N_TREES, max_depth=DEPTH, tree_method="hist", n_jobs=2, **strategy
        ).fit(X, y)
    except ImportError:
        pass
    try:
        from lightgbm import LGBMRegressor

        models["LightGBM"] = [
            LGBMRegressor(
                n_estimators=N_TREES, max_depth=DEPTH, num_leaves=64, n_jobs=2, verbosity=-1
            ).fit(X, Y[:, j])
            for j in range(min(Y.shape[1], most_lightgbm))
        ]
    except ImportError:
        pass
    return models


def predict_with(models: dict[str, Any], n_threads: int) -> dict[str, Predict]:
    """Return how each library predicts with that many threads."""
    calls: dict[str, Predict] = {}
    for name, model in models.items():
        if name == "CatBoost":
            calls[name] = partial(model.predict, thread_count=n_threads)
        elif name == "LightGBM":
            calls[name] = partial(predict_each, model, n_threads)
        else:
            model.set_params(n_jobs=n_threads)
            if name == "XGBoost":
                model.get_booster().set_param({"nthread": n_threads})
            calls[name] = model.predict
    return calls


def predict_each(models: list[Any], n_threads: int, rows: NDArray[np.float64]) -> None:
    """Predict with a model per output."""
    for model in models:
        model.predict(rows, num_threads=n_threads)


def fit_forests(X: Any, Y: Any, _: int) -> dict[str, Any]:
    """Fit our forest and scikit-learn's."""
    from sklearn.ensemble import RandomForestRegressor as Theirs

    from polyleaf import RandomForestRegressor

    settings: dict[str, Any] = {"n_estimators": 100, "random_state": 0, "n_jobs": 2}
    return {
        "polyleaf": RandomForestRegressor(**settings).fit(X, Y),
        "scikit-learn": Theirs(max_features=1 / 3, **settings).fit(X, Y),
    }


def fitted(name: str, folder: Path | None, fit: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Fit models, or take those that an earlier run of the same versions left in the folder."""
    path = folder / f"{name}.joblib" if folder else None
    if path is not None and path.exists():
        return dict(joblib.load(path))
    models = fit()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        joblib.dump(models, path)
    return models


def measure(
    models: dict[str, Predict], rows: NDArray[np.float64], clock: Callable[[], float]
) -> dict[str, float]:
    """Time every model in turns: milliseconds of the quickest call."""
    times = dict.fromkeys(models, np.inf)
    for predict in models.values():
        predict(rows)  # what is made once, is made
    end = time.perf_counter() + 1.0
    for turn in range(200):
        for name, predict in models.items():
            start = clock()
            predict(rows)
            times[name] = min(times[name], 1e3 * (clock() - start))
        if turn >= 2 and time.perf_counter() > end:
            break
    return times


def show(title: str, times: dict[str, float], scale: dict[str, float]) -> None:
    """Print a line of the table, with ratios to our time."""
    scaled = {name: ms * scale.get(name, 1.0) for name, ms in times.items()}
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
    parser.add_argument("--models", type=Path, help="folder that keeps the fitted models")
    parser.add_argument("--fit-only", action="store_true")
    parser.add_argument(
        "--processor-time", action="store_true", help="for a busy machine, with one thread"
    )
    options = parser.parse_args()
    clock = time.process_time if options.processor_time else time.perf_counter
    warnings.filterwarnings("ignore")
    tasks: list[tuple[str, int, Callable[..., dict[str, Any]]]] = [
        (f"depth {DEPTH}, d = {d}", d, fit_boosted) for d in options.outputs
    ]
    if not options.no_forests:
        tasks.append(("forest, d = 16", 16, fit_forests))
    queries, _ = make_data(max(options.rows), 1)
    kind_of_time = "of the processor" if options.processor_time else "by the clock"
    print(f"milliseconds {kind_of_time}, {options.threads} thread(s), {N_TREES} trees")
    for title, d, fit in tasks:
        X, Y = make_data(options.train_rows, d)
        kind = "boosted" if fit is fit_boosted else "forests"
        models = fitted(
            f"{kind}_{d}_{options.train_rows}",
            options.models,
            partial(fit, X, Y, options.lightgbm_outputs),
        )
        if options.fit_only:
            continue
        scale = {"LightGBM": d / len(models["LightGBM"])} if "LightGBM" in models else {}
        calls = predict_with(models, options.threads)
        for n in options.rows:
            if kind == "forests" and n > 20000:
                continue
            show(f"{title}, {n} rows", measure(calls, queries[:n], clock), scale)


if __name__ == "__main__":
    main()
