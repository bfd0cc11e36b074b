"""Put forests together tree by tree, so that no more than one tree is held twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyleaf.forests.model import Forest
from polyleaf.trees.joining import JoinedArray, JoinedStructure

if TYPE_CHECKING:
    from polyleaf.data.targets import Targets


class JoinedForest:
    """Forests on the same training rows, put together one by one.

    Weights of their trees are left out.

    Parameters
    ----------
    n_trees : int
        How many there will be, to make room for them at once.
    """

    def __init__(self, n_trees: int) -> None:
        self._structure = JoinedStructure(n_trees)
        self._offsets = JoinedArray(np.int64, n_trees)
        self._rows = JoinedArray(np.int32, n_trees)
        self._counts = JoinedArray(np.uint16, n_trees)
        self._n_added = 0
        self._outputs: Targets | None = None
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
