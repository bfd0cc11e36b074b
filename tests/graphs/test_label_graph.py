"""Scores, tables and potentials are three ways to write one function of a labelling."""

import pickle

import numpy as np
import pytest
from tests.core.label_reference import (
    all_labellings,
    n_parameters,
    potential_score,
    random_graph,
    random_tree,
)

from polyleaf.graphs.aggregation import Consensus, make_aggregation, winners
from polyleaf.graphs.label_graph import LabelGraph
from polyleaf.graphs.model import GraphMembers


def consistent_tables(graph, rng):
    """Coefficients of a distribution over labellings, and their tables one by one."""
    labellings = all_labellings(graph.n_states)
    share = rng.dirichlet(np.ones(len(labellings)))
    truth = labellings[rng.integers(len(labellings))]
    tables = []
    padded = np.pad(labellings, ((0, 0), (0, 1)))
    for a, b in graph.edges:
        n_b = 1 if b == graph.n_labels else graph.n_states[b]
        table = np.zeros((graph.n_states[a], n_b))
        np.add.at(table, (padded[:, a], padded[:, b]), -share)
        table[truth[a], 0 if b == graph.n_labels else truth[b]] += 1.0
        tables.append(table)
    scores = [tables_of_label(graph, tables, j)[1:] for j in range(graph.n_labels)]
    scores += [table[1:, 1:].ravel() for table in tables]
    return np.concatenate(scores), tables


def tables_of_label(graph, tables, label):
    for (a, b), table in zip(graph.edges, tables, strict=True):
        if a == label:
            return table.sum(axis=1)
        if b == label:
            return table.sum(axis=0)
    raise AssertionError("a label without an edge")


GRAPHS = {
    "tree": ([2] * 5, lambda rng: random_tree(5, rng)),
    "classes": ([3, 2, 4, 1, 2], lambda rng: random_tree(5, rng)),
    "cycles": ([2, 3, 2, 2], lambda rng: random_graph(4, 6, rng)),
    "pairs": ([2, 3, 2], lambda rng: np.array([[0, 1]], np.int32)),
    "one label": ([4], lambda rng: np.zeros((0, 2), np.int32)),
}


@pytest.fixture(params=GRAPHS)
def graph(request):
    n_states, draw = GRAPHS[request.param]
    return LabelGraph.joined(np.array(n_states, np.int32), draw(np.random.default_rng(0)))


def test_scores_expand_to_the_tables_they_were_taken_from(graph):
    scores, tables = consistent_tables(graph, np.random.default_rng(1))
    assert scores.size == graph.n_parameters
    expanded = scores[None] @ graph.expansion
    np.testing.assert_allclose(
        expanded[0], np.concatenate([t.ravel() for t in tables]), atol=1e-12
    )


def test_edge_scores_label_scores_and_potentials_tell_the_same_score(graph):
    rng = np.random.default_rng(2)
    labellings = all_labellings(graph.n_states)
    scores = np.repeat(rng.normal(size=(1, graph.n_parameters)), len(labellings), axis=0)
    by_edge = graph.edge_scores(scores, labellings)
    total = by_edge.sum(axis=1)
    np.testing.assert_allclose(graph.label_scores(scores, labellings).sum(axis=1), total)
    potentials = graph.potentials(scores)[0]
    n_states = np.append(graph.n_states, 1)
    relative = [
        potential_score(n_states, graph.edges, potentials, np.append(y, 0)) for y in labellings
    ]
    np.testing.assert_allclose(relative, total - total[0], atol=1e-9)
    tables = scores[:1] @ graph.expansion
    for e, (a, b) in enumerate(graph.edges):
        n_b = n_states[b]
        start, stop = graph.table_offsets[e : e + 2]
        table = tables[0, start:stop].reshape(-1, n_b)
        v = np.zeros(len(labellings), int) if b == graph.n_labels else labellings[:, b]
        np.testing.assert_allclose(by_edge[:, e], table[labellings[:, a], v])


def test_a_label_without_neighbours_is_joined_to_a_dummy_node():
    joined = LabelGraph.joined(np.full(4, 2, np.int32), np.array([[1, 3]], np.int32))
    assert joined.edges.tolist() == [[1, 3], [0, 4], [2, 4]]
    assert joined.n_nodes == 5
    assert joined.is_forest
    assert joined.n_parameters == n_parameters([2, 2, 2, 2, 1], joined.edges)


def test_the_consensus_is_the_union_of_the_graphs():
    n_states = np.full(4, 2, np.int32)
    first = LabelGraph(n_states, np.array([[0, 1], [1, 2], [2, 3]], np.int32))
    second = LabelGraph.joined(n_states, np.array([[0, 1], [0, 3]], np.int32))
    consensus = Consensus((first, second))
    assert consensus.graph.edges.tolist() == [[0, 1], [0, 3], [1, 2], [2, 3]]
    assert consensus.counts.tolist() == [2, 1, 1, 1]
    assert consensus.columns_of(first).tolist() == [0, 1, 2, 3, 4, 6, 7]
    assert consensus.columns_of(second).tolist() == [0, 1, 2, 3, 4, 5]


def ensemble(seed, n_states=(2, 2, 3, 2), n_members=5):
    rng = np.random.default_rng(seed)
    states = np.array(n_states, np.int32)
    graphs = [LabelGraph(states, random_tree(len(n_states), rng)) for _ in range(n_members)]
    scores = [rng.normal(size=(30, graph.n_parameters)) for graph in graphs]
    return states, graphs, scores


def test_mam_finds_the_best_labelling_of_the_average_score():
    n_states, graphs, scores = ensemble(0)
    aggregation = make_aggregation("mam", Consensus(tuple(graphs)))
    labellings = all_labellings(n_states)
    total = np.zeros((30, len(labellings)))
    for graph, score in zip(graphs, scores, strict=True):
        aggregation.add(graph, score)
        for row in range(30):
            repeated = np.repeat(score[row : row + 1], len(labellings), axis=0)
            total[row] += graph.edge_scores(repeated, labellings).sum(axis=1)
    labels = aggregation.outcome().labels
    best = labellings[total.argmax(axis=1)]
    # Inference on the union of the trees is approximate.
    assert (labels == best).all(axis=1).mean() > 0.9


def test_amm_averages_max_marginals_and_mve_counts_votes():
    n_states, graphs, scores = ensemble(1)
    consensus = Consensus(tuple(graphs))
    amm, mve = (make_aggregation(name, consensus) for name in ("amm", "mve"))
    marginals, votes = [], []
    for graph, score in zip(graphs, scores, strict=True):
        amm.add(graph, score)
        mve.add(graph, score)
        labels, relative = graph.max_product(graph.potentials(score))
        marginals.append(relative)
        votes.append(labels)
    np.testing.assert_allclose(amm.outcome()[1], np.mean(marginals, axis=0))
    assert np.array_equal(amm.outcome()[0], winners(np.mean(marginals, axis=0), n_states))
    counts = np.array([[np.bincount(v, minlength=3) for v in row] for row in np.array(votes).T])
    labels = mve.outcome()[0]
    chosen = np.take_along_axis(counts, labels.T[..., None], axis=2)[..., 0]
    assert (chosen == counts.max(axis=2)).all()


def test_winners_are_the_largest_and_the_first_where_none_is_positive():
    relative = np.array([[0.5, -1.0, 2.0], [-0.5, -1.0, -2.0], [0.0, 3.0, 3.0]])
    assert winners(relative, np.array([2, 3], np.int32)).tolist() == [[1, 2], [0, 0], [0, 1]]


def make_members():
    _, graphs, _ = ensemble(2)
    rng = np.random.default_rng(0)
    parameters = [rng.normal(size=(graph.n_parameters, 3)) for graph in graphs]
    return GraphMembers.collect(graphs, parameters, [0.1] * 5, [1.0] * 5, [3] * 5)


def test_members_survive_arrays_and_pickle():
    members = make_members()
    for other in (
        GraphMembers.from_arrays(members.to_arrays()),
        pickle.loads(pickle.dumps(members)),
    ):
        assert other.n_members == 5
        for t in range(5):
            assert np.array_equal(other.graphs[t].edges, members.graphs[t].edges)
            assert np.array_equal(other.parameters_of(t), members.parameters_of(t))


def test_members_are_extended_by_others():
    members = make_members()
    both = members.extended(members)
    assert both.n_members == 10
    assert np.array_equal(both.parameters_of(7), members.parameters_of(2))
    assert np.array_equal(both.graphs[7].edges, members.graphs[2].edges)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("edges", lambda a: a[:, ::-1]),
        ("edges", lambda a: a + 9),
        ("edges", lambda a: a[:-1]),
        ("n_states", lambda a: a * 0),
        ("n_states", lambda a: a + 1),
        ("edge_offsets", lambda a: a[:1]),
        ("parameters", lambda a: a[1:]),
        ("parameters", lambda a: a * np.nan),
        ("dual_gap", lambda a: a[1:]),
        ("n_iter", lambda a: a.astype(np.int32)),
    ],
)
def test_damaged_arrays_are_refused(name, change):
    arrays = make_members().to_arrays()
    with pytest.raises(ValueError, match=r"Expected|edge|state"):
        GraphMembers.from_arrays(arrays | {name: np.ascontiguousarray(change(arrays[name]))})
