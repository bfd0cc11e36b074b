"""Message passing against all labellings."""

import numpy as np
import pytest
from tests.core.label_reference import (
    brute_force,
    n_parameters,
    potential_score,
    random_graph,
    random_tree,
)

from polyleaf.graphs.label_graph import LabelGraph

pytestmark = pytest.mark.kernel


def draw(n_states, edges, n_rows, rng):
    graph = LabelGraph(np.array(n_states, dtype=np.int32), edges)
    return graph, rng.normal(size=(n_rows, n_parameters(n_states, edges)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["binary", "classes", "forest"])
def test_labels_and_max_marginals_of_trees_equal_brute_force(kind, seed):
    rng = np.random.default_rng([seed, len(kind)])
    n_labels = int(rng.integers(2, 8))
    n_states = [2] * n_labels if kind == "binary" else rng.integers(1, 5, n_labels).tolist()
    edges = random_tree(n_labels, rng)
    if kind == "forest":
        edges = edges[rng.random(len(edges)) < 0.6]
    graph, potentials = draw(n_states, edges, 20, rng)
    assert graph.is_forest
    labels, marginals = graph.max_product(potentials)
    for row in range(20):
        best, expected = brute_force(n_states, edges, potentials[row])
        assert potential_score(n_states, edges, potentials[row], labels[row]) == pytest.approx(
            best
        )
        np.testing.assert_allclose(marginals[row], expected, atol=1e-12)


@pytest.mark.parametrize("n_labels", [2, 5, 7])
def test_loopy_max_product_finds_nearly_all_best_labellings_of_small_graphs(n_labels):
    rng = np.random.default_rng(n_labels)
    n_best = n_rows = 0
    lost = total = 0.0
    for _ in range(10):
        edges = random_graph(n_labels, 2 * n_labels, rng)
        graph, potentials = draw([2] * n_labels, edges, 25, rng)
        labels, marginals = graph.max_product(potentials)
        assert np.array_equal(labels, marginals > 0)  # scores never speak against labels
        for row in range(25):
            best, _ = brute_force([2] * n_labels, edges, potentials[row])
            found = potential_score([2] * n_labels, edges, potentials[row], labels[row])
            assert found <= best + 1e-9
            n_best += found >= best - 1e-9
            lost, total = lost + best - found, total + best
            n_rows += 1
    assert n_best / n_rows > 0.9
    assert lost < 0.01 * total


def test_a_labelling_of_a_graph_with_cycles_is_a_local_optimum():
    rng = np.random.default_rng(0)
    n_states = [3, 2, 4, 2, 3, 2]
    edges = random_graph(6, 12, rng)
    graph, potentials = draw(n_states, edges, 30, rng)
    labels, _ = graph.max_product(potentials)
    for row in range(30):
        score = potential_score(n_states, edges, potentials[row], labels[row])
        for j, n in enumerate(n_states):
            for u in range(n):
                other = labels[row].copy()
                other[j] = u
                assert potential_score(n_states, edges, potentials[row], other) <= score + 1e-9


@pytest.mark.parametrize("n_edges", [9, 30])
def test_many_threads_find_what_one_thread_finds(n_edges):
    rng = np.random.default_rng(1)
    edges = random_tree(10, rng) if n_edges == 9 else random_graph(10, n_edges, rng)
    graph, potentials = draw([2] * 10, edges, 1000, rng)
    one, many = graph.max_product(potentials, 1), graph.max_product(potentials, 4)
    assert np.array_equal(one[0], many[0])
    assert np.array_equal(one[1], many[1])


def test_rows_and_labels_may_be_none():
    graph = LabelGraph(np.array([2, 1], dtype=np.int32), np.zeros((0, 2), np.int32))
    labels, marginals = graph.max_product(np.zeros((0, 1)))
    assert labels.shape == (0, 2)
    assert marginals.shape == (0, 1)
    labels, marginals = graph.max_product(np.array([[0.5], [-0.5], [0.0]]))
    assert labels.tolist() == [[1, 0], [0, 0], [0, 0]]


def test_scores_that_are_no_numbers_do_no_harm():
    graph = LabelGraph(np.full(3, 2, dtype=np.int32), np.array([[0, 1], [1, 2]], dtype=np.int32))
    strange = np.array([[np.nan, np.inf, -np.inf, 1e308, -1e308]] * 2)
    labels, _ = graph.max_product(strange)
    assert ((labels == 0) | (labels == 1)).all()


@pytest.mark.parametrize(
    ("n_states", "edges", "message"),
    [
        ([2, 2], [[0, 2]], "no such end"),
        ([2, 2], [[-1, 0]], "no such end"),
        ([2, 2], [[1, 1]], "loop"),
        ([2, 2], [[0, 1], [1, 0]], "twice"),
        ([2, 0], [[0, 1]], "state"),
        ([2**30, 2**30], [[0, 1]], "too many"),
    ],
)
def test_what_is_no_graph_is_refused(n_states, edges, message):
    from polyleaf import _core

    with pytest.raises(ValueError, match=message):
        _core.LabelGraph(np.array(n_states, np.int32), np.array(edges, np.int32))


@pytest.mark.parametrize("n_labels", [1, 2, 9])
def test_the_diameter_is_the_longest_of_all_shortest_paths(n_labels):
    chain = np.array([[j, j + 1] for j in range(n_labels - 1)], np.int32).reshape(-1, 2)
    graph = LabelGraph(np.full(n_labels, 2, np.int32), chain)
    assert graph.core.diameter() == n_labels - 1
    star = np.array([[0, j] for j in range(1, n_labels)], np.int32).reshape(-1, 2)
    assert LabelGraph(np.full(n_labels, 2, np.int32), star).core.diameter() == min(n_labels - 1, 2)
