"""Many one-dimensional convex problems at once, by Newton steps that stay in a bracket."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Gives slope and curvature of every problem at its own point.
Derivatives: TypeAlias = Callable[
    [NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]
]

_MOST_STEPS = 60


def minimise_each(
    derivatives: Derivatives,
    shape: tuple[int, ...],
    bound: NDArray[np.float64] | float = np.inf,
    tolerance: float = 1e-7,
) -> NDArray[np.float64]:
    """Minimise independent convex functions of one variable each, from 0.

    A Newton step that leaves the bracket of the minimum, meets no curvature, or follows one that
    did not halve the slope, becomes a bisection (a doubling while there is no bracket). What is
    returned is never worse than 0: it is a point where the function still falls, or one whose
    slope is next to nothing.

    Parameters
    ----------
    derivatives : callable
        From points of the given shape to slopes, not decreasing in the point, and curvatures.
    shape : tuple of int
    bound : float or ndarray of that shape
        Largest absolute value of a minimiser: separable labels would push it to infinity.
    tolerance : float
        Slope, relative to that at 0, which is as good as none.

    Returns
    -------
    ndarray of the given shape, float64

    Examples
    --------
    >>> minimise_each(lambda x: (2 * (x - [3.0, -40.0]), np.full(2, 2.0)), (2,), bound=10.0)
    array([  3., -10.])
    """
    point = np.zeros(shape)
    slope, curvature = derivatives(point)
    limit = np.broadcast_to(np.asarray(bound, dtype=np.float64), shape)
    falls_right = slope < 0
    low = np.where(falls_right, 0.0, -limit)
    high = np.where(falls_right, limit, 0.0)
    enough = tolerance * np.abs(slope)
    reach = np.ones(shape)
    done = slope == 0
    is_slow = np.zeros(shape, np.bool_)
    best = point.copy()
    for _ in range(_MOST_STEPS):
        if np.all(done):
            break
        proposed = _propose(point, slope, curvature, low, high, reach, is_slow)
        point, before = np.where(done, best, proposed), np.abs(slope)
        reach *= 2.0
        slope, curvature = derivatives(point)
        is_slow = ~is_slow & (np.abs(slope) > before / 2)
        rises = slope > 0
        low = np.where(~done & ~rises, point, low)
        high = np.where(~done & rises, point, high)
        # The end of the bracket on the side of 0 is better than 0, however far the minimum is.
        near = np.where(falls_right, low, high)
        is_close = np.abs(slope) <= enough
        best = np.where(done, best, np.where(is_close, point, near))
        at_bound = (near == np.where(falls_right, limit, -limit)) & np.isfinite(limit)
        is_narrow = high - low <= 1e-12 * np.maximum(1.0, np.abs(point))
        done |= is_close | at_bound | is_narrow
    return best


def _propose(
    point: NDArray[np.float64],
    slope: NDArray[np.float64],
    curvature: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    reach: NDArray[np.float64],
    is_slow: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Give the Newton step, or where it leads outside of the bracket a safe one."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        newton = point - slope / curvature
        middle = low / 2 + high / 2
    # While one end is infinite, go on from the other by twice as much each time.
    outward = np.where(np.isfinite(high), high - reach, low + reach)
    has_bracket = np.isfinite(low) & np.isfinite(high)
    safe = np.where(has_bracket, np.where(has_bracket, middle, 0.0), outward)
    far = ~has_bracket & (np.abs(newton - point) > 4.0 * reach)
    inside = (newton > low) & (newton < high) & ~far & ~is_slow
    # A minimum beyond a finite bound is tried at the bound itself first.
    clipped = np.clip(newton, low, high)
    at_end = has_bracket & np.isfinite(newton) & ~inside & (clipped != point) & (reach < 2.0)
    return np.where(inside, newton, np.where(at_end, clipped, safe))
