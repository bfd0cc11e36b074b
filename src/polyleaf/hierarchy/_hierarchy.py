"""A hierarchy over outputs: who lies below whom, how deep, and how much each label counts.

A row that has a label has all its ancestors, too (Vens et al. 2008). A label at depth k weighs
w0^k in the choice of splits; in a directed acyclic graph it weighs w0 times the mean of what its
parents weigh.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.matrices import is_sparse
from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.hierarchy import _closing

Ints = NDArray[np.int64]

#: A damaged or hostile description must not make us allocate more than this.
_MOST_OUTPUTS = 2**27


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """A tree, forest or directed acyclic graph over outputs.

    Parameters
    ----------
    edges : array-like of shape (m, 2), int
        Pairs of parent and child, as numbers of outputs. Edges that are given twice count once.
    n_outputs : int
        d.
    names : sequence of str, of length d, optional
        Names of the outputs, all different.
    w0 : float, default=0.75
        What a label weighs in the choice of splits, relative to its parents: a number in (0, 1].

    Attributes
    ----------
    edges : ndarray of shape (m, 2), int64
        Pairs of parent and child, sorted, each once.
    depth : ndarray of shape (d,), int64
        Edges on the longest way from a root; 0 for roots.
    n_outputs : int
    names : tuple of str, or None
    w0 : float

    See Also
    --------
    polyleaf.hierarchy.as_hierarchy : from parent arrays, edge lists, paths and networkx graphs.
    polyleaf.datasets.read_obo, polyleaf.datasets.read_edges : from files.

    Examples
    --------
    >>> from polyleaf.hierarchy import Hierarchy
    >>> animals = Hierarchy([(0, 1), (0, 2)], 3, names=["animal", "cat", "dog"])
    >>> animals
    Hierarchy(3 labels, 2 edges, depth 1: a tree)
    >>> animals.depth
    array([0, 1, 1])
    >>> animals.close([[0, 1, 0], [0, 0, 0]])  # a cat is an animal
    array([[1, 1, 0],
           [0, 0, 0]])
    >>> animals.weights
    array([1.  , 0.75, 0.75])
    """

    edges: Ints
    n_outputs: int
    names: tuple[str, ...] | None = None
    w0: float = 0.75
    depth: Ints = field(init=False)

    def __post_init__(self) -> None:
        n_outputs = read_count(self.n_outputs)
        edges = _checked_edges(self.edges, n_outputs)
        found: dict[str, Any] = {
            "n_outputs": n_outputs,
            "edges": edges,
            "names": _checked_names(self.names, n_outputs),
            "w0": _checked_w0(self.w0),
        }
        found["depth"] = _longest_ways(edges, n_outputs, found["names"])
        for array in (edges, found["depth"]):
            array.flags.writeable = False
        for name, value in found.items():
            object.__setattr__(self, name, value)

    # What it is like ---------------------------------------------------------------------------

    @property
    def is_tree(self) -> bool:
        """Whether no label has two parents."""
        return np.unique(self.edges[:, 1]).size == len(self.edges)

    @property
    def roots(self) -> Ints:
        """Labels without parents."""
        return np.setdiff1d(np.arange(self.n_outputs), self.edges[:, 1])

    @property
    def leaves(self) -> Ints:
        """Labels without children."""
        return np.setdiff1d(np.arange(self.n_outputs), self.edges[:, 0])

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """What every label weighs in the choice of splits, of shape (d,); 1 for roots."""
        weights = np.ones(self.n_outputs)
        n_parents = np.bincount(self.edges[:, 1], minlength=self.n_outputs)
        for _, edges in _closing.levels(self, upward=False):
            sums = np.bincount(edges[:, 1], weights[edges[:, 0]], minlength=self.n_outputs)
            children = np.unique(edges[:, 1])
            weights[children] = self.w0 * sums[children] / n_parents[children]
        return weights

    def parents(self, label: int | str) -> Ints:
        """Give the labels right above one, by number."""
        return np.asarray(self.edges[self.edges[:, 1] == self._number(label), 0])

    def children(self, label: int | str) -> Ints:
        """Give the labels right below one, by number."""
        return np.asarray(self.edges[self.edges[:, 0] == self._number(label), 1])

    def ancestors(self, label: int | str) -> Ints:
        """Give all labels above one, by number, ascending."""
        return self._reached(self._number(label), self.edges)

    def descendants(self, label: int | str) -> Ints:
        """Give all labels below one, by number, ascending."""
        return self._reached(self._number(label), self.edges[:, ::-1])

    def _reached(self, start: int, edges: Ints) -> Ints:
        """Follow edges from their second to their first end."""
        seen = np.zeros(self.n_outputs, dtype=np.bool_)
        new = np.array([start])
        steps = _step_matrix(edges, self.n_outputs)
        while new.size:
            ends = np.unique(steps[new].indices)
            new = ends[~seen[ends]]
            seen[new] = True
        return np.flatnonzero(seen)

    def _number(self, label: Any) -> int:
        if isinstance(label, str):
            return int(numbers_of([label], self.names, "label")[0])
        is_number = isinstance(label, int | np.integer) and not isinstance(label, bool)
        if not is_number or not 0 <= label < self.n_outputs:
            raise ValueError(
                f"label must be a name or a number from 0 to {self.n_outputs - 1}; got "
                f"{shown(label, 60)}."
            )
        return int(label)

    # What it asks of labels and scores ---------------------------------------------------------

    def close(self, Y: Any) -> Any:
        """Give every row the ancestors of its labels.

        What follows is filled in where a dense Y has NaN: 1 for an ancestor of a label that a
        row has, 0 for a descendant of one that it does not have.

        Parameters
        ----------
        Y : array-like or sparse matrix of shape (n, d)
            0 and 1; NaN is not observed.

        Returns
        -------
        ndarray or csr_array of shape (n, d)
            In the dtype of Y.
        """
        return _closing.close_labels(self, Y)

    def is_closed(self, Y: Any) -> bool:
        """Tell whether no row has a label without its observed ancestors.

        Parameters
        ----------
        Y : array-like or sparse matrix of shape (n, d)
            0 and 1; NaN is not observed.
        """
        return self.n_violations(Y) == 0

    def n_violations(self, scores: Any) -> int:
        """Count rows and edges in which a child has more than its parent.

        Parameters
        ----------
        scores : array-like or sparse matrix of shape (n, d)
            Scores, probabilities or labels; NaN is not compared.
        """
        return _closing.count_violations(self, scores)

    def raise_ancestors(self, scores: Any) -> Any:
        """Give every label the largest score among itself and its descendants.

        No child then outscores its parent, and scores that respect the hierarchy stay as they
        are.

        Parameters
        ----------
        scores : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray or csr_array of shape (n, d)
            The scores themselves if nothing changes.

        Examples
        --------
        >>> from polyleaf.hierarchy import Hierarchy
        >>> Hierarchy([(0, 1), (1, 2)], 3).raise_ancestors([[0.5, 0.2, 0.3]])
        array([[0.5, 0.3, 0.3]])
        """
        return _closing.raise_ancestors(self, scores)

    # Other forms -------------------------------------------------------------------------------

    def with_w0(self, w0: float) -> Hierarchy:
        """Give the same hierarchy with other weights of labels.

        Parameters
        ----------
        w0 : float
            A number in (0, 1]; 1: all labels count alike.
        """
        return replace(self, w0=w0)

    def restrict(self, names: Sequence[str]) -> Hierarchy:
        """Give the hierarchy over some of the labels, in the order given.

        What lies between two of them is passed over: an ancestor stays an ancestor.

        Parameters
        ----------
        names : sequence of str
            Of labels of this hierarchy.

        Examples
        --------
        >>> from polyleaf.hierarchy import Hierarchy
        >>> line = Hierarchy([(0, 1), (1, 2)], 3, names=["animal", "cat", "lion"])
        >>> line.restrict(["lion", "animal"]).edges
        array([[1, 0]])
        """
        names = read_names(names)
        kept = numbers_of(names, self.names, "names")
        if kept.size == self.n_outputs:
            place = np.argsort(kept)
            return Hierarchy(place[self.edges], self.n_outputs, names, self.w0)
        edges = _closing.nearest_kept(self, kept)
        return Hierarchy(edges, kept.size, names, self.w0)

    def to_networkx(self) -> Any:
        """Give a networkx.DiGraph with edges from parent to child; nodes are names or numbers."""
        from polyleaf.checks.optional import require

        graph = require("networkx", "graphs of hierarchies").DiGraph()
        nodes: Sequence[Any] = range(self.n_outputs) if self.names is None else self.names
        graph.add_nodes_from(nodes)
        graph.add_edges_from((nodes[a], nodes[b]) for a, b in self.edges.tolist())
        return graph

    def to_json(self) -> dict[str, Any]:
        """Describe the hierarchy by JSON types."""
        return {
            "edges": self.edges.tolist(),
            "n_outputs": self.n_outputs,
            "names": None if self.names is None else list(self.names),
            "w0": self.w0,
        }

    @classmethod
    def from_json(cls, stored: Any) -> Hierarchy:
        """Undo `to_json`.

        Raises
        ------
        ValueError
            If it was not written so.
        """
        keys = {"edges", "n_outputs", "names", "w0"}
        if not isinstance(stored, Mapping) or set(stored) != keys:
            raise ValueError(f"Expected a hierarchy with the keys {sorted(keys)}.")
        edges, names = stored["edges"], stored["names"]
        are_pairs = isinstance(edges, list) and all(
            isinstance(edge, list) and len(edge) == 2 and all(type(end) is int for end in edge)
            for edge in edges
        )
        if not are_pairs or not (names is None or isinstance(names, list)):
            raise ValueError("Expected a hierarchy as pairs of numbers.")
        names = None if names is None else tuple(names)
        return cls(np.array(edges).reshape(-1, 2), stored["n_outputs"], names, stored["w0"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.n_outputs, self.edges.tobytes(), self.names, self.w0))

    def __repr__(self) -> str:
        kind = "a tree" if self.is_tree else "a graph"
        facts = f"{self.n_outputs} labels, {len(self.edges)} edges, depth {self.depth.max()}"
        return f"Hierarchy({facts}: {kind})"


def numbers_of(wanted: Any, names: tuple[str, ...] | None, what: str) -> Ints:
    """Find the numbers of named labels.

    Raises
    ------
    ValueError
        If there are no names, or a name is unknown or comes twice.
    """
    if names is None:
        raise ValueError(f"{what} must be numbers, because the labels have no names.")
    place = {name: number for number, name in enumerate(names)}
    found = []
    for name in wanted:
        if str(name) not in place:
            raise ValueError(
                f"{what} must be labels of the hierarchy; it has no {str(name)!r:.60}."
                f"{did_you_mean(name, names[:5000])}"
            )
        found.append(place[str(name)])
    if len(set(found)) < len(found):
        raise ValueError(f"{what} must be different labels; got one twice.")
    return np.array(found, dtype=np.int64)


def read_count(n_outputs: Any) -> int:
    """Read a number of outputs, or raise a ValueError."""
    is_count = isinstance(n_outputs, int | np.integer) and not isinstance(n_outputs, bool)
    if not is_count or not 1 <= n_outputs <= _MOST_OUTPUTS:
        raise ValueError(
            f"n_outputs of a hierarchy must be an integer >= 1; got {shown(n_outputs, 60)}."
        )
    return int(n_outputs)


def _checked_w0(w0: Any) -> float:
    if not isinstance(w0, Real) or isinstance(w0, bool) or not 0 < float(w0) <= 1:
        raise ValueError(f"w0 of a hierarchy must be a number in (0, 1]; got {shown(w0, 60)}.")
    return float(w0)


def read_names(names: Any) -> tuple[str, ...]:
    """Read a list of names.

    Raises
    ------
    TypeError
        If it is none.
    """
    if isinstance(names, str) or is_sparse(names) or not hasattr(names, "__iter__"):
        raise TypeError(f"names of a hierarchy must be a list of names; got {shown(names, 60)}.")
    return tuple(str(name) for name in names)


def _checked_names(names: Any, n_outputs: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    given = read_names(names)
    if len(given) != n_outputs or len(set(given)) != n_outputs:
        raise ValueError(
            f"names of a hierarchy must be {n_outputs} different names; got {len(given)}, "
            f"{len(set(given))} of them different."
        )
    return given


def _checked_edges(edges: Any, n_outputs: int) -> Ints:
    try:
        array = np.asarray(edges)
    except ValueError as error:
        raise ValueError("edges of a hierarchy must be pairs of numbers of outputs.") from error
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise ValueError(
            "edges of a hierarchy must be pairs of numbers of outputs, parent first; got "
            f"{array.dtype} of shape {array.shape}."
        )
    if array.min() < 0 or array.max() >= n_outputs:
        wrong = array[((array < 0) | (array >= n_outputs)).any(axis=1)][0].tolist()
        raise ValueError(
            f"edges of a hierarchy over {n_outputs} outputs must have ends from 0 to "
            f"{n_outputs - 1}; got {tuple(wrong)}."
        )
    loops = array[array[:, 0] == array[:, 1]]
    if loops.size:
        raise ValueError(
            f"A label cannot be its own parent in a hierarchy; label {int(loops[0, 0])} is. "
            "Drop that edge."
        )
    return np.unique(array.astype(np.int64), axis=0)


def _longest_ways(edges: Ints, n_outputs: int, names: tuple[str, ...] | None) -> Ints:
    """Find the depth of every label; a ValueError names a cycle."""
    depth = np.zeros(n_outputs, dtype=np.int64)
    waiting = np.bincount(edges[:, 1], minlength=n_outputs)
    steps = _step_matrix(edges[:, ::-1], n_outputs)
    ready, level = np.flatnonzero(waiting == 0), 0
    n_done = 0
    while ready.size:
        depth[ready] = level
        n_done += ready.size
        below = steps[ready].indices
        np.subtract.at(waiting, below, 1)
        below = np.unique(below)
        ready, level = below[waiting[below] == 0], level + 1
    if n_done < n_outputs:
        cycle = _one_cycle(edges, waiting > 0)
        shown = [str(j) if names is None else names[j] for j in cycle[:6]]
        more = " -> ..." if len(cycle) > 6 else ""
        raise ValueError(
            "A hierarchy must have no cycles; got one: " + " -> ".join(shown) + more + "."
        )
    return depth


def _one_cycle(edges: Ints, is_left: NDArray[np.bool_]) -> list[int]:
    """Walk upward among labels that all have a parent among them, until one comes again."""
    above = {
        int(child): int(parent) for parent, child in edges if is_left[parent] and is_left[child]
    }
    seen: dict[int, int] = {}
    at = int(np.flatnonzero(is_left)[0])
    way: list[int] = []
    while at not in seen:
        seen[at] = len(way)
        way.append(at)
        at = above[at]
    cycle = way[seen[at] :][::-1]
    return [cycle[-1], *cycle]


def _step_matrix(edges: Ints, n_outputs: int) -> Any:
    """Give a matrix with a row for the second end of every edge, a column for the first."""
    ones = np.ones(len(edges), dtype=np.int8)
    return sparse.csr_array((ones, (edges[:, 1], edges[:, 0])), shape=(n_outputs, n_outputs))
