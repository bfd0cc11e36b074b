"""What a tree of boosting is grown on, and what it adds to raw predictions.

It is grown on the gradients as a view shows them. It adds leaf values, or numbers times a vector.
Where features are constrained, leaf values rise or fall with them in every output, whatever the
splits: going down the tree, a split on a constrained feature puts a bound between its sides, the
middle of their values where these are in order, the value of both together where they are not;
values of leaves are moved into their bounds. Raw predictions have units of their own: targets are
standardised where the loss allows that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.boosting.state import BoostingState, LeafRows
from polyleaf.losses import Loss, LossPerOutput, LossTargets
from polyleaf.trees.channels import Channels
from polyleaf.trees.moments import Moments, largest_size, row_blocks

if TYPE_CHECKING:
    from polyleaf.boosting.booster import BoostingSettings
    from polyleaf.data import Targets, TargetSchema, TrainingData
    from polyleaf.projections import View
    from polyleaf.trees.shards import Shard
    from polyleaf.trees.structure import TreeStructure

#: Outputs in float32 beyond this would make gradients that cannot be squared.
_LARGEST_COUNT = 1e12


def gradient_channels(
    state: BoostingState, view: View, row_weights: NDArray[np.float32] | None
) -> Channels:
    """Show the weighted gradients through a view.

    Parameters
    ----------
    state : BoostingState
    view : View
    row_weights : ndarray of shape (n_rows,), float32, or None
        What a row counts in all channels of a mixing view, if its entries count differently or
        are not all observed.
    """
    gradient, by_entry = state.gradient, state.entry_weights
    if by_entry is not None:
        gradient = gradient * by_entry
    shown = _shown(gradient, view, None if state.exact is None else state.n_threads)
    if by_entry is None:
        by_row = state.row_weights
        if by_row is not None:
            shown = shown * by_row[:, None]
        return Channels(shown, by_row, None)
    if view.mixes:
        return Channels(shown, row_weights, None)
    selected = by_entry if view.selected is None else by_entry[:, view.selected]
    return Channels(shown, None, np.ascontiguousarray(selected))


def _shown(
    gradient: NDArray[np.float32], view: View, n_threads: int | None
) -> NDArray[np.float32]:
    """Apply the view to gradients; unlike targets they need no centring.

    With `n_threads`, what a row becomes does not depend on the other rows.
    """
    if view.given is not None:
        return view.given
    if view.selected is not None:
        return np.ascontiguousarray(gradient[:, view.selected])
    if view.matrix is None:
        return gradient
    if sparse.issparse(view.matrix):
        used = np.flatnonzero(view.seen)
        matrix = view.matrix.tocsr()[used].toarray().astype(np.float32)
        return _product(np.ascontiguousarray(gradient[:, used]), matrix, n_threads)
    return _product(gradient, view.matrix.astype(np.float32), n_threads)


def _product(
    gradient: NDArray[np.float32], matrix: NDArray[np.float32], n_threads: int | None
) -> NDArray[np.float32]:
    if n_threads is None:
        return np.ascontiguousarray(gradient @ matrix)
    shown = np.empty((gradient.shape[0], matrix.shape[1]), np.float32)
    _core.project(gradient, np.ascontiguousarray(matrix), shown, n_threads)
    return shown


def mixed_row_weights(targets: Targets) -> NDArray[np.float32] | None:
    """Give what a row counts where channels are mixed, None if all count the same.

    Weights of entries are averaged, whether these are observed or not, so that equal ones say the
    same as one weight per row.
    """
    if targets.weights is None:
        return None
    by_row = targets.weights if targets.weights.ndim == 1 else targets.weights.mean(axis=1)
    # A row with a weight in one output counts, however many outputs there are.
    least = np.where(by_row > 0, np.finfo(np.float32).tiny, 0.0)
    return np.maximum(by_row / targets.weight_unit, least).astype(np.float32)


@dataclass(frozen=True, eq=False)
class TreeMove:
    """What a tree adds.

    Attributes
    ----------
    values : ndarray of shape (n_leaves, n_channels) or (n_leaves, 1), float32
        Shrunk leaf values, or numbers.
    factors : ndarray of shape (n_channels,), float32, or None
        Shrunk rho by which the numbers are multiplied.
    """

    values: NDArray[np.float32]
    factors: NDArray[np.float32] | None = None

    def add_to(
        self, leaves: NDArray[np.int32], raw: NDArray[np.float32], channel: int, n_threads: int
    ) -> None:
        """Add to raw predictions of rows in given leaves, (n_rows, 1); `channel` -1: to all."""
        if self.factors is not None:
            raw += self.values[:, 0][leaves] @ self.factors[None, :]
        elif channel < 0:
            _core.add_leaves(leaves, self.values, raw, n_threads)
        else:
            raw[:, channel] += self.values[leaves[:, 0], 0]

    def of_channel(self, channel: int) -> TreeMove:
        """Give the numbers that are added to one channel, the only one that moves."""
        if self.factors is None:
            return TreeMove(np.ascontiguousarray(self.values[:, channel : channel + 1]))
        return TreeMove(self.values * self.factors[channel])

    def spread(self, channels: NDArray[np.intp], n_channels: int) -> TreeMove:
        """Put values of some channels at their places among all."""
        if self.factors is not None:
            factors = np.zeros(n_channels, np.float32)
            factors[channels] = self.factors
            return TreeMove(self.values, factors)
        values = np.zeros((self.values.shape[0], n_channels), np.float32)
        values[:, channels] = self.values
        return TreeMove(values)


class LeafFitter:
    """Fits leaves to gradients and moves the state by them.

    Parameters
    ----------
    settings : BoostingSettings
    weight_unit : float
        Unit of the float32 weights.
    """

    def __init__(self, settings: BoostingSettings, weight_unit: float) -> None:
        self.settings = settings
        self._l2 = settings.l2_regularization / weight_unit

    def fit(
        self,
        state: BoostingState,
        structure: TreeStructure,
        channels: Channels,
        leaves: LeafRows,
        everywhere: LeafRows,
        updated: NDArray[np.bool_] | None = None,
    ) -> TreeMove:
        """Fit leaf values in all channels of the state, and move its rows.

        Parameters
        ----------
        state : BoostingState
        structure : TreeStructure
        channels : Channels
            What the tree was grown on.
        leaves : LeafRows
            The rows that it was grown on.
        everywhere : LeafRows
            The rows to be moved; `leaves` itself if they are the same.
        updated : ndarray of shape (n_channels,), bool, optional
            Channels that may move.
        """
        settings = self.settings
        if settings.leaf_fit == "linear":
            return self._fit_linear(state, channels, leaves, everywhere, updated)
        is_whole = everywhere is leaves and updated is None and settings.monotone is None
        if settings.leaf_values == "newton" and is_whole:
            return TreeMove(state.newton_step(leaves, settings.learning_rate, self._l2))
        values = self._leaf_values(state, leaves)
        if updated is not None:
            values *= updated
        if settings.monotone is not None:
            weights = state.leaf_weights(leaves)
            values = bounded_values(structure, values, weights, settings.monotone)
        if settings.leaf_values == "gradient" and not settings.is_squared_error:
            direction = values[everywhere.leaf_of_rows(state.gradient.shape[0])]
            factors = state.step(direction)
            if settings.monotone is not None:  # the other way round they would break the order
                factors = np.maximum(factors, 0.0)
            values *= factors
        shrunk = (settings.learning_rate * values).astype(np.float32)
        state.move(everywhere, shrunk)
        return TreeMove(shrunk)

    def _leaf_values(self, state: BoostingState, leaves: LeafRows) -> NDArray[np.float64]:
        if self.settings.leaf_values == "newton":
            return state.newton_values(leaves, self._l2)
        if self.settings.leaf_values == "exact":
            return state.leaf_minimisers(leaves)
        totals = state.leaf_weights(leaves) + self._l2
        sums = state.sums(state.gradient, leaves)
        return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)

    def _fit_linear(
        self,
        state: BoostingState,
        channels: Channels,
        leaves: LeafRows,
        everywhere: LeafRows,
        updated: NDArray[np.bool_] | None,
    ) -> TreeMove:
        """Fit rho to a tree of one number per leaf (eq. 23, with the sum of squares below)."""
        numbers = self._leaf_numbers(state, channels, leaves)
        if self.settings.is_squared_error:
            sums = state.sums(state.gradient, everywhere)
            squares = numbers**2 @ state.leaf_weights(everywhere)
            along = numbers @ sums
            factors = np.divide(along, squares, out=np.zeros_like(along), where=squares > 0)
        else:
            at = everywhere.leaf_of_rows(state.gradient.shape[0])
            factors = state.step(numbers[at][:, None])
        if updated is not None:
            factors = factors * updated
        factors = (self.settings.learning_rate * factors).astype(np.float32)
        values = numbers.astype(np.float32)[:, None]
        state.move(everywhere, values * factors)
        return TreeMove(values, factors)

    def _leaf_numbers(
        self, state: BoostingState, channels: Channels, leaves: LeafRows
    ) -> NDArray[np.float64]:
        """Mean of the one channel in every leaf, of shape (n_leaves,)."""
        source = channels.source
        assert isinstance(source, np.ndarray)
        sums = state.plain_sums(source[:, 0], leaves)
        weights = channels.row_weights
        if weights is None and channels.entry_weights is not None:
            weights = channels.entry_weights[:, 0]
        if weights is None:
            totals = state.plain_sums(np.ones(source.shape[0], np.float32), leaves)
        else:
            totals = state.plain_sums(weights, leaves)
        totals = totals + self._l2
        return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)


def bounded_values(
    structure: TreeStructure,
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    constraints: NDArray[np.int8],
) -> NDArray[np.float64]:
    """Move leaf values into the bounds that the constraints imply.

    Parameters
    ----------
    structure : TreeStructure
        One tree.
    values, weights : ndarray of shape (n_leaves, n_channels)
    constraints : ndarray of shape (n_features,), int8
        1: predictions never fall as the feature rises; -1: they never rise; 0: free.

    Returns
    -------
    ndarray of shape (n_leaves, n_channels), float64
    """
    inner, left, right = structure.children()
    if not np.any(constraints[structure.feature[inner]]):
        return values
    means = _node_means(structure, values, weights)
    low = np.full(means.shape, -np.inf)
    high = np.full(means.shape, np.inf)
    for node, a, b in zip(inner, left, right):  # parents come before their children
        low[[a, b]], high[[a, b]] = low[node], high[node]
        sign = constraints[structure.feature[node]]
        if sign == 0:
            continue
        below, above = (a, b) if sign > 0 else (b, a)
        in_order = means[below] <= means[above]
        bound = np.where(in_order, 0.5 * (means[below] + means[above]), means[node])
        bound = np.clip(bound, low[node], high[node])
        high[below] = np.minimum(high[below], bound)
        low[above] = np.maximum(low[above], bound)
    leaves = structure.is_leaf
    return np.clip(values, low[leaves], high[leaves])


def _node_means(
    structure: TreeStructure, values: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weighted mean of the leaf values below every node, of shape (n_nodes, n_channels)."""
    first, last = structure.leaf_ranges
    zero = np.zeros((1, values.shape[1]))
    mass = np.concatenate([zero, np.cumsum(weights, axis=0)])
    total = np.concatenate([zero, np.cumsum(weights * values, axis=0)])
    below = mass[last] - mass[first]
    sums = total[last] - total[first]
    means: NDArray[np.float64] = np.divide(sums, below, out=np.zeros_like(sums), where=below > 0)
    return means


@dataclass(frozen=True, eq=False)
class Units:
    """How raw predictions relate to targets: target = shift + scale * raw.

    Attributes
    ----------
    shift, scale : ndarray of shape (n_channels,), float64
        Of the channels of raw predictions: several per target for several quantiles.
    repeats : int
        Raw channels per channel of the targets.
    is_observed : ndarray of shape (n_channels,), bool
        Whether a channel was observed at all.
    """

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    repeats: int
    is_observed: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        data: TrainingData,
        moments: Moments,
        loss: Loss,
        repeats: int,
        normalize: bool,
        shard: Shard | None = None,
    ) -> Units:
        """Choose the units: mean 0 and standard deviation 1 if wanted and possible."""
        n_channels = moments.mean.size
        shift, scale = np.zeros(n_channels), np.ones(n_channels)
        is_number = _is_number(data.targets.schema, n_channels)
        if is_number.any():
            varies = np.full(n_channels, loss.is_equivariant)
            if isinstance(loss, LossPerOutput):
                widths = np.diff(data.targets.schema.channel_offsets)
                varies = np.repeat(loss.equivariant_outputs, widths)
            chosen = varies & is_number
            shift = np.where(chosen, moments.mean, 0.0)
            scale = np.where(chosen, _scale(moments.std, normalize), 1.0)
            if not varies[is_number].all():
                _check_counts(data.targets, ~varies & is_number)
        return cls(
            np.repeat(shift, repeats),
            np.repeat(scale, repeats),
            repeats,
            np.repeat(_is_observed(data, n_channels, shard), repeats),
        )

    def loss_targets(self, targets: Targets) -> LossTargets:
        """Give targets and weights to a loss, in these units."""
        offsets = targets.schema.channel_offsets
        values, weights = self._scaled(targets.values), self._weights(targets)
        # The quantiles of an output are a group: whoever looks at one sees all of them.
        return LossTargets(values, weights, (offsets * self.repeats).astype(np.int32))

    def _scaled(self, values: Any) -> NDArray[np.float32]:
        """Bring targets of shape (n_rows, n_targets) to these units."""
        if not isinstance(values, np.ndarray):
            values = values.toarray()
        scaled = np.empty((values.shape[0], self.shift.size), dtype=np.float32)
        for rows in row_blocks(*scaled.shape):
            block = values[rows]
            if self.repeats > 1:
                block = np.repeat(block, self.repeats, axis=1)
            scaled[rows] = (block - self.shift) / self.scale
        return scaled

    def _weights(self, targets: Targets) -> NDArray[np.float32] | None:
        """Weights in their unit, 0 where a target is not observed."""
        scaled: NDArray[np.float32] | None = None
        if targets.weights is not None:
            scaled = (targets.weights / targets.weight_unit).astype(np.float32)
        if targets.observed is not None:
            mask = targets.observed.astype(np.float32)
            if scaled is not None:
                mask *= scaled if scaled.ndim == 2 else scaled[:, None]
            scaled = mask
        if scaled is not None and scaled.ndim == 2 and self.repeats > 1:
            scaled = np.repeat(scaled, self.repeats, axis=1)
        return scaled


def _is_observed(data: TrainingData, n_channels: int, shard: Shard | None) -> NDArray[np.bool_]:
    """Whether any row tells something about a channel, of shape (n_channels,)."""
    observed, weights = data.targets.observed, data.targets.weights
    if weights is None or weights.ndim == 1:
        if observed is None:
            return np.ones(n_channels, np.bool_)
        found = np.asarray(observed[data.weighted_rows].any(axis=0))
    else:
        counts = weights > 0
        found = np.asarray((counts if observed is None else counts & observed).any(axis=0))
    return found if shard is None else shard.max(found.astype(np.int64)) > 0


def _scale(std: NDArray[np.float64], normalize: bool) -> NDArray[np.float64]:
    if normalize:
        return np.where(std > 0, std, 1.0)
    unit = 1.0
    if std.max() > 0:
        unit = math.ldexp(1.0, math.frexp(float(std.max()))[1])
    return np.full(std.size, unit)


def check_size(targets: LossTargets) -> None:
    """Raise a ValueError if targets are far from what these units were made for."""
    largest = largest_size(targets.values)
    if largest > _LARGEST_COUNT:
        raise ValueError(
            f"y lies {largest:g} standard deviations from what the model was first fitted to, "
            f"which is more than {_LARGEST_COUNT:g}. Use warm_start=False to start again."
        )


def _is_number(schema: TargetSchema, n_channels: int) -> NDArray[np.bool_]:
    """Which channels are numbers, of shape (n_channels,)."""
    if schema.kind != "mixed":
        return np.full(n_channels, schema.kind == "regression")
    assert schema.frame is not None
    by_output = [column.classes is None for column in schema.frame.columns]
    return np.repeat(by_output, np.diff(schema.channel_offsets))


def _check_counts(targets: Targets, channels: NDArray[np.bool_]) -> None:
    values = targets.values
    if isinstance(values, np.ndarray) and not channels.all():
        values = values[:, channels]
    largest = float(np.abs(np.asarray(values)).max(initial=0.0))
    if largest > _LARGEST_COUNT:
        raise ValueError(
            f"Targets of this loss must lie between -{_LARGEST_COUNT:g} and {_LARGEST_COUNT:g}, "
            f"because it cannot be rescaled; got {largest:g}. Divide y by a constant."
        )
