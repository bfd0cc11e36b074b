"""A view of the output space, and what it makes of values: means, constancy, combinations.

Values of channels are dense or sparse, may have a mask of what was observed, and weights of rows
or entries. Mixed channels are combinations of centred values, ``Z = scale * observed * (values -
mean)``: an unobserved entry is 0, the mean of its channel. Z is never held as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

# Floating values of shape (n_rows, n_channels), 0 where unobserved.
Values: TypeAlias = "NDArray[np.floating[Any]] | sparse.csr_array[Any]"
# A mixing matrix of shape (n_channels, n_components).
Matrix: TypeAlias = "NDArray[np.float64] | sparse.csc_array[Any]"

#: Channels that are added up side by side.
LANES = 8
# Entries per dense block of rows (8 MB). Fixed, so that sums have a fixed order.
BLOCK_ENTRIES = 2**20


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

    Attributes
    ----------
    n_channels, n_lanes : int
        Number of channels that the learner sees, and rounded up to those added side by side.
    mixes : bool
        Whether a channel may depend on several source channels, which then share weights.

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
    n_channels: int = field(init=False)
    n_lanes: int = field(init=False)
    mixes: bool = field(init=False)

    def __post_init__(self) -> None:
        parts = (self.given, self.selected, self.matrix)
        shown = int(next((part.shape[-1] for part in parts if part is not None), self.seen.size))
        object.__setattr__(self, "n_channels", shown)
        object.__setattr__(self, "n_lanes", -(-shown // LANES) * LANES)
        object.__setattr__(self, "mixes", self.kind in ("mixing", "given"))

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
        given = np.require(np.asarray(channels), np.float32, ["C", "A"])
        if given.ndim != 2 or given.shape[1] == 0 or not np.all(np.isfinite(given)):
            raise ValueError(
                "channels must be finite numbers of shape (n_rows, n_channels), with at least one "
                f"column; got shape {given.shape}."
            )
        return cls("given", seen=np.ones(n_source_channels, dtype=np.bool_), given=given)

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
        """Tell which outputs are seen in at least one of their channels: (n_outputs,)."""
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


def channel_means(
    values: Values,
    observed: NDArray[np.bool_] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the weighted mean of each channel over its observed entries.

    Parameters
    ----------
    values : ndarray or csr_array of shape (n_rows, n_channels)
        0 where unobserved.
    observed : bool ndarray of shape (n_rows, n_channels), optional
        All entries are observed by default.
    weights : float64 ndarray of shape (n_rows,) or (n_rows, n_channels), optional
        All weights are 1 by default.

    Returns
    -------
    float64 ndarray of shape (n_channels,)
        0 for a channel without any observed weight.
    """
    total = _weighted_sum(values, weights)
    mass = _observed_mass(values.shape, observed, weights)
    means = np.zeros(values.shape[1])
    return np.divide(total, mass, out=means, where=mass > 0)


def varying_channels(
    values: Values,
    observed: NDArray[np.bool_] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.bool_]:
    """Tell which channels take two or more values over their observed, weighted entries.

    A channel that is constant or entirely unobserved has no variance to reduce. An entry of
    weight 0 (a row outside of a bootstrap sample, say) counts as absent.

    Parameters
    ----------
    values : ndarray or csr_array of shape (n_rows, n_channels)
        0 where unobserved.
    observed : bool ndarray of shape (n_rows, n_channels), optional
        All entries are observed by default.
    weights : float64 ndarray of shape (n_rows,) or (n_rows, n_channels), optional
        All weights are 1 by default.

    Returns
    -------
    bool ndarray of shape (n_channels,)
    """
    low, high = channel_ranges(values, observed, weights)
    varying: NDArray[np.bool_] = low < high
    return varying


def channel_ranges(
    values: Values,
    observed: NDArray[np.bool_] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Smallest and largest observed, weighted value of each channel; see `varying_channels`."""
    present = _present_entries(observed, weights)
    if sparse.issparse(values):
        return _sparse_range(values, present)
    where: Any = True if present is None else present
    low = np.min(values, axis=0, where=where, initial=np.inf)
    return low, np.max(values, axis=0, where=where, initial=-np.inf)


def _weighted_sum(values: Values, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Sum each channel; unobserved entries add nothing because they are stored as 0."""
    if weights is None:
        total = values.sum(axis=0, dtype=np.float64)
    elif weights.ndim == 1:
        total = weights @ values
    elif sparse.issparse(values):
        total = values.multiply(weights).sum(axis=0)
    else:
        total = np.einsum("ij,ij->j", weights, values)
    return np.asarray(total, dtype=np.float64)


def _observed_mass(
    shape: tuple[int, ...],
    observed: NDArray[np.bool_] | None,
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Sum the weights of the observed entries of each channel."""
    n_rows, n_channels = shape
    if weights is not None and weights.ndim == 2:
        where: Any = True if observed is None else observed
        mass = np.sum(weights, axis=0, where=where)
    elif observed is None:
        mass = np.full(n_channels, n_rows if weights is None else weights.sum())
    elif weights is None:
        mass = observed.sum(axis=0)
    else:
        # einsum casts the mask in small buffers; `weights @ observed` would copy it as float64.
        mass = np.einsum("i,ij->j", weights, observed)
    return np.asarray(mass, dtype=np.float64)


def _present_entries(
    observed: NDArray[np.bool_] | None, weights: NDArray[np.float64] | None
) -> NDArray[np.bool_] | None:
    """Mark the entries that count, broadcastable to (n_rows, n_channels); None means all."""
    if weights is None or np.all(weights > 0):
        return observed
    weighted = weights > 0 if weights.ndim == 2 else (weights > 0)[:, np.newaxis]
    return weighted if observed is None else weighted & observed


def _sparse_range(
    values: sparse.csr_array[Any], present: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the minimum and maximum of each channel, implicit zeros included."""
    n_rows, n_channels = values.shape
    channels, data = values.indices, values.data
    n_present = np.full(n_channels, n_rows)
    if present is not None:
        rows = np.repeat(np.arange(n_rows), np.diff(values.indptr))
        stored = present[rows, channels if present.shape[1] > 1 else 0]
        channels, data = channels[stored], data[stored]
        n_present = np.broadcast_to(present.sum(axis=0), n_channels)
    low, high = np.full(n_channels, np.inf), np.full(n_channels, -np.inf)
    # A row for every channel, with its stored values side by side.
    at = channels, np.arange(channels.size)
    stored_values = sparse.coo_array((data, at), shape=(n_channels, channels.size)).tocsr()
    n_stored = np.diff(stored_values.indptr)
    is_stored = n_stored > 0
    if is_stored.any():
        starts = stored_values.indptr[:-1][is_stored]
        low[is_stored] = np.minimum.reduceat(stored_values.data, starts)
        high[is_stored] = np.maximum.reduceat(stored_values.data, starts)
    has_implicit_zero = n_stored < n_present
    low[has_implicit_zero] = np.minimum(low[has_implicit_zero], 0)
    high[has_implicit_zero] = np.maximum(high[has_implicit_zero], 0)
    return low, high
