"""One output at a time: single-target ensembles and binary relevance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from polyleaf.projections._base import Projection
from polyleaf.projections._selection import channels_of
from polyleaf.projections._view import View

if TYPE_CHECKING:
    from polyleaf.projections._context import ProjectionContext


class RoundRobin(Projection):
    """Each output in turn, by a learner of its own.

    The learner of a round sees and predicts one output alone. Forests grow ``n_estimators``
    trees for every output that varies (Bag-ST, RF-ST and ET-ST of paper 004).

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.projections import ProjectionContext, RoundRobin
    >>> rng = np.random.default_rng(0)
    >>> context = ProjectionContext(
    ...     round=4, rng=rng, values=rng.normal(size=(9, 3)), channel_offsets=np.arange(4)
    ... )
    >>> view = RoundRobin().draw(context)
    >>> view.selected
    array([1], dtype=int32)
    >>> view.updated
    array([False,  True, False])
    """

    def n_views(self, context: ProjectionContext) -> int:
        """Count the outputs that vary: so many views make one round over all of them."""
        return max(1, int(np.count_nonzero(context.varying_outputs)))

    def draw(self, context: ProjectionContext) -> View:
        """Give the view of the output whose turn it is.

        Parameters
        ----------
        context : ProjectionContext
            The values to be viewed and the round.

        Returns
        -------
        View
        """
        outputs = np.flatnonzero(context.varying_outputs)
        if not outputs.size:
            return View.of_all(context.n_channels)
        output = outputs[context.round % len(outputs)]
        selected = channels_of(np.array([output]), context.channel_offsets)
        view = View.of_selection(selected, context.n_channels)
        return replace(view, updated=view.seen)
