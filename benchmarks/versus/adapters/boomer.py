"""mlrl-boomer, the authors' rules, with the paper's settings.

Bootstrap samples, exact thresholds, 64-bit statistics, log2 features per refinement; without its
label binning, which it has by default for losses of whole rows, and in a second variant with it.
Its own threads are asked for in the search for refinements; it has none where the statistics are
not decomposable. Dense columns of 0 and 1, such as words, are declared nominal: taken for numbers,
they end its learning after a few rules. The keywords are those of 0.12 to 0.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case

_LOSSES = {
    "logistic": "logistic-decomposable",
    "examplewise_logistic": "logistic-non-decomposable",
}


class Boomer:
    """The library's classifier behind `fit` and `predict`, with dense labels.

    Parameters
    ----------
    label_binning : {"none", "equal-width"}
    case : Case
    random_state : int
        1 or more.
    """

    def __init__(self, label_binning: str, case: Case, random_state: int = 1) -> None:
        from mlrl.boosting import BoomerClassifier

        options = case.options
        threads = f"true{{num_preferred_threads={case.threads}}}"
        is_joint = options["loss"] == "examplewise_logistic"
        self._model = BoomerClassifier(
            random_state=random_state,
            max_rules=options["n_rules"],
            loss=_LOSSES[options["loss"]],
            head_type=options["head"],
            instance_sampling="with-replacement",
            feature_sampling="without-replacement",
            statistic_type="64-bit",
            label_binning=label_binning if is_joint else "none",
            shrinkage=options["learning_rate"],
            l2_regularization_weight=options["l2"],
            binary_predictor="example-wise" if is_joint else "output-wise",
            parallel_rule_refinement=threads,
            parallel_statistic_update=threads,
        )

    def fit(self, X: Any, Y: Any) -> Boomer:
        """Learn from dense labels."""
        dense = Y.toarray() if sparse.issparse(Y) else np.asarray(Y)
        self._model.fit(X, dense.astype(np.uint8), **_nominal(X))
        return self

    @property
    def n_rules_(self) -> int:
        """Rules that it learnt, which may be fewer than asked for."""
        return int(self._model.model_.get_num_used_rules())

    def predict(self, X: Any) -> Any:
        """Predict a dense label matrix."""
        predicted = self._model.predict(X)
        return predicted.toarray() if sparse.issparse(predicted) else np.asarray(predicted)


def _nominal(X: Any) -> dict[str, list[int]]:
    """Name the columns of a dense X that are 0 or 1 throughout, in a list: 0.15 takes no array."""
    if sparse.issparse(X):
        return {}
    flags = np.flatnonzero(((X == 0) | (X == 1)).all(axis=0))
    return {"nominal_feature_indices": flags.tolist()} if flags.size else {}


def make_exact(case: Case) -> Any:
    """Make a learner without label binning."""
    return Boomer("none", case)


def make_binned(case: Case) -> Any:
    """Make a learner with label binning."""
    return Boomer("equal-width", case)


METHODS = (
    Method("boomer", "rules", module="mlrl.boosting", distribution="mlrl-boomer", make=make_exact),
    Method(
        "boomer-label-bins",
        "rules",
        module="mlrl.boosting",
        distribution="mlrl-boomer",
        make=make_binned,
        by_default=False,
    ),
)
