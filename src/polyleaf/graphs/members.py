"""Fitted graph classifiers as arrays: graphs over the same labels, and their weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.files.arrays import expect_array, expect_offsets
from polyleaf.graphs.label_graph import LabelGraph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, eq=False)
class GraphMembers:
    """The members of an ensemble; one member for a single classifier.

    Attributes
    ----------
    n_states : ndarray of shape (n_labels,), int32
        Number of classes of each label.
    edge_offsets : ndarray of shape (n_members + 1,), int64
        Member t has the edges edge_offsets[t] up to edge_offsets[t + 1].
    edges : ndarray of shape (n_edges, 2), int32
        See `LabelGraph`.
    parameters : ndarray of shape (n_parameters, n_columns), float64
        One row per score of each member in turn. ``design @ parameters.T`` gives the scores of
        rows, where the design is a `KernelMap`'s.
    dual_gap, objective : ndarray of shape (n_members,), float64
        Certificate of each member: primal less dual objective, and the primal one.
    n_iter : ndarray of shape (n_members,), int64
        Passes over the training rows.
    """

    n_states: NDArray[np.int32]
    edge_offsets: NDArray[np.int64]
    edges: NDArray[np.int32]
    parameters: NDArray[np.float64]
    dual_gap: NDArray[np.float64]
    objective: NDArray[np.float64]
    n_iter: NDArray[np.int64]

    @classmethod
    def collect(
        cls,
        graphs: Sequence[LabelGraph],
        parameters: Sequence[NDArray[np.float64]],
        dual_gap: Sequence[float],
        objective: Sequence[float],
        n_iter: Sequence[int],
    ) -> GraphMembers:
        """Put members together; `parameters` holds one array of shape (q, n_columns) for each."""
        sizes = [graph.edges.shape[0] for graph in graphs]
        return cls(
            graphs[0].n_states,
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([graph.edges for graph in graphs]),
            np.concatenate(parameters),
            np.array(dual_gap, dtype=np.float64),
            np.array(objective, dtype=np.float64),
            np.array(n_iter, dtype=np.int64),
        )

    def extended(self, more: GraphMembers) -> GraphMembers:
        """Give the members of both, these first."""
        return GraphMembers(
            self.n_states,
            np.concatenate([self.edge_offsets, self.edge_offsets[-1] + more.edge_offsets[1:]]),
            np.concatenate([self.edges, more.edges]),
            np.concatenate([self.parameters, more.parameters]),
            np.concatenate([self.dual_gap, more.dual_gap]),
            np.concatenate([self.objective, more.objective]),
            np.concatenate([self.n_iter, more.n_iter]),
        )

    @property
    def n_members(self) -> int:
        """Number of members."""
        return int(self.edge_offsets.size - 1)

    @cached_property
    def graphs(self) -> tuple[LabelGraph, ...]:
        """The graph of each member."""
        starts, stops = self.edge_offsets[:-1].tolist(), self.edge_offsets[1:].tolist()
        return tuple(
            LabelGraph(self.n_states, np.ascontiguousarray(self.edges[a:b]))
            for a, b in zip(starts, stops)
        )

    @cached_property
    def parameter_offsets(self) -> NDArray[np.int64]:
        """Where the parameters of each member begin, of shape (n_members + 1,)."""
        return np.concatenate([[0], np.cumsum([graph.n_parameters for graph in self.graphs])])

    def parameters_of(self, member: int) -> NDArray[np.float64]:
        """Give the parameters of one member, of shape (n_parameters, n_columns)."""
        start, stop = self.parameter_offsets[member : member + 2]
        return self.parameters[start:stop]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Name the arrays, for a model file."""
        return {
            "n_states": self.n_states,
            "edge_offsets": self.edge_offsets,
            "edges": self.edges,
            "parameters": self.parameters,
            "dual_gap": self.dual_gap,
            "objective": self.objective,
            "n_iter": self.n_iter,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> GraphMembers:
        """Rebuild and check members from named arrays.

        Raises
        ------
        ValueError
            If anything is absent, of another type or shape, or out of range.
        """
        n_states = expect_array(arrays, "n_states", np.int32, 1)
        edge_offsets = expect_array(arrays, "edge_offsets", np.int64, 1)
        edges = expect_array(arrays, "edges", np.int32, 2)
        parameters = expect_array(arrays, "parameters", np.float64, 2)
        dual_gap = expect_array(arrays, "dual_gap", np.float64, 1)
        objective = expect_array(arrays, "objective", np.float64, 1)
        n_iter = expect_array(arrays, "n_iter", np.int64, 1)
        if edge_offsets.size < 2 or edges.shape[1] != 2 or not (edges[:, 0] < edges[:, 1]).all():
            raise ValueError("Expected at least one member, and edges of ascending labels.")
        members = cls(n_states, edge_offsets, edges, parameters, dual_gap, objective, n_iter)
        expect_offsets(edge_offsets, members.n_members, edges.shape[0], "edge_offsets", least=0)
        if any(each.size != members.n_members for each in (dual_gap, objective, n_iter)):
            raise ValueError("Expected one gap, objective and count of passes per member.")
        if parameters.shape[0] != members.parameter_offsets[-1]:
            raise ValueError("Expected the parameters to fit the graphs.")
        if not all(np.isfinite(array).all() for array in (parameters, dual_gap, objective)):
            raise ValueError("Expected finite parameters, gaps and objectives.")
        return members

    def __getstate__(self) -> dict[str, Any]:
        return self.to_arrays()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
