"""XGBoost that finds its number of trees itself: the base learner in Rapp et al. 2020."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

#: Most rounds, and most trees of all classes together.
MOST_ROUNDS = 2000
MOST_TREES = 150_000
PATIENCE = 50
HELD_OUT = 0.1


class StoppedTrees(ClassifierMixin, BaseEstimator):
    """Boosted trees, as many as were best for a tenth of the rows, held out at first.

    A first fit stops when those rows have not improved for 50 rounds; a second one learns as many
    trees from all rows, so that none are lost to stopping. Trees see 66 % of the rows and
    floor(log2(p - 1) + 1) features per split, as in the paper, and 64 bins per feature.

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
        settings = {
            "objective": "multi:softmax" if many else "binary:logistic",
            **({"num_class": len(self.classes_)} if many else {}),
            "eval_metric": "mlogloss" if many else "logloss",
            "eta": self.rate,
            "reg_lambda": self.penalty,
            "subsample": 0.66,
            "colsample_bynode": int(np.log2(n_features - 1) + 1) / n_features,
            "max_bin": 64,
            "seed": self.seed,
            "nthread": 1,
        }
        order = np.random.default_rng(self.seed).permutation(n_rows)
        held_out = np.isin(np.arange(n_rows), order[: int(HELD_OUT * n_rows)])
        stopped = xgb.train(
            settings,
            xgb.DMatrix(X[~held_out], y[~held_out]),
            min(MOST_ROUNDS, MOST_TREES // len(self.classes_)),
            evals=[(xgb.DMatrix(X[held_out], y[held_out]), "held_out")],
            early_stopping_rounds=PATIENCE,
            verbose_eval=False,
        )
        self.booster_ = xgb.train(settings, xgb.DMatrix(X, y), stopped.best_iteration + 1)
        return self

    def predict(self, X: Any) -> Any:
        """Predict classes."""
        import xgboost as xgb

        scores = self.booster_.predict(xgb.DMatrix(X))
        return (scores if len(self.classes_) > 2 else scores > 0.5).astype(int)
