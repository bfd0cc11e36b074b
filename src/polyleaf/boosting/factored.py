"""Squared-error boosting of so many sparse outputs that no array of rows x outputs fits.

With linear leaf fits (Alg. 3 of Joly et al. 2019) the residuals after m rounds are

    R = Y - 1 c' - G B,

G (n, m) the numbers that the trees give to rows and B (m, d) their shrunk factors rho. A view of
one component phi needs R phi, a new factor R' g: both are products with the sparse Y and with the
thin G and B. Nothing is approximate, and nothing has rows x outputs entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.boosting.booster import Booster, BoostingSettings, FeatureGains, GrownRound
from polyleaf.boosting.leaves import TreeMove, Units
from polyleaf.boosting.model import BoostedTrees
from polyleaf.boosting.state import LeafRows
from polyleaf.data.coded_rows import by_blocks
from polyleaf.projections import (
    Achlioptas,
    Gaussian,
    ProjectionContext,
    Rademacher,
    SparseRademacher,
    Subsample,
    View,
)
from polyleaf.trees.channels import Channels

if TYPE_CHECKING:
    from polyleaf.boosting.weak_models import BoostedModels
    from polyleaf.data.training import TrainingData

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]

#: Projections that draw without a look at the gradients.
_BLIND = (Gaussian, Rademacher, Achlioptas, SparseRademacher, Subsample)


@dataclass(frozen=True, eq=False)
class SparseTargets:
    """What the loop asks of targets that are never dense."""

    n_channels: int
    channel_offsets: NDArray[np.int32]


class FactoredBooster(Booster):
    """Boosts sparse outputs without dense residuals.

    Parameters
    ----------
    data : TrainingData
        With a sparse Y.
    settings : BoostingSettings
        With the squared error, linear leaf fits and a projection that needs no gradients.
    entropy : sequence of int
    n_threads : int
    n_rounds : int
        The most rounds there will be.
    units : Units
    """

    def __init__(
        self,
        data: TrainingData,
        settings: BoostingSettings,
        entropy: Sequence[int],
        n_threads: int,
        n_rounds: int,
        units: Units,
    ) -> None:
        if not isinstance(settings.tree.projection, _BLIND):
            raise ValueError(
                "So many sparse outputs need a projection that does not depend on their "
                "gradients: Gaussian, Rademacher, Achlioptas, SparseRademacher or Subsample; got "
                f"{settings.tree.projection!r}."
            )
        self._take(data, settings, entropy, n_threads, units)
        offsets = data.targets.schema.channel_offsets
        self.targets: Any = SparseTargets(int(offsets[-1]), offsets)
        self._n_rounds = n_rounds
        self._read_targets(data)

    def _read_targets(self, data: TrainingData) -> None:
        """Scale Y; find the baseline, the constant c and the loss to start from."""
        values: Any = data.targets.values
        scaled = values.data / self.units.scale[values.indices]
        self._labels: CSR = sparse.csr_array(
            (scaled, values.indices, values.indptr), shape=values.shape
        )
        self._weights = np.ones(data.n_rows) if data.weights is None else data.weights
        self._weights = self._weights / data.weight_unit
        total = float(self._weights.sum())
        self._mean_over = total * self._labels.shape[1]
        self._start_from((self._labels.T @ self._weights) / total)

    def _start_from(self, constant: NDArray[np.float64]) -> None:
        """Set the constant c, and the loss that it leaves."""
        self._constant = constant
        self.baseline = constant - self.units.shift / self.units.scale
        total = float(self._weights.sum())
        squares = np.asarray(self._labels.multiply(self._labels).T @ self._weights).ravel()
        sums = self._labels.T @ self._weights
        left = squares - 2.0 * constant * sums + total * constant**2
        self._value = 0.5 * float(np.maximum(left, 0.0).sum())

    def start(self, model: BoostedTrees | BoostedModels | None = None) -> None:
        """Set numbers and factors: to those of a model to go on from, or to none."""
        n_rows, n_channels = self._labels.shape
        self._numbers = np.zeros((n_rows, self._n_rounds), np.float32, order="F")
        self._factors = np.zeros((self._n_rounds, n_channels), np.float32)
        self._n_done = 0
        self.n_trees_per_stage = 1
        if isinstance(model, BoostedTrees) and model.tree_factors is not None:
            self._start_from(model.baseline + self.units.shift / self.units.scale)
            leaves = by_blocks(
                self.data.encoded, lambda rows: model.leaves_of(rows, self.n_threads)
            )
            for t in range(model.n_trees):
                self._add(model.leaf_values[leaves[:, t], 0], model.tree_factors[t])

    @cached_property
    def context(self) -> ProjectionContext:
        """What the projection draws from: which outputs there are, and which vary."""
        return ProjectionContext(
            round=0,
            rng=np.random.default_rng(0),
            values=self._labels,
            channel_offsets=self.targets.channel_offsets,
        )

    def grow(self, t: int) -> GrownRound:
        """Grow tree t and move all raw predictions by it."""
        rng = self._rng(t)
        view = self._draw(t, rng)
        channel = self._project(view)
        weights = None if self.data.weights is None else self._weights.astype(np.float32)
        shown = (self._weights * channel).astype(np.float32)[:, None]
        grown, _ = self._grow_structure(Channels(shown, weights, None), 1, rng)
        leaves, everywhere = self._leaf_rows(grown)
        values = self._leaf_numbers(shown[:, 0], leaves)
        numbers = np.zeros(self._labels.shape[0], np.float32)
        numbers[everywhere.rows] = np.repeat(values, np.diff(everywhere.offsets))
        along, square = self._along(numbers)
        factors = self.settings.learning_rate * along / square if square > 0 else 0.0 * along
        shrunk = factors.astype(np.float32)
        self._add(numbers, shrunk, along=along, square=square)
        gains = FeatureGains.of(grown.feature_gains, self.data.weight_unit)
        move = TreeMove(values[:, None], shrunk)
        samples = np.diff(grown.leaf_offsets).astype(np.int32)
        return GrownRound(grown.structure, move, -1, gains, samples, view.seen)

    def _project(self, view: View) -> NDArray[np.float64]:
        """Residuals seen through a view of one component, of shape (n_rows,)."""
        component = np.zeros(self.targets.n_channels)
        if view.selected is not None:
            component[view.selected] = 1.0
        elif sparse.issparse(view.matrix):
            component[:] = view.matrix.toarray()[:, 0]
        elif view.matrix is not None:
            component[:] = view.matrix[:, 0]
        else:  # the only output, or none that varies
            component[:] = 1.0
        done = self._n_done
        learnt = self._numbers[:, :done] @ (self._factors[:done] @ component.astype(np.float32))
        seen: NDArray[np.float64] = self._labels @ component - self._constant @ component - learnt
        return seen

    def _leaf_numbers(self, channel: NDArray[np.float32], leaves: LeafRows) -> NDArray[np.float32]:
        """Mean of the channel in every leaf, drawn to 0 by the regularisation."""
        starts = leaves.offsets[:-1]
        sums = np.add.reduceat(channel[leaves.rows].astype(np.float64), starts)
        totals = np.add.reduceat(self._weights[leaves.rows], starts)
        l2 = self.settings.l2_regularization / self.data.weight_unit
        means: NDArray[np.float32] = (sums / (totals + l2)).astype(np.float32)
        return means

    def _along(self, numbers: NDArray[np.float32]) -> tuple[NDArray[np.float64], float]:
        """Weighted products of the residuals with the numbers, and the numbers' square."""
        weighted = self._weights * numbers
        done = self._n_done
        learnt = self._factors[:done].T @ (self._numbers[:, :done].T @ weighted.astype(np.float32))
        along = self._labels.T @ weighted - self._constant * weighted.sum() - learnt
        return np.asarray(along), float(weighted @ numbers)

    def _add(
        self,
        numbers: NDArray[np.float32],
        factors: NDArray[np.float32],
        along: NDArray[np.float64] | None = None,
        square: float = 0.0,
    ) -> None:
        """Keep a tree's numbers and factors, and follow the loss."""
        if along is None:
            along, square = self._along(numbers)
        self._value -= float(factors @ along - 0.5 * square * (factors.astype(float) @ factors))
        self._numbers[:, self._n_done] = numbers
        self._factors[self._n_done] = factors
        self._n_done += 1

    def mean_loss(self) -> float:
        """Mean loss of the training rows."""
        return max(self._value, 0.0) / self._mean_over
