"""Boosting of many rows, by depth or best first: polyleaf, LightGBM, XGBoost and scikit-learn.

Libraries without vector leaves take part where there is one output. All threads are those of the
case; scikit-learn's are OpenMP's.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.versus.methods import Method
from benchmarks.versus.problems import PROBLEMS
from benchmarks.versus.tasks import Case


def has_one_output(case: Case) -> bool:
    """Tell whether there is one output."""
    return PROBLEMS[case.problem].n_outputs == 1


def has_several_outputs(case: Case) -> bool:
    """Tell whether there are several outputs."""
    return not has_one_output(case)


def _shared(case: Case) -> dict[str, Any]:
    return {
        "n_estimators": case.options["n_estimators"],
        "learning_rate": case.options["learning_rate"],
        "random_state": 0,
        "n_jobs": case.threads,
    }


# Share of the rows that GOSS draws: LightGBM's defaults for large gradients and others.
_LARGE, _OTHER = 0.2, 0.1


def make_polyleaf(n_components: int | None, case: Case, **settings: Any) -> Any:
    """Boost on all outputs, or on a few Gaussian combinations."""
    from polyleaf import BoostingRegressor
    from polyleaf.projections import Gaussian

    projection = None if n_components is None else Gaussian(n_components=n_components)
    return BoostingRegressor(
        max_depth=case.options.get("max_depth"),
        max_leaf_nodes=case.options.get("max_leaf_nodes"),
        projection=projection,
        **_shared(case),
        **settings,
    )


class OneOutput:
    """A model of one output behind a Y of one column."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, Y: Any) -> OneOutput:
        """Fit the column."""
        self.model.fit(X, Y[:, 0])
        return self

    def predict(self, X: Any) -> Any:
        """Predict the column."""
        return self.model.predict(X)[:, None]


def make_lightgbm(is_quantised: bool, case: Case, **settings: Any) -> Any:
    """Boost LightGBM's trees, on quantised gradients or not."""
    from lightgbm import LGBMRegressor

    depth = case.options.get("max_depth")
    return OneOutput(
        LGBMRegressor(
            max_depth=-1 if depth is None else depth,
            num_leaves=case.options.get("max_leaf_nodes") or 2**depth,
            max_bin=255,
            verbosity=-1,
            use_quantized_grad=is_quantised,
            **_shared(case),
            **settings,
        )
    )


def make_xgboost(case: Case) -> Any:
    """Boost XGBoost's trees; with vector leaves if there are several outputs."""
    from xgboost import XGBRegressor

    is_best_first = "max_leaf_nodes" in case.options
    return XGBRegressor(
        max_depth=0 if is_best_first else case.options["max_depth"],
        max_leaves=case.options.get("max_leaf_nodes", 0),
        grow_policy="lossguide" if is_best_first else "depthwise",
        max_bin=255,
        tree_method="hist",
        multi_strategy=("one_output_per_tree" if has_one_output(case) else "multi_output_tree"),
        **_shared(case),
    )


def make_sklearn(case: Case) -> Any:
    """Boost scikit-learn's histogram trees."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    depth = case.options.get("max_depth")
    return OneOutput(
        HistGradientBoostingRegressor(
            max_iter=case.options["n_estimators"],
            learning_rate=case.options["learning_rate"],
            max_depth=depth,
            max_leaf_nodes=case.options.get("max_leaf_nodes") or 2**depth,
            early_stopping=False,
            random_state=0,
        )
    )


METHODS = (
    Method(
        "polyleaf-rows", "rows", module="polyleaf", make=partial(make_polyleaf, None), is_ours=True
    ),
    Method(
        "polyleaf-rows-q3",
        "rows",
        module="polyleaf",
        make=partial(make_polyleaf, 3),
        is_ours=True,
        applies=has_several_outputs,
    ),
    Method(
        "polyleaf-rows-goss",
        "rows",
        module="polyleaf",
        make=partial(make_polyleaf, None, subsample=_LARGE + _OTHER, row_sampling="gradient"),
        is_ours=True,
        by_default=False,
    ),
    Method(
        "lightgbm-rows-goss",
        "rows",
        module="lightgbm",
        make=partial(
            make_lightgbm,
            False,
            data_sample_strategy="goss",
            top_rate=_LARGE,
            other_rate=_OTHER,
        ),
        by_default=False,
        applies=has_one_output,
    ),
    Method("xgboost-rows", "rows", module="xgboost", make=make_xgboost),
    Method(
        "lightgbm-rows",
        "rows",
        module="lightgbm",
        make=partial(make_lightgbm, False),
        applies=has_one_output,
    ),
    Method(
        "lightgbm-rows-quantised",
        "rows",
        module="lightgbm",
        make=partial(make_lightgbm, True),
        applies=has_one_output,
    ),
    Method(
        "sklearn-rows",
        "rows",
        module="sklearn",
        distribution="scikit-learn",
        make=make_sklearn,
        applies=has_one_output,
    ),
)
