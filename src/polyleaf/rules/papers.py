"""Published settings of rules (Rapp et al. 2020), section 5.

The paper tunes the number of rules (up to 10,000), the learning rate in {0.1, 0.3, 0.5} and the L2
penalty in {0, 0.25, 1, 4, 16, 64}; here they are 1000, 0.3 and 1 unless given.
"""

from __future__ import annotations

from typing import Any

from polyleaf.estimator.published import Variants

_RULES: dict[str, Any] = {
    "n_rules": 1000,
    "learning_rate": 0.3,
    "l2_regularization": 1.0,
    "l1_regularization": 0.0,
    "step": "newton",
    "projection": None,
    "label_bins": None,
    "max_conditions": None,
    "min_coverage": 1,
    "max_features": "log2+1",
    "max_bins": None,
    "bootstrap": True,
    "class_weight": None,
    "early_stopping": False,
    "decoding": "auto",
    "set_probabilities": "chain_rule",
}

CLASSIFIERS: Variants = {
    "ew-multi": _RULES | {"loss": "examplewise_logistic", "head": "complete"},
    "ew-single": _RULES | {"loss": "examplewise_logistic", "head": "single"},
    "lw-multi": _RULES | {"loss": "logistic", "head": "complete"},
    "lw-single": _RULES | {"loss": "logistic", "head": "single"},
}
