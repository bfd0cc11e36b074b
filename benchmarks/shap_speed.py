"""Shapley values of polyleaf, shap, XGBoost and LightGBM: microseconds per row and tree.

Every library explains its own model, with the same number of trees of the same depth, on the same
rows, with one thread. Libraries that are not installed are left out, so that two environments can
share the work.

    python -m benchmarks.shap_speed --outputs 1 16 100
    python -m benchmarks.shap_speed --only xgboost lightgbm
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

N_TREES, DEPTH, N_FEATURES, N_TRAIN = 100, 6, 20, 5000


def make_data(n_outputs: int) -> tuple[Any, Any]:
    """Make rows whose outputs are sums and products of a few features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_TRAIN, N_FEATURES)).astype(np.float32)
    mixed = X @ rng.normal(size=(N_FEATURES, n_outputs)) + (X[:, :5] * X[:, 5:10]) @ rng.normal(
        size=(5, n_outputs)
    )
    return X, mixed.astype(np.float32)


def polyleaf_task(X: Any, Y: Any) -> Callable[[Any], Any]:
    """Explain a boosted model, all outputs in one tree per round."""
    from polyleaf import BoostingRegressor
    from polyleaf.inspection import shap_values

    model = BoostingRegressor(
        n_estimators=N_TREES, max_depth=DEPTH, max_leaf_nodes=None, early_stopping=False,
        n_jobs=1, random_state=0,
    ).fit(X, Y)  # fmt: skip
    return lambda rows: shap_values(model, rows).values


def shap_task(X: Any, Y: Any) -> Callable[[Any], Any]:
    """Explain the same trees with the shap package."""
    import shap

    from polyleaf import BoostingRegressor
    from polyleaf.inspection import to_shap

    model = BoostingRegressor(
        n_estimators=N_TREES, max_depth=DEPTH, max_leaf_nodes=None, early_stopping=False,
        n_jobs=1, random_state=0,
    ).fit(X, Y)  # fmt: skip
    explainer = shap.TreeExplainer(to_shap(model), feature_perturbation="tree_path_dependent")
    return lambda rows: explainer.shap_values(rows, check_additivity=False)


def xgboost_task(X: Any, Y: Any) -> Callable[[Any], Any]:
    """Explain XGBoost's trees with a vector in every leaf."""
    import xgboost

    settings = {"max_depth": DEPTH, "nthread": 1, "tree_method": "hist", "eta": 0.1}
    if Y.shape[1] > 1:
        settings["multi_strategy"] = "multi_output_tree"
    model = xgboost.train(settings, xgboost.DMatrix(X, Y), num_boost_round=N_TREES)
    return lambda rows: model.predict(xgboost.DMatrix(rows, nthread=1), pred_contribs=True)


def lightgbm_task(X: Any, Y: Any) -> Callable[[Any], Any]:
    """Explain LightGBM's trees; it has one output."""
    import lightgbm

    if Y.shape[1] > 1:
        raise NotImplementedError("LightGBM has one output.")
    settings = {
        "max_depth": DEPTH, "num_leaves": 2**DEPTH, "num_threads": 1, "verbosity": -1,
        "learning_rate": 0.1, "objective": "regression",
    }  # fmt: skip
    model = lightgbm.train(settings, lightgbm.Dataset(X, Y[:, 0]), num_boost_round=N_TREES)
    return lambda rows: model.predict(rows, pred_contrib=True, num_threads=1)


TASKS = {
    "polyleaf": (polyleaf_task, "polyleaf"),
    "shap": (shap_task, "shap"),
    "xgboost": (xgboost_task, "xgboost"),
    "lightgbm": (lightgbm_task, "lightgbm"),
}


def seconds(explain: Callable[[Any], Any], rows: Any) -> float:
    """Time a call; the best of two."""
    explain(rows[:2])
    best = np.inf
    for _ in range(2):
        start = time.perf_counter()
        explain(rows)
        best = min(best, time.perf_counter() - start)
        if best > 10:
            break
    return best


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=int, nargs="+", default=[1, 16, 100])
    parser.add_argument("--only", nargs="+", choices=list(TASKS), default=list(TASKS))
    given = parser.parse_args()
    print("| library | outputs | rows | microseconds per row and tree |")
    print("|---|---|---|---|")
    for n_outputs in given.outputs:
        X, Y = make_data(n_outputs)
        for name in given.only:
            make, package = TASKS[name]
            if importlib.util.find_spec(package) is None:
                continue
            try:
                explain = make(X, Y)
            except NotImplementedError:
                continue
            is_slow = name in ("shap", "xgboost") and n_outputs > 1
            rows = X[: 20 if is_slow else 500]
            took = seconds(explain, rows)
            each = took / len(rows) / N_TREES * 1e6
            print(f"| {name} | {n_outputs} | {len(rows)} | {each:.3g} |", flush=True)


if __name__ == "__main__":
    main()
