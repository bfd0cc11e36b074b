"""What conformal classifiers ask of the models inside: out-of-bag rows, hierarchies, levels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.matrices import is_sparse
from polyleaf.checks.numbers import shown
from polyleaf.conformal.ranks import check_alpha
from polyleaf.forests.classifiers import ForestClassifier
from polyleaf.hierarchy import Hierarchy


def check_delta(delta: Any) -> float:
    """Read the probability with which a promise may fail."""
    try:
        return check_alpha(delta)
    except ValueError:
        raise ValueError(
            "delta must be a number in (0, 1), the probability with which the promise may fail; "
            f"got {shown(delta, 60)}."
        ) from None


def check_forest(estimator: Any) -> None:
    """Raise an error unless an estimator is a forest that draws rows."""
    name = type(estimator).__name__
    if not isinstance(estimator, ForestClassifier):
        raise TypeError(
            "method='oob' needs a forest of polyleaf, RandomForestClassifier, "
            f"ExtraTreesClassifier or BaggedTreesClassifier; got {name}. Use method='cross'."
        )
    if not estimator.bootstrap:
        raise ValueError(
            f"method='oob' needs rows that trees have not seen; {name} has bootstrap=False. Set "
            "bootstrap=True, or use method='cross'."
        )


def hierarchy_of(model: Any) -> Hierarchy | None:
    """Give the hierarchy that a model was fitted with, if any."""
    return getattr(model, "hierarchy_", None)


def threshold_levels(model: Any, n_labels: int, by_level: bool) -> list[NDArray[np.bool_]]:
    """Tell which labels share a threshold: all, or those of each level."""
    if not by_level:
        return [np.ones(n_labels, np.bool_)]
    hierarchy = hierarchy_of(model)
    if hierarchy is None:
        raise ValueError(
            "by_level=True needs a classifier with a hierarchy; "
            f"{type(model).__name__} was fitted without. Give it hierarchy=..., or use "
            "by_level=False."
        )
    return [hierarchy.depth == level for level in range(int(hierarchy.depth.max()) + 1)]


def as_dense(matrix: Any) -> NDArray[np.float64]:
    """Give labels or probabilities as a dense array."""
    values = matrix.toarray() if is_sparse(matrix) else matrix
    return np.asarray(values, dtype=np.float64)
