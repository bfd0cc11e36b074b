"""Many trees in few bytes: no array holds what the others imply.

Nodes stand in preorder, so the sequence of inner nodes and leaves determines the whole shape. A
walk that goes one step up at an inner node and one down at a leaf comes back to the height of a
node exactly where its right child is, and ends one step below the root's height.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.files.arrays import StoredArray, StoredArrays
from polyleaf.trees.structure import NO_STATISTICS, TreeStructure

if TYPE_CHECKING:
    from collections.abc import Mapping


_ARRAYS = StoredArrays(
    "Trees of forests and of boosting",
    {
        "n_categories": StoredArray(np.int32, "n_features", "0 for a numeric feature."),
        "tree_offsets": StoredArray(np.int64, "n_trees + 1", "First node of each tree."),
        "is_leaf_bits": StoredArray(
            np.uint8, "n_nodes / 8", "A bit per node in preorder, lowest first: 1 for a leaf."
        ),
        "feature": StoredArray(np.int32, "n_splits", "Feature of every split."),
        "threshold": StoredArray(np.float64, "n_splits", "A value goes left if at most this."),
        "missing_left": StoredArray(np.uint8, "n_splits", "1 if missing values go left."),
        "category_offset": StoredArray(
            np.int64, "n_splits or 0", "First word of the categories that go left, or -1."
        ),
        "category_words": StoredArray(np.uint32, "n_words", "32 categories, one bit each."),
    },
)


def pack_structure(structure: TreeStructure) -> dict[str, NDArray[Any]]:
    """Name the arrays that `unpack_structure` needs; statistics of nodes are not among them."""
    inner = ~structure.is_leaf
    has_categories = bool(structure.n_categories.any())
    return {
        "n_categories": structure.n_categories,
        "tree_offsets": structure.tree_offsets,
        "is_leaf_bits": np.packbits(structure.is_leaf, bitorder="little"),
        "feature": structure.feature[inner],
        "threshold": structure.threshold[inner],
        "missing_left": structure.missing_left[inner],
        "category_offset": structure.category_offset[inner if has_categories else slice(0)],
        "category_words": structure.category_words,
    }


def unpack_structure(arrays: Mapping[str, NDArray[Any]]) -> TreeStructure:
    """Rebuild and check the trees that `pack_structure` named.

    Raises
    ------
    ValueError
        If an array is absent, of another type or shape, or holds an index out of range.
    """
    n_categories = _ARRAYS.read(arrays, "n_categories")
    offsets = _ARRAYS.read(arrays, "tree_offsets")
    bits = _ARRAYS.read(arrays, "is_leaf_bits")
    _check_tree_offsets(offsets, bits)
    n_nodes = int(offsets[-1])
    is_leaf = np.unpackbits(bits, count=n_nodes, bitorder="little").astype(np.bool_)
    inner = np.flatnonzero(~is_leaf)
    nodes: dict[str, NDArray[Any]] = {
        "feature": np.full(n_nodes, -1, np.int32),
        "threshold": np.zeros(n_nodes),
        "missing_left": np.zeros(n_nodes, np.uint8),
        "category_offset": np.full(n_nodes, -1, np.int64),
    }
    has_categories = bool(n_categories.any())
    for name, spread in nodes.items():
        stored = _ARRAYS.read(arrays, name)
        n_expected = 0 if name == "category_offset" and not has_categories else inner.size
        if stored.size != n_expected:
            raise ValueError(
                f"Expected {n_expected} entries of {name}, one per split; got {stored.size}."
            )
        if stored.size:
            spread[inner] = stored
    if inner.size and nodes["feature"][inner].min() < 0:
        raise ValueError("Expected the features of splits not to be negative.")
    structure = TreeStructure(
        n_categories=n_categories,
        tree_offsets=offsets,
        right=right_children(is_leaf, offsets),
        category_words=_ARRAYS.read(arrays, "category_words"),
        **NO_STATISTICS,
        **nodes,
    )
    _ = structure.predictor  # checks whatever leads rows down the trees
    return structure


def right_children(is_leaf: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Find the right child of every inner node, counted within its tree; -1 for leaves.

    Parameters
    ----------
    is_leaf : ndarray of shape (n_nodes,), bool
    offsets : ndarray of shape (n_trees + 1,), int64

    Raises
    ------
    ValueError
        If the nodes do not form trees.

    Examples
    --------
    >>> right_children(np.array([False, True, False, True, True]), np.array([0, 5]))
    array([ 2, -1,  4, -1, -1], dtype=int32)
    """
    steps = np.where(is_leaf, -1, 1)
    after = np.cumsum(steps)
    height = after - steps
    # Whole trees take the walk down by one each.
    n_trees = offsets.size - 1
    tree = np.repeat(np.arange(n_trees), np.diff(offsets))
    if np.any(after[offsets[1:] - 1] != -1 - np.arange(n_trees)) or np.any(height < -tree):
        raise ValueError("Expected the nodes in preorder to form trees.")
    order = np.lexsort((height, tree))  # stable: ascending within a height of a tree
    following = np.empty(is_leaf.size, np.int64)
    following[order[:-1]] = order[1:]
    inner = np.flatnonzero(~is_leaf)
    right = np.full(is_leaf.size, -1, np.int32)
    right[inner] = following[inner] - offsets[tree[inner]]
    return right


def _check_tree_offsets(offsets: NDArray[np.int64], bits: NDArray[np.uint8]) -> None:
    good = offsets.size >= 2 and offsets[0] == 0 and bool(np.all(offsets[1:] > offsets[:-1]))
    if not good or -(-int(offsets[-1]) // 8) != bits.size:
        raise ValueError("Expected tree_offsets to rise from 0 to the number of nodes.")
