"""Put trees together as they are grown, so that no more than one of them is held twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.trees.structure import NO_STATISTICS, SPLIT_ARRAYS, STRUCTURE_DTYPES, TreeStructure

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Room for parts that are larger than the first.
_SLACK = 1.125


class JoinedArray:
    """An array that grows by the parts of trees of about the same size."""

    def __init__(self, dtype: Any, n_trees: int) -> None:
        self._array: NDArray[Any] = np.empty(0, dtype)
        self._n_trees = n_trees
        self.size = 0

    def add(self, part: NDArray[Any], n_trees: int) -> None:
        """Add what `n_trees` trees have."""
        end = self.size + part.size
        if end > self._array.size:
            # Memory that is never written to is never taken.
            of_all = int(_SLACK * self._n_trees * part.size / max(n_trees, 1))
            room = np.empty(
                max(2 * end if self.size else end, of_all),
                self._array.dtype,
            )
            room[: self.size] = self._array[: self.size]
            self._array = room
        self._array[self.size : end] = part
        self.size = end

    def finish(self) -> NDArray[Any]:
        """Give back what is not needed."""
        self._array.resize(self.size, refcheck=False)
        return self._array


class JoinedStructure:
    """Trees on the same features, one after the other, without statistics."""

    def __init__(self, n_trees: int) -> None:
        self._nodes = {name: JoinedArray(STRUCTURE_DTYPES[name], n_trees) for name in SPLIT_ARRAYS}
        self._words = JoinedArray(STRUCTURE_DTYPES["category_words"], n_trees)
        self._tree_sizes: list[NDArray[np.int64]] = []
        self._n_categories: NDArray[np.int32] | None = None

    def add(self, structure: TreeStructure) -> None:
        """Add trees behind those there are."""
        self._n_categories = structure.n_categories
        for name, joined in self._nodes.items():
            part = getattr(structure, name)
            if name == "category_offset" and structure.category_words.size:
                part = np.where(part >= 0, part + self._words.size, np.int64(-1))
            joined.add(part, structure.n_trees)
        self._words.add(structure.category_words, structure.n_trees)
        self._tree_sizes.append(np.diff(structure.tree_offsets))

    def finish(self) -> TreeStructure:
        """Give all trees; at least one was added."""
        assert self._n_categories is not None
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(self._tree_sizes))])
        return TreeStructure(
            n_categories=self._n_categories,
            tree_offsets=offsets,
            category_words=self._words.finish(),
            **{name: joined.finish() for name, joined in self._nodes.items()},
            **NO_STATISTICS,
        )


def join_structures(structures: Sequence[TreeStructure]) -> TreeStructure:
    """Put trees on the same features one after the other, without statistics.

    Parameters
    ----------
    structures : sequence of TreeStructure
        At least one.
    """
    joined = JoinedStructure(sum(structure.n_trees for structure in structures))
    for structure in structures:
        joined.add(structure)
    return joined.finish()
