"""The F-test of predictive clustering trees (Breskvar et al. 2018): significant splits stay.

A split that takes the sum of squares of n rows from SST to SSR is tested by
F = (n - 2) (SST - SSR) / SSR against the F(1, n - 2) distribution; a node whose split fails
becomes a leaf. Splits do not depend on the level, so that one full tree serves all levels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from polyleaf.trees.structure import TreeStructure

#: The published levels, from the smallest tree to the largest; 1.0 is no pruning.
F_TEST_LEVELS = (0.001, 0.005, 0.01, 0.05, 0.1, 1.0)


def is_significant(structure: TreeStructure, level: float) -> NDArray[np.bool_]:
    """Tell which nodes' splits pass the F-test, of shape (n_nodes,); leaves do not."""
    inner = ~structure.is_leaf
    if level >= 1.0:
        return inner
    degrees = structure.n_samples - 2
    left = np.maximum(structure.impurity - structure.gain, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(left > 0, degrees * structure.gain / left, np.inf)
    testable = inner & (degrees > 0)
    passed = np.zeros(structure.n_nodes, dtype=np.bool_)
    critical = stats.f.isf(level, 1, degrees[testable])
    passed[testable] = statistic[testable] > critical
    return passed


def prune_by_f_test(structure: TreeStructure, level: float) -> TreeStructure:
    """Turn nodes whose split is not significant into leaves.

    Parameters
    ----------
    structure : TreeStructure
        One tree.
    level : float in (0, 1]
        1 keeps everything.
    """
    return collapse(structure, is_significant(structure, level))


def collapse(structure: TreeStructure, keep_split: NDArray[np.bool_]) -> TreeStructure:
    """Drop everything below the first node, on any path, whose split is not kept.

    Parameters
    ----------
    structure : TreeStructure
        One tree.
    keep_split : ndarray of shape (n_nodes,), bool
    """
    is_inner = ~structure.is_leaf
    kept = structure.n_enclosing(is_inner & ~keep_split) == 0
    split = kept & keep_split & is_inner
    number = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    new_right = np.where(split, number[structure.right], np.int32(-1))
    return replace(
        structure,
        tree_offsets=np.array([0, np.count_nonzero(kept)], dtype=np.int64),
        feature=np.where(split, structure.feature, np.int32(-1))[kept],
        threshold=np.where(split, structure.threshold, 0.0)[kept],
        right=new_right[kept],
        missing_left=np.where(split, structure.missing_left, np.uint8(0))[kept],
        category_offset=np.where(split, structure.category_offset, np.int64(-1))[kept],
        n_samples=structure.n_samples[kept],
        weight=structure.weight[kept],
        impurity=structure.impurity[kept],
        gain=np.where(split, structure.gain, 0.0)[kept],
    )


def choose_f_test_level(
    n_rows: int,
    rng: np.random.Generator,
    errors_of_levels: Callable[[NDArray[np.int32], NDArray[np.int32]], NDArray[np.float64]],
    n_folds: int = 3,
) -> float:
    """Choose the level by cross-validation; ties go to the smaller tree.

    Parameters
    ----------
    n_rows : int
    rng : numpy.random.Generator
    errors_of_levels : callable (train rows, test rows) -> ndarray of shape (n_levels,)
        Squared error on the test rows for each of F_TEST_LEVELS.
    n_folds : int

    Returns
    -------
    float
        One of F_TEST_LEVELS.
    """
    if n_rows < n_folds:
        return F_TEST_LEVELS[0]
    fold = rng.permutation(n_rows) % n_folds
    errors = np.zeros(len(F_TEST_LEVELS))
    for k in range(n_folds):
        train = np.flatnonzero(fold != k).astype(np.int32)
        test = np.flatnonzero(fold == k).astype(np.int32)
        errors += errors_of_levels(train, test)
    return F_TEST_LEVELS[int(np.argmin(errors))]
