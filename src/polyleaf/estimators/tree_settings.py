"""From an estimator's parameters to the settings of its trees."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from polyleaf.projections import Projection
from polyleaf.training import TreeSettings


def tree_settings(
    estimator: Any, shape: tuple[int, int], random_cuts: bool, projection: Projection | None
) -> TreeSettings:
    """Translate the parameters that all trees have.

    Parameters
    ----------
    estimator : estimator
    shape : tuple of int
        Numbers of rows and features.
    random_cuts : bool
    projection : Projection or None
    """
    n_rows, n_features = shape
    return TreeSettings(
        max_depth=estimator.max_depth,
        max_leaf_nodes=estimator.max_leaf_nodes,
        min_samples_split=max(2, count(estimator.min_samples_split, n_rows)),
        min_samples_leaf=count(estimator.min_samples_leaf, n_rows),
        min_impurity_decrease=float(estimator.min_impurity_decrease),
        max_features=feature_count(estimator.max_features, n_features),
        random_cuts=random_cuts,
        exact=estimator.max_bins is None,
        projection=projection,
        normalize_outputs=bool(getattr(estimator, "normalize_outputs", False)),
    )


def count(value: int | float, n_rows: int) -> int:
    """Give a number of rows: as it is, or as a fraction of all, rounded up."""
    return int(value) if isinstance(value, Integral) else int(np.ceil(value * n_rows))


def feature_count(max_features: int | float | str | None, n_features: int) -> int:
    """Give a number of features, of which there are `n_features`."""
    if max_features is None:
        return n_features
    if max_features == "log2+1":
        return int(np.log2(n_features - 1) + 1) if n_features > 1 else 1
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(1, int(float(max_features) * n_features))
