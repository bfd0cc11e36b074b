"""A view of the output space: what a base learner sees of the output channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import sparse

from polyleaf.projections._centring import CentredValues

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from polyleaf.projections._centring import Matrix
    from polyleaf.projections._channel_statistics import Values


@dataclass(frozen=True, eq=False)
class View:
    """The channels on which one base learner grows its structure.

    Make one with :meth:`of_all`, :meth:`of_selection`, :meth:`of_mixing` or :meth:`of_given`.

    Parameters
    ----------
    kind : {"all", "selection", "mixing", "given"}
        Every channel as it is; some of the channels; linear combinations of channels; or
        channels that something else has computed.
    seen : bool ndarray of shape (n_source_channels,)
        The channels that may influence the structure.
    selected : int32 ndarray of shape (n_channels,) or None
        The channels of a selection, ascending; drawn with replacement they may repeat.
    matrix : float64 ndarray or csc_array of shape (n_source_channels, n_channels) or None
        The coefficients of a mixing view, one column per combination.
    scale : float, default=1.0
        Factor of the channels of a selection.
    given : float32 ndarray of shape (n_rows, n_channels) or None
        The channels themselves, of the rows that the view was drawn for.
    updated : bool ndarray of shape (n_source_channels,) or None
        The channels that the learner predicts; None: all of them.
    choice : int, default=0
        Which of several ways to look the projection has chosen, for its own use.

    Notes
    -----
    A learner that can work on sparse channels need not call :meth:`apply` on sparse values for
    the kinds "all" and "selection": it may read the columns ``selected`` itself, and nothing is
    expanded.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1.0, 0.0, 5.0], [0.0, 2.0, 7.0]])
    >>> view = View.of_selection([0, 2], 3, scale=2.0)
    >>> view.apply(Y)
    array([[ 2., 10.],
           [ 0., 14.]], dtype=float32)
    >>> view.seen
    array([ True, False,  True])
    >>> View.of_mixing(np.array([[1.0], [1.0], [0.0]])).apply(Y)
    array([[-0.5],
           [ 0.5]], dtype=float32)
    """

    kind: Literal["all", "selection", "mixing", "given"]
    seen: NDArray[np.bool_]
    selected: NDArray[np.int32] | None = None
    matrix: Matrix | None = None
    scale: float = 1.0
    given: NDArray[np.float32] | None = None
    updated: NDArray[np.bool_] | None = None
    choice: int = 0

    @classmethod
    def of_all(cls, n_source_channels: int) -> View:
        """Make the view that shows every channel as it is."""
        return cls("all", seen=np.ones(n_source_channels, dtype=np.bool_))

    @classmethod
    def of_selection(
        cls, selected: ArrayLike, n_source_channels: int, *, scale: float = 1.0
    ) -> View:
        """Make the view of the channels `selected`, times `scale`."""
        indices = np.sort(np.asarray(selected, dtype=np.int32))
        if indices.ndim != 1 or not indices.size:
            raise ValueError(
                "selected must be a non-empty list of channel indices; "
                f"got an array of shape {indices.shape}."
            )
        if indices[0] < 0 or indices[-1] >= n_source_channels:
            raise ValueError(
                f"selected must hold channel indices from 0 to {n_source_channels - 1}; "
                f"got {indices[0] if indices[0] < 0 else indices[-1]}."
            )
        seen = np.zeros(n_source_channels, dtype=np.bool_)
        seen[indices] = True
        return cls("selection", seen=seen, selected=indices, scale=float(scale))

    @classmethod
    def of_mixing(cls, matrix: Matrix) -> View:
        """Make the view of the combinations in the columns of `matrix`.

        A channel is seen where its row of `matrix` is not zero.
        """
        if matrix.ndim != 2 or matrix.shape[1] == 0:
            raise ValueError(
                "matrix must have shape (n_source_channels, n_channels) and at least one column; "
                f"got shape {matrix.shape}."
            )
        if sparse.issparse(matrix):
            seen = np.zeros(matrix.shape[0], dtype=np.bool_)
            seen[matrix.indices[matrix.data != 0]] = True
        else:
            seen = np.any(matrix != 0, axis=1)
        return cls("mixing", seen=seen, matrix=matrix)

    @classmethod
    def of_given(cls, channels: ArrayLike, n_source_channels: int) -> View:
        """Make the view whose channels are `channels`, of shape (n_rows, n_channels).

        Every source channel counts as seen.
        """
        given = np.ascontiguousarray(channels, dtype=np.float32)
        if given.ndim != 2 or given.shape[1] == 0 or not np.all(np.isfinite(given)):
            raise ValueError(
                "channels must be finite numbers of shape (n_rows, n_channels), with at least one "
                f"column; got shape {given.shape}."
            )
        return cls("given", seen=np.ones(n_source_channels, dtype=np.bool_), given=given)

    @property
    def mixes(self) -> bool:
        """Whether a channel may depend on several source channels, which then share weights."""
        return self.kind in ("mixing", "given")

    @property
    def n_channels(self) -> int:
        """Number of channels that the learner sees."""
        if self.given is not None:
            return int(self.given.shape[1])
        if self.selected is not None:
            return len(self.selected)
        return len(self.seen) if self.matrix is None else int(self.matrix.shape[1])

    def apply(
        self,
        values: Values,
        observed: NDArray[np.bool_] | None = None,
        weights: NDArray[np.float64] | None = None,
        means: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float32]:
        """Show `values` through this view.

        Selected channels come as they are, times `scale`. Mixed channels are combinations of
        centred values, with 0 for an unobserved entry. Where weights differ between the channels
        of a row, an entry is also multiplied by its weight relative to the row's weight in
        :meth:`apply_weights`, so that weighted sums over rows use the exact weight per entry.

        Parameters
        ----------
        values : ndarray or csr_array of shape (n_rows, n_source_channels)
            Targets or gradients, 0 where unobserved.
        observed : bool ndarray of shape (n_rows, n_source_channels), optional
            All entries are observed by default.
        weights : float64 ndarray of shape (n_rows,) or (n_rows, n_source_channels), optional
            All weights are 1 by default.
        means : float64 ndarray of shape (n_source_channels,), optional
            Weighted means of the values, if they are known.

        Returns
        -------
        float32 ndarray of shape (n_rows, n_channels), in C order
        """
        if values.shape[1] != len(self.seen):
            raise ValueError(
                f"This view was drawn for {len(self.seen)} channels; got values of shape "
                f"{values.shape}. Draw a view for these values."
            )
        if self.given is not None:
            if values.shape[0] != self.given.shape[0]:
                raise ValueError(
                    f"This view holds the channels of {self.given.shape[0]} rows; got values of "
                    f"shape {values.shape}. Draw a view for these values."
                )
            return self.given
        if self.matrix is None:
            return self._select(values)
        scale = None
        if weights is not None and weights.ndim == 2:
            row_weights = self._mixed_row_weights(weights)[:, np.newaxis]
            scale = np.divide(
                weights, row_weights, out=np.zeros(weights.shape), where=row_weights > 0
            )
        mixed = CentredValues(values, observed, weights, scale, means).matmul(self.matrix)
        return np.ascontiguousarray(mixed, dtype=np.float32)

    def apply_observed(self, observed: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
        """Show the mask of observed entries through this view.

        Returns
        -------
        bool ndarray of shape (n_rows, n_channels) or None
            None if every entry counts: for a mixing view always, because an unobserved entry is
            0 in each combination and all channels share their counts.
        """
        if observed is None or self.mixes:
            return None
        return observed if self.selected is None else observed[:, self.selected]

    def apply_weights(self, weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        """Show the weights through this view.

        Returns
        -------
        float64 ndarray of shape (n_rows,) or (n_rows, n_channels), or None
            Weights per row and None are returned as they are. For a mixing view, weights per
            entry become one weight per row: their mean over the channels that are seen.
        """
        if weights is None or weights.ndim == 1 or self.kind == "all":
            return weights
        if self.selected is not None:
            return weights[:, self.selected]
        return self._mixed_row_weights(weights)

    def seen_outputs(self, channel_offsets: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Tell which outputs are seen in at least one of their channels.

        Parameters
        ----------
        channel_offsets : int32 ndarray of shape (n_outputs + 1,)
            The channels of output j are ``channel_offsets[j]:channel_offsets[j + 1]``.

        Returns
        -------
        bool ndarray of shape (n_outputs,)
        """
        return np.logical_or.reduceat(self.seen, channel_offsets[:-1])

    def _select(self, values: Values) -> NDArray[np.float32]:
        """Return the selected columns, or all of them, times the scale."""
        columns = values if self.selected is None else values[:, self.selected]
        dense = columns.toarray() if sparse.issparse(columns) else columns
        shown = np.empty(dense.shape, dtype=np.float32)
        return np.multiply(dense, self.scale, out=shown, casting="same_kind")

    def _mixed_row_weights(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Average the weights of a row, of shape (n_rows, n_source_channels), where seen."""
        n_seen = max(1, int(np.count_nonzero(self.seen)))
        return np.asarray(weights @ self.seen / n_seen, dtype=np.float64)
