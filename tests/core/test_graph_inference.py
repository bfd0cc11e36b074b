"""Inference in graphs with cycles: all labellings, bounds and proofs, no class preferred."""

import itertools

import numpy as np
import pytest
from tests.core.label_reference import brute_force, n_parameters, potential_score, random_graph

from polyleaf.graphs.label_graph import LabelGraph

pytestmark = pytest.mark.kernel


def graph_of(n_states, edges):
    return LabelGraph(np.array(n_states, np.int32), np.array(edges, np.int32).reshape(-1, 2))


def complete(n_labels):
    return np.array(list(itertools.combinations(range(n_labels), 2)), np.int32)


def padded(n_labels, edges, potentials):
    """The same problem with 20 more labels without edges, too many to look at all labellings."""
    graph = graph_of([2] * (n_labels + 20), edges)
    more = np.full((len(potentials), 20), -1.0)
    return graph, np.hstack([potentials[:, :n_labels], more, potentials[:, n_labels:]])


def turned(n_labels, edges, potentials):
    """Potentials of the same scores with the two classes of every label exchanged."""
    result = potentials.copy()
    result[:, :n_labels] *= -1.0
    for at, (a, b) in enumerate(edges, start=n_labels):
        result[:, a] -= potentials[:, at]
        result[:, b] -= potentials[:, at]
    return result


def test_four_labels_that_attract_each_other_are_all_ones():
    potentials = np.array([[-1.0] * 4 + [1.0] * 6])
    for graph, given in (
        (graph_of([2] * 4, complete(4)), potentials),
        padded(4, complete(4), potentials),
    ):
        found = graph.infer(given)
        assert found.labels[0, :4].tolist() == [1, 1, 1, 1]
        assert found.scores[0] == pytest.approx(2.0)
        np.testing.assert_allclose(found.max_marginals[0, :4], 2.0)


@pytest.mark.parametrize("n_states", [[2] * 6, [3, 2, 4, 1, 3, 2], [2]])
def test_few_labels_are_labelled_exactly_in_any_graph(n_states):
    rng = np.random.default_rng(len(n_states))
    edges = random_graph(len(n_states), 12, rng)
    graph = graph_of(n_states, edges)
    potentials = rng.normal(size=(25, n_parameters(n_states, edges)))
    found = graph.infer(potentials)
    assert graph.is_exact
    assert found.is_certified.all()
    for row in range(25):
        best, marginals = brute_force(n_states, edges, potentials[row])
        own = potential_score(n_states, edges, potentials[row], found.labels[row])
        assert own == pytest.approx(best)
        assert found.scores[row] == pytest.approx(best)
        np.testing.assert_allclose(found.max_marginals[row], marginals, atol=1e-12)


@pytest.mark.parametrize("pair_size", [0.1, 0.3, 1.0])
def test_bounds_hold_and_proofs_are_right_where_labels_are_many(pair_size):
    rng = np.random.default_rng(0)
    edges = complete(10)
    potentials = rng.normal(size=(200, 10 + len(edges))) * np.repeat([1.0, pair_size], [10, 45])
    exact = graph_of([2] * 10, edges).infer(potentials)
    graph, given = padded(10, edges, potentials)
    assert not graph.is_exact
    found = graph.infer(given)
    assert (found.bounds >= exact.scores - 1e-9).all()
    assert (found.scores <= exact.scores + 1e-9).all()
    proven = found.is_certified
    np.testing.assert_allclose(found.scores[proven], exact.scores[proven], atol=1e-9)
    assert proven.mean() > {0.1: 0.95, 0.3: 0.7, 1.0: 0.2}[pair_size]
    assert (found.scores >= exact.scores - 1e-9).mean() > 0.98
    assert np.array_equal(found.labels == 1, found.max_marginals > 0.0)
    # Max-marginals are those of labellings that were found: too far from 0 at worst.
    same = (found.labels[:, :10] == exact.labels).all(axis=1)
    slack = np.abs(found.max_marginals[same, :10]) - np.abs(exact.max_marginals[same])
    assert (slack >= -1e-9).all()
    assert (slack < 1e-9).mean() > 0.7


@pytest.mark.parametrize("is_large", [False, True])
def test_neither_class_is_preferred_in_a_graph_with_cycles(is_large):
    rng = np.random.default_rng(1)
    n_labels = 30 if is_large else 8
    edges = random_graph(n_labels, 4 * n_labels, rng)
    potentials = rng.normal(size=(100, n_labels + len(edges)))
    potentials[:, n_labels:] += 0.3
    graph = graph_of([2] * n_labels, edges)
    found, other = graph.infer(potentials), graph.infer(turned(n_labels, edges, potentials))
    assert graph.is_exact != is_large
    np.testing.assert_allclose(found.max_marginals, -other.max_marginals, atol=1e-9)
    assert np.array_equal(found.labels, 1 - other.labels)


def test_classes_of_many_kinds_are_bounded_too():
    rng = np.random.default_rng(2)
    n_states = [3, 2, 4, 2, 3]
    edges = complete(5)
    potentials = rng.normal(size=(60, n_parameters(n_states, edges))) * 0.5
    exact = graph_of(n_states, edges).infer(potentials)
    graph = graph_of([*n_states, *[2] * 15], edges)
    n_own = sum(n_states) - 5
    more = np.full((60, 15), -1.0)
    found = graph.infer(np.hstack([potentials[:, :n_own], more, potentials[:, n_own:]]))
    assert not graph.is_exact
    assert (found.bounds >= exact.scores - 1e-9).all()
    assert (found.scores >= exact.scores - 1e-9).mean() > 0.95
    assert found.is_certified.mean() > 0.3


def test_a_search_goes_on_from_labels_and_keeps_a_bound():
    rng = np.random.default_rng(3)
    edges = random_graph(24, 90, rng)
    graph = graph_of([2] * 24, edges)
    potentials = rng.normal(size=(40, 24 + len(edges)))
    found = graph.infer(potentials)
    again = graph.improve(potentials, found.labels, found.bounds)
    np.testing.assert_allclose(again.scores, found.scores)
    assert np.array_equal(again.is_certified, found.is_certified)
    worse = graph.improve(potentials, np.zeros((40, 24), np.int32), found.bounds)
    assert (worse.scores <= found.bounds + 1e-9).all()
    with pytest.raises(ValueError, match="below n_states"):
        graph.improve(potentials, np.full((40, 24), 2), found.bounds)


def test_many_threads_infer_what_one_thread_infers():
    rng = np.random.default_rng(4)
    graph = graph_of([2] * 20, random_graph(20, 80, rng))
    potentials = rng.normal(size=(300, 100))
    one, many = graph.infer(potentials, 1), graph.infer(potentials, 4)
    for name in ("labels", "max_marginals", "scores", "bounds"):
        assert np.array_equal(getattr(one, name), getattr(many, name))


def test_numbers_that_are_none_do_no_harm_in_cycles():
    for n_labels in (5, 20):
        graph = graph_of([2] * n_labels, complete(n_labels))
        strange = np.full((2, n_labels + n_labels * (n_labels - 1) // 2), np.nan)
        strange[1] = np.resize([np.inf, -np.inf, 1e308, -1e308], strange.shape[1])
        labels = graph.infer(strange).labels
        assert ((labels == 0) | (labels == 1)).all()


def test_an_unknown_way_is_refused():
    graph = LabelGraph(np.full(3, 2, np.int32), complete(3), "guess")
    with pytest.raises(ValueError, match="no such way"):
        graph.infer(np.zeros((1, 6)))
