"""Errors of one tree at every level of pruning, on rows it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.data.training import TrainingData
from polyleaf.trees.channels import output_scaling
from polyleaf.trees.growing import TreeSettings, grow_structure, leaves_of
from polyleaf.trees.model import Trees
from polyleaf.trees.pruning import F_TEST_LEVELS, choose_f_test_level, prune_by_f_test


def cross_validated_level(
    data: TrainingData, settings: TreeSettings, rng: np.random.Generator, n_threads: int
) -> float:
    """Choose the level of the F-test by internal 3-fold cross-validation.

    Parameters
    ----------
    data : TrainingData
    settings : TreeSettings
    rng : numpy.random.Generator
    n_threads : int
    """
    factors = output_scaling(data, settings.normalize_outputs).factors

    def errors_of_levels(train: NDArray[np.int32], test: NDArray[np.int32]) -> NDArray[np.float64]:
        full, ordered = grow_structure(data, settings, rng, n_threads=n_threads, rows=train)
        errors = []
        for level in F_TEST_LEVELS:
            structure = prune_by_f_test(full, level)
            trees = Trees(structure, leaves_of(data, structure, ordered, n_threads))
            predicted = trees.predict(data.encoded[test], n_threads)
            errors.append(_squared_error(data, predicted, test, factors))
        return np.array(errors)

    usable = data.weighted_rows
    return choose_f_test_level(
        usable.size, rng, lambda train, test: errors_of_levels(usable[train], usable[test])
    )


def _squared_error(
    data: TrainingData,
    predicted: Any,
    rows: NDArray[np.int32],
    factors: NDArray[np.float64],
) -> float:
    """Sum the weighted squares of scaled errors; outputs without a prediction do not count."""
    targets, weights = data.targets, data.weights
    if not isinstance(targets.values, np.ndarray):
        per_row = (predicted - targets.values[rows]).power(2) @ factors**2
        return float(per_row.sum() if weights is None else weights[rows] @ per_row)
    errors = ((predicted - targets.values[rows]) * factors) ** 2
    if targets.observed is not None:
        errors = np.where(targets.observed[rows], errors, 0.0)
    if weights is not None:
        errors *= weights[rows][:, None] if weights.ndim == 1 else weights[rows]
    return float(np.nansum(errors))
