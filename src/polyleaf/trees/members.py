"""The trees of a forest as estimators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from polyleaf.trees.single_tree import SingleTree


class Members(Sequence[SingleTree]):
    """The trees of an ensemble, made when they are asked for.

    Parameters
    ----------
    n_trees : int
    make : callable
        Makes the estimator of a tree, given its number.
    """

    def __init__(self, n_trees: int, make: Callable[[int], SingleTree]) -> None:
        self._n_trees = n_trees
        self._make = make

    def __len__(self) -> int:
        return self._n_trees

    @overload
    def __getitem__(self, at: int) -> SingleTree: ...
    @overload
    def __getitem__(self, at: slice) -> list[SingleTree]: ...
    def __getitem__(self, at: int | slice) -> SingleTree | list[SingleTree]:
        if isinstance(at, slice):
            return [self[t] for t in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(f"The ensemble has {len(self)} trees; got {at}.")
        return self._make(at % len(self))
