"""Grow the trees of a forest, each on its own rows and its own view of the outputs.

Joly et al. 2014 (projections: Alg. 1 with scope "forest", Alg. 2 with scope "tree") and
Breskvar et al. 2018 (random output selections, where the first tree sees all outputs).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.estimator.running import in_threads
from polyleaf.forests.model import Forest
from polyleaf.forests.node_views import NodeViews
from polyleaf.projections import Projection, ProjectionContext, View
from polyleaf.trees.channels import make_channels, make_context, output_scaling, scaled_targets
from polyleaf.trees.growing import GrownSplits, TreeSettings, grow_params, grow_splits
from polyleaf.trees.shards import draw_counts

if TYPE_CHECKING:
    from polyleaf.data.training import TrainingData
    from polyleaf.trees.channels import Scaled

#: Streams of chance that belong to no tree.
_FOREST_STREAM = 2**32


@dataclass(frozen=True)
class ForestSettings:
    """How a forest grows; see `polyleaf.RandomForestRegressor` for the meaning of each."""

    tree: TreeSettings
    n_estimators: int = 100
    bootstrap: bool = True
    max_samples: int | None = None
    projection_scope: str = "tree"


@dataclass(frozen=True, eq=False)
class Member:
    """One tree of a forest.

    Attributes
    ----------
    forest : Forest
        With that tree alone.
    seen, updated : ndarray of shape (n_channels,), bool
        The channels on which it was grown, and those that it predicts.
    work : int
        Additions that its growth took, for budgets.
    """

    forest: Forest
    seen: NDArray[np.bool_]
    updated: NDArray[np.bool_]
    work: int


class ForestGrower:
    """Grows the trees of one forest; tree t depends on the seed and t alone.

    Parameters
    ----------
    data : TrainingData
    settings : ForestSettings
    entropy : sequence of int
        The seed.
    """

    def __init__(
        self, data: TrainingData, settings: ForestSettings, entropy: Sequence[int]
    ) -> None:
        self.data = data
        self.settings = settings
        self.entropy = [int(number) for number in entropy]
        self.scaling = output_scaling(data, settings.tree.normalize_outputs)
        self.outputs = data.targets

    @property
    def _projection(self) -> Projection | None:
        return self.settings.tree.projection

    @cached_property
    def context(self) -> ProjectionContext:
        """What the projection draws from."""
        context = make_context(self.data, self.scaling, self._rng(_FOREST_STREAM))
        # Once, before there are threads.
        _ = context.varying_channels, context.channel_means
        return context

    @cached_property
    def _scaled_values(self) -> Scaled | None:
        """The scaled targets that all trees share; None if the core reads sparse ones."""
        if self._projection is not None:
            return self.context.values
        if isinstance(self.data.targets.values, np.ndarray):
            return scaled_targets(self.data, self.scaling)
        return None

    @property
    def n_trees_per_estimator(self) -> int:
        """How many trees one estimator has: one, or one per output."""
        if self._projection is None:
            return 1
        n_views = self._projection.n_views(self.context)
        if n_views > 1 and self.settings.projection_scope != "tree":
            raise ValueError(
                f"{self._projection!r} gives each tree another part of the outputs and needs "
                f"projection_scope='tree'; got {self.settings.projection_scope!r}."
            )
        return n_views

    @cached_property
    def _forest_view(self) -> View:
        """The view that all trees share."""
        return self._draw(0, self.context.rng)

    def _draw(self, t: int, rng: np.random.Generator) -> View:
        assert self._projection is not None
        covers_all = t == 0 and self.settings.projection_scope == "tree"
        return self._projection.checked_draw(self.context.at_round(t, rng, covers_all=covers_all))

    def _rng(self, stream: int) -> np.random.Generator:
        return np.random.default_rng([*self.entropy, stream])

    def grow(self, trees: range, n_threads: int) -> Generator[Member, None, None]:
        """Grow the trees of the given numbers, in their order.

        Parameters
        ----------
        trees : range
        n_threads : int
            The trees do not depend on it.
        """
        per_tree = max(1, n_threads // max(1, len(trees)))
        if self.data.grow_tree is not None:  # with other workers, who grow the same one
            per_tree, n_threads = n_threads, 1
        # Once, before there are threads.
        if self._projection is not None and self.settings.projection_scope == "forest":
            _ = self._forest_view
        _ = self._scaled_values

        def work(t: int, stop: _core.StopFlag) -> Member:
            return self._grow_member(t, per_tree, stop)

        return in_threads(work, trees, n_threads)

    def _grow_member(self, t: int, n_threads: int, stop: _core.StopFlag) -> Member:
        rng = self._rng(t)
        rows, counts = self._draw_rows(rng)
        seed = int(rng.integers(2**63))
        shared = self.settings.projection_scope == "forest"
        if self._projection is None:
            view = None
        elif self.settings.projection_scope == "node":
            views = NodeViews(self.data, self.scaling, self._projection, self.context, counts, rng)
        else:
            view = self._forest_view if shared else self._draw(t, rng)
        params = grow_params(self.settings.tree, self.data, self.scaling, seed)
        params.n_threads = n_threads
        params.stop = stop
        seen = updated = np.ones(self.outputs.n_channels, np.bool_)
        if self._projection is not None and self.settings.projection_scope == "node":
            grown = GrownSplits.of(views.grow(params, rows))
            seen = views.seen
        else:
            means = None if self._projection is None else self.context.channel_means
            channels = make_channels(
                self.data.targets, self.scaling, view, self._scaled_values, counts, means
            )
            grown = grow_splits(self.data, channels, params, rows)
            if view is not None:
                seen = view.seen
                updated = updated if view.updated is None else view.updated
        forest = Forest(
            structure=grown.structure,
            leaf_offsets=grown.leaf_offsets,
            leaf_rows=grown.ordered,
            leaf_counts=None if counts is None else counts[grown.ordered].astype(np.uint16),
            outputs=self.outputs,
            tree_weights=None,
            feature_gains=grown.feature_shares,
        )
        return Member(forest, seen, updated, grown.work)

    def _draw_rows(
        self, rng: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.int64] | None]:
        """Draw a bootstrap sample: the rows in it, and how often each row was drawn."""
        usable = self.data.weighted_rows
        if not self.settings.bootstrap:
            return usable, None
        n_drawn = min(self.settings.max_samples or usable.size, usable.size)
        if self.settings.tree.sums == "fixed":
            seed = int(rng.integers(2**63))
            counts = np.zeros(self.data.n_rows, np.int64)
            counts[usable] = draw_counts(seed, usable.astype(np.int64), n_drawn / usable.size)
            counts[usable] += not counts.any()
            return np.flatnonzero(counts).astype(np.int32), counts
        drawn = np.bincount(rng.integers(usable.size, size=n_drawn), minlength=usable.size)
        counts = np.zeros(self.data.n_rows, np.int64)
        counts[usable] = drawn
        return usable[drawn > 0], counts


#: Grows the trees of some numbers, in their order: `ForestGrower.grow`, or several workers.
Grow: TypeAlias = Callable[[ForestGrower, range, int], Generator[Member, None, None]]


def is_auto(projection: Any) -> bool:
    """Tell whether the view is to be chosen."""
    return isinstance(projection, str) and projection == "auto"
