"""Graphs over labels: how a labelling is scored, and how the best one is found.

A model scores a labelling y of a row x by a sum over edges, psi(x, y) = sum_e psi_e(x, y_e)
(Su and Rousu 2013, eq. 1). The numbers of one row come in three forms, of which the core takes the
first and the third:

- *scores*: the parameters of tables psi_e that are consistent, as kernel sums of dual variables
  are: per label the sums psi_j(u) for every class u but the first, shared by all its edges, then
  per edge psi_e(u, v) for every pair of classes but the first;
- *tables*: psi_e(u, v) for all pairs of classes of an edge;
- *potentials*: psi(x, y) less the score of the labelling of first classes, as a sum of numbers of
  labels and of pairs, in the layout of scores.

Relative scores are those of each class of each label but the first, less that of the first; the
class with the largest wins, the first if none is positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core

if TYPE_CHECKING:
    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Labelling:
    """The best labelling that was found of each row.

    Attributes
    ----------
    labels : ndarray of shape (n_rows, n_labels), int32
    max_marginals : ndarray of shape (n_rows, sum of n_states - 1), float64
        Of each class but the first, less that of the first (eq. 7): the best score of a labelling
        that has it, less the best of one that has the first. Exact where inference is; else the
        best that a local search finds with the class held.
    scores, bounds : ndarray of shape (n_rows,), float64
        The score of the labelling, and one that no labelling exceeds.
    """

    labels: NDArray[np.int32]
    max_marginals: NDArray[np.float64]
    scores: NDArray[np.float64]
    bounds: NDArray[np.float64]

    @property
    def is_certified(self) -> NDArray[np.bool_]:
        """Whether the labelling is proven to be the best, up to rounding."""
        certified: NDArray[np.bool_] = self.bounds <= self.scores
        return certified

    def take_better(self, rows: NDArray[np.intp], other: Labelling) -> None:
        """Replace those of some rows that another search has found a better labelling of."""
        better = other.scores > self.scores[rows]
        chosen = rows[better]
        self.labels[chosen] = other.labels[better]
        self.max_marginals[chosen] = other.max_marginals[better]
        self.scores[chosen] = other.scores[better]
        self.bounds[chosen] = other.bounds[better]


@dataclass(frozen=True, eq=False)
class LabelGraph:
    """Labels and the edges between them.

    Attributes
    ----------
    n_states : ndarray of shape (n_labels,), int32
        Number of classes of each label.
    edges : ndarray of shape (n_edges, 2), int32
        Pairs of labels; n_labels stands for a dummy node with one state, see `joined`.
    inference : {"solve", "loopy"}
        How labellings are found in a graph with cycles; "loopy" is for model files of the first
        format, which go on to predict what they did.
    """

    n_states: NDArray[np.int32]
    edges: NDArray[np.int32]
    inference: str = "solve"

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

    def turn(self, scores: NDArray[np.float64], turned: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Exchange the two classes of some labels.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_parameters)
            Or dual variables, which are consistent in the same way.
        turned : ndarray of shape (n_labels,), bool
            Only labels of two classes.

        Returns
        -------
        ndarray of shape (n_rows, n_parameters)
        """
        result = scores.copy()
        result[:, self.label_offsets[:-1][turned]] *= -1.0
        ends = np.append(turned, False)[self.edges]
        has_pairs = np.diff(self.edge_offsets) > 0
        for edge in np.flatnonzero(ends.any(axis=1) & has_pairs):
            n_first, n_second = self._edge_states[edge]
            place = self._local_parameters(np.array([edge]), n_first, n_second)[0]
            of_first, of_second, pairs = np.split(place, [n_first - 1, n_first + n_second - 2])
            table = result[:, pairs].reshape(-1, n_first - 1, n_second - 1)
            # A column of pairs adds up to the score of its label over the classes of the other.
            if ends[edge, 0]:
                table = scores[:, None, of_second] - table
            if ends[edge, 1]:
                table = result[:, of_first, None] - table
            result[:, pairs] = table.reshape(result.shape[0], -1)
        return result

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
        """Share the edge scores of a labelling among its labels (Su and Rousu 2013, section 3.4).

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

    def infer(self, potentials: NDArray[np.float64], n_threads: int = 1) -> Labelling:
        """Find the best labelling of each row, its max-marginals and a bound of all scores.

        Exact without cycles and with few labels; else by tree-reweighted message passing and local
        searches. See inference.hpp.

        Parameters
        ----------
        potentials : ndarray of shape (n_rows, n_parameters)
        n_threads : int
        """
        n_rows = potentials.shape[0]
        return self._infer(
            potentials,
            np.empty((n_rows, self.n_nodes), dtype=np.int32),
            np.empty(n_rows),
            way=self.inference,
            n_threads=n_threads,
        )

    def improve(
        self,
        potentials: NDArray[np.float64],
        labels: NDArray[np.int32],
        bounds: NDArray[np.float64],
        n_threads: int = 1,
    ) -> Labelling:
        """Search from labellings, of shape (n_rows, n_labels), with bounds that are known."""
        padding = ((0, 0), (0, self.n_nodes - self.n_labels))
        start = np.ascontiguousarray(np.pad(labels, padding), dtype=np.int32)
        return self._infer(potentials, start, bounds.copy(), way="improve", n_threads=n_threads)

    def _infer(
        self,
        potentials: NDArray[np.float64],
        labels: NDArray[np.int32],
        bounds: NDArray[np.float64],
        *,
        way: str,
        n_threads: int,
    ) -> Labelling:
        n_rows = potentials.shape[0]
        max_marginals = np.empty((n_rows, int(self.label_offsets[-1])))
        scores = np.empty(n_rows)
        self.core.infer(
            np.ascontiguousarray(potentials, dtype=np.float64),
            labels,
            max_marginals,
            scores,
            bounds,
            self.max_sweeps,
            way,
            n_threads,
        )
        return Labelling(labels[:, : self.n_labels], max_marginals, scores, bounds)

    def max_product(
        self, potentials: NDArray[np.float64], n_threads: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Give the labels and the max-marginals of `infer`."""
        found = self.infer(potentials, n_threads)
        return found.labels, found.max_marginals

    @property
    def is_exact(self) -> bool:
        """Whether the best labelling is always found: no cycles, or few labels."""
        return self.core.is_exact

    @cached_property
    def max_sweeps(self) -> int:
        """Sweeps of message passing: 1 without cycles, else the diameter."""
        return 1 if self.is_forest else self.core.diameter()

    def __getstate__(self) -> dict[str, Any]:
        return {"n_states": self.n_states, "edges": self.edges, "inference": self.inference}

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
