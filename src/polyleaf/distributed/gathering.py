"""Rows of all workers in one place, in their order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.distributed.collectives import Collective


class Gathering:
    """Gathers rows of all workers, and puts them into their order.

    Parameters
    ----------
    collective : Collective
    numbers : ndarray of shape (n_rows,), int64
        Of this worker's rows, among those of all.

    Examples
    --------
    >>> from polyleaf.distributed import LocalCollective
    >>> rows = Gathering(LocalCollective(), np.array([1, 0]))
    >>> rows.array(np.array(["b", "a"]))
    array(['a', 'b'], dtype='<U1')
    """

    def __init__(self, collective: Collective, numbers: NDArray[np.int64]) -> None:
        self._collective = collective
        self._order = np.argsort(np.concatenate(collective.allgather(numbers)))

    def array(self, rows: NDArray[Any] | None) -> Any:
        """Gather an array by rows; None of None."""
        if rows is None:
            return None
        is_mask = rows.dtype == np.bool_
        sent = rows.view(np.uint8) if is_mask else rows
        found = np.concatenate(self._collective.allgather(sent))[self._order]
        return found.view(np.bool_) if is_mask else found

    def matrix(self, rows: Any) -> Any:
        """Gather an array or a sparse matrix by rows."""
        if isinstance(rows, np.ndarray):
            return self.array(rows)
        gather = self._collective.allgather
        lengths = np.concatenate(gather(np.diff(rows.indptr).astype(np.int64)))
        entries = np.concatenate(gather(rows.data))
        indices = np.concatenate(gather(rows.indices.astype(np.int64)))
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        shape = (self._order.size, rows.shape[1])
        return sparse.csr_array((entries, indices, indptr), shape=shape)[self._order]
