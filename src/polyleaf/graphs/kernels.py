"""Kernels: what a graph model is linear in, and the kernel matrix as the training needs it.

A `ColumnScale` brings features to the same scale. A `KernelMap` turns rows of X into features or
kernel values, which the model's parameters multiply. A `KernelOperator` is the matrix of the
training rows: whole, or as features it is the product of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.preprocessing import normalize

from polyleaf.files.arrays import StoredArray, StoredArrays

if TYPE_CHECKING:
    from collections.abc import Mapping

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]
    Rows: TypeAlias = NDArray[np.float64] | CSR

#: Positions of rows.
Positions: TypeAlias = NDArray[np.intp]

#: Kernels whose features are those of X, so that the model needs no training rows.
EXPLICIT = ("linear", "cosine")
KERNELS = (*EXPLICIT, "poly", "rbf", "precomputed")
#: Sparse numbers of at most so many entries are scaled as dense ones are, 32 MB.
_SMALL_SPARSE = 2**22
#: Kernels before which features are scaled, if the estimator asks for it.
SCALED = ("linear", "poly", "rbf")


_ARRAYS = StoredArrays(
    "Kernels of graph classifiers",
    {
        "anchors": StoredArray(
            np.float64, "n_rows, n_features", "Training rows, for kernels that need them."
        ),
    },
)


@dataclass(frozen=True, eq=False)
class ColumnScale:
    """Brings columns of numbers to the same scale: (x - centre) / scale.

    A column that is 0 in most rows keeps its zeros, and is divided by the root mean square of the
    others: rare words count as much as common ones, not more. Other columns have the mean 0 and
    the variance 1 afterwards. Large sparse matrices stay sparse: all their columns keep zeros.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_features,), float64

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[2001.0, 0.0], [2003.0, 0.0], [2005.0, 1.0]])
    >>> ColumnScale.fit(rows, np.ones(3)).apply(rows).round(2)
    array([[-1.22,  0.  ],
           [ 0.  ,  0.  ],
           [ 1.22,  1.  ]])
    """

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, rows: Rows, weights: NDArray[np.float64]) -> ColumnScale:
        """Measure the columns of rows; `weights` has shape (n_rows,)."""
        if not weights.any():
            weights = np.ones_like(weights)
        if not isinstance(rows, np.ndarray) and rows.shape[0] * rows.shape[1] > _SMALL_SPARSE:
            squares, filled = _sparse_sums(rows, weights)
            scale = np.sqrt(squares / np.where(filled > 0.0, filled, 1.0))
            return cls(np.zeros(rows.shape[1]), np.where(scale > 0.0, scale, 1.0))
        dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
        total = weights.sum()
        filled = weights @ (dense != 0.0)
        mean = weights @ dense / total
        centre = np.where(filled < 0.5 * total, 0.0, mean)
        squares = np.zeros(dense.shape[1])
        for start in range(0, dense.shape[0], 1024):  # a copy of a part at a time
            part = slice(start, start + 1024)
            squares += weights[part] @ (dense[part] - centre) ** 2
        counted = np.where(filled < 0.5 * total, filled, total)
        scale = np.sqrt(squares / np.where(counted > 0.0, counted, 1.0))
        # A constant column differs from its mean by rounding.
        return cls(centre, np.where(scale > 1e-12 * np.abs(centre), scale, 1.0))

    def apply(self, rows: Rows) -> Rows:
        """Scale rows of the same columns; sparse ones stay sparse if no column has a centre."""
        if isinstance(rows, np.ndarray):
            scaled: NDArray[np.float64] = (rows - self.centre) / self.scale
            return scaled
        if self.centre.any():
            return self.apply(rows.toarray())
        values = rows.data / self.scale[rows.indices]
        return sparse.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)


def _sparse_sums(
    rows: CSR, weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum up the squares, and the weights of numbers other than 0, of each column."""
    by_entry = np.repeat(weights, np.diff(rows.indptr))
    n, at = rows.shape[1], rows.indices
    squares: Any = np.bincount(at, by_entry * rows.data**2, minlength=n)
    filled: Any = np.bincount(at, by_entry * (rows.data != 0.0), minlength=n)
    return squares, filled


@dataclass(frozen=True, eq=False)
class KernelMap:
    """A kernel, and the training rows that it needs.

    Attributes
    ----------
    kernel : str or callable
        One of `KERNELS`, or a function of two matrices of rows that gives their kernel matrix.
    degree : int
    gamma, coef0 : float
        Of the polynomial kernel (gamma <x, z> + coef0)^degree and of exp(-gamma |x - z|^2).
    intercept_scaling : float
        A constant feature of this size stands beside the others; 0: none.
    n_features : int
        Columns of X.
    anchors : ndarray of shape (n_rows, n_features), float64, or None
        Training rows; None for explicit and precomputed kernels.
    """

    kernel: str | Callable[[Any, Any], Any]
    degree: int
    gamma: float
    coef0: float
    intercept_scaling: float
    n_features: int
    anchors: NDArray[np.float64] | None = None

    @property
    def is_explicit(self) -> bool:
        """Whether `design` gives features rather than kernel values with training rows."""
        return self.kernel in EXPLICIT

    @property
    def n_columns(self) -> int:
        """Columns of `design`."""
        if self.is_explicit:
            return self.n_features + (self.intercept_scaling > 0.0)
        return self.n_features if self.anchors is None else self.anchors.shape[0]

    def is_like(self, other: KernelMap) -> bool:
        """Tell whether another map gives the same design."""
        mine, its = (
            (m.kernel, m.degree, m.gamma, m.coef0, m.intercept_scaling, m.n_features)
            for m in (self, other)
        )
        return mine == its and np.array_equal(self.anchors, other.anchors)  # type: ignore[arg-type]

    def design(self, X: Rows) -> Rows:
        """Turn rows into what the model's parameters multiply.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_rows, n_features), float64

        Returns
        -------
        ndarray or csr_array of shape (n_rows, n_columns), float64
            Features with the constant one, or kernel values with the anchors.
        """
        if self.is_explicit:
            return self._features(X)
        values = self._kernel_values(X)
        values += self.intercept_scaling**2
        return values

    def _features(self, X: Rows) -> Rows:
        if self.kernel == "cosine":
            X = normalize(X)
        if self.intercept_scaling == 0.0:
            return X
        constant = np.full((X.shape[0], 1), self.intercept_scaling)
        if sparse.issparse(X):
            columns: Any = [X, sparse.csr_array(constant)]
            return sparse.csr_array(sparse.hstack(columns, format="csr"))
        return np.hstack([X, constant])

    def _kernel_values(self, X: Rows) -> NDArray[np.float64]:
        if self.anchors is None:
            return np.array(X, dtype=np.float64)
        values: Any
        if self.kernel == "poly":
            values = polynomial_kernel(X, self.anchors, self.degree, self.gamma, self.coef0)
        elif self.kernel == "rbf":
            values = rbf_kernel(X, self.anchors, self.gamma)
        else:
            assert callable(self.kernel)
            values = np.array(self.kernel(X, self.anchors), dtype=np.float64)
        expected = (X.shape[0], self.anchors.shape[0])
        if values.shape != expected or not np.isfinite(values).all():
            raise ValueError(
                f"The kernel must give finite numbers of shape {expected}, one per pair of rows; "
                f"got the shape {values.shape}"
                + (" with NaN or infinity." if values.shape == expected else ".")
            )
        return np.asarray(values, dtype=np.float64)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Name the arrays, for a model file."""
        return {} if self.anchors is None else {"anchors": self.anchors}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], kernel: str, settings: Mapping[str, Any]
    ) -> KernelMap:
        """Rebuild and check a map from named arrays and its numbers.

        Raises
        ------
        ValueError
            If an array is absent, of another type or shape, or not finite.
        """
        if kernel not in KERNELS:
            raise ValueError(f"Expected a kernel among {KERNELS}; got {kernel!r:.40}.")
        n_features = settings["n_features"]
        if type(n_features) is not int or not 1 <= n_features < 2**31:
            raise ValueError(f"Expected a number of features; got {n_features!r:.40}.")
        anchors = None
        if kernel not in (*EXPLICIT, "precomputed"):
            anchors = _ARRAYS.read(arrays, "anchors")
            if anchors.shape[1] != n_features or not np.isfinite(anchors).all():
                raise ValueError(f"Expected anchors with {n_features} finite features.")
        numbers = {name: float(settings[name]) for name in ("gamma", "coef0", "intercept_scaling")}
        if not all(np.isfinite(list(numbers.values()))) or numbers["intercept_scaling"] < 0:
            raise ValueError(f"Expected finite settings of the kernel; got {numbers}.")
        return cls(
            kernel, int(settings["degree"]), n_features=n_features, anchors=anchors, **numbers
        )


def kernel_map_of(estimator: Any, kernel: Any, rows: Rows) -> tuple[KernelMap, Rows]:
    """Make the map of an estimator's kernel, and its design of the training rows.

    Parameters
    ----------
    estimator : GraphClassifier or GraphEnsembleClassifier
        Has the parameters.
    kernel : str or callable
        The estimator's, or the one that was chosen for it.
    rows : ndarray or csr_array of shape (n_rows, n_features), float64

    Raises
    ------
    ValueError
        If X is sparse and the kernel needs it dense, or if what is given or what the kernel
        makes of the rows is no kernel matrix.
    """
    check_sparse(kernel, rows)
    anchors, gamma = None, 1.0
    if kernel == "precomputed":
        _check_gram(np.asarray(rows), is_given=True)
    elif kernel not in EXPLICIT:
        anchors = np.ascontiguousarray(rows)
        gamma = _gamma_of(estimator.gamma, anchors)
    kernel_map = KernelMap(
        kernel,
        int(estimator.degree),
        gamma,
        float(estimator.coef0),
        float(estimator.intercept_scaling),
        rows.shape[1],
        anchors,
    )
    design = kernel_map.design(rows)
    if callable(kernel):
        _check_gram(np.asarray(design), is_given=False)
    return kernel_map, design


def mean_self_kernel(kernel_map: KernelMap, design: Rows, weights: NDArray[np.float64]) -> float:
    """Average k(x, x) over the training rows, without the constant feature."""
    if not kernel_map.is_explicit:
        own = np.asarray(design.diagonal())
    else:
        own = np.asarray((design * design).sum(axis=1)).reshape(-1)
    size = np.average(own, weights=weights if weights.any() else None)
    return float(size - kernel_map.intercept_scaling**2)


def check_sparse(kernel: Any, rows: Rows) -> None:
    """Refuse sparse rows of a kernel that needs them dense."""
    if sparse.issparse(rows) and kernel not in EXPLICIT:
        raise ValueError(
            f"A sparse X needs the kernel 'linear' or 'cosine'; got {kernel!r:.60}. Pass "
            "X.toarray(), or use one of those kernels."
        )


def _gamma_of(gamma: Any, rows: NDArray[np.float64]) -> float:
    if gamma != "scale":
        return float(gamma)
    variance = float(rows.var())
    return 1.0 / (rows.shape[1] * variance) if variance > 0.0 else 1.0


def _check_gram(gram: NDArray[np.float64], *, is_given: bool) -> None:
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


# The kernel matrix in training ------------------------------------------------------------------


class KernelOperator(Protocol):
    """K of shape (n, n), and the state that scores are computed from.

    With coefficients a of shape (n, q) the scores are K a. The state is a itself, or the weights
    that it stands for.

    Attributes
    ----------
    n_rows : int
    n_sweeps : int
        How often a block is swept once its scores are there: the dearer they are, the more.
    """

    n_rows: int
    n_sweeps: int

    def state_of(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the state that belongs to coefficients."""

    def block(
        self, rows: Positions, state: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the kernel among some rows, and their scores."""

    def add(
        self, rows: Positions, change: NDArray[np.float64], state: NDArray[np.float64]
    ) -> None:
        """Bring the state up to date with a change of some rows' coefficients."""

    def parameters(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the parameters of the model, of shape (q, n_columns of its design)."""

    def subset(self, rows: Positions) -> KernelOperator:
        """Give the operator of some rows."""

    def scores(
        self, rows: Positions, state: NDArray[np.float64], trained_on: Positions | None = None
    ) -> NDArray[np.float64]:
        """Score some rows by a state, which may be one of a subset of the rows."""


class GramOperator:
    """A kernel matrix that is held whole; the state is the coefficients.

    Parameters
    ----------
    gram : ndarray of shape (n, n), float64
        Symmetric and positive semi-definite.
    features : ndarray of shape (n, p), optional
        Features whose products the kernel is; the model's parameters then are their weights.
    """

    n_sweeps = 4

    def __init__(
        self, gram: NDArray[np.float64], features: NDArray[np.float64] | None = None
    ) -> None:
        self._gram, self._features = gram, features
        self.n_rows = int(gram.shape[0])

    def state_of(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the coefficients, copied."""
        return coefficients.copy()

    def block(
        self, rows: Positions, state: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the kernel among some rows, and their scores."""
        kernel = self._gram[rows]
        return np.ascontiguousarray(kernel[:, rows]), kernel @ state

    def add(
        self, rows: Positions, change: NDArray[np.float64], state: NDArray[np.float64]
    ) -> None:
        """Bring the state up to date with a change of some rows' coefficients."""
        state[rows] += change

    def parameters(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the parameters of the model."""
        features = self._features
        weights = coefficients if features is None else features.T @ coefficients
        return np.ascontiguousarray(weights.T)

    def subset(self, rows: Positions) -> GramOperator:
        """Give the operator of some rows."""
        return GramOperator(self._gram[np.ix_(rows, rows)])

    def scores(
        self, rows: Positions, state: NDArray[np.float64], trained_on: Positions | None = None
    ) -> NDArray[np.float64]:
        """Score some rows by a state, which may be one of a subset of the rows."""
        kernel = self._gram[rows] if trained_on is None else self._gram[np.ix_(rows, trained_on)]
        return kernel @ state


class FeatureOperator:
    """K = F F' by its features alone; the state is the weights F' a, of shape (p, q).

    Parameters
    ----------
    features : ndarray or csr_array of shape (n, p), float64
    """

    n_sweeps = 1

    def __init__(self, features: NDArray[np.float64] | CSR) -> None:
        self._features = features
        self.n_rows = int(features.shape[0])

    def state_of(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the weights that belong to coefficients."""
        weights: NDArray[np.float64] = self._features.T @ coefficients
        return np.ascontiguousarray(weights)

    def block(
        self, rows: Positions, state: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the kernel among some rows, and their scores."""
        features = self._features[rows]
        gram = features @ features.T
        if sparse.issparse(gram):
            gram = gram.toarray()
        return np.ascontiguousarray(gram), np.ascontiguousarray(features @ state)

    def add(
        self, rows: Positions, change: NDArray[np.float64], state: NDArray[np.float64]
    ) -> None:
        """Bring the state up to date with a change of some rows' coefficients."""
        features = self._features[rows]
        if not sparse.issparse(features):
            state += features.T @ change
            return
        # Few features occur in a block, and only their weights change.
        touched, local = np.unique(features.indices, return_inverse=True)
        narrow = sparse.csr_array(
            (features.data, local, features.indptr), shape=(rows.size, touched.size)
        )
        state[touched] += narrow.T @ change

    def parameters(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the parameters of the model."""
        return np.ascontiguousarray(self.state_of(coefficients).T)

    def subset(self, rows: Positions) -> FeatureOperator:
        """Give the operator of some rows."""
        return FeatureOperator(self._features[rows])

    def scores(
        self, rows: Positions, state: NDArray[np.float64], trained_on: Positions | None = None
    ) -> NDArray[np.float64]:
        """Score some rows by a state, which may be one of a subset of the rows."""
        scores: NDArray[np.float64] = self._features[rows] @ state
        return scores
