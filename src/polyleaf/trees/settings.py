"""From an estimator's parameters to the settings of its trees."""

from __future__ import annotations

from typing import Any

from polyleaf.estimator.parameters import count, feature_count
from polyleaf.projections import Projection
from polyleaf.trees.growing import TreeSettings


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
