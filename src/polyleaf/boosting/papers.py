"""Published settings of boosting (Joly et al. 2019).

The paper tunes the learning rate, the share of the features, the size of the trees (2 to 8 leaves,
best first), the loss and the number of rounds (up to 10,000) on a fifth of the rows. Here they are
0.1, all features, 8 leaves, the squared loss of numbers or the logistic loss of labels, and 100
rounds, unless given. Leaves are means of negative gradients times the best factor per output,
without regularisation (Algorithms 2 and 4); Algorithm 3 is linear in a view of one component.
"""

from __future__ import annotations

from typing import Any

from polyleaf import projections
from polyleaf.estimator.published import Variants
from polyleaf.trees.papers import FULLY_GROWN, OF_LABELS, OF_NUMBERS, SHARED

_BOOSTING: dict[str, Any] = (
    SHARED
    | FULLY_GROWN
    | {
        "n_estimators": 100,
        "learning_rate": 0.1,
        "max_leaf_nodes": 8,
        "max_features": None,
        "leaf_fit": "relabel",
        "leaf_values": "gradient",
        "l2_regularization": 0.0,
        "subsample": 1.0,
        "row_sampling": "uniform",
        "monotonic_cst": None,
        "estimator": None,
        "early_stopping": False,
        "validation_fraction": 0.2,
        "n_iter_no_change": 100,
        "eval_metric": None,
        "warm_start": False,
    }
)
_GAUSSIAN = projections.Gaussian(1)
_ONE_OUTPUT = projections.Subsample(1, replace=False, first_sees_all=False)
_VIEWS: dict[str, dict[str, Any]] = {
    "gbrt-relabel-rpo": {"projection": _GAUSSIAN},
    "gbrt-rpo": {"projection": _GAUSSIAN, "leaf_fit": "linear"},
    "gbmort": {"projection": None},
    "st-gbrt": {"projection": projections.RoundRobin()},
    "gbrt-relabel-rpo-subsampled": {"projection": _ONE_OUTPUT},
    "gbrt-rpo-subsampled": {"projection": _ONE_OUTPUT, "leaf_fit": "linear"},
}

REGRESSORS: Variants = {
    name: _BOOSTING | OF_NUMBERS | {"loss": "squared_error"} | view
    for name, view in _VIEWS.items()
}
CLASSIFIERS: Variants = {
    name: _BOOSTING | OF_LABELS | {"loss": "logistic"} | view for name, view in _VIEWS.items()
}
