"""From targets to the channels a tree is grown on: scaling, the view, and weights.

The core works in float32. Its channels are therefore centred, come in units of their standard
deviation, and weights in units of the largest one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.projections import ProjectionContext, View
from polyleaf.trees.moments import Moments, channel_moments, row_blocks
from polyleaf.trees.shards import Shard, draw_by_size

if TYPE_CHECKING:
    from polyleaf.data.targets import Targets, TargetSchema
    from polyleaf.data.training import TrainingData

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]
    Scaled: TypeAlias = NDArray[np.float32] | CSR


@dataclass(frozen=True)
class Scaling:
    """Factors that bring all channels to the order of 1.

    Attributes
    ----------
    factors : ndarray of shape (n_channels,), float64
    unit : float
        Unit of the scaled outputs that all channels share, a power of two: squares of scaled
        outputs times unit^2 are squares in the units of Y, or of normalised outputs.
    moments : Moments
    """

    factors: NDArray[np.float64]
    unit: float
    moments: Moments


@dataclass(frozen=True)
class TargetColumns:
    """Columns of the targets that the core scales as it reads them, so that none is copied.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_targets), float64
    columns : ndarray of shape (n_channels,), int32
    shift, factor : ndarray of shape (n_channels,), float64
        A channel is (values[:, column] - shift) * factor.
    """

    values: NDArray[np.float64]
    columns: NDArray[np.int32]
    shift: NDArray[np.float64]
    factor: NDArray[np.float64]


@dataclass(frozen=True)
class ScaledColumns:
    """Columns of targets that are scaled already, which many trees share.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_targets), float32
    columns : ndarray of shape (n_channels,), int32
    """

    values: NDArray[np.float32]
    columns: NDArray[np.int32]


@dataclass(frozen=True)
class Channels:
    """What the grower sees of the targets.

    Attributes
    ----------
    source : TargetColumns, ScaledColumns, ndarray of shape (n_rows, n_channels), or csr_array
        An array holds weight times value, in float32; a sparse matrix values that are not
        weighted yet.
    row_weights : ndarray of shape (n_rows,), float32, or None
    entry_weights : ndarray of shape (n_rows, n_channels), float32, or None
        0 where a target is not observed.
    """

    source: TargetColumns | ScaledColumns | Scaled
    row_weights: NDArray[np.float32] | None
    entry_weights: NDArray[np.float32] | None

    @property
    def n_channels(self) -> int:
        """Number of channels."""
        if isinstance(self.source, TargetColumns | ScaledColumns):
            return self.source.columns.size
        return int(self.source.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        source = self.source
        values = source.values if isinstance(source, TargetColumns | ScaledColumns) else source
        return int(values.shape[0])

    def weighted(self, factors: NDArray[np.float32]) -> Channels:
        """Give the same channels with rows that count this much more, of shape (n_rows,).

        Their source must be an array.
        """
        assert isinstance(self.source, np.ndarray)
        by_row, by_entry = self.row_weights, self.entry_weights
        if by_entry is None:
            by_row = factors if by_row is None else by_row * factors
        else:
            by_entry = by_entry * factors[:, None]
        return Channels(self.source * factors[:, None], by_row, by_entry)

    def at(self, rows: NDArray[Any]) -> Channels:
        """Give the channels of some rows. Their source must be dense."""
        source = self.source
        if isinstance(source, TargetColumns | ScaledColumns):
            source = replace(source, values=source.values[rows])
        else:
            source = source[rows]
        by_row, by_entry = (
            None if weights is None else weights[rows]
            for weights in (self.row_weights, self.entry_weights)
        )
        return Channels(source, by_row, by_entry)

    def padded(self) -> Channels:
        """Give channels of one row that counts nothing, where there is none."""
        ones = [
            None if w is None else np.zeros((1, *w.shape[1:]), w.dtype)
            for w in (self.row_weights, self.entry_weights)
        ]
        return Channels(np.zeros((1, self.n_channels), np.float32), *ones)

    @cached_property
    def core(self) -> _core.Channels:
        """The same for the core, which holds on to the arrays and has checked them."""
        source, by_row, by_entry = self.source, self.row_weights, self.entry_weights
        if isinstance(source, TargetColumns):
            return _core.Channels.of_targets(
                source.values, source.columns, source.shift, source.factor, by_row, by_entry
            )
        if isinstance(source, ScaledColumns):
            return _core.Channels.of_scaled_targets(
                source.values, source.columns, by_row, by_entry
            )
        if isinstance(source, np.ndarray):
            return _core.Channels.of_gradients(source, by_row, by_entry)
        return _core.Channels.of_labels(
            int(source.shape[1]),
            source.indptr.astype(np.int64, copy=False),
            source.indices.astype(np.int32, copy=False),
            source.data,
            by_row,
        )


def output_scaling(data: TrainingData, normalize: bool) -> Scaling:
    """Choose the factors: inverse standard deviations, or one factor for all channels.

    With `normalize`, every number has variance 1 on the training rows (Breskvar et al. 2018, below
    eq. 1); constant ones are left alone. Classes and labels keep their impurity, unless there are
    numbers beside them: then each kind is divided by what its outputs have on average. With a
    hierarchy of labels, squares of a label count as much as it weighs there.
    """
    moments = channel_moments(data.targets)
    std = moments.std
    schema = data.targets.schema
    if schema.kind == "mixed":
        return Scaling(kind_factors(schema, std**2), 1.0, moments)
    if normalize and schema.kind == "regression":
        return Scaling(1.0 / np.where(std > 0, std, 1.0), 1.0, moments)
    unit = 1.0
    if data.targets.schema.kind == "regression" and std.max() > 0:
        unit = math.ldexp(1.0, math.frexp(float(std.max()))[1])
    factors = np.full(std.size, 1.0 / unit)
    hierarchy = data.targets.schema.hierarchy
    if hierarchy is not None:
        factors *= np.sqrt(hierarchy.weights)
    return Scaling(factors, unit, moments)


def kind_factors(schema: TargetSchema, variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the factors that make all kinds of a mixed Y count alike, of shape (n_channels,).

    Numbers and counts get variance 1 each. Classes and labels have an impurity by nature, the
    Gini index (the sum of the variances of their channels): those of one kind are divided by its
    mean, so that they weigh among each other as they do for a classifier.

    Parameters
    ----------
    schema : TargetSchema
        With a frame.
    variances : ndarray of shape (n_channels,)
    """
    assert schema.frame is not None
    starts, widths = schema.channel_offsets[:-1], np.diff(schema.channel_offsets)
    impurities = np.add.reduceat(variances, starts)
    kinds = np.array(schema.frame.kinds)
    units = impurities.copy()
    for kind in ("class", "label"):
        varies = (kinds == kind) & (impurities > 0)
        if varies.any():
            units[kinds == kind] = impurities[varies].mean()
    return np.repeat(1.0 / np.sqrt(np.where(units > 0, units, 1.0)), widths)


def make_context(
    data: TrainingData, scaling: Scaling, rng: np.random.Generator
) -> ProjectionContext:
    """Make what projections draw views from: the scaled targets.

    Parameters
    ----------
    data : TrainingData
    scaling : Scaling
    rng : numpy.random.Generator
    """
    return ProjectionContext(
        round=0,
        rng=rng,
        values=scaled_targets(data, scaling),
        channel_offsets=data.targets.schema.channel_offsets,
        observed=data.targets.observed,
        weights=data.weights,
    )


def make_channels(
    targets: Targets,
    scaling: Scaling,
    view: View | None,
    values: Scaled | None,
    counts: NDArray[np.int64] | None = None,
    means: NDArray[np.float64] | None = None,
) -> Channels:
    """Show the scaled targets through a view.

    Parameters
    ----------
    targets : Targets
    scaling : Scaling
    view : View or None
        None: all channels as they are.
    values : ndarray or csr_array of shape (n_rows, n_channels), or None
        The scaled targets: those of the context that the view was drawn from. None: the core
        scales what it reads, if the view does not mix channels.
    counts : ndarray of shape (n_rows,), optional
        How often each row counts, once by default.
    means : ndarray of shape (n_channels,), optional
        Those of `values`, if they are known.
    """
    mixes = view is not None and view.mixes
    row_weights = _row_weights(targets, view, counts)
    if view is not None and mixes:
        if values is None:
            raise ValueError("A view that mixes channels needs the values it was drawn from.")
        channels = view.apply(values, targets.observed, targets.weights, means)
        if row_weights is not None:
            channels = channels * row_weights[:, None]
        return Channels(channels, row_weights, None)
    if isinstance(targets.values, np.ndarray):
        entry_weights = _entry_weights(targets, view, counts)
        columns: TargetColumns | ScaledColumns
        # Weights are multiplied before anything is rounded, but for those of a bootstrap sample.
        is_scaled = view is not None and view.scale != 1.0
        is_plain = targets.weights is None and entry_weights is None and not is_scaled
        if isinstance(values, np.ndarray) and is_plain:
            columns = ScaledColumns(values, _columns_of(view, values.shape[1]))
        else:
            columns = _target_columns(targets.values, scaling, view)
        return Channels(columns, row_weights, entry_weights)
    return Channels(_sparse_columns(targets.values, scaling, view), row_weights, None)


def channels_at(
    data: TrainingData,
    scaling: Scaling,
    view: View,
    values: Scaled,
    counts: NDArray[np.int64] | None,
    rows: NDArray[np.int32],
) -> Channels:
    """Show the scaled targets of some rows alone; the entries of the others are arbitrary.

    The work is proportional to those rows. See `make_channels` for the parameters.
    """
    part = data.targets.at(rows)
    drawn = None if counts is None else counts[rows]
    if view.mixes:
        shown = make_channels(part, scaling, view, values[rows], drawn)
    else:
        shown = make_channels(part, scaling, view, None, drawn)
    n_rows = data.n_rows
    row_weights = _spread(shown.row_weights, rows, n_rows)
    entry_weights = _spread(shown.entry_weights, rows, n_rows)
    source = shown.source
    if isinstance(source, TargetColumns):
        source = replace(source, values=np.asarray(data.targets.values))
    elif isinstance(source, ScaledColumns):
        source = replace(source, values=_spread(source.values, rows, n_rows))
    elif isinstance(source, np.ndarray):
        source = _spread(source, rows, n_rows)
    else:
        source = _spread_csr(source, rows, n_rows)
    return Channels(source, row_weights, entry_weights)


def _spread(part: Any, rows: NDArray[np.int32], n_rows: int) -> Any:
    """Put entries of some rows at their places among all."""
    if part is None:
        return None
    spread = np.empty((n_rows, *part.shape[1:]), dtype=part.dtype)
    spread[rows] = part
    return spread


def _spread_csr(part: CSR, rows: NDArray[np.int32], n_rows: int) -> CSR:
    order = np.argsort(rows)
    part = part[order]
    sizes = np.zeros(n_rows, dtype=np.int64)
    sizes[rows[order]] = np.diff(part.indptr)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return sparse.csr_array((part.data, part.indices, indptr), shape=(n_rows, part.shape[1]))


def _target_columns(
    values: NDArray[np.float64], scaling: Scaling, view: View | None
) -> TargetColumns:
    columns = _columns_of(view, values.shape[1])
    factor = scaling.factors[columns]
    if view is not None and view.selected is not None:
        factor = factor * view.scale
    return TargetColumns(values, columns, scaling.moments.mean[columns], factor)


def _columns_of(view: View | None, n_channels: int) -> NDArray[np.int32]:
    if view is None or view.selected is None:
        return np.arange(n_channels, dtype=np.int32)
    return np.ascontiguousarray(view.selected, dtype=np.int32)


def scaled_targets(data: TrainingData, scaling: Scaling) -> Scaled:
    """Scale the targets; centre them if they are dense, with 0 for what is not observed."""
    values, observed = data.targets.values, data.targets.observed
    if not isinstance(values, np.ndarray):
        return _scaled_sparse(values, scaling)
    scaled = np.empty(values.shape, dtype=np.float32)
    for rows in row_blocks(*values.shape):
        block = (values[rows] - scaling.moments.mean) * scaling.factors
        scaled[rows] = block if observed is None else np.where(observed[rows], block, 0.0)
    return scaled


def _scaled_sparse(values: CSR, scaling: Scaling) -> CSR:
    factors = scaling.factors.astype(np.float32)
    entries = values.data.astype(np.float32) * factors[values.indices]
    return sparse.csr_array((entries, values.indices, values.indptr), shape=values.shape)


def _sparse_columns(values: CSR, scaling: Scaling, view: View | None) -> CSR:
    scaled = _scaled_sparse(values, scaling)
    if view is None or view.selected is None:
        return scaled
    columns: CSR = sparse.csr_array(scaled[:, view.selected] * np.float32(view.scale))
    columns.sort_indices()
    return columns


def _row_weights(
    targets: Targets, view: View | None, counts: NDArray[np.int64] | None
) -> NDArray[np.float32] | None:
    """Weights that all channels of the view share, None if there are none or not one per row."""
    weights = targets.weights
    if weights is not None and weights.ndim == 2:
        weights = view.apply_weights(weights) if view is not None and view.mixes else None
        is_shared = weights is not None
    else:
        is_shared = targets.observed is None or (view is not None and view.mixes)
    if not is_shared:
        return None
    if weights is None:
        return None if counts is None else counts.astype(np.float32)
    # A row whose weight lies all in outputs that the view does not see must find its leaf, too.
    scaled = (weights / targets.weight_unit).astype(np.float32)
    scaled = np.maximum(scaled, np.finfo(np.float32).tiny)
    return scaled if counts is None else scaled * counts.astype(np.float32)


def _entry_weights(
    targets: Targets, view: View | None, counts: NDArray[np.int64] | None
) -> NDArray[np.float32] | None:
    """Weights of single entries, None if all channels of a row share one."""
    weights, observed = targets.weights, targets.observed
    mixes = view is not None and view.mixes
    if mixes or (observed is None and (weights is None or weights.ndim == 1)):
        return None
    shown = observed if view is None else view.apply_observed(observed)
    if shown is not None:
        entries = shown.astype(np.float32, order="C")
    else:
        n_channels = targets.n_channels if view is None else view.n_channels
        entries = np.ones((targets.n_rows, n_channels), dtype=np.float32)
    if counts is not None:
        entries *= counts.astype(np.float32)[:, None]
    seen_weights = weights if view is None else view.apply_weights(weights)
    if seen_weights is not None:
        by_entry = seen_weights[:, None] if seen_weights.ndim == 1 else seen_weights
        for rows in row_blocks(*entries.shape):
            entries[rows] *= by_entry[rows] / targets.weight_unit
    return entries


def large_rows(
    seed: int, rows: NDArray[np.int32], channels: Channels, shard: Shard, share: float
) -> tuple[NDArray[np.int32], Channels]:
    """Draw rows of large gradients and some others, which count for those that were not drawn.

    Parameters
    ----------
    seed : int
    rows : ndarray of int32
        To draw from, ascending.
    channels : Channels
        Of all rows, in an array.
    shard : Shard
    share : float
        Of the rows of all workers, below 1.

    Returns
    -------
    rows : ndarray of int32
        Those that were drawn, ascending.
    channels : Channels
        With their weights.
    """
    assert isinstance(channels.source, np.ndarray)
    are_all = rows.size == channels.source.shape[0]
    shown = channels.source if are_all else channels.source[rows]
    if channels.n_channels == 1:
        sizes = np.abs(shown[:, 0])
    else:
        squares = np.einsum("ij,ij->i", shown, shown, dtype=np.float64)
        sizes = np.sqrt(squares).astype(np.float32)
    own = shard if are_all else replace(shard, numbers=shard.numbers[rows])
    is_drawn, is_other, factor = draw_by_size(seed, own, sizes, share)
    if are_all:
        factors = np.where(is_other, np.float32(factor), np.float32(1.0))
    else:
        factors = np.ones(channels.source.shape[0], np.float32)
        factors[rows[is_other]] = factor
    return rows[is_drawn], channels.weighted(factors)
