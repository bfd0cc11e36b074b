"""Grow a tree with a new view of the outputs at every split (`projection_scope="node"`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.trees.channels import Scaling, channels_at
from polyleaf.trees.growing import Grown, grow_on_channels
from polyleaf.trees.structure import STRUCTURE_DTYPES, TreeStructure

if TYPE_CHECKING:
    from polyleaf import _core
    from polyleaf.data.training import TrainingData
    from polyleaf.projections import Projection, ProjectionContext

_NODE_ARRAYS = (
    "feature",
    "threshold",
    "missing_left",
    "n_samples",
    "weight",
    "impurity",
    "gain",
)


class _Nodes:
    """Nodes in preorder, as they are made."""

    def __init__(self) -> None:
        self.arrays: dict[str, list[Any]] = {name: [] for name in _NODE_ARRAYS}
        self.right: list[int] = []
        self.category_offset: list[int] = []
        self.words: list[NDArray[np.uint32]] = []
        self.n_words = 0

    def add(self, stump: TreeStructure) -> None:
        """Add the root of a tree of at most one split."""
        for name, values in self.arrays.items():
            values.append(getattr(stump, name)[0])
        self.right.append(-1)
        is_categorical = stump.category_offset[0] >= 0
        self.category_offset.append(self.n_words if is_categorical else -1)
        if is_categorical:
            self.words.append(stump.category_words)
            self.n_words += stump.category_words.size

    def add_leaf(self, n_samples: int) -> None:
        """Add a leaf whose other statistics nobody asks for."""
        for name, values in self.arrays.items():
            values.append({"feature": -1, "n_samples": n_samples}.get(name, 0))
        self.right.append(-1)
        self.category_offset.append(-1)

    def to_structure(self, n_categories: NDArray[np.int32]) -> TreeStructure:
        nodes = {
            name: np.array(values, STRUCTURE_DTYPES[name]) for name, values in self.arrays.items()
        }
        words = np.concatenate(self.words) if self.words else np.zeros(0, np.uint32)
        return TreeStructure(
            n_categories=n_categories,
            tree_offsets=np.array([0, len(self.right)], np.int64),
            right=np.array(self.right, np.int32),
            category_offset=np.array(self.category_offset, np.int64),
            category_words=words,
            **nodes,
        )


class NodeViews:
    """Grows one split at a time, each on a view of its own.

    Parameters
    ----------
    data : TrainingData
    scaling : Scaling
    projection : Projection
    context : ProjectionContext
        Of all training rows.
    counts : ndarray of shape (n_rows,), or None
        How often each row counts; None: once.
    rng : numpy.random.Generator

    Attributes
    ----------
    seen : ndarray of shape (n_channels,), bool
        The channels that the view of any split showed.
    """

    def __init__(
        self,
        data: TrainingData,
        scaling: Scaling,
        projection: Projection,
        context: ProjectionContext,
        counts: NDArray[np.int64] | None,
        rng: np.random.Generator,
    ) -> None:
        self._data = data
        self._scaling = scaling
        self._projection = projection
        self._context = context
        self._counts = counts
        self._rng = rng
        self.seen = np.zeros(context.n_channels, np.bool_)

    def grow(self, params: _core.GrowParams, rows: NDArray[np.int32]) -> Grown:
        """Grow a tree, depth-first.

        Parameters
        ----------
        params : GrowParams
            Of the whole tree.
        rows : ndarray, int32
        """
        limit, params.max_depth = params.max_depth, 1
        nodes, leaves, work = _Nodes(), [], 0
        # Rows of a node, its depth, and the node whose right child it is.
        waiting: list[tuple[NDArray[np.int32], int, int]] = [(rows, 0, -1)]
        while waiting:
            if params.stop is not None and params.stop.is_set:
                raise KeyboardInterrupt  # a single split is too quick for the core to look
            at, depth, parent = waiting.pop()
            node = len(nodes.right)
            if parent >= 0:
                nodes.right[parent] = node
            if depth == limit or at.size < params.min_samples_split:
                nodes.add_leaf(at.size)
                leaves.append(at)
                continue
            grown = self._split(node, at, params)
            work += grown.work
            nodes.add(grown.structure)
            if grown.structure.n_nodes == 1:
                leaves.append(grown.ordered)
                continue
            n_left = int(grown.structure.n_samples[1])
            waiting.append((grown.ordered[n_left:], depth + 1, node))
            waiting.append((grown.ordered[:n_left], depth + 1, -1))
        n_categories = np.ascontiguousarray(self._data.n_categories, dtype=np.int32)
        return Grown(nodes.to_structure(n_categories), np.concatenate(leaves), work)

    def _split(self, node: int, rows: NDArray[np.int32], params: _core.GrowParams) -> Grown:
        view = self._projection.checked_draw(self._context.at_round(node, self._rng))
        params.seed = int(self._rng.integers(2**63))
        channels = channels_at(
            self._data, self._scaling, view, self._context.values, self._counts, rows
        )
        grown = grow_on_channels(self._data, self._scaling, channels, params, rows)
        if grown.structure.n_nodes > 1:
            self.seen |= view.seen
        return grown
