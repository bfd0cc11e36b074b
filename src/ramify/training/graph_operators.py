"""The kernel matrix as a training loop needs it: whole, or as features it is the product of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

if TYPE_CHECKING:
    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]

Rows: TypeAlias = NDArray[np.intp]


class KernelOperator(Protocol):
    """K of shape (n, n), and the state that scores are computed from.

    With coefficients a of shape (n, q) the scores are K a. The state is a itself, or the weights
    that it stands for.
    """

    n_rows: int

    def state_of(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the state that belongs to coefficients."""

    def block(
        self, rows: Rows, state: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the kernel among some rows, and their scores."""

    def add(self, rows: Rows, change: NDArray[np.float64], state: NDArray[np.float64]) -> None:
        """Bring the state up to date with a change of some rows' coefficients."""

    def parameters(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
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

    def parameters(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the parameters of the model."""
        weights = state if self._features is None else self._features.T @ state
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

    def parameters(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the parameters of the model."""
        return np.ascontiguousarray(state.T)

    def subset(self, rows: Rows) -> FeatureOperator:
        """Give the operator of some rows."""
        return FeatureOperator(self._features[rows])

    def scores(
        self, rows: Rows, state: NDArray[np.float64], trained_on: Rows | None = None
    ) -> NDArray[np.float64]:
        """Score some rows by a state, which may be one of a subset of the rows."""
        scores: NDArray[np.float64] = self._features[rows] @ state
        return scores


def operator_of(design: NDArray[np.float64] | CSR, is_explicit: bool) -> KernelOperator:
    """Choose the operator of a `KernelMap`'s design of the training rows.

    Dense features more numerous than the rows cost less as a kernel matrix.
    """
    if not is_explicit:
        assert isinstance(design, np.ndarray)
        return GramOperator(design)
    if isinstance(design, np.ndarray) and design.shape[1] > design.shape[0]:
        return GramOperator(design @ design.T, design)
    return FeatureOperator(design)
