"""Read what an estimator around another one is given, before rows are taken from it."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from polyleaf.checks.matrices import as_floats, is_sparse, read_array, read_sparse
from polyleaf.data.read_targets import check_given


def read_rows(X: Any, n_rows: int | None = None) -> Any:
    """Return features of which some rows can be taken.

    What a row is, only the inner estimator knows: numbers, categories, or a text in front of a
    vectoriser.

    Parameters
    ----------
    X : array-like, frame or sparse matrix with n rows
    n_rows : int, optional
        How many rows y has.

    Returns
    -------
    list, tuple, array, frame or csr_array
        X itself, or a csr_array whose indices are checked.
    """
    if is_sparse(X):
        X = read_sparse(X, "X")
    elif not hasattr(X, "shape") and hasattr(X, "__array__"):
        X = np.asarray(X)
    shape = getattr(X, "shape", None)
    if shape is None and not isinstance(X, (list, tuple)):
        raise TypeError(
            "X must be an array, a list of rows, a data frame or a scipy.sparse matrix; got "
            f"{type(X).__name__}."
        )
    if shape is not None and len(shape) == 0:
        raise ValueError(
            "Expected 2D array, got scalar array instead: X must have a row per example."
        )
    n_found = len(X) if shape is None else int(shape[0])
    if n_found == 0:
        raise ValueError(
            "Found array with 0 sample(s) while a minimum of 1 is required: X must have at least "
            "one row."
        )
    if n_rows is not None and n_found != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_found}, {n_rows}]. "
            "X and y must have one row per example each."
        )
    return X


def read_label_matrix(y: Any, estimator_name: str) -> Any:
    """Read labels as numbers.

    Parameters
    ----------
    y : array-like, frame or sparse matrix of shape (n, d)
        0 and 1, as numbers, bools or texts; NaN or None where not observed.
    estimator_name : str
        For messages.

    Returns
    -------
    ndarray of shape (n, d), float64, or csr_array
    """
    check_given(y, estimator_name)
    if is_sparse(y):
        labels: Any = read_sparse(y, "y")
        values = np.asarray(labels.data)
    else:
        labels = values = as_floats(read_array(y, "y"), "y")
    if labels.ndim != 2 or 0 in labels.shape:
        raise ValueError(
            f"{estimator_name} is for multi-label problems: y must be a matrix of 0 and 1 with a "
            f"column per label; got shape {labels.shape}."
        )
    if not ((values == 0) | (values == 1) | np.isnan(values)).all():
        raise ValueError(
            f"{estimator_name} is for multi-label problems: y must hold 0 and 1 only, and NaN "
            "where not observed; got other values."
        )
    return labels


def label_numbers(y: Any, labels: Any) -> Any:
    """Return y as it was given, but with numbers in place of texts and objects.

    A classifier takes "0" and "1" for the names of two classes, not for labels.

    Parameters
    ----------
    y : array-like, frame or sparse matrix of shape (n, d)
    labels : ndarray or csr_array of shape (n, d)
        What `read_label_matrix` made of it.

    Returns
    -------
    array-like, frame or csr_array of shape (n, d)
    """
    if is_sparse(y):
        return labels
    if nw.dependencies.is_into_dataframe(y):
        frame = nw.from_native(y, eager_only=True)
        is_number = [d.is_numeric() or isinstance(d, nw.Boolean) for d in frame.schema.values()]
        return y if all(is_number) else frame.select(nw.all().cast(nw.Float64)).to_native()
    return y if read_array(y, "y").dtype.kind in "biuf" else labels
