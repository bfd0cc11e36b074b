"""Cheap models that shame trees on small or linear data, as named arrays of our own.

Linear (ridge or logistic regression), kernel (ridge with a kernel that is chosen by leave-one-out
errors) and neighbours. Each scores columns that a `Design` made; scikit-learn fits the logistic
regressions, nothing of it is stored.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances

from polyleaf.auto.squares import (
    Decomposition,
    dual_coefficients,
    least_squares,
    primal_coefficients,
)
from polyleaf.files.arrays import StoredArray, StoredArrays

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyleaf.data import Targets

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]
    Columns: TypeAlias = NDArray[np.float64] | CSR

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

#: Rows on which the kernel and its width are chosen.
_CHOOSING_ROWS = 400
#: Widths that are tried, relative to the median squared distance.
_WIDTHS = (0.1, 0.3, 1.0, 3.0)
_KERNELS = ("gaussian", "exponential")
#: Numbers of neighbours that are tried.
_NEIGHBOURS = (3, 5, 10, 20, 40)
#: Distances that are held at a time.
_BLOCK_CELLS = 2**22
_LOGISTIC_STEPS = 200

_ARRAYS = StoredArrays(
    "Baselines (estimators of polyleaf.AutoRegressor and AutoClassifier)",
    {
        "baseline_coefficients": StoredArray(
            np.float64, "n_columns or n_rows, n_channels", "Of columns, or of training rows."
        ),
        "baseline_intercepts": StoredArray(np.float64, "n_channels", "What is added to scores."),
        "baseline_rows": StoredArray(np.float64, "n_rows, n_columns", "Dense training rows."),
        "baseline_indptr": StoredArray(np.int64, "n_rows + 1", "Sparse training rows."),
        "baseline_indices": StoredArray(np.int64, "n_entries", "Columns of their entries."),
        "baseline_data": StoredArray(np.float64, "n_entries", "Their entries."),
        "baseline_outputs": StoredArray(
            np.float64, "n_rows, n_channels", "Outputs of neighbours; NaN where not observed."
        ),
    },
)


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Scores that are sums over columns.

    Attributes
    ----------
    coefficients : ndarray of shape (n_columns, n_channels)
    intercepts : ndarray of shape (n_channels,)
    is_logistic : bool
        Whether scores are log-odds.
    """

    name: ClassVar[str] = "linear"
    coefficients: Floats
    intercepts: Floats
    is_logistic: bool = False

    @classmethod
    def fit(cls, columns: Columns, targets: Targets) -> LinearModel:
        """Fit a ridge regression of every channel, with penalties of their own."""
        share, outputs = _row_shares(targets), targets.dense_values()
        n_rows, n_columns = columns.shape
        if n_columns < n_rows:
            dense = columns if isinstance(columns, np.ndarray) else columns.toarray()
            parts, directions = Decomposition.of_columns(dense, share)
            found = least_squares(parts, outputs, targets.observed)
            coefficients = primal_coefficients(parts, directions, found)
        else:
            parts = Decomposition.of(_product(columns), share)
            found = least_squares(parts, outputs, targets.observed)
            dual = dual_coefficients(parts, found)
            coefficients = columns.T @ dual - np.outer(share @ columns, dual.sum(axis=0))
        intercepts = found.means - (share @ columns) @ coefficients
        return cls(np.asarray(coefficients), np.asarray(intercepts))

    @classmethod
    def fit_logistic(cls, columns: Columns, targets: Targets, strength: float) -> LinearModel:
        """Fit a logistic regression of every label, or of the classes of every output."""
        n_channels = targets.n_channels
        coefficients = np.zeros((columns.shape[1], n_channels))
        intercepts = np.zeros(n_channels)
        values = targets.dense_values()
        for start, end in pairwise(targets.schema.channel_offsets.tolist()):
            channel = slice(start, end)
            weights = targets.channel_weights(start)
            rows = np.flatnonzero(weights > 0)
            group = values[rows, channel]
            classes = group.argmax(axis=1) if end - start > 1 else group[:, 0].astype(int)
            fitted = _logistic(columns[rows], classes, weights[rows], strength)
            _fill(fitted, classes, weights[rows], coefficients[:, channel], intercepts[channel])
        return cls(coefficients, intercepts, is_logistic=True)

    def scores(self, columns: Columns) -> Floats:
        """Score rows, of shape (n, n_channels)."""
        return np.asarray(columns @ self.coefficients + self.intercepts)

    def to_arrays(self) -> Arrays:
        """Name the arrays, for a model file."""
        return {
            "baseline_coefficients": self.coefficients,
            "baseline_intercepts": self.intercepts,
        }

    def settings(self) -> dict[str, Any]:
        """Give all else, as JSON's types."""
        return {"is_logistic": self.is_logistic}

    @classmethod
    def from_file(cls, arrays: Arrays, stored: Any, n_columns: int, n_channels: int) -> Any:
        """Undo `to_arrays` and `settings`, and check everything."""
        if type(stored["is_logistic"]) is not bool:
            raise ValueError("Expected is_logistic to be a boolean.")
        coefficients = _matrix(arrays, "baseline_coefficients", n_columns, n_channels)
        return cls(coefficients, _intercepts(arrays, n_channels), stored["is_logistic"])


@dataclass(frozen=True, eq=False)
class KernelModel:
    """Scores that are sums over training rows of a kernel of the distance.

    Attributes
    ----------
    rows : ndarray or csr_array of shape (n_rows, n_columns)
    coefficients : ndarray of shape (n_rows, n_channels)
    intercepts : ndarray of shape (n_channels,)
    kernel : {"gaussian", "exponential"}
        exp(-d^2 / width) or exp(-d / sqrt(width)).
    width : float
    """

    name: ClassVar[str] = "kernel"
    rows: Columns
    coefficients: Floats
    intercepts: Floats
    kernel: str
    width: float

    @classmethod
    def fit(
        cls,
        columns: Columns,
        targets: Targets,
        kernel: str | None = None,
        width: float | None = None,
    ) -> KernelModel:
        """Fit a ridge regression on all rows; without kernel and width, choose them on some."""
        share, outputs = _row_shares(targets), targets.dense_values()
        if kernel is None or width is None:
            kernel, width = cls._chosen(columns, targets, share, outputs)
        gram = _kernel(_distances(columns, columns), kernel, width)
        parts = Decomposition.of(gram, share)
        found = least_squares(parts, outputs, targets.observed)
        dual = dual_coefficients(parts, found)
        means = gram @ share
        intercepts = found.means - (means - share @ means) @ dual
        dual = dual - np.outer(share, dual.sum(axis=0))
        return cls(columns, dual, np.asarray(intercepts), kernel, width)

    @staticmethod
    def _chosen(
        columns: Columns, targets: Targets, share: Floats, outputs: Floats
    ) -> tuple[str, float]:
        """Choose kernel and width by leave-one-out errors of some rows."""
        n_rows = columns.shape[0]
        some = np.linspace(0, n_rows - 1, min(n_rows, _CHOOSING_ROWS)).astype(np.intp)
        distances = _distances(columns[some], columns[some])
        typical = float(np.median(distances[distances > 0])) if (distances > 0).any() else 1.0
        known = None if targets.observed is None else targets.observed[some]
        part_share = share[some] / max(float(share[some].sum()), 1e-300)
        spread = np.maximum(outputs[some].var(axis=0), 1e-300)
        settings: list[tuple[float, str, float]] = []
        for kernel in _KERNELS:
            for width in _WIDTHS:
                gram = _kernel(distances, kernel, width * typical)
                parts = Decomposition.of(gram, part_share)
                errors = least_squares(parts, outputs[some], known).errors / spread
                settings.append((float(errors.mean()), kernel, width * typical))
        return min(settings, key=lambda setting: setting[0])[1:]

    def scores(self, columns: Columns) -> Floats:
        """Score rows, of shape (n, n_channels)."""
        found = np.empty((columns.shape[0], self.intercepts.size))
        for block in _blocks(columns.shape[0], self.rows.shape[0]):
            gram = _kernel(_distances(columns[block], self.rows), self.kernel, self.width)
            found[block] = gram @ self.coefficients + self.intercepts
        return found

    def to_arrays(self) -> Arrays:
        """Name the arrays, for a model file."""
        return _rows_to_arrays(self.rows) | {
            "baseline_coefficients": self.coefficients,
            "baseline_intercepts": self.intercepts,
        }

    def settings(self) -> dict[str, Any]:
        """Give all else, as JSON's types."""
        return {"kernel": self.kernel, "width": self.width}

    @classmethod
    def from_file(cls, arrays: Arrays, stored: Any, n_columns: int, n_channels: int) -> Any:
        """Undo `to_arrays` and `settings`, and check everything."""
        rows = _rows_from_arrays(arrays, n_columns)
        kernel, width = stored["kernel"], float(stored["width"])
        if kernel not in _KERNELS or not 0 < width < np.inf:
            raise ValueError(f"Expected a kernel of {_KERNELS} with a width above 0.")
        coefficients = _matrix(arrays, "baseline_coefficients", rows.shape[0], n_channels)
        return cls(rows, coefficients, _intercepts(arrays, n_channels), kernel, width)


@dataclass(frozen=True, eq=False)
class NeighbourModel:
    """Averages over the nearest training rows.

    Attributes
    ----------
    rows : ndarray or csr_array of shape (n_rows, n_columns)
    outputs : ndarray of shape (n_rows, n_channels)
        NaN where not observed.
    n_neighbours : int
    """

    name: ClassVar[str] = "neighbours"
    rows: Columns
    outputs: Floats
    n_neighbours: int

    @classmethod
    def fit(cls, columns: Columns, targets: Targets) -> NeighbourModel:
        """Keep the rows that count, and choose the number of neighbours by leave-one-out."""
        kept = np.flatnonzero(_row_shares(targets) > 0)
        columns, outputs = columns[kept], np.asarray(targets.at(kept).dense_values())
        if targets.observed is not None:
            outputs = np.where(targets.observed[kept], outputs, np.nan)
        some = np.linspace(0, kept.size - 1, min(kept.size, 4 * _CHOOSING_ROWS)).astype(np.intp)
        most = min(_NEIGHBOURS[-1], kept.size - 1)
        if most < 1:
            return cls(columns, outputs, 1)
        order = np.empty((some.size, most), np.intp)
        for block in _blocks(some.size, kept.size):
            distances = _distances(columns[some[block]], columns)
            distances[np.arange(distances.shape[0]), some[block]] = np.inf
            order[block] = _nearest(distances, most)
        truth = outputs[some]
        spread = np.maximum(np.nan_to_num(np.nanvar(_known(outputs), axis=0)), 1e-300)
        errors = []
        for k in _NEIGHBOURS:
            guess = _averages(outputs, order[:, : min(k, most)])
            errors.append(float(np.nanmean(np.nan_to_num((truth - guess) ** 2) / spread)))
        return cls(columns, outputs, _NEIGHBOURS[int(np.argmin(errors))])

    def scores(self, columns: Columns) -> Floats:
        """Score rows, of shape (n, n_channels)."""
        found = np.empty((columns.shape[0], self.outputs.shape[1]))
        k = min(self.n_neighbours, self.rows.shape[0])
        for block in _blocks(columns.shape[0], self.rows.shape[0] + k * self.outputs.shape[1]):
            order = _nearest(_distances(columns[block], self.rows), k)
            found[block] = _averages(self.outputs, order)
        return found

    def to_arrays(self) -> Arrays:
        """Name the arrays, for a model file."""
        return _rows_to_arrays(self.rows) | {"baseline_outputs": self.outputs}

    def settings(self) -> dict[str, Any]:
        """Give all else, as JSON's types."""
        return {"n_neighbours": self.n_neighbours}

    @classmethod
    def from_file(cls, arrays: Arrays, stored: Any, n_columns: int, n_channels: int) -> Any:
        """Undo `to_arrays` and `settings`, and check everything."""
        rows = _rows_from_arrays(arrays, n_columns)
        n_neighbours = stored["n_neighbours"]
        if type(n_neighbours) is not int or n_neighbours < 1:
            raise ValueError("Expected a number of neighbours.")
        outputs = _ARRAYS.read(arrays, "baseline_outputs")
        if outputs.shape != (rows.shape[0], n_channels):
            raise ValueError("Expected outputs of every training row.")
        return cls(rows, outputs, n_neighbours)


MODELS: dict[str, Any] = {cls.name: cls for cls in (LinearModel, KernelModel, NeighbourModel)}


# Logistic regression ----------------------------------------------------------------------------


def _logistic(columns: Columns, classes: Any, weights: Floats, strength: float) -> Any:
    """Fit one logistic regression; None where there is one class."""
    if classes.size == 0 or classes.min() == classes.max():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=strength, max_iter=_LOGISTIC_STEPS)
        return model.fit(_for_sklearn(columns), classes, weights / weights.mean())


def _for_sklearn(columns: Columns) -> Any:
    """Give sparse rows with the indices that scikit-learn's solvers take."""
    if isinstance(columns, np.ndarray):
        return columns
    indices, indptr = columns.indices.astype(np.int32), columns.indptr.astype(np.int32)
    return sparse.csr_matrix((columns.data, indices, indptr), shape=columns.shape)


def _fill(
    fitted: Any, classes: Any, weights: Floats, coefficients: Floats, intercepts: Floats
) -> None:
    """Write what a regression found into the channels of its output."""
    if intercepts.size == 1 and fitted is not None:
        coefficients[:, 0], intercepts[0] = fitted.coef_[0], fitted.intercept_[0]
    elif intercepts.size == 1:  # one class: its share, with half a row of either
        total, ones = weights.sum() + 1.0, weights @ classes + 0.5
        intercepts[0] = logit(ones / total)
    else:
        intercepts[:] = -20.0  # a class that was not seen
        if fitted is None:
            intercepts[classes[0] if classes.size else 0] = 0.0
        elif fitted.classes_.size == 2:
            coefficients[:, fitted.classes_[1]] = fitted.coef_[0]
            intercepts[fitted.classes_] = [0.0, fitted.intercept_[0]]
        else:
            coefficients[:, fitted.classes_] = fitted.coef_.T
            intercepts[fitted.classes_] = fitted.intercept_


# Rows, weights and distances --------------------------------------------------------------------


def _row_shares(targets: Targets) -> Floats:
    """Give the weight of each row, of a total of 1; of weights of entries, their mean."""
    weights = targets.weights
    if weights is None:
        return np.full(targets.n_rows, 1.0 / targets.n_rows)
    by_row = weights if weights.ndim == 1 else weights.mean(axis=1)
    return np.asarray(by_row / by_row.sum())


def _product(columns: Columns) -> Floats:
    product: Any = columns @ columns.T
    return np.asarray(product if isinstance(product, np.ndarray) else product.toarray())


def _distances(some: Columns, others: Columns) -> Floats:
    """Give squared distances, of shape (n_some, n_others)."""
    return np.asarray(euclidean_distances(some, others, squared=True))


def _kernel(distances: Floats, kernel: str, width: float) -> Floats:
    if kernel == "gaussian":
        return np.asarray(np.exp(-distances / width))
    return np.asarray(np.exp(-np.sqrt(distances / width)))


def _blocks(n_rows: int, n_others: int) -> list[slice]:
    size = max(1, _BLOCK_CELLS // max(n_others, 1))
    return [slice(start, start + size) for start in range(0, n_rows, size)]


def _nearest(distances: Floats, k: int) -> NDArray[np.intp]:
    """Find the k nearest of every row, nearest first; of equally near ones, the first."""
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def _known(outputs: Floats) -> Floats:
    """Replace columns without an observed value by zeros, so that means are numbers."""
    return np.where(np.isnan(outputs).all(axis=0), 0.0, outputs)


def _averages(outputs: Floats, order: NDArray[np.intp]) -> Floats:
    """Average outputs of neighbours; where none is observed, those of all rows."""
    near = outputs[order]
    seen = ~np.isnan(near)
    counts = seen.sum(axis=1)
    sums = np.where(seen, near, 0.0).sum(axis=1)
    overall = np.nanmean(_known(outputs), axis=0)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), overall))


def _rows_to_arrays(rows: Columns) -> Arrays:
    if isinstance(rows, np.ndarray):
        return {"baseline_rows": rows}
    return {
        "baseline_indptr": rows.indptr.astype(np.int64),
        "baseline_indices": rows.indices.astype(np.int64),
        "baseline_data": rows.data.astype(np.float64),
    }


def _rows_from_arrays(arrays: Mapping[str, NDArray[Any]], n_columns: int) -> Columns:
    if "baseline_rows" in arrays:
        rows = _ARRAYS.read(arrays, "baseline_rows")
        if rows.shape[1] != n_columns or not rows.shape[0]:
            raise ValueError(f"Expected training rows with {n_columns} columns.")
        _expect_finite(rows, "baseline_rows")
        return rows
    names = ("baseline_data", "baseline_indices", "baseline_indptr")
    data, indices, indptr = (_ARRAYS.read(arrays, name) for name in names)
    _expect_finite(data, "baseline_data")
    if indptr.size < 2:
        raise ValueError("Expected training rows.")
    entries: CSR = sparse.csr_array((data, indices, indptr), shape=(indptr.size - 1, n_columns))
    entries.check_format(full_check=True)
    return entries


def _matrix(arrays: Arrays, name: str, n_rows: int, n_columns: int) -> Floats:
    matrix = _ARRAYS.read(arrays, name)
    if matrix.shape != (n_rows, n_columns):
        raise ValueError(f"Expected {name} of shape {(n_rows, n_columns)}; got {matrix.shape}.")
    _expect_finite(matrix, name)
    return matrix


def _intercepts(arrays: Arrays, n_channels: int) -> Floats:
    intercepts = _ARRAYS.read(arrays, "baseline_intercepts")
    if intercepts.shape != (n_channels,):
        raise ValueError(f"Expected {n_channels} intercepts; got {intercepts.shape}.")
    _expect_finite(intercepts, "baseline_intercepts")
    return intercepts


def _expect_finite(array: NDArray[Any], name: str) -> None:
    if not np.isfinite(array).all():
        raise ValueError(f"Expected {name} to hold finite numbers.")
