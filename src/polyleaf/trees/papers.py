"""Published settings of single trees (Joly et al. 2014; Breskvar et al. 2018).

The value of every parameter is spelt out; `SHARED` is what all trees and forests of the papers
have in common: every threshold between two values, nothing taken off the gain of categories, no
limit of depth or leaves.
"""

from __future__ import annotations

from typing import Any

from polyleaf import projections
from polyleaf.estimator.published import Variants

SHARED: dict[str, Any] = {
    "max_bins": None,
    "category_penalty": 0.0,
    "sums": "float",
    "max_depth": None,
    "max_leaf_nodes": None,
    "min_impurity_decrease": 0.0,
}
#: What regressors and classifiers have beside it.
OF_NUMBERS: dict[str, Any] = {"normalize_outputs": True}
OF_LABELS: dict[str, Any] = {
    "class_weight": None,
    "decoding": "auto",
    "on_violation": "close",
}
#: Fully grown, as in Joly et al. 2014; two rows per leaf, as in CLUS, which Breskvar et al. use.
FULLY_GROWN = {"min_samples_split": 2, "min_samples_leaf": 1}
OF_CLUS = {"min_samples_split": 2, "min_samples_leaf": 2}


def _tree(**settings: Any) -> dict[str, Any]:
    return SHARED | {"splitter": "best", "max_features": None} | settings


#: Section 4.4 of Breskvar et al. 2018: a multi-target tree, the level of its F-test chosen by
#: 3-fold cross-validation.
_PCT = _tree(**OF_CLUS, projection=None, pruning="f_test", pruning_level="cv")
#: Section 3.1 and Figure 1 (left) of Joly et al. 2014: an unpruned tree on ln d combinations.
_RP = _tree(
    **FULLY_GROWN, projection=projections.Gaussian("log"), pruning=None, pruning_level="cv"
)

REGRESSION_TREES: Variants = {"pct": _PCT | OF_NUMBERS, "rp": _RP | OF_NUMBERS}
CLASSIFICATION_TREES: Variants = {"rp": _RP | OF_LABELS, "pct": _PCT | OF_LABELS}
