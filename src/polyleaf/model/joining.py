"""Put trees together as they are grown, so that no more than one of them is held twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.model.forest import Forest
from polyleaf.model.structure import NO_STATISTICS, SPLIT_ARRAYS, STRUCTURE_DTYPES, TreeStructure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyleaf.model.outputs import TrainingOutputs

#: Room for parts that are larger than the first.
_SLACK = 1.125


class _JoinedArray:
    """An array that grows by the parts of trees of about the same size."""

    def __init__(self, dtype: Any, n_trees: int) -> None:
        self._array: NDArray[Any] = np.empty(0, dtype)
        self._n_trees = n_trees
        self.size = 0

    def add(self, part: NDArray[Any], n_trees: int) -> None:
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


class _JoinedStructure:
    """Trees on the same features, one after the other, without statistics."""

    def __init__(self, n_trees: int) -> None:
        self._nodes = {
            name: _JoinedArray(STRUCTURE_DTYPES[name], n_trees) for name in SPLIT_ARRAYS
        }
        self._words = _JoinedArray(STRUCTURE_DTYPES["category_words"], n_trees)
        self._tree_sizes: list[NDArray[np.int64]] = []
        self._n_categories: NDArray[np.int32] | None = None

    def add(self, structure: TreeStructure) -> None:
        self._n_categories = structure.n_categories
        for name, joined in self._nodes.items():
            part = getattr(structure, name)
            if name == "category_offset" and structure.category_words.size:
                part = np.where(part >= 0, part + self._words.size, np.int64(-1))
            joined.add(part, structure.n_trees)
        self._words.add(structure.category_words, structure.n_trees)
        self._tree_sizes.append(np.diff(structure.tree_offsets))

    def finish(self) -> TreeStructure:
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
    joined = _JoinedStructure(sum(structure.n_trees for structure in structures))
    for structure in structures:
        joined.add(structure)
    return joined.finish()


class JoinedForest:
    """Forests on the same training rows, put together one by one.

    Weights of their trees are left out.

    Parameters
    ----------
    n_trees : int
        How many there will be, to make room for them at once.
    """

    def __init__(self, n_trees: int) -> None:
        self._structure = _JoinedStructure(n_trees)
        self._offsets = _JoinedArray(np.int64, n_trees)
        self._rows = _JoinedArray(np.int32, n_trees)
        self._counts = _JoinedArray(np.uint16, n_trees)
        self._n_added = 0
        self._outputs: TrainingOutputs | None = None
        self._feature_gains: NDArray[np.float64] | float = 0.0

    def add(self, forest: Forest) -> None:
        """Take over the trees of a forest, whose arrays are not needed any more."""
        if self._outputs is None:
            self._outputs = forest.outputs
        n_trees = forest.structure.n_trees
        self._structure.add(forest.structure)
        # The first offset, 0, is the end of those before.
        self._offsets.add(forest.leaf_offsets[bool(self._rows.size) :] + self._rows.size, n_trees)
        if forest.leaf_counts is not None or self._counts.size:
            # Rows of those before that were drawn once each.
            self._counts.add(
                np.ones(self._rows.size - self._counts.size, np.uint16), self._n_added
            )
            self._counts.add(forest.drawn_counts, n_trees)
        self._rows.add(forest.leaf_rows, n_trees)
        self._n_added += n_trees
        self._feature_gains = self._feature_gains + forest.feature_gains

    def finish(self) -> Forest:
        """Give the forest of all trees; at least one was added."""
        assert self._outputs is not None
        return Forest(
            structure=self._structure.finish(),
            leaf_offsets=self._offsets.finish(),
            leaf_rows=self._rows.finish(),
            leaf_counts=self._counts.finish() if self._counts.size else None,
            outputs=self._outputs,
            tree_weights=None,
            feature_gains=np.asarray(self._feature_gains),
        )
