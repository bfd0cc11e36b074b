"""Writes rival_trees.json: trees of XGBoost and LightGBM, and their own Shapley values.

    python tests/inspection/rival_trees.py

in an environment that has both (`make bench` makes one). Squared loss, so that the Hessians by
which they weigh branches are counts of rows. A node goes left where x <= threshold.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

PATH = Path(__file__).with_suffix(".json")
N_ROWS, N_EXPLAINED, N_TREES, DEPTH = 400, 12, 8, 5


def make_data() -> tuple[Any, Any]:
    """Make rows with missing values, and three targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 5)).astype(np.float32).round(3)
    Y = np.column_stack([X[:, 0] * X[:, 1], X[:, 2] + X[:, 0], np.abs(X[:, 3])])
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, Y.astype(np.float32)


def xgboost_model(X: Any, Y: Any) -> dict[str, Any]:
    """Boost with XGBoost: one tree per round, a vector in its leaves if there are targets."""
    import xgboost

    rows = xgboost.DMatrix(X, Y)
    settings = {"max_depth": DEPTH, "tree_method": "hist", "eta": 0.3, "nthread": 1}
    if Y.shape[1] > 1:
        settings["multi_strategy"] = "multi_output_tree"
    model = xgboost.train(settings, rows, num_boost_round=N_TREES)
    few = xgboost.DMatrix(X[:N_EXPLAINED])
    contributions = model.predict(few, pred_contribs=True).reshape(N_EXPLAINED, Y.shape[1], -1)
    stored = json.loads(bytes(model.save_raw("json")))["learner"]
    trees = stored["gradient_booster"]["model"]["trees"]
    return {
        "library": f"xgboost {xgboost.__version__}",
        "trees": [_xgboost_tree(tree, Y.shape[1]) for tree in trees],
        "predictions": model.predict(few).reshape(N_EXPLAINED, -1).tolist(),
        "contributions": contributions.tolist(),
    }


def _xgboost_tree(tree: dict[str, Any], n_outputs: int) -> dict[str, Any]:
    is_leaf = np.array(tree["left_children"]) < 0
    below = np.array(tree["split_conditions"], dtype=np.float32)
    if n_outputs == 1:
        values = np.where(is_leaf, below, 0.0)[:, None]
    else:
        values = np.zeros((is_leaf.size, n_outputs))
        numbers = np.array(tree["right_children"])[is_leaf]  # where a leaf's vector stands
        vectors = np.array(tree["leaf_weights"]).reshape(-1, n_outputs)
        values[is_leaf] = vectors[numbers]
    return {
        "left": tree["left_children"],
        "right": np.where(is_leaf, -1, tree["right_children"]).tolist(),
        "feature": np.where(is_leaf, -1, tree["split_indices"]).tolist(),
        # XGBoost sends x < condition to the left.
        "threshold": np.nextafter(below, np.float32(-np.inf)).astype(float).tolist(),
        "missing_left": [int(bit) for bit in tree["default_left"]],
        "values": values.astype(float).tolist(),
        "rows": np.array(tree["sum_hessian"]).reshape(is_leaf.size, -1)[:, 0].tolist(),
    }


def lightgbm_model(X: Any, Y: Any) -> dict[str, Any]:
    """Boost with LightGBM, which has one target."""
    import lightgbm

    settings = {
        "max_depth": DEPTH, "num_leaves": 2**DEPTH, "verbosity": -1, "objective": "regression",
        "num_threads": 1, "boost_from_average": False,
    }  # fmt: skip
    model = lightgbm.train(settings, lightgbm.Dataset(X, Y[:, 0]), num_boost_round=N_TREES)
    few = X[:N_EXPLAINED]
    return {
        "library": f"lightgbm {lightgbm.__version__}",
        "trees": [_lightgbm_tree(t["tree_structure"]) for t in model.dump_model()["tree_info"]],
        "predictions": model.predict(few).reshape(-1, 1).tolist(),
        "contributions": model.predict(few, pred_contrib=True)[:, None, :].tolist(),
    }


def _lightgbm_tree(root: dict[str, Any]) -> dict[str, Any]:
    names = ("left", "right", "feature", "threshold", "missing_left", "values", "rows")
    tree: dict[str, Any] = {name: [] for name in names}

    def add(node: dict[str, Any]) -> int:
        number = len(tree["left"])
        is_leaf = "leaf_value" in node
        own = (
            -1, -1, -1 if is_leaf else node["split_feature"],
            0.0 if is_leaf else node["threshold"], int(node.get("default_left", False)),
            [node["leaf_value"] if is_leaf else 0.0],
            node["leaf_count" if is_leaf else "internal_count"],
        )  # fmt: skip
        for name, value in zip(names, own):
            tree[name].append(value)
        if not is_leaf:
            tree["left"][number] = add(node["left_child"])
            tree["right"][number] = add(node["right_child"])
        return number

    add(root)
    return tree


def main() -> None:
    """Write the file."""
    X, Y = make_data()
    models = {
        "xgboost": xgboost_model(X, Y[:, :1]),
        "xgboost with vectors": xgboost_model(X, Y),
        "lightgbm": lightgbm_model(X, Y),
    }
    rows = [[None if np.isnan(v) else float(v) for v in row] for row in X[:N_EXPLAINED]]
    PATH.write_text(json.dumps({"rows": rows, "models": models}) + "\n", encoding="utf-8")
    print(f"{PATH.name} written")


if __name__ == "__main__":
    main()
