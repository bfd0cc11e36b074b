"""Complete the dual variables of a graph ensemble on the union of its graphs (section 3.3).

Members are trained on different edges. For an edge (j, k) that a member lacks, its marginals are
taken as mu_j mu_k / m_i: consistent with the member's node marginals, as if both labels were
independent. Here mu is the mass of example i on wrong labellings and m_i their sum. Mass on the
true labelling changes nothing in the model, so that all of it that can be there is: of the mass of
example i, the least that any edge has on the true labels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyleaf.graphs.aggregation import Consensus
from polyleaf.graphs.kernels import KernelOperator
from polyleaf.graphs.label_graph import LabelGraph
from polyleaf.graphs.solver import MarginProblem


class ConsensusCompletion:
    """The running sum of completed coefficients.

    Parameters
    ----------
    consensus : Consensus
        Of all members.
    problem : MarginProblem
    one_hot : ndarray of shape (n_rows, n_node_parameters), float64
        The true classes of labels, the first left out.
    """

    def __init__(
        self, consensus: Consensus, problem: MarginProblem, one_hot: NDArray[np.float64]
    ) -> None:
        self._consensus, self._labels = consensus, problem.labels
        graph = consensus.graph
        self._first, self._second = _ends_of_pairs(graph)
        self._one_hot = one_hot
        self._pairs_hot = one_hot[:, self._first] * one_hot[:, self._second]
        self._sum = np.zeros((problem.mass.size, graph.n_parameters))
        self._n_members = 0

    def add(self, graph: LabelGraph, coefficients: NDArray[np.float64]) -> None:
        """Complete the coefficients of a member, of shape (n_rows, q), and add them."""
        n_nodes = self._one_hot.shape[1]
        nodes = coefficients[:, :n_nodes]
        missed = graph.edge_scores(coefficients, self._labels).max(axis=1, keepdims=True)
        mass = np.maximum(missed, 0.0)
        marginals = mass * self._one_hot - nodes
        product = marginals[:, self._first] * marginals[:, self._second]
        product /= np.where(mass > 0.0, mass, 1.0)
        completed = np.concatenate([nodes, mass * self._pairs_hot - product], axis=1)
        completed[:, self._consensus.columns_of(graph)] = coefficients
        self._sum += completed
        self._n_members += 1

    def state(self, operator: KernelOperator) -> NDArray[np.float64]:
        """Give the operator's state of the averaged coefficients."""
        return operator.state_of(self._sum / self._n_members)

    def potential_parameters(self, operator: KernelOperator) -> NDArray[np.float64]:
        """Give parameters of averaged potentials, of shape (n_parameters, n_columns)."""
        scores = operator.parameters(self._sum / self._n_members)
        return np.ascontiguousarray(self._consensus.graph.potentials(scores.T).T)


def _ends_of_pairs(graph: LabelGraph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find for each pair of classes of each edge the two classes among those of labels."""
    first, second = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    offsets = graph.label_offsets
    for a, b in graph.edges:
        of_a, of_b = np.arange(*offsets[a : a + 2]), np.arange(*offsets[b : b + 2])
        first.append(np.repeat(of_a, of_b.size))
        second.append(np.tile(of_b, of_a.size))
    return np.concatenate(first), np.concatenate(second)
