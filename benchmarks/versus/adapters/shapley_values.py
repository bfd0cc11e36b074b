"""Shapley values of polyleaf, the shap package, XGBoost and LightGBM.

`predict` explains the test rows; what is scored is what their contributions add up to, so that an
explanation that does not add up to a prediction shows. The shap package explains polyleaf's trees,
the others their own, as many and as deep.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.versus.methods import Method
from benchmarks.versus.problems import PROBLEMS
from benchmarks.versus.tasks import Case


class Explained:
    """Boosted trees, and what explains them.

    Parameters
    ----------
    case : Case
    """

    def __init__(self, case: Case) -> None:
        self.case = case

    def fit(self, X: Any, Y: Any) -> Explained:
        """Boost trees of all outputs, and keep background rows if there are to be some."""
        from polyleaf import BoostingRegressor

        options = self.case.options
        self.model_ = BoostingRegressor(
            n_estimators=options["n_estimators"],
            learning_rate=options["learning_rate"],
            max_depth=options["max_depth"],
            max_leaf_nodes=None,
            early_stopping=False,
            random_state=0,
            n_jobs=self.case.threads,
        ).fit(X, Y)
        self.background_ = X[: options["n_background"]] if options["n_background"] else None
        return self

    def predict(self, X: Any) -> Any:
        """Explain rows and add their contributions up."""
        from polyleaf.inspection import shap_values

        found = shap_values(self.model_, X, background=self.background_)
        return found.base_values + found.values.sum(axis=1)


class ExplainedByShap(Explained):
    """The same trees, explained by the shap package."""

    def fit(self, X: Any, Y: Any) -> ExplainedByShap:
        """Boost, and hand the trees over."""
        super().fit(X, Y)
        self.explainer_ = self._explainer()
        return self

    def _explainer(self) -> Any:
        import shap

        from polyleaf.inspection import to_shap

        trees = to_shap(self.model_)
        if self.background_ is None:
            return shap.TreeExplainer(trees, feature_perturbation="tree_path_dependent")
        every = shap.maskers.Independent(self.background_, max_samples=len(self.background_))
        return shap.TreeExplainer(trees, every, feature_perturbation="interventional")

    def predict(self, X: Any) -> Any:
        """Explain rows and add their contributions up."""
        values = np.asarray(self.explainer_.shap_values(X, check_additivity=False))
        if values.ndim == 2:
            values = values[:, :, None]
        return np.ravel(self.explainer_.expected_value) + values.sum(axis=1)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "explainer_"}


def explain_xgboost(model: Any, X: Any) -> Any:
    """Explain rows and add their contributions up."""
    import xgboost

    rows = xgboost.DMatrix(X, nthread=model.n_jobs)
    return model.get_booster().predict(rows, pred_contribs=True).sum(axis=-1).reshape(len(X), -1)


def make_xgboost(case: Case) -> Any:
    """Boost trees with a vector in every leaf."""
    from benchmarks.versus.adapters.xgboost_boosting import make

    return make("multi_output_tree" if _n_outputs(case) > 1 else "one_output_per_tree", case)


class ExplainedLightGBM:
    """LightGBM's trees of one output.

    Parameters
    ----------
    case : Case
    """

    def __init__(self, case: Case) -> None:
        self.case = case

    def fit(self, X: Any, Y: Any) -> ExplainedLightGBM:
        """Boost trees of the one output."""
        from benchmarks.versus.adapters.lightgbm_boosting import make

        self.model_ = make(self.case).estimator.fit(X, Y[:, 0])
        return self

    def predict(self, X: Any) -> Any:
        """Explain rows and add their contributions up."""
        return self.model_.predict(X, pred_contrib=True).sum(axis=1, keepdims=True)


def _n_outputs(case: Case) -> int:
    return PROBLEMS[case.problem].n_outputs


def _applies(n_most: float, case: Case) -> bool:
    """Leave out what a rival does not have: background rows, or several outputs."""
    return not case.options["n_background"] and _n_outputs(case) <= n_most


METHODS = (
    Method("polyleaf-shap", "shap", module="polyleaf", make=Explained, is_ours=True),
    Method("shap", "shap", module="shap", make=ExplainedByShap),
    Method(
        "xgboost-shap",
        "shap",
        module="xgboost",
        make=make_xgboost,
        predict=explain_xgboost,
        applies=partial(_applies, np.inf),
    ),
    Method(
        "lightgbm-shap",
        "shap",
        module="lightgbm",
        make=ExplainedLightGBM,
        applies=partial(_applies, 1),
    ),
)
