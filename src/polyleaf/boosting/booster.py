"""Gradient boosting of trees on views of the gradients (Joly et al. 2019).

Alg. 2 has no projection; Alg. 4 grows a tree on projected gradients and gives its leaves values in
all outputs (leaf_fit "relabel"); Alg. 3 fits every output linearly to a tree of one number per
leaf (leaf_fit "linear").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.boosting.exact import ExactSums, ShardTargets
from polyleaf.boosting.leaves import (
    LeafFitter,
    TreeMove,
    Units,
    check_size,
    gradient_channels,
    mixed_row_weights,
)
from polyleaf.boosting.model import BoostedTrees
from polyleaf.boosting.state import BoostingState, LeafRows, make_state
from polyleaf.data.coded_rows import by_blocks
from polyleaf.data.dense_binning import MANY_ROWS
from polyleaf.losses import Loss, check_finite, check_shapes
from polyleaf.projections import Feedback, ProjectionContext, RoundRobin, View
from polyleaf.projections._view import channel_ranges
from polyleaf.trees.channels import Channels, Scaling, large_rows
from polyleaf.trees.growing import GrownSplits, TreeSettings, grow_params, grow_splits
from polyleaf.trees.moments import Moments
from polyleaf.trees.shards import Shard, draw_share, exact_sums
from polyleaf.trees.structure import TreeStructure, apply_trees, join_structures

if TYPE_CHECKING:
    from polyleaf.boosting.weak_models import BoostedModels
    from polyleaf.data.training import TrainingData

#: A stream of chance that belongs to no tree.
_CONTEXT_STREAM = 2**32
#: Draws between two streams, as far apart and as unlike each other as can be: 2**128 over the
#: golden ratio, and odd.
_STRIDE = 0x9E3779B97F4A7C15F39CC0605CEDC835


@dataclass(frozen=True)
class BoostingSettings:
    """How a model is boosted; see `polyleaf.BoostingRegressor` for the meaning of each.

    `leaf_values` is "gradient", "newton" or "exact"; `monotone` has a number per feature, or is
    None. `l2_regularization` is for leaf values: the splits do without, which is quicker.

    What the loss declares stands here, too: `n_values`, how many numbers it predicts per channel
    of the targets; `is_squared_error`; `is_joint` over outputs; and whether it `can_part` them.
    """

    tree: TreeSettings
    loss: Loss
    learning_rate: float
    leaf_fit: str
    leaf_values: str
    l2_regularization: float
    subsample: float
    row_sampling: str
    monotone: NDArray[np.int8] | None
    n_values: int
    is_squared_error: bool
    is_joint: bool
    can_part: bool


def sums_in_fixed_point(data: TrainingData, settings: TreeSettings, shard: Shard) -> bool:
    """Tell whether sums are in fixed point: if asked for, on many rows, or on several workers."""
    if settings.sums != "auto":
        return settings.sums == "fixed" or shard.reduce is not None
    if shard.reduce is not None:
        return True
    features = data.features
    is_dense = features.sparse_features.size == 0 and features.dense_codes.dtype == np.uint8
    return is_dense and data.weighted_rows.size >= MANY_ROWS


@dataclass(frozen=True, eq=False)
class FeatureGains:
    """What the splits of one tree gained, by feature.

    A tree splits few of a million features, so that the others are left out.

    Attributes
    ----------
    features : ndarray of shape (m,), intp
        Those that the tree splits.
    gains : ndarray of shape (m,), float64
    """

    features: NDArray[np.intp]
    gains: NDArray[np.float64]

    @classmethod
    def of(cls, gains: NDArray[np.float64], unit: float) -> FeatureGains:
        """Keep what is not zero, in the weights as given."""
        features = np.flatnonzero(gains)
        return cls(features, gains[features] * unit)


def _total_gains(rounds: Sequence[GrownRound], n_features: int) -> NDArray[np.float64]:
    total = np.zeros(n_features)
    for grown in rounds:
        total[grown.feature_gains.features] += grown.feature_gains.gains
    return total


@dataclass(frozen=True, eq=False)
class GrownRound:
    """One tree of a boosted model.

    Attributes
    ----------
    structure : TreeStructure
        Without statistics of nodes.
    move : TreeMove
        What it adds to raw predictions.
    channel : int
        The channel it adds to, if it is one alone; else -1.
    feature_gains : FeatureGains
    leaf_samples : ndarray of shape (n_leaves,), int32
        Training rows that the leaves were grown on.
    seen : ndarray of shape (n_channels,), bool
        Channels that had a part in the choice of its splits.
    """

    structure: TreeStructure
    move: TreeMove
    channel: int
    feature_gains: FeatureGains
    leaf_samples: NDArray[np.int32]
    seen: NDArray[np.bool_]


class Booster:
    """Boosts one model; tree t depends on the seed, the trees before it and t alone.

    Parameters
    ----------
    data : TrainingData
    settings : BoostingSettings
    entropy : sequence of int
        The seed.
    n_threads : int
    units : Units
        Of these data, or those of an earlier fit that is gone on with.
    shard : Shard, optional
        Where rows are divided between workers: those of this one. Sums are in fixed point then.
    """

    def __init__(
        self,
        data: TrainingData,
        settings: BoostingSettings,
        entropy: Sequence[int],
        n_threads: int,
        units: Units,
        shard: Shard | None = None,
    ) -> None:
        self._take(data, settings, entropy, n_threads, units, shard)
        self.targets = targets = units.loss_targets(data.targets)
        check_size(targets)
        loss = settings.loss
        loss.check_targets(targets)
        check_shapes(loss, targets)
        shared = ShardTargets.around(targets, self.shard) if self.is_fixed else targets
        self.baseline = loss.baseline(shared)
        check_finite(loss, targets, self.baseline)
        self.total_weight = loss.total_weight(shared)
        self._exact: ExactSums | None = None
        if self.is_fixed:
            self._exact = ExactSums(self.shard, targets.weights, targets.n_channels)
        self._first_value: float | None = None
        if settings.is_squared_error:
            raw = np.broadcast_to(self.baseline.astype(np.float32), targets.values.shape)
            if self._exact is None:
                self._first_value = loss.value(targets, raw)
            else:
                self._first_value = self._exact.loss_value(loss, targets, raw)
        self._fitter = LeafFitter(settings, data.weight_unit)
        self._row_weights = mixed_row_weights(data.targets)

    def _take(
        self,
        data: TrainingData,
        settings: BoostingSettings,
        entropy: Sequence[int],
        n_threads: int,
        units: Units,
        shard: Shard | None = None,
    ) -> None:
        self.shard = Shard(np.arange(data.n_rows)) if shard is None else shard
        self.is_fixed = sums_in_fixed_point(data, settings.tree, self.shard)
        self.data, self.settings, self.n_threads, self.units = data, settings, n_threads, units
        self.entropy = [int(number) for number in entropy]
        self.feedback: list[Feedback] = []
        self.spent = 0.0  # additions of all trees so far, in lanes
        self._projection = settings.tree.projection
        self._wants_feedback = self._projection is not None and self._projection.uses_feedback
        self._watched: Any = None
        n_channels = units.shift.size
        # The units of gradients are those of the loss: the grower need not scale them.
        self._scaling = Scaling(
            np.ones(n_channels), 1.0, Moments(np.zeros(n_channels), np.ones(n_channels))
        )
        offsets = data.targets.schema.channel_offsets
        is_single = isinstance(self._projection, RoundRobin) and offsets.size - 1 == n_channels
        #: Kind of leaves of the model.
        self.kind = (
            "single" if is_single else ("linear" if settings.leaf_fit == "linear" else "dense")
        )

    def start(self, model: BoostedTrees | BoostedModels | None = None) -> None:
        """Set the raw predictions: to those of a model to go on from, or to the baseline.

        Parameters
        ----------
        model : BoostedTrees or BoostedModels, optional
        """
        raw: NDArray[np.float32] = self.baseline.astype(np.float32)
        self.state: BoostingState = make_state(
            self.settings.loss,
            self.targets,
            raw,
            self.data.weighted_rows,
            self.n_threads,
            self._first_value,
            self._exact,
        )
        context = self.context
        if self.shard.reduce is not None:  # a channel may vary on another worker
            low, high = channel_ranges(context.values, context.observed, context.weights)
            ends = self.shard.max(np.array([-low, high], np.float64))
            vars(context)["varying_channels"] = -ends[0] < ends[1]
        _ = context.varying_channels  # those of y, however well a model fits them
        #: How many trees one estimator has: one, or one per output.
        self.n_trees_per_stage = (
            1 if self._projection is None else self._projection.n_views(context)
        )
        if model is not None:
            learnt = np.nan_to_num(
                by_blocks(self.data.encoded, lambda rows: model.predict(rows, self.n_threads))
            )
            self.state.add(learnt - raw)

    def watch(self, encoded: Any, raw: NDArray[np.float32]) -> None:
        """Move raw predictions of these rows along, too; they are not trained on.

        Parameters
        ----------
        encoded : ndarray or csr_array of shape (n_rows, n_features)
        raw : ndarray of shape (n_rows, n_channels), float32
            Changed in place from now on.
        """
        self._watched, self._watched_raw = encoded, raw

    @cached_property
    def context(self) -> ProjectionContext:
        """What the projection draws from: gradients, overwritten in every round."""
        weights, given = self.state.targets.weights, self.data.weights
        if given is not None:
            given = given / self.data.weight_unit
            if given.ndim == 2:
                given = np.repeat(given, self.settings.n_values, axis=1)
        return ProjectionContext(
            round=0,
            rng=np.random.default_rng([*self.entropy, _CONTEXT_STREAM]),
            values=self.state.gradient,
            channel_offsets=self.targets.channel_offsets,
            observed=None if weights is None or weights.ndim == 1 else weights > 0,
            weights=given,
            feedback=self.feedback,
            sums=partial(exact_sums, shard=self.shard) if self.is_fixed else None,
        )

    def _rng(self, stream: int) -> np.random.Generator:
        """Give the generator of a stream; the one before is used up.

        To move one generator takes a tenth of the time that it takes to make another.
        """
        bits, start = self._bits
        bits.state = start
        bits.advance(stream * _STRIDE)
        return np.random.Generator(bits)

    @cached_property
    def _bits(self) -> tuple[np.random.PCG64, Any]:
        bits = np.random.PCG64(self.entropy)
        return bits, bits.state

    def grow(self, t: int) -> GrownRound:
        """Grow tree t and move all raw predictions by it.

        Parameters
        ----------
        t : int
            Trees come in their order.
        """
        rng = self._rng(t)
        before = self.state.value() if self._wants_feedback else 0.0
        view = self._draw(t, rng)
        channels = gradient_channels(self.state, view, self._row_weights)
        grown, watched = self._grow_structure(channels, view.n_channels, rng)
        structure = grown.structure
        leaves, everywhere = self._leaf_rows(grown)
        move, channel = self._move(view, channels, structure, leaves, everywhere)
        if watched is not None:
            move.add_to(watched, self._watched_raw, channel, self.n_threads)
        work, samples = int(grown.work), np.diff(grown.leaf_offsets)
        if self.shard.reduce is not None:
            work, samples = self.shard.count(work), self.shard.sum(samples)
        self.spent += work / view.n_channels * view.n_lanes
        if self._wants_feedback:
            decrease = before - self.state.value()
            feedback = Feedback(view.choice, decrease, work, view.n_channels)
            self.feedback.append(feedback)
        gains = FeatureGains.of(grown.feature_gains, self.data.weight_unit)
        return GrownRound(structure, move, channel, gains, samples.astype(np.int32), view.seen)

    def _draw(self, t: int, rng: np.random.Generator) -> View:
        view = self._view(t, rng)
        if self.settings.leaf_fit == "linear" and view.n_channels != 1:
            if self._projection is not None and not self.context.varying_channels.any():
                return View.of_selection([0], view.seen.size)  # nothing to learn
            raise ValueError(
                "leaf_fit='linear' needs a view of one component: every output is fitted to one "
                f"number per leaf; got a view of {view.n_channels}. Use a projection such as "
                "projections.Gaussian(n_components=1), or leaf_fit='relabel'."
            )
        return view

    def _view(self, t: int, rng: np.random.Generator) -> View:
        if self._projection is None:
            return View.of_all(self.targets.n_channels)
        if self.context.observed is not None:  # nobody else asks for gradients without weight
            self.state.gradient *= self.context.observed
        return self._projection.checked_draw(self.context.at_round(t, rng, values_changed=True))

    def _grow_structure(
        self, channels: Channels, n_channels: int, rng: np.random.Generator
    ) -> tuple[GrownSplits, NDArray[np.int32] | None]:
        """Grow the splits; also give the leaf of every watched row, of shape (n_watched, 1)."""
        seed = int(rng.integers(2**63))
        rows, channels = self._drawn_rows(rng, channels)
        is_ordered = (
            rows.size == self.data.n_rows
            and not self.is_fixed
            and _core.uses_row_orders(rows.size, n_channels)
        )
        orders = self._row_orders if is_ordered else None
        params = self._params
        params.seed = seed
        grown = grow_splits(self.data, channels, params, rows, orders, self.shard.reduce)
        if self._watched is None:
            return grown, None
        nodes = apply_trees(grown.structure, self._watched, self.n_threads)
        return grown, grown.structure.leaf_index[nodes]

    @cached_property
    def _params(self) -> _core.GrowParams:
        """How trees grow; the seed is set for each."""
        params = grow_params(self.settings.tree, self.data, self._scaling, 0)
        params.n_threads = self.n_threads
        params.fixed_sums = self.is_fixed
        params.float_rows = 0
        # What chance gives to categories is a share of the impurity.
        params.measures_impurity = bool(self.data.schema.has_categories)
        return params

    @cached_property
    def _row_orders(self) -> _core.RowOrders:
        """The rows sorted by every feature, once for all trees."""
        return _core.RowOrders(self.data.binned, self.n_threads)

    def _drawn_rows(
        self, rng: np.random.Generator, channels: Channels
    ) -> tuple[NDArray[np.int32], Channels]:
        """Rows of a round: all that count, or a share of them, ascending; and what they show."""
        rows = self.data.weighted_rows
        if self.settings.subsample == 1.0:
            return rows, channels
        if self.settings.row_sampling == "uniform":
            return self._uniform_rows(rng), channels
        seed = int(rng.integers(2**63))
        return large_rows(seed, rows, channels, self.shard, self.settings.subsample)

    def _uniform_rows(self, rng: np.random.Generator) -> NDArray[np.int32]:
        rows = self.data.weighted_rows
        if self.is_fixed:
            seed = int(rng.integers(2**63))
            drawn = draw_share(seed, self.shard.numbers[rows], self.settings.subsample)
            if self.shard.count(int(drawn.sum())) > 0:
                return rows[drawn]
            return rows
        n_drawn = max(1, round(self.settings.subsample * rows.size))
        return np.sort(rng.choice(rows, n_drawn, replace=False, shuffle=False))

    def _leaf_rows(self, grown: GrownSplits) -> tuple[LeafRows, LeafRows]:
        """Rows on which a tree was grown, and all that it moves, leaf after leaf."""
        leaves = LeafRows(grown.ordered, grown.leaf_offsets)
        if self.settings.subsample == 1.0:
            return leaves, leaves
        everywhere = self._all_leaves(grown.structure)
        return leaves if self.settings.row_sampling == "uniform" else everywhere, everywhere

    def _all_leaves(self, structure: TreeStructure) -> LeafRows:
        """Send all rows that count down the tree, also those it was not grown on."""
        rows = self.data.weighted_rows
        nodes = by_blocks(
            self.data.encoded, lambda some: apply_trees(structure, some, self.n_threads)
        )[rows, 0]
        at = structure.leaf_index[nodes]
        # Numbers of 16 bits are sorted by radix.
        keys = at.astype(np.uint16) if structure.n_leaves < 2**16 else at
        order = np.argsort(keys, kind="stable")
        counts = np.bincount(at, minlength=structure.n_leaves)
        return LeafRows(rows[order], np.concatenate([[0], np.cumsum(counts)]))

    def _move(
        self,
        view: View,
        channels: Channels,
        structure: TreeStructure,
        leaves: LeafRows,
        everywhere: LeafRows,
    ) -> tuple[TreeMove, int]:
        """Fit the leaves and move raw predictions: of all channels, or of those of the view."""
        state, fitter = self.state, self._fitter
        updated = view.updated
        if updated is None and self.kind == "single":  # nothing varies
            updated = np.arange(self.targets.n_channels) == 0
        if updated is None:
            return fitter.fit(state, structure, channels, leaves, everywhere), -1
        chosen = np.flatnonzero(updated)
        first = int(chosen[0])
        if not self.settings.can_part:
            move = fitter.fit(state, structure, channels, leaves, everywhere, updated)
            return (move.of_channel(first), first) if self.kind == "single" else (move, -1)
        part = state.columns(chosen)
        move = fitter.fit(part, structure, channels, leaves, everywhere)
        state.write_back(part, chosen)
        if self.kind == "single":
            return move.of_channel(0), first
        return move.spread(chosen, self.targets.n_channels), -1

    def model(self, rounds: Sequence[GrownRound]) -> BoostedTrees:
        """Put trees together.

        Parameters
        ----------
        rounds : sequence of GrownRound
            At least one.
        """
        kind = self.kind
        moves = [grown.move for grown in rounds]
        gains = _total_gains(rounds, self.data.features.n_features)
        factors = np.array([move.factors for move in moves]) if kind == "linear" else None
        channels = None
        if kind == "single":
            channels = np.array([grown.channel for grown in rounds], dtype=np.int32)
        seen = np.vstack([grown.seen for grown in rounds])
        return BoostedTrees(
            baseline=np.where(self.units.is_observed, self.baseline, np.nan),
            structure=join_structures([grown.structure for grown in rounds]),
            kind=kind,
            leaf_values=np.concatenate([move.values for move in moves]),
            tree_factors=factors,
            tree_channels=channels,
            feature_gains=gains,
            leaf_samples=np.concatenate([grown.leaf_samples for grown in rounds]),
            seen=None if kind != "single" and seen.all() else seen,
        )

    def joined(self, rounds: Sequence[Any], start: Any = None) -> Any:
        """Put a model to go on from, if there is one, and what was grown together.

        Parameters
        ----------
        rounds : sequence
            What `grow` gave; may be empty if there is a model to go on from.
        start : BoostedTrees or BoostedModels, optional
        """
        if start is None:
            return self.model(rounds)
        return type(start).concatenate([start, self.model(rounds)]) if rounds else start

    def mean_loss(self) -> float:
        """Mean loss of the training rows, in the units of the loss."""
        return self.state.value() / self.total_weight
