"""XGBoost that finds its number of trees itself, the base learner of paper 002's baselines."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

MOST_TREES = 2000
PATIENCE = 50
HELD_OUT = 0.1


class StoppedTrees(ClassifierMixin, BaseEstimator):
    """Boosted trees that stop when a tenth of the rows, held out, has not improved for 50 rounds.

    Trees see 66 % of the rows and floor(log2(p - 1) + 1) features per split, as in the paper.

    Parameters
    ----------
    rate : float
        Learning rate.
    penalty : float
        L2 regularisation.
    seed : int
    """

    def __init__(self, rate: float = 0.3, penalty: float = 1.0, seed: int = 0) -> None:
        self.rate = rate
        self.penalty = penalty
        self.seed = seed

    def fit(self, X: Any, y: Any) -> StoppedTrees:
        """Learn from classes 0, 1, ...: two by the logistic loss, more by the softmax."""
        import xgboost as xgb

        y = np.asarray(y)
        n_rows, n_features = X.shape
        self.classes_ = np.arange(int(y.max()) + 1)
        many = len(self.classes_) > 2
        held_out = np.zeros(n_rows, dtype=bool)
        held_out[
            np.random.default_rng(self.seed).permutation(n_rows)[: int(HELD_OUT * n_rows)]
        ] = 1
        self.booster_ = xgb.train(
            {
                "objective": "multi:softmax" if many else "binary:logistic",
                **({"num_class": len(self.classes_)} if many else {}),
                "eval_metric": "mlogloss" if many else "logloss",
                "eta": self.rate,
                "reg_lambda": self.penalty,
                "subsample": 0.66,
                "colsample_bynode": int(np.log2(n_features - 1) + 1) / n_features,
                "seed": self.seed,
                "nthread": 1,
            },
            xgb.DMatrix(X[~held_out], y[~held_out]),
            MOST_TREES,
            evals=[(xgb.DMatrix(X[held_out], y[held_out]), "held_out")],
            early_stopping_rounds=PATIENCE,
            verbose_eval=False,
        )
        return self

    def predict(self, X: Any) -> Any:
        """Predict classes with the trees up to the best round."""
        import xgboost as xgb

        best = (0, self.booster_.best_iteration + 1)
        scores = self.booster_.predict(xgb.DMatrix(X), iteration_range=best)
        return (scores if len(self.classes_) > 2 else scores > 0.5).astype(int)
