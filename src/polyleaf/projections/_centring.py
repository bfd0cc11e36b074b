"""Products with centred output values, without ever holding the centred matrix.

The centred matrix is ``Z = scale * observed * (values - mean)``, entry by entry: an unobserved
entry is 0, which is the mean of its channel after centring.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from polyleaf.projections._channel_statistics import Values, channel_means

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# A mixing matrix of shape (n_channels, n_components).
Matrix: TypeAlias = "NDArray[np.float64] | sparse.csc_array[Any]"

# Entries per dense block of rows (8 MB). Fixed, so that sums have a fixed order.
BLOCK_ENTRIES = 2**20


class CentredValues:
    """The centred values as an operator.

    Dense values are centred block by block. Sparse values stay sparse: the centring is a
    rank-one correction of the product. Only sparse values with a mask or with one scale per
    entry are expanded, a block of rows at a time.

    Parameters
    ----------
    values : ndarray or csr_array of shape (n_rows, n_channels)
        0 where unobserved.
    observed : bool ndarray of shape (n_rows, n_channels), optional
        All entries are observed by default.
    weights : float64 ndarray of shape (n_rows,) or (n_rows, n_channels), optional
        The weights of the means.
    scale : float64 ndarray of shape (n_rows,) or (n_rows, n_channels), optional
        Factors of the centred entries.
    means : float64 ndarray of shape (n_channels,), optional
        Those of the values, if they are known.
    """

    def __init__(
        self,
        values: Values,
        observed: NDArray[np.bool_] | None = None,
        weights: NDArray[np.float64] | None = None,
        scale: NDArray[np.float64] | None = None,
        means: NDArray[np.float64] | None = None,
    ) -> None:
        self.values = values
        self.observed = observed
        self.means = channel_means(values, observed, weights) if means is None else means
        self.scale = scale[:, np.newaxis] if scale is not None and scale.ndim == 1 else scale
        self.stays_sparse = (
            sparse.issparse(values)
            and observed is None
            and (self.scale is None or self.scale.shape[1] == 1)
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and channels."""
        n_rows, n_channels = self.values.shape
        return n_rows, n_channels

    def matmul(self, matrix: Matrix) -> NDArray[np.floating[Any]]:
        """Return ``Z @ matrix``, of shape (n_rows, n_components)."""
        if self.stays_sparse:
            # In the precision of the values, whose entries would be copied otherwise.
            product = self.values @ matrix.astype(self.values.dtype)
            if sparse.issparse(product):
                product = product.toarray()
            product = np.asarray(product - (self.means @ matrix).astype(product.dtype))
            return product if self.scale is None else self.scale * product
        product = np.empty((self.shape[0], matrix.shape[1]))
        for rows, block in self.blocks():
            product[rows] = block @ matrix
        return product

    def rmatmul(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``Z.T @ matrix``, of shape (n_channels, n_components)."""
        if self.stays_sparse:
            scaled = matrix if self.scale is None else self.scale * matrix
            product = self.values.T @ scaled - np.outer(self.means, scaled.sum(axis=0))
            return np.asarray(product)
        product = np.zeros((self.shape[1], matrix.shape[1]))
        for rows, block in self.blocks():
            product += block.T @ matrix[rows]
        return product

    def gram(self) -> NDArray[np.float64]:
        """Return ``Z.T @ Z``, of shape (n_channels, n_channels)."""
        if self.stays_sparse:
            scale = np.ones(self.shape[0]) if self.scale is None else self.scale[:, 0]
            scaled: Any = sparse.diags_array(scale) @ self.values
            cross = np.outer(scaled.T @ scale, self.means)
            squares = (scaled.T @ scaled).toarray()
            centre = (scale @ scale) * np.outer(self.means, self.means)
            return np.asarray(squares - cross - cross.T + centre)
        gram = np.zeros((self.shape[1], self.shape[1]))
        for _, block in self.blocks():
            gram += block.T @ block
        return gram

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield consecutive rows and their part of ``Z``."""
        n_rows, n_channels = self.shape
        step = max(1, BLOCK_ENTRIES // n_channels)
        for start in range(0, n_rows, step):
            rows = slice(start, start + step)
            part = self.values[rows]
            block = (part.toarray() if sparse.issparse(part) else part) - self.means
            if self.observed is not None:
                block *= self.observed[rows]
            if self.scale is not None:
                block *= self.scale[rows]
            yield rows, block
