"""The methods of `benchmarks.defaults`: each fits X and Y and gives numbers or probabilities.

Rivals get codes in place of categories. Those that know one output are fitted once for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polyleaf
from polyleaf.data import FeatureSchema

Maker = Callable[[int], Any]
#: Whose kind a method is, for the Musts about families.
KINDS = {
    "ExtraTrees": "forest",
    "RandomForest": "forest",
    "BaggedTrees": "forest",
    "Boosting": "boosting",
    "sklearn RandomForest": "forest",
    "sklearn ExtraTrees": "forest",
    "HistGradientBoosting": "boosting",
    "CatBoost 100": "boosting",
    "CatBoost 500": "boosting",
    "LightGBM 100": "boosting",
    "LightGBM 500": "boosting",
    "XGBoost 100": "boosting",
    "XGBoost 500": "boosting",
    "XGBoost vector 100": "boosting",
    "XGBoost vector 500": "boosting",
}
OURS = ("Auto", "ExtraTrees", "RandomForest", "BaggedTrees", "Boosting", "Rule")


class Ours:
    """An estimator of polyleaf."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, Y: Any) -> None:
        """Fit X as it is."""
        self.model.fit(X, Y)

    def values(self, X: Any) -> Any:
        """Give numbers or probabilities, of shape (n, d)."""
        is_regressor = not hasattr(self.model, "predict_proba")
        return self.model.predict(X) if is_regressor else self.model.predict_proba(X)


class Rival:
    """An estimator of another library, on codes of categories; of all outputs, or of each."""

    def __init__(self, model: Any, *, per_output: bool) -> None:
        self.model, self.per_output = model, per_output

    def fit(self, X: Any, Y: Any) -> None:
        """Fit the outputs that vary."""
        self.schema, encoded = FeatureSchema.fit(X)
        encoded = _dense(encoded)
        self.constant = Y[0].astype(float)
        self.varying = np.flatnonzero((Y[0] != Y).any(axis=0))
        columns = [[j] for j in self.varying] if self.per_output else [list(self.varying)]
        is_label = hasattr(self.model, "predict_proba")
        self.parts = []
        for own in columns:
            shown = Y[:, own].astype(int) if is_label else Y[:, own]
            shown = shown[:, 0] if len(own) == 1 else shown
            self.parts.append((own, clone(self.model).fit(encoded, shown)))

    def values(self, X: Any) -> Any:
        """Give numbers or probabilities, of shape (n, d)."""
        encoded = _dense(self.schema.encode(X))
        found = np.tile(self.constant, (encoded.shape[0], 1))
        for own, model in self.parts:
            is_label = hasattr(model, "predict_proba")
            given = model.predict_proba(encoded) if is_label else model.predict(encoded)
            if isinstance(given, list):  # scikit-learn's: of 0 and 1, for each label
                given = np.column_stack([part[:, 1] for part in given])
            given = np.asarray(given.toarray() if hasattr(given, "toarray") else given)
            given = given.reshape(encoded.shape[0], -1)
            found[:, own] = given[:, -len(own) :]
        return found


def _dense(encoded: Any) -> Any:
    return encoded.toarray() if hasattr(encoded, "toarray") else encoded


def methods_of(task: str) -> dict[str, Maker]:
    """Give the methods of a task by name; libraries that are not installed are left out."""
    is_regression = task == "regression"
    suffix = "Regressor" if is_regression else "Classifier"
    found: dict[str, Maker] = {}
    for name in OURS:
        cls = getattr(polyleaf, name + suffix)
        found[name] = lambda seed, cls=cls: Ours(cls(random_state=seed))
    found |= _of_sklearn(is_regression)
    for add in (_catboost, _lightgbm, _xgboost, _boomer):
        try:
            found |= add(is_regression)
        except ImportError:
            continue
    return found


def _of_sklearn(is_regression: bool) -> dict[str, Maker]:
    forest = RandomForestRegressor if is_regression else RandomForestClassifier
    extra = ExtraTreesRegressor if is_regression else ExtraTreesClassifier
    boosting = HistGradientBoostingRegressor if is_regression else HistGradientBoostingClassifier
    ridge = make_pipeline(SimpleImputer(), StandardScaler(), Ridge())
    return {
        "sklearn RandomForest": lambda s: Rival(forest(random_state=s), per_output=False),
        "sklearn ExtraTrees": lambda s: Rival(extra(random_state=s), per_output=False),
        "HistGradientBoosting": lambda s: Rival(boosting(random_state=s), per_output=True),
        "Ridge": lambda s: Rival(ridge, per_output=False),
    }


def _catboost(is_regression: bool) -> dict[str, Maker]:
    import catboost

    cls = catboost.CatBoostRegressor if is_regression else catboost.CatBoostClassifier
    loss = "MultiRMSE" if is_regression else "MultiLogloss"
    given = {"thread_count": 1, "allow_writing_files": False, "verbose": False}
    return {
        f"CatBoost {n}": lambda s, n=n: Rival(
            cls(loss_function=loss, iterations=n, random_seed=s, **given), per_output=False
        )
        for n in (100, 500)
    }


def _lightgbm(is_regression: bool) -> dict[str, Maker]:
    import lightgbm

    cls = lightgbm.LGBMRegressor if is_regression else lightgbm.LGBMClassifier
    return {
        f"LightGBM {n}": lambda s, n=n: Rival(
            cls(n_estimators=n, random_state=s, n_jobs=1, verbose=-1), per_output=True
        )
        for n in (100, 500)
    }


def _xgboost(is_regression: bool) -> dict[str, Maker]:
    import xgboost

    cls = xgboost.XGBRegressor if is_regression else xgboost.XGBClassifier
    found: dict[str, Maker] = {}
    for n in (100, 500):
        given = {"n_estimators": n, "n_jobs": 1, "tree_method": "hist"}
        found[f"XGBoost {n}"] = lambda s, g=given: Rival(cls(random_state=s, **g), per_output=True)
        found[f"XGBoost vector {n}"] = lambda s, g=given: Rival(
            cls(random_state=s, multi_strategy="multi_output_tree", **g), per_output=False
        )
    return found


def _boomer(is_regression: bool) -> dict[str, Maker]:
    from mlrl.boosting.learners import BoomerClassifier, BoomerRegressor

    cls = BoomerRegressor if is_regression else BoomerClassifier
    return {"mlrl-boomer": lambda s: Rival(cls(random_state=s + 1), per_output=False)}
