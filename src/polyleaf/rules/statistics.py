"""Derivatives of all rows, weighted and laid out as the core reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.losses import Loss, LossTargets, Quadratic

Floats = NDArray[np.float64]


def separate_weights(
    weights: NDArray[np.float64] | None, observed: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float64] | None, NDArray[Any] | None]:
    """Tell weights of rows from those of entries, which are 0 where nothing was observed."""
    if weights is None or weights.ndim == 1:
        return weights, observed
    return None, weights if observed is None else weights * observed


def weighted(
    loss: Loss, targets: LossTargets, found: Quadratic, row_weights: Floats | None
) -> Quadratic:
    """Multiply derivatives by the weights of entries and of rows.

    Parameters
    ----------
    loss : Loss
    targets : LossTargets
        With weights of entries, or None; one whose rows have a loss each leaves out what is not
        observed itself.
    found : Quadratic
        Not weighted.
    row_weights : ndarray of shape (n_rows,), or None
    """
    gradient, diagonal, coupling = found
    if targets.weights is not None and loss.decomposable:
        gradient, diagonal = gradient * targets.weights, diagonal * targets.weights
    if row_weights is None:
        return Quadratic(gradient, diagonal, coupling)
    if not loss.decomposable:
        # What has no reciprocal weighs nothing.
        row_weights = np.where(row_weights >= np.finfo(np.float64).tiny, row_weights, 0.0)
    if coupling is not None:
        coupling = coupling * np.divide(
            1.0, row_weights, out=np.zeros_like(row_weights), where=row_weights > 0
        )
    by_row = row_weights[:, None]
    return Quadratic(gradient * by_row, diagonal * by_row, coupling)


def label_signs(labels: NDArray[Any]) -> NDArray[np.int8]:
    """Turn labels 0 and 1 into -1 and 1, by which native kernels multiply scores."""
    signs: NDArray[np.int8] = (2 * labels - 1).astype(np.int8, copy=False)
    return signs


def logistic_sums(labels: NDArray[np.int8]) -> Quadratic:
    """Sum the derivatives of the logistic loss at scores of 0 over all rows, as those of one row.

    They are -y / 2, with y = -1 or 1, and 1 / 4 for every label.
    """
    n_rows, n_labels = labels.shape
    surplus = 2 * labels.sum(axis=0, dtype=np.int64) - n_rows
    return Quadratic(-0.5 * surplus[None], np.full((1, n_labels), 0.25 * n_rows), None)


class PackedStatistics:
    """Derivatives as the core reads them: gradient and diagonal of a row in one padded line.

    Parameters
    ----------
    n_rows, n_channels : int
    coupling : ndarray of shape (n_rows,), or None
    is_logistic : bool
        Whether they are those of the logistic loss of each label: then the gradients g tell the
        diagonal, which is |g| - g^2, and are all that is kept.

    Attributes
    ----------
    values : ndarray of shape (n_rows, 1 or 2 * padded number of channels)
    gradient : ndarray of shape (n_rows, n_channels)
        A view of it.
    coupling : ndarray of shape (n_rows,), or None
    """

    def __init__(
        self, n_rows: int, n_channels: int, coupling: Floats | None, is_logistic: bool = False
    ) -> None:
        self.n_channels = n_channels
        block = _core.padded_outputs(n_channels)
        self.values = _zeros_on_cache_lines(n_rows, block if is_logistic else 2 * block)
        self.gradient = self.values[:, :n_channels]
        self._diagonal = None if is_logistic else self.values[:, block : block + n_channels]
        self.coupling = coupling

    @property
    def diagonal(self) -> Floats:
        """Second derivatives, of shape (n_rows, n_channels): a view of the values."""
        if self._diagonal is None:
            raise AttributeError("Gradients of the logistic loss have no diagonal beside them.")
        return self._diagonal

    @classmethod
    def of(cls, statistics: Quadratic, is_logistic: bool = False) -> PackedStatistics:
        """Pack derivatives."""
        n_rows, n_channels = statistics.gradient.shape
        packed = cls(n_rows, n_channels, statistics.coupling, is_logistic)
        packed.gradient[:] = statistics.gradient
        if not is_logistic:
            packed.diagonal[:] = statistics.diagonal
        return packed


def _zeros_on_cache_lines(n_rows: int, n_columns: int) -> Floats:
    """Make an array that begins on a cache line: vectors across two take twice as long to read."""
    size, line = n_rows * n_columns, 64 // 8
    room = np.zeros(size + line)
    first = -room.ctypes.data // 8 % line
    return room[first : first + size].reshape(n_rows, n_columns)
