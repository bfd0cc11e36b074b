"""Subsets of outputs drawn by how they are related, where paper 004 draws them by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ramify.projections._centring import CentredValues
from ramify.projections._selection import Subsample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ramify.projections._context import ProjectionContext

# Outputs that are not correlated at all can still be drawn.
_LEAST_CHANCE = 1e-3


class Correlated(Subsample):
    """Some of the outputs, those drawn together that vary together.

    The first output is drawn by chance; the others with chances proportional to their squared
    correlation with the first, without replacement.

    Parameters
    ----------
    n_components : int, float, "log" or "sqrt", default=0.75
        Number of outputs to draw, as in `Subsample`.
    first_sees_all : bool, default=True
        Whether the first tree of a forest sees every output.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.projections import Correlated, ProjectionContext
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 500, 1))
    >>> Y = np.hstack([a, a, b, b]) + 0.1 * rng.normal(size=(500, 4))
    >>> context = ProjectionContext(
    ...     round=1, rng=rng, values=Y, channel_offsets=np.arange(5, dtype=np.int32)
    ... )
    >>> Correlated(n_components=2).draw(context).selected
    array([2, 3], dtype=int32)
    """

    def __init__(
        self, n_components: int | float | str = 0.75, *, first_sees_all: bool = True
    ) -> None:
        super().__init__(n_components, first_sees_all=first_sees_all)

    def choose(
        self, context: ProjectionContext, outputs: NDArray[np.intp], n_components: int
    ) -> NDArray[np.intp]:
        """Draw outputs that are correlated with the first one drawn."""
        first = int(context.rng.integers(len(outputs)))
        relation = _squared_correlations(context, int(outputs[first]))[outputs]
        chances = np.maximum(relation, _LEAST_CHANCE)
        chances[first] = 0.0
        others = (
            context.rng.choice(
                len(outputs), n_components - 1, replace=False, p=chances / chances.sum()
            )
            if n_components > 1
            else np.zeros(0, np.intp)
        )
        return outputs[np.concatenate([[first], others]).astype(np.intp)]


def _squared_correlations(context: ProjectionContext, output: int) -> NDArray[np.float64]:
    """Largest squared correlation of each output's channels with those of one output."""

    def compute() -> CentredValues:
        weights = context.weights
        return CentredValues(
            context.values,
            context.observed,
            weights,
            None if weights is None else np.sqrt(weights),
        )

    centred: CentredValues = context.remember(Correlated, compute)
    start, stop = context.channel_offsets[output : output + 2]
    picked = np.zeros((context.n_channels, stop - start))
    picked[np.arange(start, stop), np.arange(stop - start)] = 1.0
    products = centred.rmatmul(centred.matmul(picked))
    variances = context.remember((Correlated, "variances"), lambda: _channel_squares(centred))
    scale = np.sqrt(np.outer(variances, variances[start:stop]))
    related = np.divide(products, scale, out=np.zeros_like(products), where=scale > 0) ** 2
    return np.asarray(np.maximum.reduceat(related.max(axis=1), context.channel_offsets[:-1]))


def _channel_squares(centred: CentredValues) -> NDArray[np.float64]:
    """Sum of squares of every centred channel, of shape (n_channels,)."""
    if centred.stays_sparse:
        return _sparse_squares(centred)
    total = np.zeros(centred.shape[1])
    for _, block in centred.blocks():
        total += np.einsum("ij,ij->j", block, block)
    return total


def _sparse_squares(centred: CentredValues) -> NDArray[np.float64]:
    values: Any = centred.values
    scale = np.ones(centred.shape[0]) if centred.scale is None else centred.scale[:, 0]
    squares = (scale**2) @ values.power(2)
    cross = (scale**2) @ values
    return np.asarray(squares - 2.0 * centred.means * cross + (scale @ scale) * centred.means**2)
