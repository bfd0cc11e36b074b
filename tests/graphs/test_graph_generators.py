"""Every way to draw a graph gives a graph; a new one is tested by being listed in GRAPHS."""

import itertools

import networkx as nx
import numpy as np
import pytest

from polyleaf.graphs import (
    GRAPHS,
    ChowLiu,
    Edges,
    GraphContext,
    GraphGenerator,
    RandomPairs,
    RecursiveTree,
    SpanningTree,
    draw_edges,
    from_json,
    resolve,
    to_json,
)
from polyleaf.graphs.generators import maximum_spanning_tree, mutual_information


def make_context(n_labels=6, *, seed=0, labels=None, n_states=None, names=None, observed=None):
    rng = np.random.default_rng(seed)
    if labels is None:
        labels = rng.integers(2, size=(50, n_labels))
    if n_states is None:
        n_states = np.full(n_labels, 2)
    return GraphContext(
        n_states=np.asarray(n_states, np.int32),
        labels=np.asarray(labels, np.int32),
        observed=observed,
        output_names=names,
        round=0,
        rng=np.random.default_rng(seed),
    )


def is_tree(edges, n_labels):
    graph = nx.Graph()
    graph.add_nodes_from(range(n_labels))
    graph.add_edges_from(edges.tolist())
    return nx.is_tree(graph)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("n_labels", [1, 2, 3, 20])
def test_every_generator_gives_ascending_pairs_of_different_labels(name, n_labels):
    edges = draw_edges(GRAPHS[name](), make_context(n_labels))
    assert edges.dtype == np.int32
    assert edges.shape[1] == 2
    assert (edges[:, 0] < edges[:, 1]).all()
    assert len({tuple(edge) for edge in edges.tolist()}) == len(edges)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_generator_survives_json_and_the_same_seed_draws_the_same_graph(name):
    generator = GRAPHS[name]()
    loaded = from_json(to_json(generator))
    assert loaded == generator
    one, other = (draw_edges(g, make_context(12, seed=3)) for g in (generator, loaded))
    assert np.array_equal(one, other)


@pytest.mark.parametrize("cls", [SpanningTree, RecursiveTree, ChowLiu])
@pytest.mark.parametrize("n_labels", [1, 2, 30])
def test_trees_are_trees(cls, n_labels):
    assert is_tree(draw_edges(cls(), make_context(n_labels)), n_labels)


def test_all_spanning_trees_of_few_labels_are_drawn():
    # Of 4 labels there are 16 trees.
    drawn = {
        tuple(map(tuple, draw_edges(SpanningTree(), make_context(4, seed=seed)).tolist()))
        for seed in range(400)
    }
    assert len(drawn) == 16


def test_a_maximum_spanning_tree_weighs_as_much_as_that_of_networkx():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(12, 12))
    weights = np.maximum(weights, weights.T)
    edges = maximum_spanning_tree(weights)
    graph = nx.from_numpy_array(np.exp(weights))  # positive, in the same order
    expected = nx.maximum_spanning_tree(graph).edges()
    assert weights[tuple(edges.T)].sum() == pytest.approx(sum(weights[a, b] for a, b in expected))


@pytest.mark.parametrize(("n_labels", "n_edges"), [(1, 0), (2, 1), (7, 3), (8, 4)])
def test_pairs_leave_at_most_one_label_alone(n_labels, n_edges):
    edges = draw_edges(RandomPairs(), make_context(n_labels))
    assert edges.shape == (n_edges, 2)
    assert np.unique(edges).size == 2 * n_edges


def test_chow_liu_finds_a_chain_of_labels():
    rng = np.random.default_rng(0)
    labels = [rng.random(3000) < 0.5]
    for _ in range(4):
        labels.append(labels[-1] ^ (rng.random(3000) < 0.1))
    edges = draw_edges(ChowLiu(), make_context(5, labels=np.column_stack(labels)))
    assert edges.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]


def test_mutual_information_is_that_of_the_smoothed_table():
    rng = np.random.default_rng(1)
    n_states = np.array([2, 3, 2], np.int32)
    labels = np.column_stack([rng.integers(n, size=40) for n in n_states]).astype(np.int32)
    observed = rng.random(labels.shape) < 0.8
    found = mutual_information(labels, n_states, observed)
    for a, b in itertools.combinations(range(3), 2):
        both = observed[:, a] & observed[:, b]
        table = np.full((n_states[a], n_states[b]), 0.5)
        np.add.at(table, (labels[both, a], labels[both, b]), 1.0)
        table /= table.sum()
        independent = np.outer(table.sum(axis=1), table.sum(axis=0))
        expected = (table * np.log(table / independent)).sum()
        assert found[a, b] == pytest.approx(expected)
        assert found[b, a] == pytest.approx(expected)


def test_chow_liu_trees_of_row_samples_differ():
    labels = np.random.default_rng(0).integers(2, size=(40, 8))
    drawn = {
        draw_edges(ChowLiu(row_share=0.5), make_context(8, seed=seed, labels=labels)).tobytes()
        for seed in range(10)
    }
    assert len(drawn) > 3


def test_edges_are_given_by_position_name_array_or_networkx_graph():
    names = ("sun", "rain", "wind")
    expected = [[0, 1], [1, 2]]
    for given in (
        [(0, 1), (2, 1)],
        np.array([[1, 0], [1, 2]]),
        [("sun", "rain"), ("wind", "rain")],
        nx.path_graph(["sun", "rain", "wind"]),
        nx.path_graph(3),
    ):
        assert draw_edges(resolve(given), make_context(3, names=names)).tolist() == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("spaning_tree", "Did you mean 'spanning_tree'"),
        ("edges", "does not say which edges"),
        ([(0, 1, 2)], "pairs of labels"),
        ([0, 1], "pairs of labels"),
        ([(0, 1.5)], "pairs of labels"),
        (3, "must be one of"),
        (ChowLiu(row_share=0.0), "row_share"),
    ],
)
def test_what_is_no_graph_is_refused(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        resolve(given)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(0, 3)], "from 0 to 2; got 3"),
        ([(-1, 0)], "got -1"),
        ([(1, 1)], "different labels; got 1 with itself"),
        ([(0, 1), (1, 0)], "more than once"),
        ([("sun", "rian")], "Did you mean 'rain'"),
    ],
)
def test_edges_that_do_not_fit_the_labels_are_refused(edges, message):
    with pytest.raises(ValueError, match=message):
        draw_edges(Edges(edges), make_context(3, names=("sun", "rain", "wind")))


def test_names_need_a_y_with_names():
    with pytest.raises(ValueError, match="no column names"):
        draw_edges(Edges([("sun", "rain")]), make_context(3))


def test_a_generator_that_gives_no_edges_is_told_what_it_should_give():
    class Wrong(GraphGenerator):
        def draw(self, context):
            return np.zeros((2, 3))

    with pytest.raises(ValueError, match=r"Wrong.draw must give an integer array of shape"):
        draw_edges(Wrong(), make_context())
    with pytest.raises(TypeError, match="Register its class"):
        to_json(Wrong())


@pytest.mark.parametrize(
    "stored",
    [
        None,
        {},
        {"name": "chow_liu"},
        {"name": 3, "params": {}},
        {"name": "other", "params": {}},
        {"name": "chow_liu", "params": {"row_share": 2.0}},
        {"name": "chow_liu", "params": {"share": 0.5}},
        {"name": "edges", "params": {"edges": 3}},
        {"name": "edges", "params": {"edges": [[0]]}},
    ],
)
def test_damaged_descriptions_are_refused(stored):
    with pytest.raises(ValueError, match=r"graph|row_share|edges"):
        from_json(stored)
