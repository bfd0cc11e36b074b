"""Refuse what graph classifiers cannot be trained on, with a word on what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.graphs.training import GraphTask


def check_calibrated(estimator: Any) -> None:
    """Refuse a decoding of probabilities that there will not be."""
    if estimator.calibration_folds is None:
        raise ValueError(
            f"decoding={estimator.decoding!r:.60} needs probabilities, and calibration_folds=None "
            "gives none. Set calibration_folds to 3, for example, or decoding='auto'."
        )


def check_observed(task: GraphTask) -> None:
    """Refuse labels without a value, which a completion of dual variables needs."""
    observed = task.data.observed
    if observed is not None and not observed[task.problem.mass > 0.0].all():
        raise ValueError(
            "completion='consistent' needs every label of every row; got some that were not "
            "observed (NaN in Y, or a weight of 0). Use completion='zero', or leave these rows "
            "out."
        )


def check_gram(gram: NDArray[np.float64], *, is_given: bool) -> None:
    """Refuse what is no kernel matrix of the training rows."""
    name = "A precomputed kernel" if is_given else "The kernel"
    n_rows, n_columns = gram.shape
    if n_rows != n_columns:
        raise ValueError(
            f"{name} must be a square matrix of the training rows; got X of shape "
            f"({n_rows}, {n_columns})."
        )
    furthest = 0.0
    for start in range(0, n_rows, 256):  # a tile at a time: the transpose is read against memory
        part = slice(start, start + 256)
        furthest = max(furthest, float(np.abs(gram[part, start:] - gram[start:, part].T).max()))
    if furthest > 1e-6 * max(gram.max(), -gram.min()) or (gram.diagonal() < 0.0).any():
        raise ValueError(
            f"{name} must be symmetric with a non-negative diagonal; got one that is not. "
            + (
                "Pass kernel(X, X)."
                if is_given
                else "Give a function of two sets of rows that is."
            )
        )
