"""Hierarchies: the forms they come in, what they refuse, and what they make of labels."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from polyleaf.datasets import (
    DataFormatError,
    Dataset,
    concatenate,
    read_clus,
    read_edges,
    read_obo,
)
from polyleaf.decoding import ExampleF1
from polyleaf.hierarchy import Hierarchy, as_hierarchy

#: 0 -> 1 -> 3, 0 -> 2 -> 3, 2 -> 4, and 5 alone: 3 has two parents.
DIAMOND = [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4)]
NAMES = ["a", "b", "c", "d", "e", "f"]


def diamond(**given):
    return Hierarchy(DIAMOND, 6, **given)


def naive_close(hierarchy, Y):
    """Follow every edge until nothing changes."""
    closed = np.array(Y)
    for _ in range(hierarchy.n_outputs):
        for parent, child in hierarchy.edges:
            closed[:, parent] = np.fmax(closed[:, parent], closed[:, child])
    return closed


def random_hierarchy(rng, d):
    """A graph whose numbers say nothing about depth."""
    order = rng.permutation(d)
    pairs = np.sort(rng.integers(d, size=(2 * d, 2)), axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    return Hierarchy(order[pairs], d)


# Forms ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        [-1, 0, 0, 1],
        np.array([-1, 0, 0, 1]),
        [(0, 1), (0, 2), (1, 3)],
        np.array([[1, 3], [0, 2], [0, 1], [0, 1]]),
        [("a", "b"), ("a", "c"), ("b", "d")],
        Hierarchy([(0, 1), (0, 2), (1, 3)], 4),
    ],
)
def test_all_forms_give_the_same_hierarchy(given):
    found = as_hierarchy(given, 4, NAMES[:4])
    assert found.edges.tolist() == [[0, 1], [0, 2], [1, 3]]
    assert found.depth.tolist() == [0, 1, 1, 2]
    assert found.names == tuple(NAMES[:4])


def test_paths_connect_with_the_longest_part_that_is_an_output():
    found = as_hierarchy(["01/04/02", "01", "14", "14/01/02"])
    assert found.edges.tolist() == [[1, 0], [2, 3]]


def test_paths_that_are_the_names_of_outputs_may_come_in_any_order():
    names = ["x/y", "x", "z"]
    assert as_hierarchy(["x", "z", "x/y"], 3, names).edges.tolist() == [[1, 0]]


def test_networkx_graphs_by_number_and_name():
    networkx = pytest.importorskip("networkx")
    by_name = networkx.DiGraph([("a", "b"), ("b", "c")])
    assert as_hierarchy(by_name, 3, ["c", "b", "a"]).edges.tolist() == [[1, 0], [2, 1]]
    assert as_hierarchy(networkx.DiGraph([(0, 2), (2, 1)]), 3).depth.tolist() == [0, 2, 1]
    again = as_hierarchy(diamond(names=NAMES).to_networkx(), 6, NAMES)
    assert_array_equal(again.edges, diamond().edges)
    with pytest.raises(ValueError, match="directed"):
        as_hierarchy(networkx.Graph([(0, 1)]), 2)


def test_a_hierarchy_with_names_is_restricted_to_the_outputs():
    found = as_hierarchy(diamond(names=NAMES), 3, ["d", "a", "e"])
    assert found.edges.tolist() == [[1, 0], [1, 2]]
    assert found.names == ("d", "a", "e")


def test_depth_is_the_longest_way_and_weights_average_over_parents():
    found = Hierarchy([(0, 1), (0, 2), (1, 2)], 3, w0=0.5)
    assert found.depth.tolist() == [0, 1, 2]
    assert found.weights.tolist() == [1.0, 0.5, 0.5 * (1.0 + 0.5) / 2]


def test_weights_of_a_tree_are_powers_of_w0():
    tree = as_hierarchy([-1, 0, 1, 2])
    np.testing.assert_allclose(tree.weights, 0.75**tree.depth)
    assert tree.with_w0(1.0).weights.tolist() == [1.0] * 4


def test_relatives():
    found = diamond(names=NAMES)
    assert found.parents("d").tolist() == [1, 2]
    assert found.children(0).tolist() == [1, 2]
    assert found.ancestors("d").tolist() == [0, 1, 2]
    assert found.descendants("c").tolist() == [3, 4]
    assert found.roots.tolist() == [0, 5]
    assert found.leaves.tolist() == [3, 4, 5]
    assert not found.is_tree
    assert as_hierarchy([-1, 0]).is_tree


def test_json_and_equality():
    found = diamond(names=NAMES, w0=0.5)
    assert Hierarchy.from_json(found.to_json()) == found
    assert hash(Hierarchy.from_json(found.to_json())) == hash(found)
    assert found != diamond()
    for damaged in (None, {}, {**found.to_json(), "edges": [[0, "x"]]}):
        with pytest.raises(ValueError, match="Expected"):
            Hierarchy.from_json(damaged)


def test_it_is_frozen():
    with pytest.raises(ValueError, match="read-only"):
        diamond().edges[0, 0] = 5
    with pytest.raises(AttributeError):
        diamond().w0 = 0.5


# What is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([(0, 1), (1, 2), (2, 0)], "cycles; got one: 0 -> 1 -> 2 -> 0|1 -> 2 -> 0 -> 1|2 -> 0"),
        ([(1, 1)], "its own parent"),
        ([1, 0, -1], "cycles"),
        ([0, -1, -1], "its own parent"),
        ([-1, 0], "each of the 3 outputs"),
        ([-1, 0, 7], "output 2 has 7"),
        ([-1, 0, -2], "output 2 has -2"),
        (["a", "a/b"], "each of the 3 outputs"),
        (["a", "a", "b"], "different"),
        (["a", "a//b", "b"], "none empty"),
        (["/".join("a" * 2000), "a", "b"], "may have"),
        ([(0, 3)], "outputs 0 to 2"),
        ([("cat", "dog")], "no names"),
        (Hierarchy([(0, 1)], 2), "3 outputs"),
        ("animal", "hierarchy must be"),
        ({"a": 1}, "hierarchy must be"),
        ([None, 0, 0], "hierarchy must be"),
        ([0.5, 1.0, 2.0], "hierarchy must be"),
        (7, "hierarchy must be"),
    ],
)
def test_what_is_no_hierarchy_of_three_outputs_is_refused(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        as_hierarchy(given, 3)


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(ValueError, match="Did you mean 'animal'"):
        as_hierarchy([("anmal", "cat")], 2, ["animal", "cat"])
    with pytest.raises(ValueError, match="has no 'g'"):
        diamond(names=NAMES).restrict(["a", "g"])


@pytest.mark.parametrize("w0", [0.0, 1.5, -1, np.nan, "x", True])
def test_w0_must_be_a_share(w0):
    with pytest.raises(ValueError, match="w0"):
        diamond(w0=w0)


def test_a_long_chain_and_a_wide_star_take_no_quadratic_memory():
    d = 3000
    chain = as_hierarchy([-1, *range(d - 1)])
    assert chain.depth.max() == d - 1
    scores = np.zeros((1, d))
    scores[0, -1] = 1.0
    assert chain.raise_ancestors(scores).min() == 1.0
    star = as_hierarchy([-1] + [0] * (d - 1))
    assert star.raise_ancestors(scores)[0, :2].tolist() == [1.0, 0.0]


# Labels and scores ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_closing_and_raising_equal_the_naive_way(seed):
    rng = np.random.default_rng(seed)
    hierarchy = random_hierarchy(rng, 30)
    scores = rng.random((40, 30)) * (rng.random((40, 30)) < 0.3)
    labels = (rng.random((40, 30)) < 0.05).astype(np.int64)
    expected = naive_close(hierarchy, scores)
    assert_array_equal(hierarchy.raise_ancestors(scores), expected)
    assert_array_equal(hierarchy.raise_ancestors(sparse.csr_array(scores)).toarray(), expected)
    assert hierarchy.n_violations(scores) > 0
    assert hierarchy.n_violations(expected) == 0
    expected = naive_close(hierarchy, labels)
    assert_array_equal(hierarchy.close(labels), expected)
    closed = hierarchy.close(sparse.csr_array(labels))
    assert_array_equal(closed.toarray(), expected)
    assert closed.dtype == labels.dtype
    assert hierarchy.n_violations(sparse.csr_array(labels)) == hierarchy.n_violations(labels)
    assert hierarchy.is_closed(closed)


def test_scores_that_respect_the_hierarchy_stay_as_they_are():
    scores = np.array([[0.9, 0.5, 0.5, 0.5, 0.1, 0.2]])
    assert diamond().raise_ancestors(scores) is scores


def test_restricting_keeps_ancestors():
    rng = np.random.default_rng(0)
    hierarchy = random_hierarchy(rng, 25)
    hierarchy = Hierarchy(hierarchy.edges, 25, [f"n{j}" for j in range(25)])
    kept = rng.permutation(25)[:10]
    part = hierarchy.restrict([f"n{j}" for j in kept])
    for place, label in enumerate(kept):
        expected = set(hierarchy.ancestors(int(label)).tolist()) & set(kept.tolist())
        assert {int(kept[j]) for j in part.ancestors(place)} == expected


def test_what_follows_is_filled_in_where_labels_are_not_observed():
    nan = np.nan
    Y = np.array([[nan, nan, nan, 1.0, nan, 0.0], [0.0, nan, nan, nan, nan, nan]])
    closed = diamond().close(Y)
    assert_array_equal(closed[0], [1, 1, 1, 1, nan, 0])
    assert_array_equal(closed[1], [0, 0, 0, 0, 0, nan])
    assert diamond().is_closed(Y)


def test_closing_refuses_what_are_no_labels():
    with pytest.raises(ValueError, match="0 and 1"):
        diamond().close(np.full((2, 6), 2))
    with pytest.raises(ValueError, match="each of the 6 labels"):
        diamond().close(np.zeros((2, 5)))


# Decisions --------------------------------------------------------------------------------------


def all_closed_sets(hierarchy):
    sets = np.array(list(product([0, 1], repeat=hierarchy.n_outputs)))
    return sets[[hierarchy.is_closed(row[None]) for row in sets]]


def expected_f1(sets, shares, guess):
    both = (sets * guess).sum(axis=1)
    sizes = sets.sum(axis=1) + guess.sum()
    return shares @ np.where(sizes > 0, 2 * both / np.maximum(sizes, 1), 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_decoding_by_f1_is_optimal_for_hierarchical_f1(seed):
    hierarchy = diamond()
    sets = all_closed_sets(hierarchy)
    shares = np.random.default_rng(seed).dirichlet(np.full(len(sets), 0.3))
    chosen = ExampleF1().decode_joint(shares[None], sets)
    assert hierarchy.is_closed(chosen)
    best = max(expected_f1(sets, shares, guess) for guess in sets)
    assert expected_f1(sets, shares, chosen[0]) == pytest.approx(best)


def test_thresholds_of_scores_that_respect_it_give_closed_sets():
    scores = diamond().raise_ancestors(np.random.default_rng(0).random((50, 6)))
    for threshold in (0.2, 0.5, 0.8):
        assert diamond().is_closed((scores > threshold).astype(int))


# Files ------------------------------------------------------------------------------------------


def test_clus_files_give_trees_and_graphs(tmp_path):
    path = tmp_path / "toy.arff"
    head = "@relation toy\n@attribute x numeric\n@attribute class hierarchical "
    path.write_text(head + "a/b,c,a/b/d\n@data\n1,a/b\n2,c\n")
    data = read_clus(path)
    assert data.hierarchy.names == ("a", "a/b", "c", "a/b/d")
    assert data.hierarchy.edges.tolist() == [[0, 1], [1, 3]]
    path.write_text(head + "root/p,p/q,root/r,r/q\n@data\n1,q\n2,r\n")
    graph = read_clus(path).hierarchy
    assert graph.names == ("p", "q", "r")
    assert graph.edges.tolist() == [[0, 1], [2, 1]]
    assert data.take([0]).hierarchy is data.hierarchy
    assert concatenate([data, data]).hierarchy == data.hierarchy


def test_a_data_set_takes_a_hierarchy_of_its_outputs_alone():
    X, Y = np.zeros((2, 1)), np.zeros((2, 2))
    with pytest.raises(ValueError, match="2 outputs"):
        Dataset(X, Y, ["x"], ["a", "b"], "toy", 0, diamond())
    with pytest.raises(TypeError, match="as_hierarchy"):
        Dataset(X, Y, ["x"], ["a", "b"], "toy", 0, [-1, 0])


OBO = """format-version: 1.2
[Term]
id: GO:1
name: all ! of it

[Term]
id: GO:2 ! a comment
is_a: GO:1 {source="x"} ! all
relationship: part_of GO:1
relationship: regulates GO:3

[Term]
id: GO:3
is_obsolete: true
is_a: GO:9

[Typedef]
id: part_of
"""


def test_obo_files(tmp_path):
    path = tmp_path / "toy.obo"
    path.write_text(OBO)
    found = read_obo(path)
    assert found.names == ("GO:1", "GO:2")
    assert found.edges.tolist() == [[0, 1]]
    for text, message in [
        ("[Term]\nname: x\n", "line 1: expected an id"),
        ("[Term]\nid: a\nis_a: b\n", "line 3: expected a term"),
        ("[Term]\nid: a\n[Term]\nid: a\n", "again"),
        ("[Term]\nid: a\nis_a: a\n", "its own parent"),
        ("[Term]\nid: a\nis_a: b\n[Term]\nid: b\nis_a: a\n", "cycles"),
        ("nothing\n", "none"),
        ("", "empty"),
    ]:
        path.write_text(text)
        with pytest.raises(DataFormatError, match=message):
            read_obo(path)


def test_edge_files(tmp_path):
    path = tmp_path / "toy.edges"
    path.write_text("# parent child\nroot\ta b\na b\tc\nd\n\n")
    found = read_edges(path)
    assert found.names == ("a b", "c", "d")
    assert found.edges.tolist() == [[0, 1]]
    for text, message in [
        ("a b c\n", "line 1: expected the names"),
        ("a root\n", "as parent only"),
        ("a,b\nb,a\n", "cycles"),
        ("# nothing\n", "at least one"),
    ]:
        path.write_text(text)
        with pytest.raises(DataFormatError, match=message):
            read_edges(path)
    path.write_text("a|b\n")
    assert read_edges(path, separator="|").names == ("a", "b")
