"""Random linear combinations of the outputs (Joly et al., 2014, section 2.2).

With q components, Gaussian coefficients are N(0, 1/q); Rademacher coefficients are
sqrt(s/q) * {-1, 0, +1} with probabilities {1/(2s), 1 - 1/s, 1/(2s)}. Squared distances are kept
on average, E[M M'] = I.

The entry (i, j) of the Hadamard matrix of Sylvester's order 2^k is (-1)^popcount(i & j), so that
the sampled entries are computed one by one and the matrix is never built (section 4.5).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from polyleaf.checks.numbers import shown
from polyleaf.projections._base import MixingProjection, check_view_memory, count_components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyleaf.projections._base import ProjectionContext
    from polyleaf.projections._view import Matrix

# Share of non-zero coefficients up to which a sparse matrix is kept.
SPARSE_DENSITY = 0.1


class Gaussian(MixingProjection):
    """Combinations with independent normal coefficients, N(0, 1 / n_components).

    Parameters
    ----------
    n_components : int, float, "log" or "sqrt", default="log"
        Number of combinations, absolute or relative to the number d of channels that vary: a
        fraction in (0, 1] of d, round(ln d) or ceil(sqrt d). An int may exceed d.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.projections import Gaussian, ProjectionContext
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.normal(size=(6, 20))
    >>> context = ProjectionContext(
    ...     round=0, rng=rng, values=Y, channel_offsets=np.arange(21, dtype=np.int32)
    ... )
    >>> view = Gaussian(n_components="log").draw(context)
    >>> view.kind, view.apply(Y).shape  # round(ln 20) = 3
    ('mixing', (6, 3))
    """

    def draw_matrix(self, context: ProjectionContext, channels: NDArray[np.intp]) -> Matrix:
        """Draw the coefficients, a float64 ndarray of shape (d, n_components)."""
        n_components = count_components(self.n_components, len(channels))
        check_view_memory(n_components, context, n_coefficients=len(channels))
        matrix = context.rng.standard_normal((len(channels), n_components))
        matrix /= math.sqrt(n_components)
        return matrix


class _SignedProjection(MixingProjection):
    """Combinations with random signs and a share of zero coefficients."""

    @abstractmethod
    def _density_for(self, n_channels: int) -> float:
        """Return the expected share 1/s of non-zero coefficients."""

    def draw_matrix(self, context: ProjectionContext, channels: NDArray[np.intp]) -> Matrix:
        """Draw the coefficients, of shape (d, n_components); sparse if few are not zero."""
        n_channels = len(channels)
        n_components = count_components(self.n_components, n_channels)
        density = self._density_for(n_channels)
        check_view_memory(n_components, context, n_coefficients=density * n_channels)
        matrix = _signed_columns(context.rng, (n_channels, n_components), density)
        matrix.data /= math.sqrt(density * n_components)
        return matrix if density <= SPARSE_DENSITY else matrix.toarray()


class Rademacher(_SignedProjection):
    """Combinations with random signs, with zeros if the density is below 1.

    A coefficient is sqrt(s / n_components) times -1, 0 or +1 with the probabilities 1/(2s),
    1 - 1/s and 1/(2s), where 1/s is the density. A combination without any channel is drawn
    again.

    Parameters
    ----------
    n_components : int, float, "log" or "sqrt", default="log"
        Number of combinations, absolute or relative to the number d of channels that vary: a
        fraction in (0, 1] of d, round(ln d) or ceil(sqrt d). An int may exceed d.
    density : float in (0, 1], default=1.0
        Expected share of non-zero coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.projections import ProjectionContext, Rademacher
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.normal(size=(6, 3))
    >>> context = ProjectionContext(
    ...     round=0, rng=rng, values=Y, channel_offsets=np.arange(4, dtype=np.int32)
    ... )
    >>> np.unique(Rademacher(n_components=4).draw(context).matrix)
    array([-0.5,  0.5])
    """

    def __init__(self, n_components: int | float | str = "log", *, density: float = 1.0) -> None:
        super().__init__(n_components)
        self.density = density

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""
        super().check_params()
        is_number = isinstance(self.density, Real) and not isinstance(self.density, bool)
        if not is_number or not 0 < self.density <= 1:
            raise ValueError(f"density must be a number in (0, 1]; got {shown(self.density)}.")

    def _density_for(self, n_channels: int) -> float:
        return float(self.density)


class Achlioptas(_SignedProjection):
    """Combinations of random signs in which two coefficients in three are zero (s = 3).

    Parameters
    ----------
    n_components : int, float, "log" or "sqrt", default="log"
        Number of combinations, absolute or relative to the number d of channels that vary: a
        fraction in (0, 1] of d, round(ln d) or ceil(sqrt d). An int may exceed d.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.projections import Achlioptas, ProjectionContext
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.normal(size=(6, 300))
    >>> context = ProjectionContext(
    ...     round=0, rng=rng, values=Y, channel_offsets=np.arange(301, dtype=np.int32)
    ... )
    >>> matrix = Achlioptas(n_components=3).draw(context).matrix
    >>> np.unique(matrix)
    array([-1.,  0.,  1.])
    >>> round(float(np.mean(matrix != 0)), 1)
    0.3
    """

    def _density_for(self, n_channels: int) -> float:
        return 1 / 3


class SparseRademacher(_SignedProjection):
    """Combinations of random signs of about sqrt(d) of the d channels (s = sqrt(d)).

    Parameters
    ----------
    n_components : int, float, "log" or "sqrt", default="log"
        Number of combinations, absolute or relative to the number d of channels that vary: a
        fraction in (0, 1] of d, round(ln d) or ceil(sqrt d). An int may exceed d.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.projections import ProjectionContext, SparseRademacher
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.normal(size=(6, 400))
    >>> context = ProjectionContext(
    ...     round=0, rng=rng, values=Y, channel_offsets=np.arange(401, dtype=np.int32)
    ... )
    >>> matrix = SparseRademacher(n_components=5).draw(context).matrix
    >>> matrix.format, np.unique(matrix.data)  # sqrt(400) = 20 = s, sqrt(20 / 5) = 2
    ('csc', array([-2.,  2.]))
    """

    def _density_for(self, n_channels: int) -> float:
        return 1 / math.sqrt(n_channels)


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


def _signed_columns(
    rng: np.random.Generator, shape: tuple[int, int], density: float
) -> sparse.csc_array[np.float64]:
    """Draw independent {-1, 0, +1} entries, non-zero with probability `density`.

    The columns have the distribution of columns that are drawn again while they are all zero,
    but the work is bounded for any density.
    """
    n_rows, n_columns = shape
    counts = rng.binomial(n_rows, density, size=n_columns)
    columns = [
        np.sort(rng.choice(n_rows, count, replace=False, shuffle=False))
        if count
        else _nonzero_rows_given_some(rng, n_rows, density)
        for count in counts
    ]
    indices = np.concatenate(columns)
    indptr = np.concatenate([[0], np.cumsum([len(rows) for rows in columns])])
    signs = rng.choice(np.array([-1.0, 1.0]), size=len(indices))
    return sparse.csc_array((signs, indices, indptr), shape=shape)


def _nonzero_rows_given_some(
    rng: np.random.Generator, n_rows: int, density: float
) -> NDArray[np.int64]:
    """Draw the non-zero rows of a column, given that there is at least one.

    The first of them follows a geometric distribution truncated to the `n_rows` rows; the rows
    after it are independent of it.
    """
    log_zero = math.log1p(-density)  # density < 1, or the column would not have been empty
    any_nonzero = -math.expm1(n_rows * log_zero)
    first = min(int(math.log1p(-rng.random() * any_nonzero) / log_zero), n_rows - 1)
    n_after = n_rows - 1 - first
    after = rng.choice(n_after, rng.binomial(n_after, density), replace=False, shuffle=False)
    return np.concatenate([[first], first + 1 + np.sort(after)]).astype(np.int64)


def _parity(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 1 where a non-negative number has an odd number of set bits, else 0."""
    for shift in (32, 16, 8, 4, 2, 1):
        numbers = numbers ^ (numbers >> shift)
    return numbers & 1
