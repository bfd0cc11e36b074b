"""What a projection may look at when it draws a view."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polyleaf.projections._channel_statistics import channel_means, varying_channels

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from polyleaf.projections._channel_statistics import Values


#: Channels that are added up side by side.
LANES = 8


@dataclass(frozen=True)
class Feedback:
    """What the tree of an earlier round of boosting brought.

    Attributes
    ----------
    choice : int
        `View.choice` of the view it was grown on.
    decrease : float
        By how much the training loss fell.
    work : int
        Additions that its growth took.
    n_channels : int
        Number of channels of that view.

    Examples
    --------
    >>> Feedback(choice=0, decrease=2.5, work=300, n_channels=3).cost  # 3 of 8 lanes were used
    800.0
    """

    choice: int
    decrease: float
    work: int
    n_channels: int

    @property
    def cost(self) -> float:
        """Additions in lanes: fewer channels than go side by side cost as much as those."""
        return self.work / self.n_channels * -(-self.n_channels // LANES) * LANES


@dataclass(frozen=True, eq=False, kw_only=True)
class ProjectionContext:
    """The state of training at the moment when a view is drawn.

    Parameters
    ----------
    round : int
        The tree of a forest or the round of boosting, from 0.
    rng : numpy.random.Generator
        The only source of chance for a draw.
    values : ndarray or csr_array of shape (n_rows, n_channels)
        Targets or gradients, scaled as the learner sees them; 0 where unobserved.
    channel_offsets : int32 ndarray of shape (n_outputs + 1,)
        The channels of output j are ``channel_offsets[j]:channel_offsets[j + 1]``: one channel
        for a number or a label, one per class for a multi-class output.
    observed : bool ndarray of shape (n_rows, n_channels), optional
        All entries are observed by default.
    weights : float64 ndarray of shape (n_rows,) or (n_rows, n_channels), optional
        All weights are 1 by default.
    covers_all : bool, default=False
        Whether the learner hopes for a view of every output, so that none is left unseen by all
        (the first tree of a forest).
    feedback : sequence of Feedback
        What the rounds of boosting so far have brought; empty unless the projection asks for it
        by `Projection.uses_feedback`.

    Examples
    --------
    >>> import numpy as np
    >>> context = ProjectionContext(
    ...     round=0,
    ...     rng=np.random.default_rng(0),
    ...     values=np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 3.0]]),
    ...     channel_offsets=np.array([0, 2, 3], dtype=np.int32),
    ... )
    >>> context.n_outputs, context.n_channels
    (2, 3)
    >>> context.varying_channels  # the third is constant
    array([ True,  True, False])
    >>> context.varying_outputs
    array([ True, False])
    """

    round: int
    rng: np.random.Generator
    values: Values
    channel_offsets: NDArray[np.int32]
    observed: NDArray[np.bool_] | None = None
    weights: NDArray[np.float64] | None = None
    covers_all: bool = False
    feedback: Sequence[Feedback] = ()
    _remembered: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        shape = self.values.shape
        if self.channel_offsets[-1] != shape[1]:
            raise ValueError(
                f"channel_offsets must end with the number of channels of values, {shape[1]}; "
                f"got {self.channel_offsets[-1]}."
            )
        if self.observed is not None and self.observed.shape != shape:
            raise ValueError(
                f"observed must have the shape of values, {shape}; got {self.observed.shape}."
            )
        if self.weights is not None and self.weights.shape not in (shape, shape[:1]):
            raise ValueError(
                f"weights must have shape {shape[:1]} or {shape}; got {self.weights.shape}."
            )

    def at_round(
        self,
        round: int,
        rng: np.random.Generator,
        *,
        covers_all: bool = False,
        values_changed: bool = False,
    ) -> ProjectionContext:
        """Move on to another round; what is known of the values is kept.

        Parameters
        ----------
        round : int
        rng : numpy.random.Generator
        covers_all : bool
        values_changed : bool
            Whether `values` were overwritten since (gradients are), so that what was remembered
            of them no longer holds. Channels that vary are thought to go on varying.
        """
        _ = self.varying_channels
        moved = copy(self)
        for name, value in (("round", round), ("rng", rng), ("covers_all", covers_all)):
            object.__setattr__(moved, name, value)
        if values_changed:
            object.__setattr__(moved, "_remembered", {})
        return moved

    def remember(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Compute something about the values once for all rounds.

        Parameters
        ----------
        key : hashable
            Who remembers what, such as ``(PCA, 5)``.
        compute : callable
        """
        if key not in self._remembered:
            self._remembered[key] = compute()
        return self._remembered[key]

    @property
    def n_channels(self) -> int:
        """Number of channels of the values."""
        return int(self.values.shape[1])

    @property
    def n_outputs(self) -> int:
        """Number of outputs, each a group of one or more channels."""
        return len(self.channel_offsets) - 1

    @cached_property
    def varying_channels(self) -> NDArray[np.bool_]:
        """Mask of shape (n_channels,): neither constant nor entirely unobserved."""
        return varying_channels(self.values, self.observed, self.weights)

    @property
    def channel_means(self) -> NDArray[np.float64]:
        """Weighted means of the observed values, of shape (n_channels,)."""
        return np.asarray(
            self.remember(
                "channel_means", lambda: channel_means(self.values, self.observed, self.weights)
            )
        )

    @property
    def varying_outputs(self) -> NDArray[np.bool_]:
        """Whether at least one channel of each output varies, of shape (n_outputs,)."""
        return np.logical_or.reduceat(self.varying_channels, self.channel_offsets[:-1])
