"""Views that choose: all outputs, some of them, one at a time, or what has lately paid off.

Selections are the sub-sampled identity of Joly et al., 2014, section 4.5 (with replacement), and
the random output selections of Breskvar et al., 2018 (without). One output at a time gives
single-target ensembles and binary relevance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from polyleaf.checks.numbers import shown
from polyleaf.projections._base import (
    Projection,
    check_n_components,
    check_view_memory,
    count_components,
    is_count,
)
from polyleaf.projections._random import Gaussian
from polyleaf.projections._view import LANES, View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyleaf.projections._base import Feedback, ProjectionContext

#: How many of a projection's latest rounds are looked at.
_MEMORY = 3


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
        Whether the first tree of a forest sees every output, as in Breskvar et al. 2018. A single
        tree and boosting draw from the beginning.

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


class RoundRobin(Projection):
    """Each output in turn, by a learner of its own.

    The learner of a round sees and predicts one output alone. Forests grow ``n_estimators``
    trees for every output that varies (Bag-ST, RF-ST and ET-ST of Breskvar et al. 2018).

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


class Adaptive(Projection):
    """The projection that has recently lowered the training loss most for its cost.

    Every candidate is tried once; from then on each round takes the one whose last rounds gained
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
                f"candidates must be None or a list of projections; got {shown(self.candidates)}."
            )
        for candidate in given:
            if candidate.uses_feedback:
                raise ValueError(
                    f"candidates must not choose by themselves; got {shown(candidate)}. Put its "
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
