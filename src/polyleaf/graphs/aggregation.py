"""Combine the members of a graph ensemble: votes, max-marginals or potentials (paper 003, sec. 3).

All three take the members' scores of some rows one after the other, so that the outcome of every
prefix of an ensemble is at hand. Relative scores are those of each class of each label but the
first, less that of the first; the class with the largest wins, the first if none is positive.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polyleaf.graphs.label_graph import LabelGraph


class Aggregation(Protocol):
    """What the three have in common."""

    def add(self, graph: LabelGraph, scores: NDArray[np.float64]) -> None:
        """Take the scores of the next member, of shape (n_rows, n_parameters)."""

    def outcome(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Give labels (n_rows, n_labels) and relative scores of the members so far."""


class MajorityVotes:
    """MVE: each member votes for its best labelling; relative scores are shares of the votes."""

    def __init__(self, n_states: NDArray[np.int32], n_threads: int = 1) -> None:
        self._n_states, self._n_threads = n_states, n_threads
        self._n_members = 0
        self._votes: NDArray[np.float64] | None = None

    def add(self, graph: LabelGraph, scores: NDArray[np.float64]) -> None:
        """Take the scores of the next member."""
        labels, _ = graph.max_product(graph.potentials(scores), self._n_threads)
        classes = np.concatenate([np.arange(1, n) for n in self._n_states])
        chosen = np.repeat(labels, self._n_states - 1, axis=1)
        votes = (chosen == classes).astype(np.float64) - (chosen == 0)
        self._votes = votes if self._votes is None else self._votes + votes
        self._n_members += 1

    def outcome(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Give labels and relative scores of the members so far."""
        assert self._votes is not None
        relative = self._votes / self._n_members
        return winners(relative, self._n_states), relative


class AverageMaxMarginals:
    """AMM: the members' max-marginals are averaged (section 3.2)."""

    def __init__(self, n_states: NDArray[np.int32], n_threads: int = 1) -> None:
        self._n_states, self._n_threads = n_states, n_threads
        self._n_members = 0
        self._sum: NDArray[np.float64] | None = None

    def add(self, graph: LabelGraph, scores: NDArray[np.float64]) -> None:
        """Take the scores of the next member."""
        _, marginals = graph.max_product(graph.potentials(scores), self._n_threads)
        self._sum = marginals if self._sum is None else self._sum + marginals
        self._n_members += 1

    def outcome(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Give labels and relative scores of the members so far."""
        assert self._sum is not None
        relative = self._sum / self._n_members
        return winners(relative, self._n_states), relative


class AveragePotentials:
    """MAM: inference on the union of all graphs, with averaged potentials (section 3.3).

    An edge that a member lacks counts as 0 there. `consensus` is the union.
    """

    def __init__(self, consensus: Consensus, n_threads: int = 1) -> None:
        self._consensus, self._n_threads = consensus, n_threads
        self._n_members = 0
        self._sum: NDArray[np.float64] | None = None

    def add(self, graph: LabelGraph, scores: NDArray[np.float64]) -> None:
        """Take the scores of the next member."""
        if self._sum is None:
            self._sum = np.zeros((scores.shape[0], self._consensus.graph.n_parameters))
        self._sum[:, self._consensus.columns_of(graph)] += graph.potentials(scores)
        self._n_members += 1

    def outcome(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Give labels and relative scores of the members so far."""
        assert self._sum is not None
        return self._consensus.graph.max_product(self._sum / self._n_members, self._n_threads)


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
        self.graph = LabelGraph(n_states, np.ascontiguousarray(edges, dtype=np.int32))
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


def make_aggregation(name: str, consensus: Consensus, n_threads: int = 1) -> Aggregation:
    """Make the aggregation of that name: 'mam', 'amm' or 'mve'."""
    if name == "mam":
        return AveragePotentials(consensus, n_threads)
    cls = MajorityVotes if name == "mve" else AverageMaxMarginals
    return cls(consensus.graph.n_states, n_threads)


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
