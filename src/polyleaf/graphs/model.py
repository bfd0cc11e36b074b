"""A fitted graph classifier or ensemble: its arrays, and the way from rows of X to labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.files.arrays import StoredArray, StoredArrays, expect_offsets
from polyleaf.graphs.aggregation import (
    Aggregation,
    AverageMaxMarginals,
    Consensus,
    Outcome,
    improve_from,
    make_aggregation,
    unproven_rows,
)
from polyleaf.graphs.kernels import ColumnScale, KernelMap
from polyleaf.graphs.label_graph import LabelGraph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]
    Rows: TypeAlias = NDArray[np.float64] | CSR

#: Scores, in numbers, that are held at a time.
_CHUNK = 2**22


_ARRAYS = StoredArrays(
    "Graphs over the labels",
    {
        "n_states": StoredArray(np.int32, "n_labels", "Classes of each label."),
        "edge_offsets": StoredArray(np.int64, "n_members + 1", "First edge of each member."),
        "edges": StoredArray(np.int32, "n_edges, 2", "Pairs of labels."),
        "parameters": StoredArray(
            np.float64,
            "n_parameters, n_columns",
            "Weights of labels and edges, member after member.",
        ),
        "dual_gap": StoredArray(np.float64, "n_members", "Primal less dual objective."),
        "objective": StoredArray(np.float64, "n_members", "Primal objective."),
        "n_iter": StoredArray(np.int64, "n_members", "Passes over the training rows."),
        "completed": StoredArray(
            np.float64,
            "n_parameters, n_columns",
            "Completed parameters of the consensus graph, if any.",
        ),
        "centre": StoredArray(
            np.float64, "n_features", "What is taken off each feature first, if they are scaled."
        ),
        "scale": StoredArray(np.float64, "n_features", "What each is divided by then."),
    },
)


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
    inference : {"solve", "loopy"}
        See `LabelGraph`.
    """

    n_states: NDArray[np.int32]
    edge_offsets: NDArray[np.int64]
    edges: NDArray[np.int32]
    parameters: NDArray[np.float64]
    dual_gap: NDArray[np.float64]
    objective: NDArray[np.float64]
    n_iter: NDArray[np.int64]
    inference: str = "solve"

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
            LabelGraph(self.n_states, np.ascontiguousarray(self.edges[a:b]), self.inference)
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
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], inference: str = "solve"
    ) -> GraphMembers:
        """Rebuild and check members from named arrays.

        Raises
        ------
        ValueError
            If anything is absent, of another type or shape, or out of range.
        """
        n_states = _ARRAYS.read(arrays, "n_states")
        edge_offsets = _ARRAYS.read(arrays, "edge_offsets")
        edges = _ARRAYS.read(arrays, "edges")
        parameters = _ARRAYS.read(arrays, "parameters")
        dual_gap = _ARRAYS.read(arrays, "dual_gap")
        objective = _ARRAYS.read(arrays, "objective")
        n_iter = _ARRAYS.read(arrays, "n_iter")
        if edge_offsets.size < 2 or edges.shape[1] != 2 or not (edges[:, 0] < edges[:, 1]).all():
            raise ValueError("Expected at least one member, and edges of ascending labels.")
        members = cls(
            n_states, edge_offsets, edges, parameters, dual_gap, objective, n_iter, inference
        )
        expect_offsets(edge_offsets, members.n_members, edges.shape[0], "edge_offsets", least=0)
        if any(each.size != members.n_members for each in (dual_gap, objective, n_iter)):
            raise ValueError("Expected one gap, objective and count of passes per member.")
        if parameters.shape[0] != members.parameter_offsets[-1]:
            raise ValueError("Expected the parameters to fit the graphs.")
        if not all(np.isfinite(array).all() for array in (parameters, dual_gap, objective)):
            raise ValueError("Expected finite parameters, gaps and objectives.")
        return members

    def __getstate__(self) -> dict[str, Any]:
        return {**self.to_arrays(), "inference": self.inference}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


@dataclass(frozen=True, eq=False)
class GraphModel:
    """Members, their kernel and how they are combined.

    Attributes
    ----------
    members : GraphMembers
    kernel_map : KernelMap
    aggregation : {"mam", "amm", "mve"}
    completed : ndarray of shape (q, n_columns), float64, or None
        Parameters of potentials on the union of the graphs, where dual variables were completed.
    columns : ColumnScale or None
        What features are scaled by before the kernel sees them; None: they are not.
    """

    members: GraphMembers
    kernel_map: KernelMap
    aggregation: str
    completed: NDArray[np.float64] | None = None
    columns: ColumnScale | None = None

    def design(self, X: Rows) -> Rows:
        """Turn rows into what the model's parameters multiply; see `KernelMap`."""
        return self.kernel_map.design(X if self.columns is None else self.columns.apply(X))

    @cached_property
    def consensus(self) -> Consensus:
        """The union of the members' graphs."""
        return Consensus(self.members.graphs)

    @cached_property
    def consensus_parameters(self) -> NDArray[np.float64]:
        """Parameters of the averaged potentials, of shape (q, n_columns)."""
        if self.completed is not None:
            return self.completed
        *_, total = self._sums_of_parameters()  # one array, which each member is added to
        return total / self.members.n_members

    def _sums_of_parameters(self) -> Iterator[NDArray[np.float64]]:
        """Add up the members' parameters of potentials, and give the sum after each."""
        members = self.members
        total = np.zeros((self.consensus.graph.n_parameters, members.parameters.shape[1]))
        for t, graph in enumerate(members.graphs):
            own = graph.potentials(members.parameters_of(t).T).T
            total[self.consensus.columns_of(graph)] += own
            yield total

    def outcome(self, X: Rows, n_threads: int = 1) -> Outcome:
        """Label rows.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_rows, n_features), float64
        n_threads : int

        Returns
        -------
        Outcome
        """
        width = self.kernel_map.n_columns + self._width()
        return self._in_parts(X, width, lambda rows: self.outcome_of(self.design(rows), n_threads))

    def _in_parts(self, X: Rows, width: int, label: Callable[[Rows], Outcome]) -> Outcome:
        """Label rows, so many at a time that `width` numbers for each are not too much."""
        n_states = self.members.n_states
        labels = np.empty((X.shape[0], n_states.size), dtype=np.int32)
        relative = np.empty((X.shape[0], int((n_states - 1).sum())))
        certified = np.empty(X.shape[0], dtype=bool)
        step = max(1, _CHUNK // max(1, width))
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            labels[rows], relative[rows], certified[rows] = label(X[rows])
        return Outcome(labels, relative, certified)

    def _width(self) -> int:
        if self.aggregation == "mam":
            return self.consensus.graph.n_parameters
        return int(np.diff(self.members.parameter_offsets).max())

    @property
    def is_exact(self) -> bool:
        """Whether every labelling is proven to be the best of its graph."""
        if self.aggregation == "mam":
            return self.consensus.graph.is_exact
        return all(graph.is_exact for graph in self.members.graphs)

    def outcome_of(self, design: Rows, n_threads: int) -> Outcome:
        """Label rows by the kernel map's design of them; see `outcome`."""
        if self.aggregation == "mam":
            n_members = self.members.n_members
            return self._outcome_by(self.consensus_parameters, n_members, design, n_threads)
        aggregation = make_aggregation(self.aggregation, self.consensus, n_threads)
        for _ in self._add_members(aggregation, design):
            pass
        return aggregation.outcome()

    def _outcome_by(
        self, parameters: NDArray[np.float64], n_members: int, design: Rows, n_threads: int
    ) -> Outcome:
        """Label rows by averaged potentials of the first members; see `AveragePotentials`."""
        graph, potentials = self.consensus.graph, design @ parameters.T
        found = graph.infer(potentials, n_threads)
        rows = unproven_rows(graph, found)
        if rows.size:
            marginals = AverageMaxMarginals(graph.n_states, n_threads)
            for _, _ in zip(range(n_members), self._add_members(marginals, design[rows])):
                pass
            labels = marginals.outcome().labels
            improve_from(graph, potentials, found, rows, labels, n_threads)
        return Outcome(found.labels, found.max_marginals, found.is_certified)

    def _add_members(self, aggregation: Aggregation, design: Rows) -> Iterator[int]:
        for t, graph in enumerate(self.members.graphs):
            aggregation.add(graph, design @ self.members.parameters_of(t).T)
            yield t

    def staged_outcomes(self, X: Rows, n_threads: int = 1) -> Iterator[Outcome]:
        """Label rows by the first member, by the first two, and so on; see `outcome`."""
        if self.completed is not None:
            raise ValueError(
                "Stages are not available with completion='consistent': dual variables are "
                "completed on the union of all graphs. Use completion='zero'."
            )
        design = self.design(X)
        if self.aggregation == "mam":  # sums of parameters, since sums of scores may be far larger
            for t, total in enumerate(self._sums_of_parameters(), start=1):
                label = partial(self._outcome_by, total / t, t, n_threads=n_threads)
                yield self._in_parts(design, self._width(), label)
            return
        aggregation = make_aggregation(self.aggregation, self.consensus, n_threads)
        for _ in self._add_members(aggregation, design):
            yield aggregation.outcome()

    def variance_terms(
        self, design: Rows, labels: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Split the variance of the members' scores psi(x, y) over members (theorem 1).

        Parameters
        ----------
        design : ndarray or csr_array of shape (n_rows, n_columns)
            The kernel map's design of the rows.
        labels : ndarray of shape (n_rows, n_labels), int32
            The labelling y of each row that is scored.

        Returns
        -------
        diversity, coherence : ndarray of shape (n_rows,), float64
            The labels' variances, and their covariances, each summed. Together they are what the
            average of the members gains in squared error over a member on average.
        """
        # Of a part of the rows at a time: the tables of all are larger than the model.
        step = max(1, _CHUNK // max(int(graph.table_offsets[-1]) for graph in self.members.graphs))
        parts = [
            self._variance_terms_of(design[start : start + step], labels[start : start + step])
            for start in range(0, labels.shape[0], step)
        ]
        diversity, coherence = (np.concatenate(terms) for terms in zip(*parts))
        return diversity, coherence

    def _variance_terms_of(
        self, design: Rows, labels: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        first = self._label_scores(0, design, labels)  # sums of deviations from it round less
        sums, squares = np.zeros(first.shape), np.zeros(first.shape)
        total_square = np.zeros(first.shape[0])
        for t in range(1, self.members.n_members):
            deviation = self._label_scores(t, design, labels) - first
            sums += deviation
            squares += deviation**2
            total_square += deviation.sum(axis=1) ** 2
        n = self.members.n_members
        diversity = (squares / n - (sums / n) ** 2).sum(axis=1)
        variance = total_square / n - (sums.sum(axis=1) / n) ** 2
        return diversity, variance - diversity

    def _label_scores(
        self, member: int, design: Rows, labels: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        scores = design @ self.members.parameters_of(member).T
        return self.members.graphs[member].label_scores(scores, labels)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Name the arrays, for a model file."""
        arrays = {**self.members.to_arrays(), **self.kernel_map.to_arrays()}
        if self.completed is not None:
            arrays["completed"] = self.completed
        if self.columns is not None:
            arrays["centre"], arrays["scale"] = self.columns.centre, self.columns.scale
        return arrays

    def settings(self) -> dict[str, Any]:
        """Describe everything but the arrays and the kernel's name by JSON types."""
        kernel = self.kernel_map
        return {
            "degree": int(kernel.degree),
            "gamma": float(kernel.gamma),
            "coef0": float(kernel.coef0),
            "intercept_scaling": float(kernel.intercept_scaling),
            "n_features": int(kernel.n_features),
            "aggregation": self.aggregation,
            "inference": self.members.inference,
            "is_completed": self.completed is not None,
            "is_scaled": self.columns is not None,
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], kernel: str, settings: Mapping[str, Any]
    ) -> GraphModel:
        """Rebuild and check a model from named arrays and its settings.

        Raises
        ------
        ValueError
            If anything is absent, of another type or shape, or out of range.
        """
        if not isinstance(settings, dict):
            raise ValueError(f"Expected settings by name; got {settings!r:.40}.")
        inference = settings.get("inference", "loopy")  # files of before there was a choice
        if inference not in ("solve", "loopy"):
            raise ValueError(f"Expected a known inference; got {inference!r:.40}.")
        members = GraphMembers.from_arrays(arrays, inference)
        kernel_map = KernelMap.from_arrays(arrays, kernel, settings)
        if settings["aggregation"] not in ("mam", "amm", "mve"):
            raise ValueError(f"Expected a known aggregation; got {settings['aggregation']!r:.40}.")
        completed = None
        if settings["is_completed"]:
            completed = _ARRAYS.read(arrays, "completed")
        columns = None
        if settings.get("is_scaled", False):  # older files have no such entry
            columns = _stored_scale(arrays, kernel_map.n_features)
        model = cls(members, kernel_map, settings["aggregation"], completed, columns)
        n_columns = members.parameters.shape[1]
        if kernel_map.n_columns != n_columns:
            raise ValueError(f"Expected parameters of {kernel_map.n_columns} columns.")
        shape = (model.consensus.graph.n_parameters, n_columns)
        if completed is not None and (
            completed.shape != shape or not np.isfinite(completed).all()
        ):
            raise ValueError(f"Expected finite completed parameters of shape {shape}.")
        return model

    def __getstate__(self) -> dict[str, Any]:
        names = ("members", "kernel_map", "aggregation", "completed", "columns")
        return {name: self.__dict__[name] for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _stored_scale(arrays: Mapping[str, NDArray[Any]], n_features: int) -> ColumnScale:
    centre, scale = _ARRAYS.read(arrays, "centre"), _ARRAYS.read(arrays, "scale")
    if not (centre.shape == scale.shape == (n_features,) and np.isfinite(centre).all()):
        raise ValueError(f"Expected finite centres and scales of {n_features} features.")
    if not (np.isfinite(scale).all() and (scale > 0.0).all()):
        raise ValueError("Expected finite positive scales of features.")
    return ColumnScale(centre, scale)
