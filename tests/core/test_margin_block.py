"""Steps on the dual: feasible, consistent, and worth what they say."""

import numpy as np
import pytest
from tests.core.label_reference import all_labellings, random_graph, random_tree

from polyleaf.graphs.label_graph import LabelGraph

pytestmark = pytest.mark.kernel


class Block:
    """A block of examples, and naive sums over its tables."""

    def __init__(self, n_states, edges, seed, margin=(1.0, 0.0), weighted=False):
        rng = np.random.default_rng(seed)
        self.n_states, self.edges = np.array(n_states, np.int32), edges
        self.graph = LabelGraph.joined(self.n_states, edges)
        self.n_rows = 12
        X = rng.normal(size=(self.n_rows, 3))
        self.gram = X @ X.T + 1.0
        self.labels = np.column_stack([rng.integers(n, size=self.n_rows) for n in n_states])
        self.mass = rng.uniform(0.5, 2.0, self.n_rows)
        n_nodes = self.graph.n_nodes
        self.cost = rng.uniform(0.0, 2.0, (self.n_rows, n_nodes)) if weighted else None
        self.edge_cost, self.node_cost = margin[0], np.full(n_nodes, margin[1])
        self.coefficients = np.zeros((self.n_rows, self.graph.n_parameters))

    def visit(self, max_steps, enough_gap=0.0):
        padded = np.pad(self.labels, ((0, 0), (0, self.graph.n_nodes - self.labels.shape[1])))
        return self.graph.core.visit_block(
            self.edge_cost,
            self.node_cost,
            padded.astype(np.int32),
            self.mass,
            self.cost,
            self.gram,
            self.gram @ self.coefficients,
            self.coefficients,
            max_steps,
            enough_gap,
            0.0,
            self.graph.max_sweeps,
        )

    def marginals(self):
        """mu(i, e, u) of every edge, as a list of arrays of shape (n_rows, n_a, n_b)."""
        tables = self.coefficients @ self.graph.expansion.toarray()
        found = []
        for e, (a, b) in enumerate(self.graph.edges):
            n_a, n_b = self.n_states[a], 1 if b == self.n_states.size else self.n_states[b]
            start, stop = self.graph.table_offsets[e : e + 2]
            table = -tables[:, start:stop].reshape(-1, n_a, n_b)
            v = 0 if b == self.n_states.size else self.labels[:, b]
            table[np.arange(self.n_rows), self.labels[:, a], v] += self.mass
            found.append(table)
        return found

    def loss(self, row, labelling):
        total = 0.0
        for a, b in self.graph.edges:
            cost = np.ones(self.graph.n_nodes) if self.cost is None else self.cost[row]
            wrong_a = cost[a] * (labelling[a] != self.labels[row, a])
            is_real = b < self.n_states.size
            wrong_b = cost[b] * (labelling[b] != self.labels[row, b]) if is_real else 0.0
            total += self.edge_cost * max(wrong_a, wrong_b)
            total += self.node_cost[a] * wrong_a + self.node_cost[b] * wrong_b
        return total

    def dual(self):
        """The dual objective, from mu and losses of pairs."""
        loss = 0.0
        for (a, b), table in zip(self.graph.edges, self.marginals()):
            for row in range(self.n_rows):
                for u in range(table.shape[1]):
                    for v in range(table.shape[2]):
                        loss += table[row, u, v] * self._pair_loss(row, a, b, u, v)
        tables = self.coefficients @ self.graph.expansion.toarray()
        return loss - 0.5 * np.einsum("ik,ij,jk", tables, self.gram, tables)

    def _pair_loss(self, row, a, b, u, v):
        cost = np.ones(self.graph.n_nodes) if self.cost is None else self.cost[row]
        wrong_a = cost[a] * (u != self.labels[row, a])
        wrong_b = cost[b] * (v != self.labels[row, b]) if b < self.n_states.size else 0.0
        wrong = self.edge_cost * max(wrong_a, wrong_b)
        return wrong + self.node_cost[a] * wrong_a + self.node_cost[b] * wrong_b

    def primal(self):
        tables = self.coefficients @ self.graph.expansion.toarray()
        scores = self.gram @ self.coefficients
        labellings = all_labellings(self.n_states)
        total = 0.5 * np.einsum("ik,ij,jk", tables, self.gram, tables)
        for row in range(self.n_rows):
            repeated = np.repeat(scores[row : row + 1], len(labellings), axis=0)
            psi = self.graph.edge_scores(repeated, labellings).sum(axis=1)
            losses = np.array([self.loss(row, y) for y in labellings])
            true = np.flatnonzero((labellings == self.labels[row]).all(axis=1))[0]
            total += self.mass[row] * (psi + losses - psi[true]).max()
        return total


def problems():
    rng = np.random.default_rng(5)
    tree = random_tree(5, rng)
    yield "binary tree", Block([2] * 5, tree, 0)
    yield "classes", Block([3, 2, 4, 2, 1], tree, 1)
    yield "node errors", Block([2] * 5, tree, 2, margin=(0.0, 1.0))
    yield "costs", Block([3, 2, 2, 2, 3], tree, 3, weighted=True)
    yield "costs of node errors", Block([2] * 5, tree, 4, margin=(0.0, 0.5), weighted=True)
    yield "pairs and a single label", Block([2] * 5, np.array([[0, 1], [2, 3]], np.int32), 5)
    yield "one label", Block([3], np.zeros((0, 2), np.int32), 6)
    yield "cycles", Block([2] * 5, random_graph(5, 8, rng), 7)


each_problem = pytest.mark.parametrize(
    "block", [pytest.param(b, id=name) for name, b in problems()]
)


@each_problem
def test_marginals_are_consistent_and_feasible_after_every_step(block):
    block.coefficients[:] = 0.0
    for _ in range(8):
        block.visit(1)
        tables = block.marginals()
        for table in tables:
            assert table.min() > -1e-12
            np.testing.assert_allclose(table.sum(axis=(1, 2)), block.mass)
        for j in range(block.n_states.size):
            sums = [t.sum(axis=2) for (a, _), t in zip(block.graph.edges, tables) if a == j]
            sums += [t.sum(axis=1) for (_, b), t in zip(block.graph.edges, tables) if b == j]
            for other in sums[1:]:
                np.testing.assert_allclose(other, sums[0], atol=1e-12)


@each_problem
@pytest.mark.parametrize("max_steps", [1, 10])
def test_the_ascent_is_what_the_dual_objective_gained(block, max_steps):
    block.coefficients[:] = 0.0
    before = 0.0
    for _ in range(4):
        ascent = block.visit(max_steps)[3]
        after = block.dual()
        assert after - before == pytest.approx(ascent, abs=1e-9)
        assert ascent >= 0.0
        before = after


@each_problem
def test_a_visit_without_steps_sums_up_both_objectives(block):
    block.coefficients[:] = 0.0
    block.visit(3)
    before = block.coefficients.copy()
    slack, loss, quadratic, ascent = block.visit(0)
    assert ascent == 0.0
    assert np.array_equal(block.coefficients, before)
    assert loss - 0.5 * quadratic == pytest.approx(block.dual())
    if block.graph.is_forest:
        assert 0.5 * quadratic + slack == pytest.approx(block.primal())
    else:  # approximate inference misses some of the slack
        assert 0.5 * quadratic + slack <= block.primal() + 1e-9


def test_parts_of_a_forest_step_as_if_there_were_no_others():
    whole = Block([2] * 6, np.array([[0, 1], [1, 2], [3, 4], [4, 5]], np.int32), 0)
    parts = [Block([2] * 3, np.array([[0, 1], [1, 2]], np.int32), 0) for _ in range(2)]
    for j, part in enumerate(parts):
        part.gram, part.mass = whole.gram, whole.mass
        part.labels = whole.labels[:, 3 * j : 3 * j + 3]
    for _ in range(5):
        ascent = whole.visit(1)[3]
        assert ascent == pytest.approx(sum(part.visit(1)[3] for part in parts))
        for j, part in enumerate(parts):
            columns = [3 * j, 3 * j + 1, 3 * j + 2, 6 + 2 * j, 7 + 2 * j]
            np.testing.assert_allclose(
                whole.coefficients[:, columns], part.coefficients, atol=1e-12
            )


def test_an_example_without_mass_is_left_alone():
    block = Block([2] * 4, random_tree(4, np.random.default_rng(0)), 0)
    block.mass[::2] = 0.0
    block.visit(5)
    assert not block.coefficients[::2].any()
    assert block.coefficients[1::2].any(axis=1).sum() >= 4


def test_an_example_whose_gap_is_small_enough_is_left_alone():
    block = Block([2] * 4, random_tree(4, np.random.default_rng(0)), 0)
    block.visit(5, enough_gap=1e9)
    assert not block.coefficients.any()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("labels", np.full((12, 4), 2, np.int32), "labels"),
        ("mass", np.ones(11), "mass"),
        ("gram", np.ones((12, 11)), "gram"),
        ("coefficients", np.zeros((12, 6)), "coefficients"),
    ],
)
def test_arrays_that_do_not_fit_the_graph_are_refused(name, value, message):
    block = Block([2] * 4, random_tree(4, np.random.default_rng(0)), 0)
    arguments = {
        "edge_cost": 1.0,
        "node_cost": np.zeros(4),
        "labels": block.labels.astype(np.int32),
        "mass": block.mass,
        "label_cost": None,
        "gram": block.gram,
        "scores": np.zeros((12, 7)),
        "coefficients": np.zeros((12, 7)),
        "max_steps": 1,
        "enough_gap": 0.0,
        "gap_share": 0.0,
        "max_sweeps": 1,
    }
    block.graph.core.visit_block(**arguments)
    with pytest.raises(ValueError, match=message):
        block.graph.core.visit_block(**arguments | {name: value})
