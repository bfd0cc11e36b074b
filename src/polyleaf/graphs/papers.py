"""Published settings of graphs (Su and Rousu 2013).

Features are expected in [0, 1] (texts by TF-IDF); the kernel is linear on rows of length 1, with
no intercept. The paper tunes C in {0.01, 0.1, 0.5, 1, 5, 10} on a tenth of the rows; here it is 1
unless given. It has no probabilities. What a member says about an edge that its graph lacks is
nothing, as in the authors' program.
"""

from __future__ import annotations

from typing import Any

from polyleaf.estimator.published import Variants

_GRAPH: dict[str, Any] = {
    "graph": "spanning_tree",
    "kernel": "cosine",
    "degree": 2,
    "gamma": 1.0,
    "coef0": 0.0,
    "intercept_scaling": 0.0,
    "C": 1.0,
    "scale_features": False,
    "margin_loss": "edge",
    "tol": 0.01,
    "max_iter": 200,
    "class_weight": None,
    "calibration_folds": None,
    "decoding": "auto",
    "on_violation": "close",
}
_ENSEMBLE: dict[str, Any] = _GRAPH | {
    "n_estimators": 60,
    "completion": "zero",
    "warm_start": False,
}

SINGLE: Variants = {"mmcrf": _GRAPH}
ENSEMBLES: Variants = {name: _ENSEMBLE | {"aggregation": name} for name in ("mam", "amm", "mve")}
