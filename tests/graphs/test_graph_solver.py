"""Training reaches the optimum that a generic solver finds, and knows how far it is from it."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from tests.core.label_reference import all_labellings, edge_features

from polyleaf.graphs.kernels import (
    FeatureOperator,
    GramOperator,
)
from polyleaf.graphs.label_graph import LabelGraph
from polyleaf.graphs.solver import (
    MARGIN_LOSSES,
    FactorOperator,
    MarginProblem,
    MarginTraining,
    low_rank_factor,
    operator_of,
)


def tiny_problem(n_states=(2, 2, 2), edges=((0, 1), (1, 2)), *, seed=0, n_rows=5, C=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    labels = np.column_stack([rng.integers(n, size=n_rows) for n in n_states]).astype(np.int32)
    mass = C * rng.uniform(0.5, 1.5, n_rows)
    graph = LabelGraph.joined(np.array(n_states, np.int32), np.array(edges, np.int32))
    return X, labels, mass, graph


def make_problem(labels, mass, *, margin_loss="edge", tol=1e-7, max_iter=5000, cost=None):
    return MarginProblem(labels, mass, cost, margin_loss, tol, max_iter)


def naive_loss(graph, margin_loss, truth, labelling):
    """Loss between two labellings, with the definitions of the guide."""
    wrong = np.append(truth != labelling, False)  # the dummy node is never wrong
    pairs = [(wrong[a], wrong[b]) for a, b in graph.edges]
    if margin_loss == "edge":
        return float(sum(a or b for a, b in pairs))
    if margin_loss == "node":
        return float(sum(int(a) + int(b) for a, b in pairs))
    return float(wrong.sum())


def solve_primal(X, labels, mass, graph, margin_loss):
    """Minimise eq. 2 over w and slacks by sequential quadratic programming."""
    n_states = np.append(graph.n_states, 1)  # with the dummy node
    labellings = all_labellings(graph.n_states)
    padded = np.pad(labellings, ((0, 0), (0, 1)))
    rows, limits, owner = [], [], []
    for i, x in enumerate(X):
        truth = edge_features(n_states, graph.edges, x, np.append(labels[i], 0))
        for y, with_dummy in zip(labellings, padded):
            rows.append(truth - edge_features(n_states, graph.edges, x, with_dummy))
            limits.append(naive_loss(graph, margin_loss, labels[i], y))
            owner.append(i)
    A, b = np.array(rows), np.array(limits)
    slack = np.eye(len(X))[owner]
    size = A.shape[1]
    constraint = {
        "type": "ineq",
        "fun": lambda z: A @ z[:size] + slack @ z[size:] - b,
        "jac": lambda z: np.hstack([A, slack]),
    }
    start = np.concatenate([np.zeros(size), np.full(len(X), b.max())])
    found = minimize(
        lambda z: 0.5 * z[:size] @ z[:size] + mass @ z[size:],
        start,
        jac=lambda z: np.concatenate([z[:size], mass]),
        constraints=[constraint],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    assert found.success
    return float(found.fun)


CASES = {
    "chain": {},
    "weak": {"C": 0.05},
    "hard": {"C": 3.0, "n_rows": 4},
    "classes": {"n_states": (3, 2, 2), "n_rows": 4},
    "pair and a single label": {"edges": ((0, 1),)},
    "one label": {"n_states": (2,), "edges": np.zeros((0, 2))},
}


@pytest.mark.parametrize("margin_loss", MARGIN_LOSSES)
@pytest.mark.parametrize("case", CASES)
def test_the_dual_optimum_is_the_primal_optimum_of_a_generic_solver(case, margin_loss):
    X, labels, mass, graph = tiny_problem(**CASES[case])
    expected = solve_primal(X, labels, mass, graph, margin_loss)
    problem = make_problem(labels, mass, margin_loss=margin_loss)
    training = MarginTraining(graph, FeatureOperator(X), problem, np.random.default_rng(0))
    solution = training.run()
    assert solution.is_converged
    assert solution.primal == pytest.approx(expected, rel=1e-5)
    assert solution.dual == pytest.approx(expected, rel=1e-5)
    assert solution.dual <= expected * (1 + 1e-6)
    assert solution.primal >= expected * (1 - 1e-6)


@pytest.mark.parametrize("n_passes", [1, 2, 3, 5, 10])
def test_the_gap_bounds_how_far_both_objectives_are_from_the_optimum(n_passes):
    X, labels, mass, graph = tiny_problem(seed=3, n_rows=20, C=2.0)
    best = MarginTraining(
        graph, FeatureOperator(X), make_problem(labels, mass), np.random.default_rng(0)
    ).run()
    short = make_problem(labels, mass, tol=1e-12, max_iter=n_passes)
    early = MarginTraining(graph, FeatureOperator(X), short, np.random.default_rng(1)).run()
    assert not early.is_converged
    assert early.n_iter == n_passes
    assert 0.0 <= best.dual - early.dual + 1e-6 <= early.gap + 2e-6
    assert 0.0 <= early.primal - best.primal + 1e-6 <= early.gap + 2e-6
    w = early.state @ graph.expansion.toarray()  # |w|^2 over all edge labels
    assert 0.5 * (w**2).sum() <= early.primal


def test_the_dual_rises_with_every_pass():
    X, labels, mass, graph = tiny_problem(seed=4, n_rows=40, C=5.0)
    problem = make_problem(labels, mass)
    training = MarginTraining(graph, FeatureOperator(X), problem, np.random.default_rng(0))
    duals = []
    for _ in range(10):
        training._pass(10, 0.0)
        duals.append(training.objectives()[1])
    assert (np.diff(duals) > -1e-10).all()
    assert duals[-1] > duals[0] > 0.0


def test_kernel_matrix_features_and_sparse_features_train_the_same_model():
    X, _, mass, graph = tiny_problem(seed=5, n_rows=150, C=0.3)
    labels = (X @ [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]] > 0.3).astype(np.int32)
    problem = make_problem(labels, mass)
    operators = [
        FeatureOperator(X),
        FeatureOperator(sparse.csr_array(X)),
        GramOperator(X @ X.T, X),
        operator_of(X @ X.T, False),
    ]
    assert isinstance(operators[3], FactorOperator)
    weights = [
        operator.parameters(
            MarginTraining(graph, operator, problem, np.random.default_rng(0)).run().coefficients
        )
        for operator in operators
    ]
    # They differ in rounding, which the order of steps amplifies; the optimum is unique.
    np.testing.assert_allclose(weights[1], weights[0], atol=1e-3)
    np.testing.assert_allclose(weights[2], weights[0], atol=1e-3)
    np.testing.assert_allclose(weights[3] @ X, weights[0], atol=1e-3)
    assert np.abs(weights[0]).max() > 0.3


def test_a_start_from_earlier_coefficients_goes_on_from_there():
    X, labels, mass, graph = tiny_problem(seed=6, n_rows=60, C=1.0)
    problem = make_problem(labels, mass, tol=1e-5)
    rng = np.random.default_rng(0)
    solution = MarginTraining(graph, FeatureOperator(X), problem, rng).run()
    again = MarginTraining(graph, FeatureOperator(X), problem, rng, solution.coefficients).run()
    assert again.is_converged
    assert again.n_iter <= 2
    assert again.dual >= solution.dual - 1e-9


def test_dense_features_beyond_the_rows_are_trained_by_their_kernel_matrix():
    rng = np.random.default_rng(0)
    wide, tall = rng.normal(size=(5, 9)), rng.normal(size=(9, 5))
    assert isinstance(operator_of(wide, True), GramOperator)
    assert isinstance(operator_of(tall, True), FeatureOperator)
    assert isinstance(operator_of(sparse.csr_array(wide), True), GramOperator)
    large = sparse.csr_array((3000, 3_000_000))
    assert isinstance(operator_of(large, True), FeatureOperator)
    assert isinstance(operator_of(tall @ tall.T, False), GramOperator)


@pytest.mark.parametrize("n_rows", [40, 3000])
def test_a_kernel_matrix_of_low_rank_is_factored(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 3)) * [100.0, 1.0, 1e-2]
    gram = X @ X.T
    factor = low_rank_factor(gram)
    assert factor.shape == (n_rows, 3)
    np.testing.assert_allclose(factor @ factor.T, gram, atol=1e-9 * gram.max())


def test_a_kernel_matrix_is_not_factored_where_that_would_lose_any_of_it():
    X = np.random.default_rng(0).normal(size=(200, 30))
    assert low_rank_factor(X @ X.T) is None  # not of low rank
    assert low_rank_factor(np.eye(200)) is None
    assert low_rank_factor(np.zeros((200, 200))) is None
    gram = np.ones((600, 600))
    assert low_rank_factor(gram).shape == (600, 1)
    missed = np.setdiff1d(np.arange(600), np.random.default_rng(0).choice(600, 256, False))[0]
    gram[missed, missed] = 2.0  # a row that the sample does not span
    assert low_rank_factor(gram) is None


def test_a_kernel_matrix_with_negative_eigenvalues_is_refused():
    gram = np.ones((50, 50)) + np.eye(50)
    gram[0, 1] = gram[1, 0] = 3.0
    with pytest.raises(ValueError, match=r"positive semi-definite.*add a constant"):
        low_rank_factor(gram)


@pytest.mark.parametrize(
    "make", [FeatureOperator, lambda X: GramOperator(X @ X.T), lambda X: FactorOperator(X)]
)
def test_a_subset_of_an_operator_scores_the_other_rows(make):
    rng = np.random.default_rng(0)
    X, coefficients = rng.normal(size=(12, 3)), rng.normal(size=(8, 4))
    rows, others = np.arange(8), np.arange(8, 12)
    operator = make(X)
    state = operator.subset(rows).state_of(coefficients)
    scores = operator.scores(others, state, trained_on=rows)
    np.testing.assert_allclose(scores, X[others] @ X[rows].T @ coefficients)


def test_costs_of_labels_are_costs_of_their_errors():
    # A label whose errors cost nothing is not separated from its opposite.
    X, labels, mass, graph = tiny_problem(seed=7, n_rows=30, C=1.0)
    cost = np.ones(labels.shape)
    cost[:, 2] = 0.0
    problem = make_problem(labels, mass, cost=cost, margin_loss="hamming")
    free = MarginTraining(graph, FeatureOperator(X), problem, np.random.default_rng(0)).run()
    flipped = labels.copy()
    flipped[:, 2] = 1 - flipped[:, 2]
    problem = make_problem(flipped, mass, cost=cost, margin_loss="hamming")
    other = MarginTraining(graph, FeatureOperator(X), problem, np.random.default_rng(0)).run()
    assert free.dual == pytest.approx(other.dual, rel=1e-5)
