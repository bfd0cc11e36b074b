"""What a loss of rules is, and what it compares scores with.

The Hessian of a row is diag(d) - c g g', with g the gradient: one that couples labels takes K
numbers per row and one more, not K (K + 1) / 2; others have c = 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core

Floats = NDArray[np.float64]


class Statistics(NamedTuple):
    """Derivatives of some rows, weights included.

    Attributes
    ----------
    gradient, diagonal : ndarray of shape (n_rows, n_channels)
    coupling : ndarray of shape (n_rows,), or None
        None if the curvature of a label does not depend on the others (c = 0).
    """

    gradient: Floats
    diagonal: Floats
    coupling: Floats | None


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
    def of(cls, statistics: Statistics, is_logistic: bool = False) -> PackedStatistics:
        """Pack derivatives."""
        n_rows, n_channels = statistics.gradient.shape
        packed = cls(n_rows, n_channels, statistics.coupling, is_logistic)
        packed.gradient[:] = statistics.gradient
        if not is_logistic:
            packed.diagonal[:] = statistics.diagonal
        return packed


def _zeros_on_cache_lines(n_rows: int, n_columns: int) -> Floats:
    """Make an array that begins on a cache line: vectors across two take twice as long to read."""
    size, line = n_rows * n_columns, 64 // 8
    room = np.zeros(size + line)
    first = -room.ctypes.data // 8 % line
    return room[first : first + size].reshape(n_rows, n_columns)


@dataclass(frozen=True, eq=False)
class RuleTargets:
    """What a loss compares scores with.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_channels)
        Numbers, or -1 and +1 (int8).
    observed : ndarray of shape (n_rows, n_channels), bool, or None
    weights : ndarray of shape (n_rows,) or (n_rows, n_channels), or None
    """

    values: NDArray[Any]
    observed: NDArray[np.bool_] | None = None
    weights: Floats | None = None

    def at(self, rows: Any, channels: Any = slice(None)) -> RuleTargets:
        """Take some rows and channels."""

        def take(array: Any) -> Any:
            if array is None:
                return None
            if array.ndim == 1 or isinstance(channels, slice):
                return array[rows]
            return array[rows[:, np.newaxis], channels]

        return RuleTargets(take(self.values), take(self.observed), take(self.weights))


class RuleLoss(ABC):
    """A loss of the scores of a row, convex and twice differentiable almost everywhere."""

    #: Whether the loss is a sum over channels.
    decomposable: ClassVar[bool] = True
    #: Whether the Hessian of a row has entries off its diagonal.
    is_coupled: ClassVar[bool] = False
    #: Whether the core has a twin of `statistics` for labels that are all observed, not weighted.
    has_twin: ClassVar[bool] = False

    @abstractmethod
    def row_losses(self, targets: RuleTargets, scores: Floats) -> Floats:
        """Compute the loss of every row, not weighted by row; of shape (n_rows,).

        Parameters
        ----------
        targets : RuleTargets
        scores : ndarray of shape (n_rows, n_channels)
        """

    @abstractmethod
    def statistics(self, targets: RuleTargets, scores: Floats) -> Statistics:
        """Differentiate twice, weights included.

        Parameters
        ----------
        targets : RuleTargets
        scores : ndarray of shape (n_rows, n_channels)
        """

    def slopes(self, targets: RuleTargets, scores: Floats) -> Floats:
        """Give a subgradient for every row, which a gradient that is smoothed is not.

        Parameters
        ----------
        targets : RuleTargets
            Without weights.
        scores : ndarray of shape (n_rows, n_channels)
        """
        return self.statistics(targets, scores).gradient

    def first_sums(self, targets: RuleTargets) -> Statistics | None:
        """Sum the derivatives at scores of 0 over rows, as one row, where that is quickly done.

        Parameters
        ----------
        targets : RuleTargets
            All observed, without weights.
        """
        return None

    def value(self, targets: RuleTargets, scores: Floats) -> float:
        """Sum the weighted loss over rows.

        Parameters
        ----------
        targets : RuleTargets
        scores : ndarray of shape (n_rows, n_channels)
        """
        losses = self.row_losses(targets, scores)
        weights = targets.weights
        if weights is not None and weights.ndim == 1:
            losses = losses * weights
        return float(losses.sum())


class LabelLoss(RuleLoss):
    """A loss of labels, which also says which label set it would choose.

    The loss of a label set is `combine` of the sum over labels of `decision_costs`.
    """

    @abstractmethod
    def decision_costs(self, scores: Floats) -> tuple[Floats, Floats]:
        """Give what each label costs if it is as its score says, and if it is not."""

    def combine(self, sums: Floats) -> Floats:
        """Turn sums of costs into losses."""
        return sums

    @abstractmethod
    def probabilities(self, scores: Floats) -> Floats:
        """Give the probability of each label by its own score."""

    def set_losses(self, scores: Floats, label_sets: NDArray[np.bool_]) -> Floats:
        """Compute the loss of each label set for each row.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_labels)
        label_sets : ndarray of shape (n_sets, n_labels), bool

        Returns
        -------
        ndarray of shape (n_rows, n_sets)
        """
        right, wrong = self.decision_costs(scores)
        extra, says_yes = wrong - right, scores > 0
        sets = label_sets.astype(np.float64)
        # Only numbers that are not negative are added, so that small differences survive.
        sums = (
            np.where(says_yes, 0.0, extra) @ sets.T + np.where(says_yes, extra, 0.0) @ (1 - sets).T
        )
        return self.combine(sums + right.sum(axis=1, keepdims=True))
