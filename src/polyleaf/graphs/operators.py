"""The kernel matrix as a training loop needs it: whole, or as features it is the product of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

if TYPE_CHECKING:
    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]

Rows: TypeAlias = NDArray[np.intp]

#: A kernel matrix is factored if this many of its rows span all, and it has that many per rank.
_SAMPLE, _MIN_ROWS_PER_RANK = 256, 8
#: Shares of the largest eigenvalue and of a row's diagonal entry that rounding leaves of 0.
_NO_EIGENVALUE, _NO_REST = 1e-11, 1e-9
#: A kernel with an eigenvalue below this share of the largest is none.
_NEGATIVE = 1e-6
#: Sparse features of at most so many entries cost less as dense ones, 32 MB.
_SMALL = 2**22


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
        self, rows: Rows, state: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the kernel among some rows, and their scores."""

    def add(self, rows: Rows, change: NDArray[np.float64], state: NDArray[np.float64]) -> None:
        """Bring the state up to date with a change of some rows' coefficients."""

    def parameters(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the parameters of the model, of shape (q, n_columns of its design)."""

    def subset(self, rows: Rows) -> KernelOperator:
        """Give the operator of some rows."""

    def scores(
        self, rows: Rows, state: NDArray[np.float64], trained_on: Rows | None = None
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
        self, rows: Rows, state: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the kernel among some rows, and their scores."""
        kernel = self._gram[rows]
        return np.ascontiguousarray(kernel[:, rows]), kernel @ state

    def add(self, rows: Rows, change: NDArray[np.float64], state: NDArray[np.float64]) -> None:
        """Bring the state up to date with a change of some rows' coefficients."""
        state[rows] += change

    def parameters(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the parameters of the model."""
        features = self._features
        weights = coefficients if features is None else features.T @ coefficients
        return np.ascontiguousarray(weights.T)

    def subset(self, rows: Rows) -> GramOperator:
        """Give the operator of some rows."""
        return GramOperator(self._gram[np.ix_(rows, rows)])

    def scores(
        self, rows: Rows, state: NDArray[np.float64], trained_on: Rows | None = None
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
        self, rows: Rows, state: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the kernel among some rows, and their scores."""
        features = self._features[rows]
        gram = features @ features.T
        if sparse.issparse(gram):
            gram = gram.toarray()
        return np.ascontiguousarray(gram), np.ascontiguousarray(features @ state)

    def add(self, rows: Rows, change: NDArray[np.float64], state: NDArray[np.float64]) -> None:
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

    def subset(self, rows: Rows) -> FeatureOperator:
        """Give the operator of some rows."""
        return FeatureOperator(self._features[rows])

    def scores(
        self, rows: Rows, state: NDArray[np.float64], trained_on: Rows | None = None
    ) -> NDArray[np.float64]:
        """Score some rows by a state, which may be one of a subset of the rows."""
        scores: NDArray[np.float64] = self._features[rows] @ state
        return scores


class FactorOperator(FeatureOperator):
    """A kernel matrix of low rank by a factor of it; the model keeps the coefficients."""

    def parameters(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the parameters of the model."""
        return np.ascontiguousarray(coefficients.T)


def low_rank_factor(gram: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Find F with K = F F' and far fewer columns than rows, if there is one.

    With S some of the rows, K_S' K_SS^+ K_S equals K if S spans the rows of K. What it leaves is
    positive semi-definite, so that the diagonal bounds all of it. Rows are brought to length 1
    first: beside a very long one, what others have of their own would pass for rounding.

    Parameters
    ----------
    gram : ndarray of shape (n, n), float64
        Symmetric.

    Returns
    -------
    ndarray of shape (n, rank), float64, or None

    Raises
    ------
    ValueError
        If the kernel among S is not positive semi-definite.
    """
    n_rows = gram.shape[0]
    rng = np.random.default_rng(0)
    chosen = rng.choice(n_rows, min(n_rows, _SAMPLE), replace=False)
    lengths = np.sqrt(np.maximum(gram.diagonal(), 0.0))
    lengths[lengths == 0.0] = 1.0
    values, vectors = np.linalg.eigh(
        gram[np.ix_(chosen, chosen)] / lengths[chosen] / lengths[chosen, None]
    )
    if values[0] < -_NEGATIVE * max(values[-1], 0.0):
        raise ValueError(
            "The kernel must be positive semi-definite; got one with an eigenvalue of "
            f"{values[0]:.3g} beside one of {values[-1]:.3g} among {chosen.size} rows, brought "
            "to length 1. Use another kernel, or add what is lacking to its diagonal."
        )
    kept = values > _NO_EIGENVALUE * values[-1]
    if kept.all() or not 1 <= np.count_nonzero(kept) <= n_rows // _MIN_ROWS_PER_RANK:
        return None
    weights = vectors[:, kept] / np.sqrt(values[kept]) / lengths[chosen, None]
    factor: NDArray[np.float64] = gram[:, chosen] @ weights
    left = np.abs(gram.diagonal() - np.einsum("ij,ij->i", factor, factor))
    return factor if (left <= _NO_REST * lengths**2).all() else None


def operator_of(design: NDArray[np.float64] | CSR, is_explicit: bool) -> KernelOperator:
    """Choose the operator of a `KernelMap`'s design of the training rows.

    Dense features more numerous than the rows cost less as a kernel matrix, a kernel matrix of
    low rank less by a factor of it, and a small sparse matrix less as a dense one.
    """
    if not is_explicit:
        assert isinstance(design, np.ndarray)
        factor = low_rank_factor(design)
        return GramOperator(design) if factor is None else FactorOperator(factor)
    if not isinstance(design, np.ndarray) and design.shape[0] * design.shape[1] <= _SMALL:
        design = design.toarray()
    if isinstance(design, np.ndarray) and design.shape[1] > design.shape[0]:
        return GramOperator(design @ design.T, design)
    return FeatureOperator(design)
