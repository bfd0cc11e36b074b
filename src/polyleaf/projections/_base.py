"""The seam between training loops and the ways to look at the output space.

A loop describes the state of training in a `ProjectionContext`; a `Projection` draws a `View` of
it. How many components a view has is the user's `n_components`, counted here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from polyleaf.checks import memory
from polyleaf.checks.numbers import shown
from polyleaf.projections._view import LANES, View, channel_means, varying_channels

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from polyleaf.projections._view import Matrix, Values

# Share of one component that the rounding of `fraction * n_dimensions` may add: 0.07 * 100
# exceeds 7 by 1e-15 and must still give 7.
_ROUNDING = 1e-9
# Of one row and channel of a view: a float32, and what it is computed from or copied to. Trees
# and forests of dense targets take twice as much.
_ENTRY_BYTES = 8
_COEFFICIENT_BYTES = 8


@dataclass(frozen=True)
class Feedback:
    """What the tree of an earlier round of boosting gained.

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
        What the rounds of boosting so far have gained; empty unless the projection asks for it
        by `Projection.uses_feedback`.
    sums : callable, optional
        Sums entries of shape (n_rows, n_channels) over rows, also those of other workers, if
        sums must not depend on how rows are divided.

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
    sums: Callable[[NDArray[Any]], NDArray[np.float64]] | None = None
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


class Projection(BaseEstimator, ABC):
    """A way to draw views of the output space.

    A projection holds parameters only and learns nothing between draws. To write one, subclass
    this, take the parameters in ``__init__`` as scikit-learn's estimators do, and write
    :meth:`draw`. A draw should leave out the channels that do not vary.

    Examples
    --------
    >>> import numpy as np
    >>> class FirstOutput(Projection):
    ...     def draw(self, context):
    ...         return View.of_selection([0], context.n_channels)
    >>> FirstOutput()
    FirstOutput()
    """

    #: Whether draws use what earlier rounds of boosting gained.
    uses_feedback: ClassVar[bool] = False

    @abstractmethod
    def draw(self, context: ProjectionContext) -> View:
        """Draw a view.

        Parameters
        ----------
        context : ProjectionContext
            The values to be viewed, the round and the source of chance.

        Returns
        -------
        View
        """

    def checked_draw(self, context: ProjectionContext) -> View:
        """Draw a view as `draw` does, and refuse what is none of the channels at hand."""
        view = self.draw(context)
        name = type(self).__name__
        if not isinstance(view, View):
            raise TypeError(
                f"draw of {name} must return a View, such as View.of_selection or View.of_mixing "
                f"make; got {shown(view, 80)}."
            )
        if view.seen.size != context.n_channels:
            raise ValueError(
                f"draw of {name} must return a view of all {context.n_channels} channels of the "
                f"context; got one of {view.seen.size}."
            )
        return view

    def n_views(self, context: ProjectionContext) -> int:
        """Count the views that belong together, so that a forest grows a tree for each.

        Parameters
        ----------
        context : ProjectionContext
            The values to be viewed.
        """
        return 1

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, others = self.get_params(), other.get_params()
        return all(np.array_equal(mine[name], others[name]) for name in mine)

    # Parameters can be set, so that a hash of them would not last.
    __hash__ = None  # type: ignore[assignment]


class MixingProjection(Projection):
    """A projection onto linear combinations of all channels that vary.

    Subclasses write :meth:`draw_matrix`; channels that do not vary get zero rows.

    Parameters
    ----------
    n_components : int, float, "log" or "sqrt", default="log"
        Number of combinations, absolute or relative to the number d of channels that vary: a
        fraction in (0, 1] of d, round(ln d) or ceil(sqrt d).

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.projections import ProjectionContext
    >>> class Total(MixingProjection):
    ...     def draw_matrix(self, context, channels):
    ...         return np.ones((len(channels), 1))
    >>> context = ProjectionContext(
    ...     round=0,
    ...     rng=np.random.default_rng(0),
    ...     values=np.array([[1.0, 5.0, 2.0], [3.0, 5.0, 4.0]]),
    ...     channel_offsets=np.arange(4, dtype=np.int32),
    ... )
    >>> Total().draw(context).matrix.T  # the second output is constant
    array([[1., 0., 1.]])
    """

    def __init__(self, n_components: int | float | str = "log") -> None:
        self.n_components = n_components

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""
        check_n_components(self.n_components)

    def draw(self, context: ProjectionContext) -> View:
        """Draw a mixing view, or the view of all channels if none of them varies.

        Parameters
        ----------
        context : ProjectionContext
            The values to be viewed, the round and the source of chance.

        Returns
        -------
        View
        """
        self.check_params()
        channels = np.flatnonzero(context.varying_channels)
        if not channels.size:
            return View.of_all(context.n_channels)
        matrix = self.draw_matrix(context, channels)
        return View.of_mixing(_spread_rows(matrix, channels, context.n_channels))

    @abstractmethod
    def draw_matrix(self, context: ProjectionContext, channels: NDArray[np.intp]) -> Matrix:
        """Draw the coefficients of the channels that vary.

        Parameters
        ----------
        context : ProjectionContext
            The values to be viewed, the round and the source of chance.
        channels : intp ndarray of shape (d,)
            The channels that vary, at least one, ascending.

        Returns
        -------
        float64 ndarray or csc_array of shape (d, n_components)
            No column is all zero.
        """


def _spread_rows(matrix: Matrix, channels: NDArray[np.intp], n_channels: int) -> Matrix:
    """Put the rows of `matrix` at the positions `channels` among `n_channels` rows."""
    if len(channels) == n_channels:
        return matrix
    shape = (n_channels, matrix.shape[1])
    if sparse.issparse(matrix):
        return sparse.csc_array((matrix.data, channels[matrix.indices], matrix.indptr), shape)
    spread = np.zeros(shape)
    spread[channels] = matrix
    return spread


def check_n_components(n_components: Any) -> None:
    """Raise a ValueError unless `n_components` is a valid size."""
    if isinstance(n_components, str):
        valid = n_components in ("log", "sqrt")
    elif is_count(n_components):
        valid = n_components >= 1
    else:
        is_number = isinstance(n_components, Real) and not isinstance(n_components, bool)
        valid = is_number and 0 < n_components <= 1
    if not valid:
        raise ValueError(
            "n_components must be an int of at least 1, a fraction (a float in (0, 1]), 'log' "
            f"or 'sqrt'; got {shown(n_components)}."
        )


def is_count(n_components: Any) -> bool:
    """Tell whether the size is an absolute number of components."""
    return isinstance(n_components, Integral) and not isinstance(n_components, bool)


def count_components(n_components: Any, n_dimensions: int) -> int:
    """Return the number of components for a space of `n_dimensions` >= 1.

    Parameters
    ----------
    n_components : int, float, "log" or "sqrt"
        An int is taken as it is; a fraction v is ceil(v * n_dimensions); "log" is
        round(ln(n_dimensions)), at least 1; "sqrt" is ceil(sqrt(n_dimensions)).
    n_dimensions : int
        The dimensions that are projected.

    Returns
    -------
    int
        At least 1. Only an int can exceed `n_dimensions`.

    Examples
    --------
    >>> [count_components(size, 100) for size in (3, 0.07, 1.0, "log", "sqrt")]
    [3, 7, 100, 5, 10]
    """
    check_n_components(n_components)
    if n_components == "log":
        return max(1, round(math.log(n_dimensions)))
    if n_components == "sqrt":
        return math.isqrt(n_dimensions - 1) + 1
    if is_count(n_components):
        return int(n_components)
    return max(1, math.ceil(float(n_components) * n_dimensions - _ROUNDING))


def check_view_memory(
    n_components: int, context: ProjectionContext, *, n_coefficients: float = 0.0
) -> None:
    """Refuse a view that would not fit into memory.

    Parameters
    ----------
    n_components : int
    context : ProjectionContext
        The values to be viewed.
    n_coefficients : float
        Those of one component that are stored.
    """
    n_rows = context.values.shape[0]
    per_component = n_rows * _ENTRY_BYTES + math.ceil(n_coefficients) * _COEFFICIENT_BYTES
    needed = n_components * per_component
    if needed >= memory.SMALL_BYTES:
        memory.check_memory(
            needed,
            f"A view of {n_rows} rows by {n_components} components takes at least",
            "Use a smaller n_components, such as 'log' or 'sqrt'.",
        )
