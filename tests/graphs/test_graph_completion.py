"""Dual variables completed on the union of graphs are locally consistent."""

import numpy as np
import pytest
from tests.core.label_reference import random_tree

from polyleaf.graphs.aggregation import Consensus
from polyleaf.graphs.completion import ConsensusCompletion
from polyleaf.graphs.kernels import FeatureOperator
from polyleaf.graphs.label_graph import LabelGraph
from polyleaf.graphs.labels import LabelData
from polyleaf.graphs.solver import MarginProblem, MarginTraining


@pytest.fixture(params=[(2, 2, 2, 2), (3, 2, 4, 2)], ids=["labels", "classes"])
def setting(request):
    rng = np.random.default_rng(0)
    n_states = np.array(request.param, np.int32)
    X = rng.normal(size=(30, 3))
    labels = np.column_stack([rng.integers(n, size=30) for n in n_states]).astype(np.int32)
    problem = MarginProblem(labels, np.full(30, 0.5), None, "edge", 1e-3, 1000)
    graphs = tuple(LabelGraph(n_states, random_tree(4, rng)) for _ in range(3))
    return X, problem, graphs, LabelData(n_states, labels, None, np.ones(30), None)


def train(X, problem, graphs):
    operator = FeatureOperator(X)
    return operator, [
        MarginTraining(graph, operator, problem, np.random.default_rng(0)).run()
        for graph in graphs
    ]


def test_completed_tables_have_the_sums_of_the_member(setting):
    X, problem, graphs, data = setting
    _, solutions = train(X, problem, graphs)
    consensus = Consensus(graphs)
    completion = ConsensusCompletion(consensus, problem, data.one_hot())
    completion.add(graphs[0], solutions[0].coefficients)
    completed = completion._sum
    tables = completed @ consensus.graph.expansion
    own = solutions[0].coefficients @ graphs[0].expansion
    n_states = data.n_states
    in_member = {tuple(edge): e for e, edge in enumerate(graphs[0].edges.tolist())}
    for e, (a, b) in enumerate(consensus.graph.edges.tolist()):
        start, stop = consensus.graph.table_offsets[e : e + 2]
        table = tables[:, start:stop].reshape(-1, n_states[a], n_states[b])
        offsets = graphs[0].label_offsets
        of_a = solutions[0].coefficients[:, offsets[a] : offsets[a + 1]]
        of_b = solutions[0].coefficients[:, offsets[b] : offsets[b + 1]]
        np.testing.assert_allclose(table.sum(axis=2)[:, 1:], of_a, atol=1e-12)
        np.testing.assert_allclose(table.sum(axis=1)[:, 1:], of_b, atol=1e-12)
        # off the true labels, a table is minus a mass, which is not negative
        wrong = np.ones(table.shape, bool)
        rows = np.arange(len(X))
        wrong[rows, data.labels[:, a], data.labels[:, b]] = False
        assert table[wrong].max() < 1e-9
        if (a, b) in in_member:
            at = in_member[a, b]
            first, last = graphs[0].table_offsets[at : at + 2]
            np.testing.assert_allclose(tables[:, start:stop], own[:, first:last], atol=1e-12)


def test_completion_of_a_single_member_changes_nothing(setting):
    X, problem, graphs, data = setting
    operator, solutions = train(X, problem, graphs[:1])
    consensus = Consensus(graphs[:1])
    completion = ConsensusCompletion(consensus, problem, data.one_hot())
    completion.add(graphs[0], solutions[0].coefficients)
    potentials = X @ completion.potential_parameters(operator).T
    np.testing.assert_allclose(
        potentials, graphs[0].potentials(X @ solutions[0].state), atol=1e-12
    )


def test_an_example_that_violates_no_margin_stays_without_coefficients(setting):
    _, problem, graphs, data = setting
    consensus = Consensus(graphs)
    completion = ConsensusCompletion(consensus, problem, data.one_hot())
    completion.add(graphs[1], np.zeros((30, graphs[1].n_parameters)))
    assert not completion._sum.any()
