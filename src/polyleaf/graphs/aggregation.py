"""How the scores of many graphs are combined: votes, max-marginals or potentials (section 3).

All three take the members' scores of some rows one after the other, so that the outcome of every
prefix of an ensemble is at hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from polyleaf.graphs.label_graph import LabelGraph, Labelling


@dataclass(frozen=True)
class Combination:
    """How many members there are, and how they are combined.

    Attributes
    ----------
    n_members : int
    aggregation : {"mam", "amm", "mve"}
    is_completed : bool
        Whether MAM completes dual variables on the union of the graphs.
    """

    n_members: int = 1
    aggregation: str = "mam"
    is_completed: bool = False


class Outcome(NamedTuple):
    """What is predicted for rows.

    Attributes
    ----------
    labels : ndarray of shape (n_rows, n_labels), int32
        Class positions.
    relative : ndarray of shape (n_rows, sum of n_states - 1), float64
        Scores of every class but the first, less that of the first.
    certified : ndarray of shape (n_rows,), bool
        Whether every labelling that this rests on is proven to be the best of its graph.
    """

    labels: NDArray[np.int32]
    relative: NDArray[np.float64]
    certified: NDArray[np.bool_]


class Consensus:
    """The union of graphs over the same labels.

    Attributes
    ----------
    graph : LabelGraph
        All edges between labels; a label may have none, potentials need no dummy node.
    counts : ndarray of shape (n_edges,), int64
        How many of the graphs have each edge.
    """

    def __init__(self, graphs: tuple[LabelGraph, ...]) -> None:
        n_states = graphs[0].n_states
        pooled = np.concatenate([graph.edges for graph in graphs])
        pooled = np.sort(pooled[(pooled < n_states.size).all(axis=1)], axis=1)
        edges, self.counts = np.unique(pooled, axis=0, return_counts=True)
        edges = np.ascontiguousarray(edges, dtype=np.int32)
        self.graph = LabelGraph(n_states, edges, graphs[0].inference)
        self._keys = edges[:, 0].astype(np.int64) * n_states.size + edges[:, 1]

    def columns_of(self, graph: LabelGraph) -> NDArray[np.int64]:
        """Find the columns of the consensus that a graph's potentials go to."""
        n_labels = self.graph.n_labels
        is_real = (graph.edges < n_labels).all(axis=1)  # a dummy edge has no potentials of pairs
        ends = graph.edges[is_real].astype(np.int64)
        place = np.searchsorted(self._keys, ends[:, 0] * n_labels + ends[:, 1])
        starts, stops = self.graph.edge_offsets[place], self.graph.edge_offsets[place + 1]
        own = np.arange(self.graph.label_offsets[-1])
        return np.concatenate([own, *map(np.arange, starts, stops)])


class Aggregation(Protocol):
    """What the three have in common."""

    def add(self, graph: LabelGraph, scores: NDArray[np.float64]) -> None:
        """Take the scores of the next member, of shape (n_rows, n_parameters)."""

    def outcome(self) -> Outcome:
        """Give the outcome of the members so far."""


class MajorityVotes:
    """MVE: each member votes for its best labelling; relative scores are shares of the votes."""

    def __init__(self, n_states: NDArray[np.int32], n_threads: int = 1) -> None:
        self._n_states, self._n_threads = n_states, n_threads
        self._n_members = 0
        self._votes: NDArray[np.float64] | None = None
        self._certified: NDArray[np.bool_] | bool = True

    def add(self, graph: LabelGraph, scores: NDArray[np.float64]) -> None:
        """Take the scores of the next member."""
        found = graph.infer(graph.potentials(scores), self._n_threads)
        labels = found.labels
        self._certified = found.is_certified & self._certified
        classes = np.concatenate([np.arange(1, n) for n in self._n_states])
        chosen = np.repeat(labels, self._n_states - 1, axis=1)
        votes = (chosen == classes).astype(np.float64) - (chosen == 0)
        self._votes = votes if self._votes is None else self._votes + votes
        self._n_members += 1

    def outcome(self) -> Outcome:
        """Give the outcome of the members so far."""
        assert self._votes is not None
        relative = self._votes / self._n_members
        return _outcome(relative, self._n_states, self._certified)


class AverageMaxMarginals:
    """AMM: the members' max-marginals are averaged (section 3.2)."""

    def __init__(self, n_states: NDArray[np.int32], n_threads: int = 1) -> None:
        self._n_states, self._n_threads = n_states, n_threads
        self._n_members = 0
        self._sum: NDArray[np.float64] | None = None
        self._certified: NDArray[np.bool_] | bool = True

    def add(self, graph: LabelGraph, scores: NDArray[np.float64]) -> None:
        """Take the scores of the next member."""
        found = graph.infer(graph.potentials(scores), self._n_threads)
        marginals = found.max_marginals
        self._sum = marginals if self._sum is None else self._sum + marginals
        self._certified = found.is_certified & self._certified
        self._n_members += 1

    def outcome(self) -> Outcome:
        """Give the outcome of the members so far."""
        assert self._sum is not None
        relative = self._sum / self._n_members
        return _outcome(relative, self._n_states, self._certified)


class AveragePotentials:
    """MAM: inference on the union of all graphs, with averaged potentials (section 3.3).

    An edge that a member lacks counts as 0 there. `consensus` is the union. Where no labelling is
    proven to be the best, that of the averaged max-marginals is one more start of the search.
    """

    def __init__(self, consensus: Consensus, n_threads: int = 1) -> None:
        self._consensus, self._n_threads = consensus, n_threads
        self._marginals = AverageMaxMarginals(consensus.graph.n_states, n_threads)
        self._n_members = 0
        self._sum: NDArray[np.float64] | None = None

    def add(self, graph: LabelGraph, scores: NDArray[np.float64]) -> None:
        """Take the scores of the next member."""
        if self._sum is None:
            self._sum = np.zeros((scores.shape[0], self._consensus.graph.n_parameters))
        self._sum[:, self._consensus.columns_of(graph)] += graph.potentials(scores)
        self._n_members += 1
        if not self._consensus.graph.is_exact:
            self._marginals.add(graph, scores)

    def outcome(self) -> Outcome:
        """Give the outcome of the members so far."""
        assert self._sum is not None
        graph, potentials = self._consensus.graph, self._sum / self._n_members
        found = graph.infer(potentials, self._n_threads)
        rows = unproven_rows(graph, found)
        if rows.size:
            labels = self._marginals.outcome().labels[rows]
            improve_from(graph, potentials, found, rows, labels, self._n_threads)
        return Outcome(found.labels, found.max_marginals, found.is_certified)


def unproven_rows(graph: LabelGraph, found: Labelling) -> NDArray[np.intp]:
    """Find the rows for which another start of the search may find a better labelling."""
    if graph.is_exact or graph.inference != "solve":
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(~found.is_certified)


def improve_from(
    graph: LabelGraph,
    potentials: NDArray[np.float64],
    found: Labelling,
    rows: NDArray[np.intp],
    labels: NDArray[np.int32],
    n_threads: int,
) -> None:
    """Search from `labels`, of shape (rows.size, n_labels), and keep what is better."""
    more = graph.improve(potentials[rows], labels, found.bounds[rows], n_threads)
    found.take_better(rows, more)


def make_aggregation(name: str, consensus: Consensus, n_threads: int = 1) -> Aggregation:
    """Make the aggregation of that name: 'mam', 'amm' or 'mve'."""
    if name == "mam":
        return AveragePotentials(consensus, n_threads)
    cls = MajorityVotes if name == "mve" else AverageMaxMarginals
    return cls(consensus.graph.n_states, n_threads)


def _outcome(
    relative: NDArray[np.float64],
    n_states: NDArray[np.int32],
    certified: NDArray[np.bool_] | bool,
) -> Outcome:
    proven = np.broadcast_to(np.asarray(certified), relative.shape[:1])
    return Outcome(winners(relative, n_states), relative, proven)


def winners(relative: NDArray[np.float64], n_states: NDArray[np.int32]) -> NDArray[np.int32]:
    """Choose the class with the largest relative score, the first if none is positive.

    Parameters
    ----------
    relative : ndarray of shape (n_rows, sum of n_states - 1)
    n_states : ndarray of shape (n_labels,), int32

    Returns
    -------
    ndarray of shape (n_rows, n_labels), int32
    """
    if (n_states == 2).all():
        return (relative > 0.0).astype(np.int32)
    labels = np.zeros((relative.shape[0], n_states.size), dtype=np.int32)
    for j, group in enumerate(np.split(relative, np.cumsum(n_states - 1)[:-1], axis=1)):
        labels[:, j] = np.argmax(np.pad(group, ((0, 0), (1, 0))), axis=1)
    return labels
