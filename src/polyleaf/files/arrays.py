"""Checks of named arrays that come from a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping


def expect_array(
    arrays: Mapping[str, NDArray[Any]], name: str, dtype: type[np.generic], ndim: int
) -> NDArray[Any]:
    """Give the array of that name in C order.

    Raises
    ------
    ValueError
        If it is absent, or of another type or dimension.
    """
    if name not in arrays:
        raise ValueError(f"Expected an array named {name!r}; there is none.")
    array = arrays[name]
    if array.dtype != dtype or array.ndim != ndim:
        raise ValueError(
            f"Expected {name} to be {ndim}-dimensional {np.dtype(dtype).name}; got "
            f"{array.ndim}-dimensional {array.dtype.name}."
        )
    return np.ascontiguousarray(array)


def expect_offsets(
    offsets: NDArray[np.int64], n_steps: int, total: int, name: str, *, least: int
) -> None:
    """Raise a ValueError unless offsets rise from 0 to `total` in steps of `least` or more."""
    good = (
        0 < offsets.size == n_steps + 1
        and offsets[0] == 0
        and offsets[-1] == total
        and bool(np.all(np.diff(offsets) >= least))
    )
    if not good:
        raise ValueError(f"Expected {name} to rise from 0 to {total} in {n_steps} steps.")


def expect_below(indices: NDArray[np.integer[Any]], bound: int, name: str) -> None:
    """Raise a ValueError unless all indices lie in [0, bound)."""
    if indices.size and (indices.min() < 0 or indices.max() >= bound):
        raise ValueError(f"Expected {name} to lie in [0, {bound}).")
