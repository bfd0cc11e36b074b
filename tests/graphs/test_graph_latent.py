"""Unobserved labels are completed by the model, and the objective falls as they are."""

import numpy as np
from tests.core.label_reference import all_labellings, random_tree

from polyleaf.graphs.kernels import FeatureOperator
from polyleaf.graphs.label_graph import LabelGraph
from polyleaf.graphs.solver import MarginProblem, MarginTraining, complete_labels, solve_margin


def masked_problem(seed=0, n_rows=60, n_labels=5, share=0.3, tol=1e-6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    truth = (X @ rng.normal(size=(3, n_labels)) > 0).astype(np.int32)
    observed = rng.random(truth.shape) > share
    labels = np.where(observed, truth, 0).astype(np.int32)
    graph = LabelGraph(np.full(n_labels, 2, np.int32), random_tree(n_labels, rng))
    cost = observed.astype(float)
    problem = MarginProblem(labels, np.ones(n_rows), cost, "edge", tol, 5000)
    return X, truth, observed, graph, problem


def latent_objective(graph, scores, w_squared, problem, observed):
    """The objective that is not convex, by brute force over all labellings."""
    labellings = all_labellings(graph.n_states)
    total = 0.5 * w_squared
    for i in range(len(scores)):
        rows = np.repeat(scores[i : i + 1], len(labellings), axis=0)
        psi = graph.edge_scores(rows, labellings).sum(axis=1)
        wrong = (labellings != problem.labels[i]) & observed[i]
        loss = (wrong[:, graph.edges[:, 0]] | wrong[:, graph.edges[:, 1]]).sum(axis=1)
        agrees = ~wrong.any(axis=1)
        total += problem.mass[i] * ((psi + loss).max() - psi[agrees].max())
    return total


def objective_of(graph, X, solution, problem, observed):
    w = solution.state.T @ np.eye(X.shape[1])
    w_squared = ((w.T @ graph.expansion.toarray()) ** 2).sum()
    return latent_objective(graph, X @ solution.state, w_squared, problem, observed)


def test_completed_labels_are_the_best_that_agree_with_what_was_observed():
    X, _, observed, graph, problem = masked_problem()
    operator = FeatureOperator(X)
    state = MarginTraining(graph, operator, problem, np.random.default_rng(0)).run().state
    completed = complete_labels(graph, operator, state, problem.labels, observed)
    assert np.array_equal(completed[observed], problem.labels[observed])
    labellings = all_labellings(graph.n_states)
    for i in range(len(X)):
        rows = np.repeat(X[i : i + 1] @ state, len(labellings), axis=0)
        psi = graph.edge_scores(rows, labellings).sum(axis=1)
        agrees = (labellings == problem.labels[i])[:, observed[i]].all(axis=1)
        own = (labellings == completed[i]).all(axis=1)
        assert psi[own][0] >= psi[agrees].max() - 1e-9


def test_the_objective_falls_from_round_to_round():
    X, _, observed, graph, problem = masked_problem(seed=1)
    operator = FeatureOperator(X)
    first = MarginTraining(graph, operator, problem, np.random.default_rng(0)).run()
    last = solve_margin(graph, operator, problem, observed, np.random.default_rng(0))
    before = objective_of(graph, X, first, problem, observed)
    after = objective_of(graph, X, last, problem, observed)
    assert after < before  # the first completion was a guess
    assert abs(after - last.primal) < 1e-3 * after


def test_completion_beats_a_guess_of_the_unobserved_labels():
    X, truth, observed, graph, problem = masked_problem(seed=2, n_rows=300, share=0.5, tol=0.01)
    operator = FeatureOperator(X)
    solution = solve_margin(graph, operator, problem, observed, np.random.default_rng(0))
    free = complete_labels(graph, operator, solution.state, problem.labels, observed)
    hidden = ~observed
    assert (free[hidden] == truth[hidden]).mean() > 0.9
    assert (problem.labels[hidden] == truth[hidden]).mean() < 0.6
