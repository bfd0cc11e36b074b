"""Graphs over labels: how a labelling is scored, and how the scores of many graphs are combined.

A model scores a labelling y of a row x by a sum over edges, psi(x, y) = sum_e psi_e(x, y_e)
(paper 003, eq. 1). The numbers of one row come in three forms, of which the core takes the first
and the third:

- *scores*: the parameters of tables psi_e that are consistent, as kernel sums of dual variables
  are: per label the sums psi_j(u) for every class u but the first, shared by all its edges, then
  per edge psi_e(u, v) for every pair of classes but the first;
- *tables*: psi_e(u, v) for all pairs of classes of an edge;
- *potentials*: psi(x, y) less the score of the labelling of first classes, as a sum of numbers of
  labels and of pairs, in the layout of scores.

An ensemble is combined by votes, max-marginals or potentials (section 3). All three take the
members' scores of some rows one after the other, so that the outcome of every prefix of an
ensemble is at hand. Relative scores are those of each class of each label but the first, less
that of the first; the class with the largest wins, the first if none is positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core

if TYPE_CHECKING:
    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]


@dataclass(frozen=True, eq=False)
class LabelGraph:
    """Labels and the edges between them.

    Attributes
    ----------
    n_states : ndarray of shape (n_labels,), int32
        Number of classes of each label.
    edges : ndarray of shape (n_edges, 2), int32
        Pairs of labels; n_labels stands for a dummy node with one state, see `joined`.
    """

    n_states: NDArray[np.int32]
    edges: NDArray[np.int32]

    @classmethod
    def joined(cls, n_states: NDArray[np.int32], edges: NDArray[np.int32]) -> LabelGraph:
        """Make a graph in which labels without neighbours are joined to a dummy node.

        An edge to a node with one state gives a label a potential of its own, so that a single
        label is learnt, too.
        """
        alone = np.setdiff1d(np.arange(n_states.size), edges)
        dummy = np.full(alone.size, n_states.size)
        extra = np.column_stack([alone, dummy]).astype(np.int32)
        return cls(n_states, np.ascontiguousarray(np.concatenate([edges, extra])))

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.n_states.size)

    @cached_property
    def core(self) -> _core.LabelGraph:
        """The checked graph of the core, with the dummy node as its last.

        Raises
        ------
        ValueError
            If an end is out of range, or an edge is a loop or given twice.
        """
        with_dummy = np.append(self.n_states, np.int32(1)).astype(np.int32)
        return _core.LabelGraph(with_dummy if self._has_dummy else self.n_states, self.edges)

    @property
    def _has_dummy(self) -> bool:
        return bool((self.edges == self.n_labels).any())

    @property
    def n_nodes(self) -> int:
        """Number of labels, and the dummy node if there is one."""
        return self.n_labels + self._has_dummy

    @property
    def n_parameters(self) -> int:
        """Number of scores of a row."""
        return self.core.n_parameters

    @property
    def is_forest(self) -> bool:
        """Whether there are no cycles, so that inference is exact."""
        return self.core.is_forest

    @cached_property
    def label_offsets(self) -> NDArray[np.int64]:
        """Where the scores of each label begin, of shape (n_labels + 1,)."""
        return np.concatenate([[0], np.cumsum(self.n_states - 1)])

    @cached_property
    def _edge_states(self) -> NDArray[np.int64]:
        """Number of states of both ends of each edge, of shape (n_edges, 2)."""
        return np.append(self.n_states, 1).astype(np.int64)[self.edges]

    @cached_property
    def edge_offsets(self) -> NDArray[np.int64]:
        """Where the scores of each edge begin, of shape (n_edges + 1,)."""
        widths = (self._edge_states - 1).prod(axis=1)
        return np.cumsum(np.concatenate([self.label_offsets[-1:], widths]))

    @cached_property
    def table_offsets(self) -> NDArray[np.int64]:
        """Where the table of each edge begins, of shape (n_edges + 1,)."""
        return np.concatenate([[0], np.cumsum(self._edge_states.prod(axis=1))])

    @cached_property
    def expansion(self) -> CSR:
        """Map from scores to tables, of shape (n_parameters, table_size)."""
        rows, columns, values = [], [], []
        shapes, group = np.unique(self._edge_states, axis=0, return_inverse=True)
        for g, (n_first, n_second) in enumerate(shapes.tolist()):
            edges = np.flatnonzero(group.reshape(-1) == g)
            local, cell, value = _expand(n_first, n_second)
            rows.append(self._local_parameters(edges, n_first, n_second)[:, local])
            columns.append(self.table_offsets[edges, None] + cell)
            values.append(np.broadcast_to(value, columns[-1].shape))
        shape = (self.n_parameters, int(self.table_offsets[-1]))
        if not rows:
            return sparse.csr_array(shape)
        places = (_flat(rows), _flat(columns))
        return sparse.coo_array((_flat(values), places), shape=shape).tocsr()

    def potentials(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn scores into potentials, both of shape (n_rows, n_parameters).

        What takes tables to potentials is the transpose of what expands scores to tables.
        """
        potentials: NDArray[np.float64] = (scores @ self.expansion) @ self.expansion.T
        return potentials

    def _local_parameters(
        self, edges: NDArray[np.intp], n_first: int, n_second: int
    ) -> NDArray[np.int64]:
        """Positions of the scores that tables are made of: first end, second end, pairs.

        Parameters
        ----------
        edges : ndarray of shape (m,)
            Edges whose ends have `n_first` and `n_second` states.

        Returns
        -------
        ndarray of shape (m, n_first * n_second - 1)
        """
        ends = self.edges[edges]
        starts = np.append(self.label_offsets[:-1], self.label_offsets[-1])  # with the dummy node
        return np.concatenate(
            [
                starts[ends[:, :1]] + np.arange(n_first - 1),
                starts[ends[:, 1:]] + np.arange(n_second - 1),
                self.edge_offsets[edges, None] + np.arange((n_first - 1) * (n_second - 1)),
            ],
            axis=1,
        )

    def edge_scores(
        self, scores: NDArray[np.float64], labels: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Score each edge of a labelling: psi_e(x_i, y_ie).

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_parameters)
        labels : ndarray of shape (n_rows, n_labels), int32

        Returns
        -------
        ndarray of shape (n_rows, n_edges)
        """
        padded = np.concatenate([labels, np.zeros((labels.shape[0], 1), np.int32)], axis=1)
        first, second = padded[:, self.edges[:, 0]], padded[:, self.edges[:, 1]]
        cells = self.table_offsets[:-1] + first * self._edge_states[:, 1] + second
        tables = scores @ self.expansion
        return np.take_along_axis(tables, cells, axis=1)

    def label_scores(
        self, scores: NDArray[np.float64], labels: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Share the edge scores of a labelling among its labels (paper 003, section 3.4).

        Each end of an edge gets half; a label that is joined to the dummy node gets all.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)
            Adds up to psi(x_i, y_i) over the labels.
        """
        by_edge = self.edge_scores(scores, labels)
        share = np.where((self.edges == self.n_labels).any(axis=1), 1.0, 0.5)
        incidence = np.zeros((self.edges.shape[0], self.n_labels + 1))
        np.add.at(incidence, (np.arange(self.edges.shape[0])[:, None], self.edges), share[:, None])
        return by_edge @ incidence[:, :-1]

    def max_product(
        self, potentials: NDArray[np.float64], n_threads: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Find the best labelling of each row, and its max-marginals.

        Exact without cycles; with cycles by loopy max-product with at most as many sweeps as the
        graph's diameter, and a local search from what it finds.

        Parameters
        ----------
        potentials : ndarray of shape (n_rows, n_parameters)
        n_threads : int

        Returns
        -------
        labels : ndarray of shape (n_rows, n_labels), int32
        max_marginals : ndarray of shape (n_rows, label_offsets[-1])
            Of each class but the first, less that of the first (eq. 7).
        """
        n_rows = potentials.shape[0]
        labels = np.empty((n_rows, self.n_nodes), dtype=np.int32)
        max_marginals = np.empty((n_rows, int(self.label_offsets[-1])))
        contiguous = np.ascontiguousarray(potentials, dtype=np.float64)
        self.core.max_product(contiguous, labels, max_marginals, self.max_sweeps, n_threads)
        return labels[:, : self.n_labels], max_marginals

    @cached_property
    def max_sweeps(self) -> int:
        """Sweeps of message passing: 1 without cycles, else the diameter."""
        return 1 if self.is_forest else self.core.diameter()

    def __getstate__(self) -> dict[str, Any]:
        return {"n_states": self.n_states, "edges": self.edges}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


@cache
def _expand(
    n_first: int, n_second: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Map the parameters of one edge to its table: positions of both, and the coefficients.

    The table's sums over one end are the parameters of the other, and it adds up to 0.
    """
    u, v = np.arange(1, n_first), np.arange(1, n_second)
    pair_u, pair_v = np.repeat(u, v.size), np.tile(v, u.size)
    of_u, of_v = u - 1, u.size + v - 1
    of_pair = u.size + v.size + np.arange(pair_u.size)
    zero = np.zeros_like
    entries = [
        (of_u, u * n_second, 1.0),
        (of_u, zero(u), -1.0),
        (of_v, v, 1.0),
        (of_v, zero(v), -1.0),
        (of_pair, pair_u * n_second + pair_v, 1.0),
        (of_pair, pair_u * n_second, -1.0),
        (of_pair, pair_v, -1.0),
        (of_pair, zero(pair_u), 1.0),
    ]
    local, cell = (np.concatenate([entry[k] for entry in entries]) for k in (0, 1))
    return local, cell, np.concatenate([np.full(at.size, value) for at, _, value in entries])


def _flat(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([array.reshape(-1) for array in arrays])


# Many graphs -----------------------------------------------------------------------------------


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
