"""Learn around labels that were not observed, by leaving them free (latent completion).

With h_i the unobserved labels of example i, the hinge compares the worst labelling with the best
one that agrees with what was observed: max_y [loss + psi(x_i, y)] - max_h psi(x_i, (y_i, h)). An
error in an unobserved label costs nothing. The difference of two maxima is not convex; as in the
concave-convex procedure, labels are completed by the present model and the convex problem that
this leaves is solved, in turns, so that the objective falls from round to round, up to
the tolerance of the training.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.graphs.label_graph import LabelGraph
from polyleaf.graphs.operators import KernelOperator
from polyleaf.graphs.solver import MarginProblem, MarginSolution, MarginTraining

_MAX_ROUNDS = 10


def solve_margin(
    graph: LabelGraph,
    operator: KernelOperator,
    problem: MarginProblem,
    observed: NDArray[np.bool_] | None,
    rng: np.random.Generator,
    stop: _core.StopFlag | None = None,
) -> MarginSolution:
    """Train a classifier, and complete unobserved labels while that changes any.

    Parameters
    ----------
    graph : LabelGraph
    operator : KernelOperator
    problem : MarginProblem
        With label costs of 0 where unobserved, and any labels there to start with.
    observed : ndarray of shape (n_rows, n_labels), bool, or None
    rng : numpy.random.Generator
    stop : StopFlag, optional
        See `MarginTraining`.

    Returns
    -------
    MarginSolution
        Its objectives are those of the last convex problem.
    """
    solution = MarginTraining(graph, operator, problem, rng, stop=stop).run()
    if observed is None:
        return solution
    for _ in range(_MAX_ROUNDS - 1):
        labels = complete_labels(graph, operator, solution.state, problem.labels, observed)
        changed = (labels != problem.labels).any(axis=1) & (problem.mass > 0.0)
        if not changed.any():
            break
        problem = replace(problem, labels=labels)
        # All mass of an example whose labels changed starts on its new labelling.
        start = np.where(changed[:, None], 0.0, solution.coefficients)
        solution = MarginTraining(graph, operator, problem, rng, start, stop).run()
    return solution


def complete_labels(
    graph: LabelGraph,
    operator: KernelOperator,
    state: NDArray[np.float64],
    labels: NDArray[np.int32],
    observed: NDArray[np.bool_],
) -> NDArray[np.int32]:
    """Find the best labels where unobserved, given those that were observed.

    Returns
    -------
    ndarray of shape (n_rows, n_labels), int32
        Equal to `labels` where observed.
    """
    rows = np.flatnonzero(~observed.all(axis=1))
    potentials = graph.potentials(operator.scores(rows, state))
    reward = 1.0 + 2.0 * np.abs(potentials).sum(axis=1, keepdims=True)
    classes = np.concatenate([np.arange(1, n) for n in graph.n_states])
    given = np.repeat(np.where(observed[rows], labels[rows], -1), graph.n_states - 1, axis=1)
    potentials[:, : classes.size] += reward * ((given == classes) - 1.0 * (given == 0))
    completed = labels.copy()
    best, _ = graph.max_product(potentials)
    completed[rows] = np.where(observed[rows], labels[rows], best)
    return completed
