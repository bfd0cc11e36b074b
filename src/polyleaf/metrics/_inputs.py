"""Read what metrics are given: targets, label sets, scores and weights, dense or sparse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.matrices import as_floats, is_sparse, read_array, read_sparse
from polyleaf.checks.memory import check_memory

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Labels:
    """A label matrix: which labels each row has, and which entries are known.

    Attributes
    ----------
    present : ndarray of shape (n, d), bool, or csr_array of bool without stored zeros
        False where not observed.
    observed : ndarray of shape (n, d), bool, or None
        None where every entry is known; always so for a sparse matrix.
    """

    present: Bools | sparse.csr_array
    observed: Bools | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and labels."""
        n_rows, n_labels = self.present.shape
        return n_rows, n_labels

    def n_observed(self) -> Floats:
        """Count the known entries of each row."""
        if self.observed is None:
            return np.full(self.shape[0], float(self.shape[1]))
        return np.asarray(self.observed.sum(axis=1, dtype=np.float64))


def read_labels(y: Any, name: str, *, allow_unobserved: bool = False) -> Labels:
    """Read a matrix of 0 and 1, with NaN for 'not observed' where that is allowed."""
    if is_sparse(y):
        matrix = _checked(y, name, copy=True)
        if not ((matrix.data == 0) | (matrix.data == 1)).all():
            raise ValueError(
                f"{name} must hold 0 and 1 only where it is sparse; got other values. Pass a "
                "dense array if some labels are not observed (NaN)."
            )
        matrix.eliminate_zeros()
        return Labels(matrix.astype(np.bool_))
    values = _two_dimensional(read_array(y, name), name)
    if values.dtype == np.bool_:
        return Labels(values)
    numbers = as_floats(values, name)
    unobserved = np.isnan(numbers)
    present = numbers == 1.0
    if not (present | (numbers == 0.0) | unobserved).all():
        raise ValueError(f"{name} must hold 0 and 1 only, one column per label; got other values.")
    if not unobserved.any():
        return Labels(present)
    if not allow_unobserved:
        raise ValueError(
            f"{name} must hold 0 and 1 only; got NaN. Only y_true may have entries that are not "
            "observed."
        )
    return Labels(present, ~unobserved)


def read_label_pair(y_true: Any, y_pred: Any) -> tuple[Labels, Labels]:
    """Read the true and the predicted label sets."""
    true = read_labels(y_true, "y_true", allow_unobserved=True)
    pred = read_labels(y_pred, "y_pred")
    check_same_shape(true.shape, pred.shape, "y_pred")
    return true, pred


def read_scores(
    y_score: Any, shape: tuple[int, int], name: str = "y_score"
) -> Floats | sparse.csr_array:
    """Read scores, one per row and label; what a sparse matrix does not store is the score 0."""
    scores: Floats | sparse.csr_array
    if is_sparse(y_score):
        scores = _checked(y_score, name).astype(np.float64)
        is_finite = np.isfinite(scores.data).all()
    else:
        scores = as_floats(_two_dimensional(read_array(y_score, name), name), name)
        is_finite = np.isfinite(scores).all()
    check_same_shape(shape, scores.shape, name)
    if not is_finite:
        raise ValueError(f"{name} must hold finite numbers; got NaN or infinity.")
    return scores


def read_targets(y: Any, name: str) -> Floats:
    """Read numbers of shape (n,) or (n, d) as (n, d); NaN stays."""
    values = _dense(y, name) if is_sparse(y) else read_array(y, name)
    values = values[:, np.newaxis] if values.ndim == 1 else values
    numbers = as_floats(_two_dimensional(values, name), name)
    if np.isinf(numbers).any():
        raise ValueError(f"{name} must hold finite numbers or NaN; got infinity.")
    return numbers


def _dense(y: Any, name: str) -> NDArray[Any]:
    matrix = _checked(y, name)
    n_rows, n_targets = matrix.shape
    purpose = f"This metric makes a sparse {name} dense: {n_rows} by {n_targets} numbers take"
    check_memory(8 * n_rows * n_targets, purpose, "Score some of the targets at a time.")
    return np.asarray(matrix.toarray())


def read_row_weights(sample_weight: Any, n_rows: int) -> Floats:
    """Read one weight per row; all 1 by default."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = _checked_weights(sample_weight)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have shape ({n_rows},), one weight per row; got {weights.shape}."
        )
    return weights


def read_entry_weights(sample_weight: Any, shape: tuple[int, int]) -> Floats:
    """Read weights of shape (n,) or (n, d), as (n, 1) or (n, d)."""
    if sample_weight is None:
        return np.ones((shape[0], 1))
    weights = _checked_weights(sample_weight)
    if weights.shape not in (shape[:1], shape):
        raise ValueError(
            f"sample_weight must have shape ({shape[0]},) or {shape}; got {weights.shape}."
        )
    return weights.reshape(shape[0], -1)


def check_same_shape(expected: tuple[int, ...], got: tuple[int, ...], name: str) -> None:
    """Raise unless predictions have the shape of y_true."""
    if expected != got:
        raise ValueError(f"{name} must have the shape of y_true, {expected}; got {got}.")


def _checked_weights(sample_weight: Any) -> Floats:
    weights = as_floats(read_array(sample_weight, "sample_weight"), "sample_weight")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise ValueError(
            "sample_weight must hold finite numbers >= 0 that are not all 0; got others."
        )
    return weights


def _two_dimensional(values: NDArray[Any], name: str) -> NDArray[Any]:
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(
            f"{name} must be a matrix with a row per sample and a column per output, at least "
            f"one of each; got shape {values.shape}."
        )
    return values


def _checked(matrix: Any, name: str, *, copy: bool = False) -> sparse.csr_array:
    """Return a csr_array with sorted indices and summed duplicates, of at least one entry."""
    csr = read_sparse(matrix, name, copy=copy)
    if 0 in csr.shape:
        raise ValueError(
            f"{name} must have at least one row and one column; got the shape {csr.shape}."
        )
    return csr
