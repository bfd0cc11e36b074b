"""The named arrays of model files: declared once, checked when they are read.

Every part of a model declares its arrays (`StoredArrays`) beside the code that writes and reads
them; the page of the file format is made from these declarations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping


class StoredArray(NamedTuple):
    """One array of a model file.

    Attributes
    ----------
    dtype : numpy scalar type
    shape : str
        In words, such as ``"n_leaves, n_channels"``.
    meaning : str
    """

    dtype: type[np.generic]
    shape: str
    meaning: str


class StoredArrays:
    """The arrays of one part of a model.

    Parameters
    ----------
    part : str
        What they are part of, as a heading.
    arrays : dict of str to StoredArray

    Examples
    --------
    >>> part = StoredArrays("Steps", {"step": StoredArray(np.int64, "n_steps", "How far.")})
    >>> part.read({"step": np.array([1, 2])}, "step")
    array([1, 2])
    >>> part.read({"step": np.array([1.5])}, "step")
    Traceback (most recent call last):
        ...
    ValueError: Expected step to be 1-dimensional int64; got 1-dimensional float64.
    """

    #: Everything that was declared, in the order of imports.
    declared: ClassVar[list[StoredArrays]] = []

    def __init__(self, part: str, arrays: dict[str, StoredArray]) -> None:
        self.part = part
        self.arrays = arrays
        StoredArrays.declared.append(self)

    def read(self, arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
        """Give the array of that name in C order.

        Raises
        ------
        ValueError
            If it is absent, or of another type or dimension.
        """
        dtype, shape, _ = self.arrays[name]
        return expect_array(arrays, name, dtype, shape.count(",") + 1)


def expect_array(
    arrays: Mapping[str, NDArray[Any]], name: str, dtype: type[np.generic], ndim: int
) -> NDArray[Any]:
    """Give the array of that name, in C order and aligned.

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
    return np.require(array, requirements=["C", "A"])


def expect_offsets(
    offsets: NDArray[np.int64], n_steps: int, total: int, name: str, *, least: int
) -> None:
    """Raise a ValueError unless offsets rise from 0 to `total` in steps of `least` or more."""
    good = (
        0 < offsets.size == n_steps + 1
        and offsets[0] == 0
        and offsets[-1] == total
        # Before their steps: those of numbers far apart would wrap around.
        and bool(np.all(offsets[1:] >= offsets[:-1]))
        and bool(np.all(np.diff(offsets) >= least))
    )
    if not good:
        raise ValueError(f"Expected {name} to rise from 0 to {total} in {n_steps} steps.")


def expect_below(indices: NDArray[np.integer[Any]], bound: int, name: str) -> None:
    """Raise a ValueError unless all indices lie in [0, bound)."""
    if indices.size and (indices.min() < 0 or indices.max() >= bound):
        raise ValueError(f"Expected {name} to lie in [0, {bound}).")
