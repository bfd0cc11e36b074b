"""What a calibrator is fitted to: for each label, its distinct inputs and how often they occur.

Inputs that are equal count as one with a weight. Trees give few distinct probabilities, and a
sparse matrix stores few entries: the work grows with those, not with rows times labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.matrices import is_sparse

Floats = NDArray[np.float64]

# Arrays of this many entries stay in the cache while they are passed over many times.
_BLOCK_ENTRIES = 1 << 18


@dataclass(frozen=True)
class Entries:
    """Distinct inputs of consecutive labels, in ascending order within each label.

    Parameters
    ----------
    inputs : ndarray of shape (m,)
    counts, positives : ndarray of shape (m,)
        In how many rows a label has that input, and in how many of those it is present.
    offsets : ndarray of shape (n_labels + 1,)
        The first entry of each label.
    """

    inputs: Floats
    counts: Floats
    positives: Floats
    offsets: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many entries each label has."""
        return np.diff(self.offsets)


def entries_by_label(given: Any, present: Any, observed: Any) -> Iterator[tuple[slice, Entries]]:
    """Give the entries of all labels, a few labels at a time.

    Parameters
    ----------
    given : ndarray or csr_array of shape (n, d)
        Only what a sparse matrix stores is an entry.
    present : ndarray or csr_array of bool of shape (n, d)
    observed : ndarray of bool of shape (n, d) or None
        Entries that count; None: all.

    Yields
    ------
    labels : slice
    entries : Entries
    """
    blocks = _stored_blocks if is_sparse(given) else _dense_blocks
    for span, labels, inputs, truth in blocks(given, present, observed):
        yield span, _merge(labels, inputs, truth, span.stop - span.start)


def _dense_blocks(
    given: Any, present: Any, observed: Any
) -> Iterator[tuple[slice, Any, Any, Any]]:
    n_rows, n_labels = given.shape
    step = max(1, _BLOCK_ENTRIES // n_rows)
    for start in range(0, n_labels, step):
        span = slice(start, min(start + step, n_labels))
        block = np.ascontiguousarray(given[:, span].T)
        order = np.argsort(block, axis=1)
        inputs = np.take_along_axis(block, order, axis=1).ravel()
        truth = np.take_along_axis(_dense(present[:, span]).T, order, axis=1).ravel()
        labels = np.repeat(np.arange(block.shape[0]), n_rows)
        if observed is not None:
            is_known = np.take_along_axis(observed[:, span].T, order, axis=1).ravel()
            inputs, truth, labels = inputs[is_known], truth[is_known], labels[is_known]
        yield span, labels, inputs, truth


def _stored_blocks(
    given: Any, present: Any, observed: Any
) -> Iterator[tuple[slice, Any, Any, Any]]:
    stored = sparse.csr_array(given)
    rows = np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr))
    columns, data = stored.indices.astype(np.int64), np.asarray(stored.data)
    counted = data != 0
    if observed is not None:
        counted &= observed[rows, columns]
    rows, columns, data = rows[counted], columns[counted], data[counted]
    truth = _looked_up(present, rows, columns)
    order = np.lexsort((data, columns))
    columns, data, truth = columns[order], data[order], truth[order]
    offsets = np.searchsorted(columns, np.arange(stored.shape[1] + 1))
    start = 0
    while start < stored.shape[1]:
        last = int(np.searchsorted(offsets, offsets[start] + _BLOCK_ENTRIES, side="right")) - 1
        stop = max(start + 1, min(last, stored.shape[1]))
        entries = slice(offsets[start], offsets[stop])
        yield slice(start, stop), columns[entries] - start, data[entries], truth[entries]
        start = stop


def _looked_up(present: Any, rows: Any, columns: Any) -> NDArray[np.bool_]:
    """Look up single entries of a label matrix, without making a sparse one dense."""
    if not is_sparse(present):
        return np.asarray(present[rows, columns], dtype=np.bool_)
    labels = sparse.coo_array(present)
    width = present.shape[1]
    known = np.sort(labels.row.astype(np.int64) * width + labels.col)
    if known.size == 0:
        return np.zeros(rows.size, np.bool_)
    wanted = rows * width + columns
    place = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return np.asarray(known[place] == wanted)


def _merge(labels: Any, inputs: Any, truth: Any, n_labels: int) -> Entries:
    """Make one entry of equal inputs; they come sorted by label and input."""
    is_first = np.ones(inputs.size, np.bool_)
    is_first[1:] = (labels[1:] != labels[:-1]) | (inputs[1:] != inputs[:-1])
    first = np.flatnonzero(is_first)
    positives = np.add.reduceat(truth.astype(np.float64), first) if first.size else np.empty(0)
    return Entries(
        inputs[first],
        np.diff(np.append(first, inputs.size)).astype(np.float64),
        positives,
        np.searchsorted(labels[first], np.arange(n_labels + 1)).astype(np.int64),
    )


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if is_sparse(matrix) else matrix
