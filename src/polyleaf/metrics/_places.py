"""What is found on the first k places of each row's order of labels, with ties shared out.

Labels of equal score share their places: the gain of a place is the mean gain of the labels tied
for it, which is what a random order of them gives on average. Scores may be sparse: all labels
that are not stored are then tied at the score 0, and are never written down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.metrics._inputs import Floats, Labels

_BLOCK_ENTRIES = 1 << 21  # of a buffer of rows times labels


@dataclass(frozen=True)
class _Candidates:
    """Labels that may stand on the first places, as flat arrays.

    Attributes
    ----------
    rows : ndarray of int
    scores : ndarray of float64
    sizes : ndarray of int64
        How many labels an entry stands for.
    gains : ndarray of float64
        The sum of their gains.
    """

    rows: NDArray[Any]
    scores: Floats
    sizes: NDArray[np.int64]
    gains: Floats


def gains_by_place(
    true: Labels, scores: Floats | sparse.csr_array, k: int, label_gains: Floats | None = None
) -> Floats:
    """Return the expected gain on each of the first k places.

    Parameters
    ----------
    true : Labels
        A true label has a gain, others have 0.
    scores : ndarray or csr_array of shape (n, d)
    k : int
        At most d.
    label_gains : ndarray of shape (d,), optional
        The gain of each label; 1 by default.

    Returns
    -------
    ndarray of shape (n, k)
        0 on places that a row with few observed labels does not have.
    """
    n_rows, n_labels = true.shape
    gains = np.ones(n_labels) if label_gains is None else label_gains
    if isinstance(scores, sparse.csr_array):
        return _fill_places(_sparse_candidates(true, scores, gains), n_rows, k)
    step = max(1, _BLOCK_ENTRIES // n_labels)
    blocks = []
    for start in range(0, n_rows, step):
        rows = slice(start, start + step)
        observed = None if true.observed is None else true.observed[rows]
        part = Labels(true.present[rows], observed)
        candidates = _dense_candidates(part, scores[rows], gains, k)
        blocks.append(_fill_places(candidates, part.shape[0], k))
    return np.concatenate(blocks)


def ideal_gains_by_place(true: Labels, k: int, label_gains: Floats | None = None) -> Floats:
    """Return the gains on the first k places of the best order, of shape (n, k)."""
    n_rows, n_labels = true.shape
    if label_gains is None:
        n_true = np.asarray(true.present @ np.ones(n_labels))
        return (np.arange(k) < n_true[:, np.newaxis]).astype(np.float64)
    rows, columns = true.present.nonzero()
    gains = label_gains[columns]
    candidates = _Candidates(rows, gains, np.ones(rows.size, np.int64), gains)
    return _fill_places(candidates, n_rows, k)


def _dense_candidates(true: Labels, scores: Floats, gains: Floats, k: int) -> _Candidates:
    """Keep the labels whose score is at least the k-th highest of their row."""
    if true.observed is not None:
        scores = np.where(true.observed, scores, -np.inf)  # scores are finite
    threshold = np.partition(scores, -k, axis=1)[:, -k]
    rows, columns = np.nonzero((scores >= threshold[:, np.newaxis]) & np.isfinite(scores))
    return _Candidates(
        rows,
        scores[rows, columns],
        np.ones(rows.size, np.int64),
        is_true_at(true, rows, columns) * gains[columns],
    )


def _sparse_candidates(true: Labels, scores: sparse.csr_array, gains: Floats) -> _Candidates:
    """Keep the stored scores, and one entry per row for all the others."""
    n_rows = true.shape[0]
    entries = scores.tocoo()
    keep = entries.data != 0
    if true.observed is not None:
        keep &= true.observed[entries.row, entries.col]
    rows, columns, values = entries.row[keep], entries.col[keep], entries.data[keep]
    stored_gains = is_true_at(true, rows, columns) * gains[columns]
    n_stored = np.bincount(rows, minlength=n_rows)
    rest_gains = np.asarray(true.present @ gains)
    rest_gains = rest_gains - np.bincount(rows, stored_gains, minlength=n_rows)
    rest_sizes = true.n_observed().astype(np.int64) - n_stored
    has_rest = np.flatnonzero(rest_sizes > 0)
    return _Candidates(
        np.concatenate([rows, has_rest]),
        np.concatenate([values, np.zeros(has_rest.size)]),
        np.concatenate([np.ones(rows.size, np.int64), rest_sizes[has_rest]]),
        np.concatenate([stored_gains, rest_gains[has_rest]]),
    )


def is_true_at(true: Labels, rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Look up entries; those of a sparse matrix by binary search in its sorted places."""
    present = true.present
    if not isinstance(present, sparse.csr_array):
        return np.asarray(present[rows, columns])
    if present.nnz == 0:
        return np.zeros(rows.size, dtype=np.bool_)
    width = np.int64(present.shape[1])
    row_of = np.repeat(np.arange(present.shape[0], dtype=np.int64), np.diff(present.indptr))
    stored = row_of * width + present.indices
    wanted = rows.astype(np.int64) * width + columns
    place = np.minimum(np.searchsorted(stored, wanted), stored.size - 1)
    return np.asarray(stored[place] == wanted)


def _fill_places(candidates: _Candidates, n_rows: int, k: int) -> Floats:
    """Sort candidates, group ties, and give each place the mean gain of its group."""
    filled = np.zeros((n_rows, k))
    if candidates.rows.size == 0:
        return filled
    order = np.lexsort((-candidates.scores, candidates.rows))
    rows, scores = candidates.rows[order], candidates.scores[order]
    is_new = np.ones(rows.size, dtype=np.bool_)
    is_new[1:] = (rows[1:] != rows[:-1]) | (scores[1:] != scores[:-1])
    starts = np.flatnonzero(is_new)
    group_rows = rows[starts]
    sizes = np.add.reduceat(candidates.sizes[order], starts)
    means = np.add.reduceat(candidates.gains[order], starts) / sizes
    # The place of a group's first label, counted within its row.
    before = np.cumsum(sizes) - sizes
    is_first = np.ones(starts.size, dtype=np.bool_)
    is_first[1:] = group_rows[1:] != group_rows[:-1]
    n_groups = np.diff(np.append(np.flatnonzero(is_first), starts.size))
    first_places = before - np.repeat(before[is_first], n_groups)
    n_places = np.clip(k - first_places, 0, sizes)
    group_of = np.repeat(np.arange(starts.size), n_places)
    offsets = np.arange(group_of.size) - np.repeat(np.cumsum(n_places) - n_places, n_places)
    filled[group_rows[group_of], first_places[group_of] + offsets] = means[group_of]
    return filled
