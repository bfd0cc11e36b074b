"""Views that show outputs as they are: all of them, or a random selection.

Selections are the sub-sampled identity of Joly et al., 2014, section 4.5 (with replacement), and
the random output selections of Breskvar et al., 2018 (without).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from polyleaf.projections._base import Projection
from polyleaf.projections._n_components import (
    check_n_components,
    check_view_memory,
    count_components,
    is_count,
)
from polyleaf.projections._view import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyleaf.projections._context import ProjectionContext


class Identity(Projection):
    """All outputs as they are: the same as no projection.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.projections import Identity, ProjectionContext
    >>> context = ProjectionContext(
    ...     round=0,
    ...     rng=np.random.default_rng(0),
    ...     values=np.eye(2),
    ...     channel_offsets=np.arange(3, dtype=np.int32),
    ... )
    >>> Identity().draw(context).kind
    'all'
    """

    def draw(self, context: ProjectionContext) -> View:
        """Return the view of all channels.

        Parameters
        ----------
        context : ProjectionContext
            The values to be viewed.

        Returns
        -------
        View
        """
        return View.of_all(context.n_channels)


class Subsample(Projection):
    """A random selection of the outputs, scaled by sqrt(d / n_components).

    Outputs that do not vary are never drawn. All channels of a multi-class output are drawn
    together.

    Parameters
    ----------
    n_components : int, float, "log" or "sqrt", default=0.5
        Number of outputs to draw, absolute or relative to the number d of outputs that vary: a
        fraction in (0, 1] of d, round(ln d) or ceil(sqrt d). Without replacement, an int larger
        than the number of outputs is an error; one larger than d draws all that vary, because a
        constant label must not stop a fit.
    replace : bool, default=False
        Whether an output can be drawn more than once.
    first_sees_all : bool, default=True
        Whether the first tree of a forest sees every output, as in paper 004. A single tree and
        boosting draw from the beginning.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.projections import ProjectionContext, Subsample
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.normal(size=(6, 4))
    >>> Y[:, 1] = 5.0
    >>> context = ProjectionContext(
    ...     round=0, rng=rng, values=Y, channel_offsets=np.arange(5, dtype=np.int32)
    ... )
    >>> Subsample(n_components=1.0).draw(context).selected  # output 1 is constant
    array([0, 2, 3], dtype=int32)
    >>> len(Subsample(n_components=7, replace=True).draw(context).selected)
    7
    """

    def __init__(
        self,
        n_components: int | float | str = 0.5,
        *,
        replace: bool = False,
        first_sees_all: bool = True,
    ) -> None:
        self.n_components = n_components
        self.replace = replace
        self.first_sees_all = first_sees_all

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""
        check_n_components(self.n_components)
        for name in ("replace", "first_sees_all"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False; got {getattr(self, name)!r}.")

    def draw(self, context: ProjectionContext) -> View:
        """Draw a selection, or the view of all channels if none of them varies.

        Parameters
        ----------
        context : ProjectionContext
            The values to be viewed, the round and the source of chance.

        Returns
        -------
        View
        """
        self.check_params()
        self._check_size(context.n_outputs)
        outputs = np.flatnonzero(context.varying_outputs)
        if not outputs.size or (context.covers_all and self.first_sees_all):
            return View.of_all(context.n_channels)
        n_components = count_components(self.n_components, len(outputs))
        if not self.replace:
            n_components = min(n_components, len(outputs))
        elif n_components > len(outputs):
            check_view_memory(n_components, context)
        drawn = context.rng.choice(outputs, n_components, replace=self.replace)
        selected = channels_of(drawn, context.channel_offsets)
        scale = math.sqrt(len(outputs) / n_components)
        return View.of_selection(selected, context.n_channels, scale=scale)

    def _check_size(self, n_outputs: int) -> None:
        """Refuse more distinct outputs than there are."""
        if self.replace or not is_count(self.n_components):
            return
        if int(self.n_components) > n_outputs:
            raise ValueError(
                "Subsample without replacement draws each output at most once: n_components must "
                f"be at most the number of outputs, {n_outputs}; got {self.n_components}. Use a "
                "smaller number, a fraction, or replace=True."
            )


def channels_of(outputs: NDArray[Any], offsets: NDArray[np.int32]) -> NDArray[np.int32]:
    """Give the channels of the given outputs.

    Parameters
    ----------
    outputs : int ndarray of shape (n_drawn,)
    offsets : int32 ndarray of shape (n_outputs + 1,)
    """
    if len(offsets) == offsets[-1] + 1:  # one channel each
        return outputs.astype(np.int32)
    return np.concatenate([np.arange(offsets[j], offsets[j + 1]) for j in outputs])
