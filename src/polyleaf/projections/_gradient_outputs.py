"""Views of the outputs with the largest gradients (Iosipoi and Vakhrushev, SketchBoost, 2022).

They are meant for boosting, where the values are gradients: what is nearly learnt needs no look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from polyleaf.projections._base import (
    Projection,
    check_n_components,
    check_view_memory,
    count_components,
)
from polyleaf.projections._selection import channels_of
from polyleaf.projections._view import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyleaf.projections._base import ProjectionContext


class _GradientProjection(Projection):
    """A projection that looks at the norms of the outputs' gradients."""

    def __init__(self, n_components: int | float | str = "log") -> None:
        self.n_components = n_components

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""
        check_n_components(self.n_components)

    def _outputs_and_squares(
        self, context: ProjectionContext
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Find the outputs that vary, and the weighted squared norm of the values of each."""
        outputs = np.flatnonzero(context.varying_outputs)
        squares = np.add.reduceat(channel_squares(context), context.channel_offsets[:-1])
        return outputs, squares[outputs]


class TopOutputs(_GradientProjection):
    """The outputs with the largest gradients.

    All channels of a multi-class output are taken together.

    Parameters
    ----------
    n_components : int, float, "log" or "sqrt", default="log"
        Number of outputs, absolute or relative to the number d of outputs that vary: a fraction
        in (0, 1] of d, round(ln d) or ceil(sqrt d). More than there are means all.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.projections import ProjectionContext, TopOutputs
    >>> gradients = np.array([[1.0, 5.0, 3.0], [-1.0, -5.0, -3.0]])
    >>> context = ProjectionContext(
    ...     round=0,
    ...     rng=np.random.default_rng(0),
    ...     values=gradients,
    ...     channel_offsets=np.arange(4, dtype=np.int32),
    ... )
    >>> TopOutputs(n_components=2).draw(context).selected
    array([1, 2], dtype=int32)
    """

    def draw(self, context: ProjectionContext) -> View:
        """Select the outputs, or all channels if none of them varies.

        Parameters
        ----------
        context : ProjectionContext
            The values to be viewed.

        Returns
        -------
        View
        """
        self.check_params()
        outputs, squares = self._outputs_and_squares(context)
        if not outputs.size:
            return View.of_all(context.n_channels)
        n_components = min(count_components(self.n_components, len(outputs)), len(outputs))
        largest = np.argsort(-squares, kind="stable")[:n_components]
        selected = channels_of(outputs[largest], context.channel_offsets)
        return View.of_selection(selected, context.n_channels)


class GradientSampling(_GradientProjection):
    """Outputs drawn with replacement, in proportion to their squared gradients.

    An output drawn with probability p is divided by sqrt(p times the number of draws), so that
    squared distances are kept on average. All channels of a multi-class output are taken
    together.

    Parameters
    ----------
    n_components : int, float, "log" or "sqrt", default="log"
        Number of draws, absolute or relative to the number d of outputs that vary: a fraction in
        (0, 1] of d, round(ln d) or ceil(sqrt d).

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.projections import GradientSampling, ProjectionContext
    >>> gradients = np.array([[1.0, 90.0, 0.1], [-1.0, -90.0, -0.1]])
    >>> context = ProjectionContext(
    ...     round=0,
    ...     rng=np.random.default_rng(0),
    ...     values=gradients,
    ...     channel_offsets=np.arange(4, dtype=np.int32),
    ... )
    >>> GradientSampling(n_components=2).draw(context).seen
    array([False,  True, False])
    """

    def draw(self, context: ProjectionContext) -> View:
        """Draw outputs, or give all channels if none of them varies.

        Parameters
        ----------
        context : ProjectionContext
            The values to be viewed and the source of chance.

        Returns
        -------
        View
        """
        self.check_params()
        outputs, squares = self._outputs_and_squares(context)
        if not outputs.size:
            return View.of_all(context.n_channels)
        total = squares.sum()
        shares = squares / total if total > 0 else np.full(len(outputs), 1 / len(outputs))
        n_draws = count_components(self.n_components, len(outputs))
        check_view_memory(n_draws, context, n_coefficients=1)
        drawn = np.sort(context.rng.choice(len(outputs), n_draws, p=shares))
        scales = 1.0 / np.sqrt(n_draws * shares[drawn])
        offsets = context.channel_offsets
        channels = channels_of(outputs[drawn], offsets)
        widths = np.diff(offsets)[outputs[drawn]]
        matrix = sparse.csc_array(
            (np.repeat(scales, widths), channels, np.arange(len(channels) + 1)),
            shape=(context.n_channels, len(channels)),
        )
        return View.of_mixing(matrix)


def channel_squares(context: ProjectionContext) -> NDArray[np.float64]:
    """Weighted sum of the squares of each channel's values, of shape (n_channels,)."""
    values, weights = context.values, context.weights
    if context.sums is not None and isinstance(values, np.ndarray):
        entries = values.astype(np.float64) ** 2
        if weights is not None:
            entries *= weights if weights.ndim == 2 else weights[:, None]
        return context.sums(entries)
    if sparse.issparse(values):
        squares = values.multiply(values)
        if weights is None:
            return np.asarray(squares.sum(axis=0), dtype=np.float64).ravel()
        by_entry = weights[:, None] if weights.ndim == 1 else weights
        return np.asarray(squares.multiply(by_entry).sum(axis=0), dtype=np.float64).ravel()
    if weights is None:
        total = np.einsum("ij,ij->j", values, values, dtype=np.float64)
    elif weights.ndim == 1:
        total = np.einsum("i,ij,ij->j", weights, values, values, dtype=np.float64)
    else:
        total = np.einsum("ij,ij,ij->j", weights, values, values, dtype=np.float64)
    return np.asarray(total)
