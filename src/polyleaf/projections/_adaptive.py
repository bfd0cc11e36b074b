"""Choose between projections from round to round, by what they bring for their cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from polyleaf.projections._base import Projection
from polyleaf.projections._context import LANES
from polyleaf.projections._random import Gaussian
from polyleaf.projections._selection import Identity, Subsample
from polyleaf.projections._view import View

if TYPE_CHECKING:
    from polyleaf.projections._context import Feedback, ProjectionContext

#: How many of a projection's latest rounds are looked at.
_MEMORY = 3


class Adaptive(Projection):
    """The projection that has lately lowered the training loss most for its cost.

    Every candidate is tried once; from then on each round takes the one whose last rounds brought
    the largest decrease of the loss per addition (in lanes of 8 channels, as the core adds them).
    Decreases get smaller as training goes on, so that one that has waited long looks good again:
    all of them are tried from time to time. Without feedback (in a single tree or a forest) the
    candidates take turns.

    Parameters
    ----------
    candidates : sequence of Projection, optional
        By default all outputs, 8 and 1 Gaussian combinations, and one output alone (those that
        differ, for the number of outputs at hand).

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.projections import Adaptive, Feedback, ProjectionContext
    >>> rng = np.random.default_rng(0)
    >>> context = ProjectionContext(
    ...     round=4,
    ...     rng=rng,
    ...     values=rng.normal(size=(50, 20)),
    ...     channel_offsets=np.arange(21, dtype=np.int32),
    ...     feedback=[
    ...         Feedback(choice=0, decrease=9.0, work=2000, n_channels=20),
    ...         Feedback(choice=1, decrease=8.0, work=800, n_channels=8),
    ...         Feedback(choice=2, decrease=3.0, work=100, n_channels=1),
    ...         Feedback(choice=3, decrease=1.0, work=100, n_channels=1),
    ...     ],
    ... )
    >>> Adaptive().draw(context).matrix.shape
    (20, 8)
    """

    uses_feedback: ClassVar[bool] = True

    def __init__(self, candidates: Sequence[Projection] | None = None) -> None:
        self.candidates = candidates

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""
        if self.candidates is None:
            return
        given = list(self.candidates) if isinstance(self.candidates, Sequence) else []
        if not given or not all(isinstance(candidate, Projection) for candidate in given):
            raise ValueError(
                f"candidates must be None or a list of projections; got {self.candidates!r}."
            )
        for candidate in given:
            if candidate.uses_feedback:
                raise ValueError(
                    f"candidates must not choose by themselves; got {candidate!r}. Put its "
                    "candidates into the list."
                )
            candidate.check_params()

    def draw(self, context: ProjectionContext) -> View:
        """Draw a view by the candidate of this round.

        Parameters
        ----------
        context : ProjectionContext
            The values to be viewed, the source of chance and the feedback of earlier rounds.

        Returns
        -------
        View
        """
        self.check_params()
        candidates = self._candidates(context)
        choice = _best_choice(context.feedback, len(candidates), context.round)
        return replace(candidates[choice].draw(context), choice=choice)

    def _candidates(self, context: ProjectionContext) -> list[Projection]:
        if self.candidates is not None:
            return list(self.candidates)
        n_varying = int(np.count_nonzero(context.varying_channels))
        chosen: list[Projection] = [Identity()]
        if n_varying > LANES:
            chosen.append(Gaussian(LANES))
        if n_varying > 1:
            chosen += [Gaussian(1), Subsample(1, first_sees_all=False)]
        return chosen


def _best_choice(feedback: Sequence[Feedback], n_choices: int, round: int) -> int:
    """Pick the candidate with the best latest rewards; untried ones first."""
    if not feedback:
        return round % n_choices
    rewards: list[list[float]] = [[] for _ in range(n_choices)]
    for entry in feedback:
        rewards[entry.choice].append(entry.decrease / max(entry.cost, 1.0))
    untried = [choice for choice in range(n_choices) if not rewards[choice]]
    if untried:
        return untried[0]
    means = [float(np.mean(latest[-_MEMORY:])) for latest in rewards]
    return int(np.argmax(means))
