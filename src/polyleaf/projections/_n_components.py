"""The size of a view: from the `n_components` that a user gives to a number of components."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from polyleaf.checks.memory import check_memory

if TYPE_CHECKING:
    from polyleaf.projections._context import ProjectionContext

# Share of one component that the rounding of `fraction * n_dimensions` may add: 0.07 * 100
# exceeds 7 by 1e-15 and must still give 7.
_ROUNDING = 1e-9
# Of one row and channel of a view: a float32, and what it is computed from or copied to. Trees
# and forests of dense targets take twice as much.
_ENTRY_BYTES = 8
_COEFFICIENT_BYTES = 8


def check_n_components(n_components: Any) -> None:
    """Raise a ValueError unless `n_components` is a valid size."""
    if isinstance(n_components, str):
        valid = n_components in ("log", "sqrt")
    elif is_count(n_components):
        valid = n_components >= 1
    else:
        is_number = isinstance(n_components, Real) and not isinstance(n_components, bool)
        valid = is_number and 0 < n_components <= 1
    if not valid:
        raise ValueError(
            "n_components must be an int of at least 1, a fraction (a float in (0, 1]), 'log' "
            f"or 'sqrt'; got {n_components!r}."
        )


def is_count(n_components: Any) -> bool:
    """Tell whether the size is an absolute number of components."""
    return isinstance(n_components, Integral) and not isinstance(n_components, bool)


def count_components(n_components: Any, n_dimensions: int) -> int:
    """Return the number of components for a space of `n_dimensions` >= 1.

    Parameters
    ----------
    n_components : int, float, "log" or "sqrt"
        An int is taken as it is; a fraction v is ceil(v * n_dimensions); "log" is
        round(ln(n_dimensions)), at least 1; "sqrt" is ceil(sqrt(n_dimensions)).
    n_dimensions : int
        The dimensions that are projected.

    Returns
    -------
    int
        At least 1. Only an int can exceed `n_dimensions`.

    Examples
    --------
    >>> [count_components(size, 100) for size in (3, 0.07, 1.0, "log", "sqrt")]
    [3, 7, 100, 5, 10]
    """
    check_n_components(n_components)
    if n_components == "log":
        return max(1, round(math.log(n_dimensions)))
    if n_components == "sqrt":
        return math.isqrt(n_dimensions - 1) + 1
    if is_count(n_components):
        return int(n_components)
    return max(1, math.ceil(float(n_components) * n_dimensions - _ROUNDING))


def check_view_memory(
    n_components: int, context: ProjectionContext, *, n_coefficients: float = 0.0
) -> None:
    """Refuse a view that would not fit into memory.

    Parameters
    ----------
    n_components : int
    context : ProjectionContext
        The values to be viewed.
    n_coefficients : float
        Those of one component that are stored.
    """
    n_rows = context.values.shape[0]
    check_memory(
        n_components * (n_rows * _ENTRY_BYTES + math.ceil(n_coefficients) * _COEFFICIENT_BYTES),
        f"A view of {n_rows} rows by {n_components} components takes at least",
        "Use a smaller n_components, such as 'log' or 'sqrt'.",
    )
