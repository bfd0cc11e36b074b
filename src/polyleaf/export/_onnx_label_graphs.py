"""Linear graph classifiers in ONNX: potentials by one product, the best labelling by messages.

Without cycles, max-product messages go from the leaves of every tree to its root and back, one
level at a time, for all members of an ensemble together; max-marginals are what a node believes
then. A graph with cycles has to be so small that all its labellings can be scored.

Everything is computed in float64: states are rows and X's rows are columns of the tensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.fitted import expect_fitted
from polyleaf.export._onnx_graph import Graph
from polyleaf.export._sums import CannotExportError
from polyleaf.graphs.base import GraphEstimator

if TYPE_CHECKING:
    from polyleaf.graphs.label_graph import LabelGraph
    from polyleaf.graphs.model import GraphModel

#: Belief in states that a label with fewer classes does not have.
_NEVER = -1e300


def is_graph_model(model: Any) -> bool:
    """Whether a model is a graph classifier or an ensemble of them."""
    return isinstance(model, GraphEstimator)


def check_graph_model(model: Any, exact: bool) -> None:
    """Raise a CannotExportError unless a graph classifier is linear and its inference exact."""
    expect_fitted(model)
    name, fitted = type(model).__name__, model._model
    if not fitted.kernel_map.is_explicit:
        raise CannotExportError(
            f"This {name} has the kernel {fitted.kernel_map.kernel!r:.60}, whose predictions need "
            "the training rows; to_onnx writes the kernels 'linear' and 'cosine'. Use "
            "polyleaf.save, or fit with kernel='linear'."
        )
    if not all(_is_solved(part) for part, _ in _parts(fitted)):
        raise CannotExportError(
            f"The graph of this {name} has cycles and more than 2^14 labellings, so that the best "
            "one is searched for, which no fixed list of operators does. Use polyleaf.save, or "
            "fit a GraphClassifier, or an ensemble with aggregation='amm' or 'mve' of graphs "
            "without cycles, such as spanning trees."
        )
    if model._targets.hierarchy is not None:
        raise CannotExportError(
            f"This {name} has a hierarchy of labels, which its predictions respect and messages "
            "along its graphs do not. Use polyleaf.save, or fit with hierarchy=None."
        )
    if exact:
        raise CannotExportError(
            "exact=True gives scores to the last bit, but graph classifiers multiply matrices, "
            "in an order that is that of the BLAS library. Use exact=False: the graph computes "
            "in float64 from X in float32."
        )


def add_relative_scores(graph: Graph, X: str, model: Any) -> str:
    """Add the nodes that compute max-marginals or shares of votes: (n, sum of n_states - 1).

    They are in float64, of every class but the first, less that of the first.
    """
    fitted: GraphModel = model._model
    parts = _parts(fitted)
    potentials = _potentials(graph, X, fitted, [parameters for _, parameters in parts])
    n_labels, most = fitted.members.n_states.size, int(fitted.members.n_states.max())
    starts = np.cumsum([0] + [parameters.shape[0] for _, parameters in parts])
    forests = [(part, int(start)) for (part, _), start in zip(parts, starts) if part.is_forest]
    others = [(part, int(start)) for (part, _), start in zip(parts, starts) if not part.is_forest]
    beliefs = [_Messages.of(forests, most).beliefs(graph, potentials)] if forests else []
    beliefs += [_all_labellings(graph, potentials, *other, most) for other in others]
    value = beliefs[0] if len(beliefs) == 1 else graph.add("Concat", *beliefs, axis=0)
    if fitted.aggregation == "mve":
        value = _votes(graph, value, most)
    shape = graph.constant(np.array([len(parts), n_labels * most, -1], np.int64))
    by_member = graph.add("Reshape", value, shape)
    mean = graph.add("ReduceMean", by_member, graph.constant(np.array([0])), keepdims=0)
    n_states = fitted.members.n_states
    at = np.concatenate([j * most + np.arange(1, n) for j, n in enumerate(n_states)])
    first = np.repeat(np.arange(n_labels) * most, n_states - 1)
    difference = graph.add(
        "Sub", *(graph.add("Gather", mean, graph.constant(k), axis=0) for k in (at, first))
    )
    return graph.add("Transpose", difference, perm=[1, 0])


def _parts(fitted: GraphModel) -> list[tuple[LabelGraph, NDArray[np.float64]]]:
    """Give the graphs on which labels are found, and the parameters of their potentials."""
    if fitted.aggregation == "mam":
        return [(fitted.consensus.graph, fitted.consensus_parameters)]
    members = fitted.members
    return [
        (part, part.potentials(members.parameters_of(t).T).T)
        for t, part in enumerate(members.graphs)
    ]


def _is_solved(part: LabelGraph) -> bool:
    return part.is_forest or (part.is_exact and part.inference == "solve")


def _potentials(
    graph: Graph, X: str, fitted: GraphModel, parameters: list[NDArray[np.float64]]
) -> str:
    """Add the potentials of all graphs, then a row of 0 and one of `_NEVER`: (q + 2, n)."""
    value = graph.cast(X, np.float64)
    if fitted.columns is not None:
        value = graph.add("Sub", value, graph.constant(fitted.columns.centre[None, :]))
        value = graph.add("Div", value, graph.constant(fitted.columns.scale[None, :]))
    if fitted.kernel_map.kernel == "cosine":
        axis, zero = graph.constant(np.array([1])), graph.constant(np.array(0.0))
        size = graph.add("ReduceL2", value, axis, keepdims=1)
        one = graph.constant(np.array(1.0))
        size = graph.add("Where", graph.add("Equal", size, zero), one, size)
        value = graph.add("Div", value, size)
    n_features, stacked = fitted.kernel_map.n_features, np.concatenate(parameters)
    # Two more potentials that no feature moves.
    weights = np.concatenate([stacked[:, :n_features], np.zeros((2, n_features))])
    level = np.zeros(stacked.shape[0])
    if fitted.kernel_map.intercept_scaling > 0.0:
        level = stacked[:, n_features] * fitted.kernel_map.intercept_scaling
    level = np.concatenate([level, [0.0, _NEVER]])
    product = graph.add(
        "MatMul", graph.constant(weights), graph.add("Transpose", value, perm=[1, 0])
    )
    return graph.add("Add", product, graph.constant(level[:, None]))


def _unary(part: LabelGraph, start: int, most: int) -> NDArray[np.int64]:
    """Give the rows of the potentials of every state of every node; -2 is 0, -1 is `_NEVER`."""
    at = np.full((part.n_nodes, most), -1, dtype=np.int64)
    at[:, 0] = -2
    for j, n in enumerate(part.n_states.tolist()):
        at[j, 1:n] = start + part.label_offsets[j] + np.arange(n - 1)
    return at


def _pairs(part: LabelGraph, start: int, edge: int, most: int) -> NDArray[np.int64]:
    """Give the rows of the potentials of an edge, of shape (most, most)."""
    at = np.full((most, most), -2, dtype=np.int64)
    n_first, n_second = part._edge_states[edge]
    offset = start + part.edge_offsets[edge]
    inner = np.arange((n_first - 1) * (n_second - 1)).reshape(n_first - 1, n_second - 1)
    at[1:n_first, 1:n_second] = offset + inner
    return at


@dataclass(frozen=True, eq=False)
class _Messages:
    """Forests of several graphs side by side, cut into levels.

    Attributes
    ----------
    unary : ndarray of shape (n_nodes, most)
        Rows of the potentials of every state.
    levels : list of (nodes, parents, pairs)
        From the level below the roots down; pairs has shape (n, most, most), the states of the
        nodes first.
    labels : ndarray
        Nodes that are labels, graph after graph.
    """

    unary: NDArray[np.int64]
    levels: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, graphs: list[tuple[LabelGraph, int]], most: int) -> _Messages:
        """Order the nodes of graphs, each with its first row of the potentials."""
        unary, labels, n_nodes = [], [], 0
        levels: list[tuple[list[int], list[int], list[NDArray[np.int64]]]] = []
        for part, start in graphs:
            unary.append(_unary(part, start, most))
            labels.append(n_nodes + np.arange(part.n_labels))
            for depth, child, parent, edge in _downwards(part):
                if depth == len(levels):
                    levels.append(([], [], []))
                pairs = _pairs(part, start, edge, most)
                children, parents, tables = levels[depth]
                children.append(n_nodes + child)
                parents.append(n_nodes + parent)
                tables.append(pairs if part.edges[edge, 0] == child else pairs.T)
            n_nodes += part.n_nodes
        arrays = [(np.array(a), np.array(b), np.array(c)) for a, b, c in levels]
        return cls(np.concatenate(unary), arrays, np.concatenate(labels))

    def beliefs(self, graph: Graph, potentials: str) -> str:
        """Add the nodes that pass messages: what every label believes, (n_labels, most, n)."""

        def constant(values: NDArray[np.int64]) -> str:
            return graph.constant(values)

        def take(value: str, at: NDArray[np.int64]) -> str:
            return graph.add("Gather", value, constant(at), axis=0)

        def best(value: str, axis: int) -> str:
            return graph.add("ReduceMax", value, constant(np.array([axis])), keepdims=0)

        def add_to(value: str, at: NDArray[np.int64], message: str) -> str:
            return graph.add("ScatterND", value, constant(at[:, None]), message, reduction="add")

        belief = take(potentials, self.unary)
        upward = []
        for nodes, parents, pairs in reversed(self.levels):
            table = take(potentials, pairs)
            own = graph.add("Unsqueeze", take(belief, nodes), constant(np.array([2])))
            message = best(graph.add("Add", own, table), 1)
            upward.append((message, table))
            belief = add_to(belief, parents, message)
        for (nodes, parents, _), (message, table) in zip(self.levels, reversed(upward)):
            rest = graph.add("Sub", take(belief, parents), message)
            rest = graph.add("Unsqueeze", rest, constant(np.array([1])))
            belief = add_to(belief, nodes, best(graph.add("Add", rest, table), 2))
        return take(belief, self.labels)


def _downwards(part: LabelGraph) -> list[tuple[int, int, int, int]]:
    """List the edges from the roots down: level, child, parent and number of the edge."""
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(part.n_nodes)]
    for edge, (a, b) in enumerate(part.edges.tolist()):
        neighbours[a].append((b, edge))
        neighbours[b].append((a, edge))
    found, seen = [], np.zeros(part.n_nodes, dtype=bool)
    for root in range(part.n_nodes):
        if seen[root]:
            continue
        seen[root] = True
        level, depth = [root], 0
        while level:
            below = []
            for parent in level:
                for child, edge in neighbours[parent]:
                    if not seen[child]:
                        seen[child] = True
                        found.append((depth, child, parent, edge))
                        below.append(child)
            level, depth = below, depth + 1
    return sorted(found)


def _all_labellings(graph: Graph, potentials: str, part: LabelGraph, start: int, most: int) -> str:
    """Score all labellings of a small graph; give what every label believes."""
    n_states = part.n_states.tolist()
    states = np.indices(n_states).reshape(part.n_labels, -1)
    used = np.zeros((states.shape[1], part.n_parameters), dtype=np.uint8)
    every = np.arange(states.shape[1])
    for j in range(part.n_labels):
        chosen = states[j] > 0
        used[every[chosen], (part.label_offsets[j] + states[j] - 1)[chosen]] = 1
    for edge, (a, b) in enumerate(part.edges.tolist()):
        if b == part.n_labels:  # the dummy node
            continue
        both = (states[a] > 0) & (states[b] > 0)
        place = (states[a] - 1) * (n_states[b] - 1) + states[b] - 1
        used[every[both], (part.edge_offsets[edge] + place)[both]] = 1
    own = graph.add("Slice", potentials, *_range(graph, start, start + part.n_parameters))
    scores = graph.add("MatMul", graph.cast(graph.constant(used), np.float64), own)
    joint = graph.add("Reshape", scores, graph.constant(np.array([*n_states, -1], np.int64)))
    beliefs = []
    for j, n in enumerate(n_states):
        others = np.array([k for k in range(part.n_labels) if k != j], np.int64)
        value = joint
        if others.size:
            value = graph.add("ReduceMax", joint, graph.constant(others), keepdims=0)
        if n < most:
            widths = graph.constant(np.array([0, 0, most - n, 0], np.int64))
            value = graph.add("Pad", value, widths, graph.constant(np.array(_NEVER)))
        beliefs.append(graph.add("Unsqueeze", value, graph.constant(np.array([0]))))
    return graph.add("Concat", *beliefs, axis=0)


def _range(graph: Graph, start: int, stop: int) -> tuple[str, ...]:
    return tuple(graph.constant(np.array([k], np.int64)) for k in (start, stop))


def _votes(graph: Graph, beliefs: str, most: int) -> str:
    """Give 1 for the state that a label believes in most, the first of equals, else 0."""
    best = graph.add("ArgMax", beliefs, axis=1, keepdims=1)
    states = graph.constant(np.arange(most)[None, :, None])
    return graph.cast(graph.add("Equal", best, states), np.float64)
