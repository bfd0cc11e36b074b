"""What is learnt from, of all rows: labels, label sets, derivatives as the core reads them.

A training row whose labels were observed in part agrees with many label sets. It counts as the one
that the fitted model would choose for it; otherwise predictions would be confined to the label
sets of the few rows that happen to be observed whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.data import Targets, TargetSchema
from polyleaf.losses import Loss, LossTargets, Quadratic
from polyleaf.projections import View

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


def seen_through(known: PackedStatistics, view: View) -> PackedStatistics:
    """Give the derivatives by the channels of a view z = V'f: V'g, and the squares of V times h.

    Those are the exact ones for selections; combinations leave out what lies beside the diagonal.
    """
    if view.selected is not None:
        gradient = view.scale * known.gradient[:, view.selected]
        diagonal = view.scale**2 * known.diagonal[:, view.selected]
    elif view.matrix is not None:
        matrix: Any = view.matrix
        squares = matrix.multiply(matrix) if hasattr(matrix, "multiply") else matrix**2
        gradient, diagonal = known.gradient @ matrix, known.diagonal @ squares
    elif view.kind == "all":
        return known
    else:
        raise TypeError("Rules need views that are selections or combinations of the outputs.")
    return PackedStatistics.of(Quadratic(np.asarray(gradient), np.asarray(diagonal), None))


def _zeros_on_cache_lines(n_rows: int, n_columns: int) -> Floats:
    """Make an array that begins on a cache line: vectors across two take twice as long to read."""
    size, line = n_rows * n_columns, 64 // 8
    room = np.zeros(size + line)
    first = -room.ctypes.data // 8 % line
    return room[first : first + size].reshape(n_rows, n_columns)


def dense_labels(targets: Targets) -> NDArray[np.int8]:
    """Give 0 or 1 for every row and channel."""
    values = targets.values
    if isinstance(values, np.ndarray):
        return (values > 0).view(np.int8)
    labels = np.zeros(values.shape, np.int8)
    rows = np.repeat(np.arange(len(labels)), np.diff(values.indptr))
    labels[rows, values.indices] = 1
    return labels


def training_label_sets(
    labels: NDArray[np.int8],
    targets: Targets,
    score: Callable[[], NDArray[np.float64]],
) -> NDArray[np.bool_]:
    """Give the distinct label sets of the training rows.

    Labels that were not observed, or have no weight, are completed by the row's own scores: of
    all label sets that agree with what was observed, the one of least loss. Rows without any
    observed label are left out.

    Parameters
    ----------
    labels : ndarray of shape (n_rows, n_channels), int8
        0 or 1.
    targets : Targets
    score : callable
        Gives the scores of the training rows, of shape (n_rows, n_channels), if need be.

    Returns
    -------
    ndarray of shape (n_sets, n_channels), bool
        In the order in which they first occur.
    """
    sets = labels > 0
    counts = _counted(targets.observed, targets.weights)
    if counts is not None:
        is_known = counts.any(axis=1)
        if not counts[is_known].all():
            sets = np.where(counts, sets, _likeliest(score(), targets.schema))
        sets = sets[is_known]
    return np.asarray(sets[_first_of_equals(np.packbits(sets, axis=1))])


def _first_of_equals(packed: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Give the rows that are equal to none before them, ascending."""
    n_rows, n_bytes = packed.shape
    if n_bytes <= 8:
        words = np.zeros((n_rows, 8), np.uint8)
        words[:, :n_bytes] = packed
        keys = words.view(np.uint64)[:, 0]
        order = keys.argsort(kind="stable")
        is_new = np.ones(n_rows, np.bool_)
        is_new[1:] = keys[order[1:]] != keys[order[:-1]]
        return np.sort(order[is_new])
    keys = np.ascontiguousarray(packed).view(f"V{n_bytes}")[:, 0].tolist()  # bytes per row
    # The last of equals stays in a dict, so that rows go backwards.
    first = dict(zip(reversed(keys), range(n_rows - 1, -1, -1)))
    return np.array(sorted(first.values()), np.int64)


def _counted(
    observed: NDArray[np.bool_] | None, weights: NDArray[np.float64] | None
) -> NDArray[np.bool_] | None:
    """Tell which entries were observed and have a weight; None if all."""
    if weights is None:
        return observed
    positive = weights > 0 if weights.ndim == 2 else (weights > 0)[:, None]
    return positive if observed is None else observed & positive


def _likeliest(scores: NDArray[np.float64], schema: TargetSchema) -> NDArray[np.bool_]:
    """Decide every label by the sign of its score, and every output with classes for one."""
    if schema.kind in ("binary", "multilabel"):
        return np.asarray(scores > 0)
    sets = np.zeros(scores.shape, dtype=np.bool_)
    rows = np.arange(len(scores))
    for start, stop in itertools.pairwise(schema.channel_offsets.tolist()):
        sets[rows, start + scores[:, start:stop].argmax(axis=1)] = True
    return sets
