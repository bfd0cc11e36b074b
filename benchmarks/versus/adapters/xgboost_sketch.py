"""XGBoost with its hook for reduced gradients: five Gaussian combinations choose the splits.

The hook (`xgboost.objective.TreeObjective.split_grad`) is marked as experimental there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case

N_COMPONENTS = 5


class SketchedXGBoost:
    """Squared error, vector leaves, splits on combinations drawn again in every round."""

    def __init__(self, case: Case) -> None:
        self.n_rounds = case.options["n_estimators"]
        self.parameters = {
            "learning_rate": case.options["learning_rate"],
            "max_depth": case.options["max_depth"],
            "max_bin": 255,
            "tree_method": "hist",
            "multi_strategy": "multi_output_tree",
            "nthread": case.threads,
            "base_score": 0.0,
        }

    def fit(self, X: Any, Y: Any) -> SketchedXGBoost:
        """Train on residuals from the mean."""
        import xgboost
        from xgboost.objective import TreeObjective

        self.mean = Y.mean(axis=0)
        n_targets = Y.shape[1]
        n_components = min(N_COMPONENTS, n_targets - 1)  # it wants fewer than there are targets

        class Sketch(TreeObjective):
            def __call__(self, iteration: int, y_pred: Any, dtrain: Any) -> Any:
                labels = dtrain.get_label().reshape(y_pred.shape)
                return y_pred - labels, np.ones_like(y_pred)

            def split_grad(self, iteration: int, grad: Any, hess: Any) -> Any:
                rng = np.random.default_rng(iteration)
                matrix = rng.normal(size=(n_targets, n_components)).astype(np.float32)
                reduced = np.ascontiguousarray(grad @ matrix)
                return reduced, np.ones_like(reduced)

        data = xgboost.QuantileDMatrix(X, Y - self.mean, max_bin=255)
        self.model = xgboost.train(
            self.parameters | {"num_target": n_targets}, data, self.n_rounds, obj=Sketch()
        )
        return self

    def predict(self, X: Any) -> Any:
        """Predict all targets."""
        return self.model.inplace_predict(X) + self.mean


METHODS = (
    Method(
        "xgboost-sketch",
        "boosting",
        module="xgboost.objective",
        distribution="xgboost",
        make=SketchedXGBoost,
    ),
)
