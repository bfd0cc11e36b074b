"""Sub-sampled Hadamard combinations of the outputs (Joly et al., 2014, section 4.5).

The entry (i, j) of the Hadamard matrix of Sylvester's order 2^k is (-1)^popcount(i & j), so that
the sampled entries are computed one by one and the matrix is never built.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from polyleaf.projections._base import MixingProjection
from polyleaf.projections._n_components import check_view_memory, count_components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyleaf.projections._centring import Matrix
    from polyleaf.projections._context import ProjectionContext


class Hadamard(MixingProjection):
    """Combinations with the signs of a sub-sampled Hadamard matrix.

    The Hadamard matrix has the smallest power of two that holds all channels as its order. Its
    rows and its columns are sampled without replacement and scaled by 1 / sqrt(n_components).
    With as many components as the order, distances are kept exactly.

    Parameters
    ----------
    n_components : int, float, "log" or "sqrt", default="log"
        Number of combinations, absolute or relative to the number d of channels that vary: a
        fraction in (0, 1] of d, round(ln d) or ceil(sqrt d). An int larger than the order of the
        Hadamard matrix is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.projections import Hadamard, ProjectionContext
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.normal(size=(6, 3))
    >>> context = ProjectionContext(
    ...     round=0, rng=rng, values=Y, channel_offsets=np.arange(4, dtype=np.int32)
    ... )
    >>> matrix = Hadamard(n_components=4).draw(context).matrix
    >>> matrix @ matrix.T
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """

    def draw_matrix(self, context: ProjectionContext, channels: NDArray[np.intp]) -> Matrix:
        """Draw the coefficients, a float64 ndarray of shape (d, n_components)."""
        order = 1 << (context.n_channels - 1).bit_length()
        n_components = count_components(self.n_components, len(channels))
        if n_components > order:
            raise ValueError(
                f"Hadamard for {context.n_channels} channels has {order} columns (the next power "
                f"of two): n_components must be at most {order}; got {n_components}. Use fewer "
                "components, or Rademacher, which has no limit."
            )
        check_view_memory(n_components, context, n_coefficients=len(channels))
        rows = context.rng.choice(order, len(channels), replace=False)
        columns = context.rng.choice(order, n_components, replace=False)
        is_negative = _parity(rows[:, np.newaxis] & columns) == 1
        size = 1 / math.sqrt(n_components)
        return np.where(is_negative, -size, size)


def _parity(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 1 where a non-negative number has an odd number of set bits, else 0."""
    for shift in (32, 16, 8, 4, 2, 1):
        numbers = numbers ^ (numbers >> shift)
    return numbers & 1
