"""From rows of X to the numbers that a graph model is linear in: features, or kernel values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.preprocessing import normalize

from polyleaf.files.arrays import expect_array

if TYPE_CHECKING:
    from collections.abc import Mapping

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]
    Rows: TypeAlias = NDArray[np.float64] | CSR

#: Kernels whose features are those of X, so that the model needs no training rows.
EXPLICIT = ("linear", "cosine")
KERNELS = (*EXPLICIT, "poly", "rbf", "precomputed")


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
        if self.anchors is None or other.anchors is None:
            return mine == its and self.anchors is other.anchors
        return mine == its and np.array_equal(self.anchors, other.anchors)

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
            anchors = expect_array(arrays, "anchors", np.float64, 2)
            if anchors.shape[1] != n_features or not np.isfinite(anchors).all():
                raise ValueError(f"Expected anchors with {n_features} finite features.")
        numbers = {name: float(settings[name]) for name in ("gamma", "coef0", "intercept_scaling")}
        if not all(np.isfinite(list(numbers.values()))) or numbers["intercept_scaling"] < 0:
            raise ValueError(f"Expected finite settings of the kernel; got {numbers}.")
        return cls(
            kernel, int(settings["degree"]), n_features=n_features, anchors=anchors, **numbers
        )
