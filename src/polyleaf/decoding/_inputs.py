"""Read what decoders are given: probabilities, label matrices and distributions of label sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.matrices import as_floats, is_sparse, read_array, read_sparse

Floats = NDArray[np.float64]


def read_probabilities(probabilities: Any) -> Floats | sparse.csr_array:
    """Read probabilities of labels, of shape (n, d); what a sparse matrix leaves out is 0."""
    matrix = read_numbers(probabilities, "probabilities")
    values = np.asarray(matrix.data) if isinstance(matrix, sparse.csr_array) else matrix
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            "probabilities must be a matrix with a row per sample and a column per label, at "
            f"least one of each; got shape {matrix.shape}."
        )
    # Sums of many weights may end a little above 1.
    if not ((values >= -1e-9) & (values <= 1 + 1e-9)).all():
        raise ValueError(
            "probabilities must be from 0 to 1; got others. Turn scores into probabilities first, "
            "with LabelCalibrator(inputs='score')."
        )
    return matrix


def read_numbers(values: Any, name: str) -> Floats | sparse.csr_array:
    """Read numbers of any shape, or those of a sparse matrix."""
    if is_sparse(values):
        return read_sparse(values, name).astype(np.float64)
    return as_floats(read_array(values, name), name)


def read_labels(Y: Any) -> tuple[Any, NDArray[np.bool_] | None]:
    """Read a label matrix: as bool array or csr_array, and which entries are observed."""
    if is_sparse(Y):
        matrix = read_sparse(Y, "Y", copy=True)
        matrix.eliminate_zeros()
        if 0 in matrix.shape:
            raise _no_label_matrix(matrix.shape)
        if not (matrix.data == 1).all():
            raise ValueError("Y must hold 0 and 1 only; got other values.")
        return matrix.astype(np.bool_), None
    values = as_floats(read_array(Y, "Y"), "Y")
    if values.ndim != 2 or 0 in values.shape:
        raise _no_label_matrix(values.shape)
    unobserved = np.isnan(values)
    if not ((values == 0) | (values == 1) | unobserved).all():
        raise ValueError("Y must hold 0 and 1 only, and NaN where not observed; got others.")
    return values == 1, ~unobserved if unobserved.any() else None


def _no_label_matrix(shape: tuple[int, ...]) -> ValueError:
    return ValueError(
        "Y must be a label matrix with a row per sample and a column per label; got shape "
        f"{shape}."
    )


def log_odds_of(probabilities: Floats) -> Floats:
    """Return log(p / (1 - p)), bounded for probabilities of 0 and 1."""
    inside = np.clip(probabilities, 1e-9, 1.0 - 1e-9)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def read_joint(weights: Any, label_sets: Any) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Read a distribution over label sets for each row, normalised to sum 1.

    Returns
    -------
    weights : csr_array of shape (n, s)
    label_sets : csr_array of shape (s, d)
    """
    sets, observed = read_labels(label_sets)
    if observed is not None:
        raise ValueError("label_sets must be fully observed; got NaN.")
    given = read_numbers(weights, "weights")
    if given.ndim != 2:
        raise ValueError(f"weights must be a matrix with a row per sample; got {given.shape}.")
    matrix = sparse.csr_array(given)
    if matrix.shape[1] != sets.shape[0]:
        raise ValueError(
            f"weights must have a column for each of the {sets.shape[0]} label sets; got shape "
            f"{matrix.shape}."
        )
    totals = np.asarray(matrix.sum(axis=1))
    is_weight = np.isfinite(matrix.data).all() and (matrix.data >= 0).all()
    if not (is_weight and np.isfinite(totals).all() and (totals > 0).all()):
        raise ValueError(
            "weights must be finite numbers >= 0, and positive for at least one label set of "
            "each row; got others."
        )
    scaled = sparse.csr_array(matrix.multiply(1.0 / totals[:, np.newaxis]))
    return scaled, sparse.csr_array(sets).astype(np.float64)
