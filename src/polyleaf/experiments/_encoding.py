"""Put features in the form that scikit-learn's models need: complete numbers."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from polyleaf.checks.matrices import as_floats, is_sparse, read_array, read_sparse

_MOST_DENSE = 50_000_000  # entries: 400 MB


def encoded(X: Any, model: Any, *, scale: bool = False) -> Pipeline:
    """Return a pipeline of what X needs, as the step "encode", and the model, as "model".

    Parameters
    ----------
    X : array, frame or sparse matrix
        The features that it will see: missing values are filled by medians, categories become
        0/1 columns, and a sparse matrix is made dense.
    model : estimator
    scale : bool, default=False
        Whether features are centred and scaled to unit variance.

    Returns
    -------
    Pipeline
    """
    fill = SimpleImputer(strategy="median", keep_empty_features=True)
    numbers = make_pipeline(fill, StandardScaler()) if scale else fill
    encoder: Any
    if sparse.issparse(X):
        encoder = make_pipeline(_Densify(), numbers)
    elif isinstance(X, np.ndarray):
        encoder = numbers
    else:
        categories = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        encoder = make_column_transformer(
            (numbers, _Columns(numeric=True)),
            (categories, _Columns(numeric=False)),
        )
    return Pipeline([("encode", encoder), ("model", model)])


def dense(matrix: Any) -> Any:
    """Return an array of a matrix that may be sparse; too large a one is refused.

    Parameters
    ----------
    matrix : array-like or sparse matrix of shape (n, d)

    Returns
    -------
    ndarray of shape (n, d)
    """
    if not is_sparse(matrix):
        return read_array(matrix, "a matrix")
    if matrix.shape[0] * matrix.shape[1] > _MOST_DENSE:
        raise MemoryError(
            f"A dense matrix of shape {matrix.shape} would take more than "
            f"{_MOST_DENSE * 8 / 1e6:.0f} MB; this method cannot use sparse matrices."
        )
    return read_sparse(matrix, "matrix").toarray()


def output_matrix(y: Any, X: Any) -> Any:
    """Return outputs as an array of two dimensions, for a model that takes nothing else.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n, d)
    X : ndarray, frame or csr_array of shape (n, p)
        Features, as `feature_rows` gives them.

    Returns
    -------
    ndarray of shape (n, d)
        Of bools, integers or floats.
    """
    outputs = dense(y)
    if outputs.ndim != 2 or 0 in outputs.shape:
        raise ValueError(
            "y must be a matrix with a row per sample and a column per output, at least one of "
            f"each; got shape {outputs.shape}."
        )
    if outputs.shape[0] != X.shape[0]:
        raise ValueError(
            f"X and y must have the same number of rows; got {X.shape[0]} and {outputs.shape[0]}."
        )
    return outputs if outputs.dtype.kind in "biuf" else as_floats(outputs, "y")


def feature_rows(X: Any) -> Any:
    """Return features of which some rows can be taken; the indices of sparse ones are checked.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n, p)

    Returns
    -------
    ndarray, frame or csr_array of shape (n, p)
    """
    if is_sparse(X):
        return read_sparse(X, "X")
    rows = X if hasattr(X, "shape") and hasattr(X, "columns") else read_array(X, "X")
    if len(rows.shape) != 2:
        raise ValueError(
            f"X must be a matrix with a row per sample and a column per feature; got shape "
            f"{tuple(rows.shape)}."
        )
    return rows


class _Columns:
    """Choose the columns of numbers, or all others, of a frame of any library."""

    def __init__(self, *, numeric: bool) -> None:
        self.numeric = numeric

    def __call__(self, X: Any) -> list[str]:
        frame = nw.from_native(X, eager_only=True)
        return [name for name, dtype in frame.schema.items() if dtype.is_numeric() == self.numeric]


class TargetScale:
    """The mean and standard deviation of each target, for models to which units matter.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        NaN is not observed.
    """

    def __init__(self, Y: Any) -> None:
        observed = ~np.isnan(Y)
        counts = np.maximum(observed.sum(axis=0), 1)
        self.mean = np.where(observed, Y, 0.0).sum(axis=0) / counts
        deviations = np.where(observed, Y - self.mean, 0.0)
        spread = np.sqrt((deviations**2).sum(axis=0) / counts)
        self.spread = np.where(spread > 0.0, spread, 1.0)

    def apply(self, Y: Any) -> Any:
        """Return targets of mean 0 and standard deviation 1."""
        return (Y - self.mean) / self.spread

    def undo(self, scaled: Any) -> Any:
        """Return targets in their own units."""
        return scaled * self.spread + self.mean


class _Densify(TransformerMixin, BaseEstimator):
    """Make a sparse matrix dense, within reason."""

    def fit(self, X: Any, y: Any = None) -> _Densify:
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        return dense(X)
