"""Make label sets and scores respect a hierarchy, level by level, dense and sparse."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.matrices import as_floats, is_sparse, read_array, read_sparse

if TYPE_CHECKING:
    from polyleaf.hierarchy._hierarchy import Hierarchy

    Ints = NDArray[np.int64]

_BLOCK_ENTRIES = 1 << 21  # of a buffer of rows times labels


def levels(hierarchy: Hierarchy, *, upward: bool) -> Iterator[tuple[int, Ints]]:
    """Yield the edges by the depth of their child: the deepest first if upward, else last.

    All descendants of a label lie deeper, so that upward a child is complete before it is read.
    """
    edges = hierarchy.edges
    depth = hierarchy.depth[edges[:, 1]]
    order = np.lexsort((edges[:, 1], edges[:, 0], depth))
    edges, depth = edges[order], depth[order]
    starts = np.searchsorted(depth, np.arange(1, hierarchy.depth.max() + 2))
    parts = [(level + 1, edges[a:b]) for level, (a, b) in enumerate(pairwise(starts))]
    yield from reversed(parts) if upward else parts


def read_matrix(matrix: Any, n_outputs: int, name: str) -> Any:
    """Read an array or sparse matrix with one column per output."""
    values = read_sparse(matrix, name) if is_sparse(matrix) else read_array(matrix, name)
    if values.ndim != 2 or values.shape[1] != n_outputs:
        raise ValueError(
            f"{name} must have a column for each of the {n_outputs} labels of the hierarchy; got "
            f"the shape {values.shape}."
        )
    return values


def close_labels(hierarchy: Hierarchy, Y: Any) -> Any:
    """Add the ancestors of all labels; see `Hierarchy.close`."""
    values = read_matrix(Y, hierarchy.n_outputs, "Y")
    _check_labels(values)
    if is_sparse(values):
        return _close_sparse(hierarchy, values)
    if values.dtype.kind not in "biuf":
        values = as_floats(values, "Y")
    columns = np.array(values.T, order="C")
    for _, edges in levels(hierarchy, upward=True):
        _raise_parents(columns, edges)
    if columns.dtype.kind == "f":
        for _, edges in levels(hierarchy, upward=False):
            _fill_children(columns, edges)
    return np.ascontiguousarray(columns.T)


def _check_labels(values: Any) -> None:
    data = values.data if is_sparse(values) else as_floats(values, "Y")
    if not np.all((data == 0) | (data == 1) | np.isnan(data)):
        raise ValueError(
            "Y must hold 0 and 1 (or NaN, where it is dense), one column per label; got other "
            "values."
        )


def _close_sparse(hierarchy: Hierarchy, labels: Any) -> Any:
    """Add parents until nothing changes: as many products as the hierarchy is deep."""
    closed = sparse.csr_array(labels).copy()
    closed.eliminate_zeros()
    d = hierarchy.n_outputs
    edges = hierarchy.edges
    ones = np.ones(len(edges), dtype=np.int64)
    upward = sparse.csr_array((ones, (edges[:, 1], edges[:, 0])), shape=(d, d))
    n_before = -1
    while closed.nnz != n_before:
        n_before = closed.nnz
        closed = sparse.csr_array(closed + closed @ upward)
        closed.data = np.ones_like(closed.data)
    closed.sort_indices()
    return closed.astype(labels.dtype)


def _raise_parents(columns: NDArray[Any], edges: Ints) -> None:
    """Give parents the largest value of their children, if it is more than theirs."""
    if not len(edges):
        return
    parents, starts = np.unique(edges[:, 0], return_index=True)
    largest = np.fmax.reduceat(columns[edges[:, 1]], starts, axis=0)
    columns[parents] = np.fmax(columns[parents], largest)


def _fill_children(columns: NDArray[Any], edges: Ints) -> None:
    """Give unobserved children of a label that a row does not have the value 0."""
    for parent, child in edges:
        follows = np.isnan(columns[child]) & (columns[parent] == 0)
        columns[child, follows] = 0


def raise_ancestors(hierarchy: Hierarchy, scores: Any) -> Any:
    """Take the largest score among descendants; see `Hierarchy.raise_ancestors`."""
    values = read_matrix(scores, hierarchy.n_outputs, "scores")
    if not len(hierarchy.edges):
        return values
    if is_sparse(values):
        if values.nnz == 0 or _none_violated(hierarchy, values):
            return values
        step = max(1, _BLOCK_ENTRIES // hierarchy.n_outputs)
        starts = range(0, values.shape[0], step)
        parts = [_raised(hierarchy, values[i : i + step].toarray()) for i in starts]
        return sparse.csr_array(sparse.vstack([sparse.csr_array(part) for part in parts]))
    if _none_violated(hierarchy, values):
        return values
    return _raised(hierarchy, values)


def _none_violated(hierarchy: Hierarchy, values: Any) -> bool:
    return _violations(hierarchy, values, stop_early=True) == 0


def _raised(hierarchy: Hierarchy, scores: NDArray[Any]) -> NDArray[Any]:
    columns = np.array(scores.T, order="C")
    for _, edges in levels(hierarchy, upward=True):
        _raise_parents(columns, edges)
    return np.ascontiguousarray(columns.T)


def count_violations(hierarchy: Hierarchy, scores: Any) -> int:
    """Count pairs of row and edge in which the child has more than its parent."""
    values = read_matrix(scores, hierarchy.n_outputs, "scores")
    return _violations(hierarchy, values, stop_early=False)


def _violations(hierarchy: Hierarchy, values: Any, *, stop_early: bool) -> int:
    parents, children = hierarchy.edges.T
    if not parents.size:
        return 0
    step = max(1, _BLOCK_ENTRIES // max(parents.size, hierarchy.n_outputs))
    found = 0
    for start in range(0, values.shape[0], step):
        block = values[start : start + step]
        block = block.toarray() if is_sparse(block) else block
        found += int(np.count_nonzero(block[:, children] > block[:, parents]))
        if found and stop_early:
            break
    return found


def nearest_kept(hierarchy: Hierarchy, kept: Ints) -> Ints:
    """Connect every kept label with its nearest kept ancestors.

    Parameters
    ----------
    hierarchy : Hierarchy
    kept : ndarray of int
        Numbers of labels; those of the result are places in this array.
    """
    place = np.full(hierarchy.n_outputs, -1)
    place[kept] = np.arange(kept.size)
    parents: dict[int, list[int]] = {}
    for parent, child in hierarchy.edges.tolist():
        parents.setdefault(child, []).append(parent)
    # For every label, the kept labels that are reached first on the ways upward from it.
    above: dict[int, frozenset[int]] = {}
    for label in np.argsort(hierarchy.depth, kind="stable").tolist():
        found: set[int] = set()
        for parent in parents.get(label, []):
            if place[parent] >= 0:
                found.add(parent)
            else:
                found |= above[parent]
        above[label] = frozenset(found)
    edges = [(int(place[up]), int(place[label])) for label in kept.tolist() for up in above[label]]
    return np.array(edges, dtype=np.int64).reshape(-1, 2)
