"""Errors of one tree at every level of pruning, on rows it has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ramify.model import Trees
from ramify.training.channels import output_scales
from ramify.training.pruning import F_TEST_LEVELS, choose_f_test_level, prune_by_f_test
from ramify.training.tree import TrainingData, TreeSettings, fill_leaves, grow_structure

if TYPE_CHECKING:
    from ramify.ingest import EncodedX


def cross_validated_level(
    data: TrainingData,
    X: EncodedX,
    settings: TreeSettings,
    rng: np.random.Generator,
    n_threads: int,
) -> float:
    """Choose the level of the F-test by internal 3-fold cross-validation.

    Parameters
    ----------
    data : TrainingData
    X : ndarray or csr_array of shape (n_rows, n_features)
        The encoded features that `data` was binned from.
    settings : TreeSettings
    rng : numpy.random.Generator
    n_threads : int
    """
    scales = output_scales(data.targets, data.weights) if settings.normalize_outputs else None

    def errors_of_levels(train: NDArray[np.int32], test: NDArray[np.int32]) -> NDArray[np.float64]:
        full, ordered = grow_structure(data, settings, rng, n_threads=n_threads, rows=train)
        errors = []
        for level in F_TEST_LEVELS:
            structure = prune_by_f_test(full, level)
            trees = Trees(structure, fill_leaves(data, structure, ordered, n_threads))
            errors.append(_squared_error(data, trees.predict(X[test], n_threads), test, scales))
        return np.array(errors)

    usable = _rows_with_weight(data)
    return choose_f_test_level(
        usable.size, rng, lambda train, test: errors_of_levels(usable[train], usable[test])
    )


def _rows_with_weight(data: TrainingData) -> NDArray[np.int32]:
    has_weight = np.ones(data.features.n_rows, dtype=np.bool_)
    if data.weights is not None:
        positive = data.weights > 0
        has_weight &= positive if positive.ndim == 1 else positive.any(axis=1)
    if data.targets.observed is not None:
        has_weight &= data.targets.observed.any(axis=1)
    return np.flatnonzero(has_weight).astype(np.int32)


def _squared_error(
    data: TrainingData,
    predicted: Any,
    rows: NDArray[np.int32],
    scales: NDArray[np.float64] | None,
) -> float:
    targets, weights = data.targets, data.weights
    if not isinstance(targets.values, np.ndarray):
        squares = (predicted - targets.values[rows]).power(2)
        per_row = squares.sum(axis=1) if scales is None else squares @ scales**2
        return float(per_row.sum() if weights is None else weights[rows] @ per_row)
    errors = (predicted - targets.values[rows]) ** 2
    if scales is not None:
        errors *= scales**2
    if targets.observed is not None:
        errors = np.where(targets.observed[rows], errors, 0.0)
    if weights is not None:
        errors *= weights[rows][:, None] if weights.ndim == 1 else weights[rows]
    return float(np.nansum(errors))
