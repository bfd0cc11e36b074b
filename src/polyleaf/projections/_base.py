"""The seam between training loops and the ways to look at the output space."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from polyleaf.projections._n_components import check_n_components
from polyleaf.projections._view import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyleaf.projections._centring import Matrix
    from polyleaf.projections._context import ProjectionContext


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

    #: Whether draws look at what earlier rounds of boosting brought.
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
                f"make; got {view!r:.80}."
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
