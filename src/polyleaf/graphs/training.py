"""Train the members of a graph ensemble (paper 003, algorithm 1), and calibrate their scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from polyleaf import _core
from polyleaf.estimator.running import in_threads, progress_bar
from polyleaf.graphs import GraphContext, GraphGenerator, draw_edges
from polyleaf.graphs.aggregation import Consensus, make_aggregation
from polyleaf.graphs.calibration import channel_scores, fit_slopes
from polyleaf.graphs.consensus import ConsensusCompletion
from polyleaf.graphs.label_graph import LabelGraph
from polyleaf.graphs.labels import LabelData
from polyleaf.graphs.latent import solve_margin
from polyleaf.graphs.operators import KernelOperator
from polyleaf.graphs.solver import MarginProblem, MarginSolution

#: Members whose held-out scores calibrate an ensemble; more would only cost time.
_CALIBRATION_MEMBERS = 10


@dataclass(frozen=True, eq=False)
class GraphTask:
    """All that the members of an ensemble share.

    Attributes
    ----------
    operator : KernelOperator
    data : LabelData
    problem : MarginProblem
    generator : GraphGenerator
    output_names : tuple of str, or None
    seed : int
        Of all chance: member t depends on it and on t alone.
    n_threads : int
    """

    operator: KernelOperator
    data: LabelData
    problem: MarginProblem
    generator: GraphGenerator
    output_names: tuple[str, ...] | None
    seed: int
    n_threads: int

    def draw_graph(self, member: int) -> LabelGraph:
        """Draw the graph of a member; rows without weight do not show in it."""
        counts, observed = self.problem.mass > 0.0, self.data.observed
        if not counts.all():
            everywhere = np.ones(self.data.labels.shape, dtype=bool)
            observed = (everywhere if observed is None else observed) & counts[:, None]
        context = GraphContext(
            n_states=self.data.n_states,
            labels=self.data.labels,
            observed=observed,
            output_names=self.output_names,
            round=member,
            rng=np.random.default_rng([self.seed, member, 0]),
        )
        edges = draw_edges(self.generator, context)
        return LabelGraph.joined(self.data.n_states, edges)

    def solve(
        self,
        graph: LabelGraph,
        member: int,
        stop: _core.StopFlag,
        rows: NDArray[np.intp] | None = None,
    ) -> MarginSolution:
        """Train a member on all rows or on some."""
        rng = np.random.default_rng([self.seed, member, 1])
        operator, problem, observed = self.operator, self.problem, self.data.observed
        if rows is not None:
            operator, problem = operator.subset(rows), problem.rows(rows)
            observed = None if observed is None else observed[rows]
        return solve_margin(graph, operator, problem, observed, rng, stop)


def fit_members(
    task: GraphTask, graphs: Sequence[LabelGraph], first: int, verbose: int
) -> Iterator[MarginSolution]:
    """Train members side by side, and give them in order.

    Parameters
    ----------
    task : GraphTask
    graphs : sequence of LabelGraph
        One per member.
    first : int
        The number of the first member, which its chance depends on.
    verbose : int
    """
    # One thread of BLAS each: sums then do not depend on the number of threads.
    with threadpool_limits(1, "blas"):
        solutions = in_threads(
            lambda t, stop: task.solve(graphs[t], first + t, stop),
            range(len(graphs)),
            task.n_threads,
        )
        with progress_bar("graphs", len(graphs), verbose) as advance:
            for solution in solutions:
                advance()
                yield solution


@dataclass(frozen=True, eq=False)
class Combination:
    """How members are combined.

    Attributes
    ----------
    aggregation : {"mam", "amm", "mve"}
    is_completed : bool
        Whether MAM completes dual variables on the union of the graphs.
    """

    aggregation: str
    is_completed: bool


def calibrate(
    task: GraphTask,
    graphs: Sequence[LabelGraph],
    combination: Combination,
    n_folds: int,
    *,
    one_hot: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit the slopes of sigmoids to the scores of rows that the scoring model has not seen.

    The rows are cut into folds with like numbers of positive labels; for each, a model of the
    same graphs is trained on the others.

    Returns
    -------
    above, below : ndarray of shape (n_channels,)
        See `fit_slopes`.
    """
    data, n_rows = task.data, task.operator.n_rows
    n_channels = int(data.n_states.sum()) if one_hot else data.n_states.size
    if n_rows < n_folds:
        return np.ones(n_channels), np.ones(n_channels)
    rng = np.random.default_rng([task.seed, 2**32])
    fold = stratified_folds(data.labels, n_folds, rng)
    relative = np.empty((n_rows, int((data.n_states - 1).sum())))
    chosen = tuple(graphs[:_CALIBRATION_MEMBERS])
    with threadpool_limits(1, "blas"):
        outcomes = in_threads(
            lambda f, stop: _held_out(task, chosen, combination, np.flatnonzero(fold == f), stop),
            range(n_folds),
            task.n_threads,
        )
        for rows, scores in outcomes:
            relative[rows] = scores
    targets, weights = _calibration_targets(task, one_hot)
    scores = channel_scores(relative, data.n_states, one_hot=one_hot)
    return fit_slopes(scores, targets, weights)


def _held_out(
    task: GraphTask,
    graphs: tuple[LabelGraph, ...],
    combination: Combination,
    rows: NDArray[np.intp],
    stop: _core.StopFlag,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Score rows by members trained on the others."""
    others = np.setdiff1d(np.arange(task.operator.n_rows), rows)
    consensus = Consensus(graphs)
    solutions = [task.solve(graph, member, stop, others) for member, graph in enumerate(graphs)]
    if combination.is_completed:
        one_hot = task.data.one_hot()[others]
        completion = ConsensusCompletion(consensus, task.problem.rows(others), one_hot)
        for graph, solution in zip(graphs, solutions):
            completion.add(graph, solution.coefficients)
        state = completion.state(task.operator.subset(others))
        scores = task.operator.scores(rows, state, trained_on=others)
        return rows, consensus.graph.max_product(consensus.graph.potentials(scores))[1]
    aggregation = make_aggregation(combination.aggregation, consensus)
    for graph, solution in zip(graphs, solutions):
        aggregation.add(graph, task.operator.scores(rows, solution.state, trained_on=others))
    return rows, aggregation.outcome()[1]


def _calibration_targets(
    task: GraphTask, one_hot: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give targets and weights of every row and channel."""
    data = task.data
    labels, width = data.labels, data.n_states if one_hot else np.ones_like(data.n_states)
    if one_hot:
        classes = np.concatenate([np.arange(n) for n in data.n_states])
        targets = (np.repeat(labels, data.n_states, axis=1) == classes).astype(np.float64)
    else:
        targets = labels.astype(np.float64)
    weights = np.broadcast_to((task.problem.mass > 0.0)[:, None], labels.shape).astype(np.float64)
    if data.observed is not None:
        weights = weights * data.observed
    return targets, np.repeat(weights, width, axis=1)


def stratified_folds(
    labels: NDArray[np.int32], n_folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Cut rows into folds with like numbers of positive labels (paper 003, section 4.4).

    Parameters
    ----------
    labels : ndarray of shape (n_rows, n_labels), int32
        0 is not positive. Of a single label, all classes are told apart.
    n_folds : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_rows,), int64
        The fold of each row.
    """
    stratum = labels[:, 0] if labels.shape[1] == 1 else np.count_nonzero(labels, axis=1)
    order = np.lexsort([rng.random(stratum.size), stratum])
    fold = np.empty(stratum.size, dtype=np.int64)
    fold[order] = np.arange(stratum.size) % n_folds
    return fold
