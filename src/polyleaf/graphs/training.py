"""Train a graph classifier or ensemble (Su and Rousu 2013, algorithm 1), and calibrate its scores.

`train_graphs` is the way of a fit: labels and kernel, graphs, members, the model, and the sigmoids
that turn its scores into probabilities, which are fitted on held-out rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from polyleaf import _core
from polyleaf.checks.warning import warn_user
from polyleaf.data import NumericData
from polyleaf.estimator.running import in_threads, progress_bar
from polyleaf.graphs.aggregation import Combination, Consensus, make_aggregation, winners
from polyleaf.graphs.completion import ConsensusCompletion
from polyleaf.graphs.fitted import FittedGraphs, check_kept
from polyleaf.graphs.generators import GraphContext, GraphGenerator, draw_edges
from polyleaf.graphs.kernels import (
    SCALED,
    ColumnScale,
    KernelMap,
    KernelOperator,
    check_sparse,
    kernel_map_of,
    mean_self_kernel,
)
from polyleaf.graphs.label_graph import LabelGraph
from polyleaf.graphs.labels import (
    LabelData,
    channel_scores,
    fit_slopes,
    is_one_hot,
    stratified_folds,
)
from polyleaf.graphs.model import GraphMembers, GraphModel
from polyleaf.graphs.registry import resolve
from polyleaf.graphs.solver import (
    MarginProblem,
    MarginSolution,
    constant_of,
    mass_of,
    operator_of,
    solve_margin,
)

#: Gives what pieces of work found, in the order of their numbers; see `in_threads`.
Run: TypeAlias = Callable[[Callable[[int, _core.StopFlag], Any], range, int], Iterator[Any]]

#: Members whose held-out scores calibrate an ensemble; more would only cost time.
_CALIBRATION_MEMBERS = 10
#: What ``C='auto'`` chooses from; how many rows choose, in folds; most rows of a matrix.
_CONSTANTS = ("scale", "10*scale")
_LEAST_ROWS, _CHOICE_ROWS, _CHOICE_FOLDS, _DENSE_ROWS = 100, 1000, 3, 3000
#: Least tolerance of what only serves to choose.
_CHOICE_TOL = 0.05
#: About so many training rows tell how often a labelling is proven to be the best.
_CERTIFIED_ROWS = 500


def train_graphs(
    estimator: Any,
    data: NumericData,
    combination: Combination,
    kept: FittedGraphs | None,
    seed: int,
    n_threads: int,
    run: Run = in_threads,
) -> FittedGraphs:
    """Train members on graphs of their own, and combine them.

    Parameters
    ----------
    estimator : GraphClassifier or GraphEnsembleClassifier
        Has the parameters; it is left as it is.
    data : NumericData
    combination : Combination
    kept : FittedGraphs or None
        Whose members a warm start keeps.
    seed : int
        Of all chance.
    n_threads : int
    run : callable
        Trains members, and scores folds, side by side: in threads, or on several workers.
    """
    labels = LabelData.of(data.targets)
    kernel, C = _choose(estimator, data, labels, kept, seed)
    prepared = _prepare(estimator, data, data.rows, labels, kernel, C, seed)
    columns, kernel_map, design, constant, task = prepared
    members, completed = None, None
    if kept is not None:
        check_kept(kept.model, combination, kernel_map, columns, labels)
        members = kept.model.members
    first = 0 if members is None else members.n_members
    drawn = [task.draw_graph(t) for t in range(first, combination.n_members)]
    if drawn:
        more, completed = _train_members(
            estimator, task, drawn, first, combination, n_threads, run
        )
        members = more if members is None else members.extended(more)
    assert members is not None
    model = GraphModel(members, kernel_map, combination.aggregation, completed, columns)
    terms = None
    if estimator._is_ensemble:
        diversity, coherence = model.variance_terms(design, labels.labels)
        terms = float(diversity.mean()), float(coherence.mean())
    slopes = None
    if estimator.calibration_folds is not None:
        n_folds = int(estimator.calibration_folds)
        slopes = calibrate(task, members.graphs, combination, n_folds, n_threads, run)
    certified = _certified_share(model, design, n_threads)
    return FittedGraphs(
        data.schema, data.targets.schema, model, slopes, terms, certified, constant
    )


def _prepare(
    estimator: Any, data: NumericData, rows: Any, labels: LabelData, kernel: Any, C: Any, seed: int
) -> tuple[ColumnScale | None, KernelMap, Any, float, GraphTask]:
    """Scale features, apply the kernel, and put together what all members share."""
    columns, rows = _scaled(estimator, kernel, rows, labels)
    kernel_map, design = kernel_map_of(estimator, kernel, rows)
    constant = constant_of(C, mean_self_kernel(kernel_map, design, labels.example_weight))
    operator = operator_of(design, kernel_map.is_explicit)
    task = _task_of(estimator, data, labels, operator, constant, seed)
    return columns, kernel_map, design, constant, task


def _scaled(
    estimator: Any, kernel: Any, rows: Any, labels: LabelData
) -> tuple[ColumnScale | None, NDArray[np.float64] | Any]:
    """Bring features to like size, if the estimator asks for it and its kernel sees features."""
    check_sparse(kernel, rows)
    if not estimator.scale_features or kernel not in SCALED:
        return None, rows
    columns = ColumnScale.fit(rows, labels.example_weight)
    return columns, columns.apply(rows)


def _certified_share(model: GraphModel, design: Any, n_threads: int) -> float:
    """Count the training rows whose labelling is proven to be the best; of many, some."""
    if model.is_exact:
        return 1.0
    step = max(1, design.shape[0] // _CERTIFIED_ROWS)
    return float(model.outcome_of(design[::step], n_threads).certified.mean())


# Kernel and C -----------------------------------------------------------------------------------


def _choose(
    estimator: Any,
    data: NumericData,
    labels: LabelData,
    kept: FittedGraphs | None,
    seed: int,
) -> tuple[Any, Any]:
    """Give the kernel and C; those that are ``'auto'`` by the wrong labels of held-out rows.

    C is chosen for the linear kernel, then the kernel for that C, then C for another kernel. What
    there is stays unless another one is clearly better, by a standard error.
    """
    kernel, C = estimator.kernel, estimator.C
    is_auto = isinstance(kernel, str) and kernel == "auto", isinstance(C, str) and C == "auto"
    if not any(is_auto):
        return kernel, C
    if kept is not None:
        return kept.model.kernel_map.kernel, kept.constant
    n_rows = data.rows.shape[0]
    can_be_dense = isinstance(data.rows, np.ndarray) and n_rows <= _DENSE_ROWS
    kernels = ("linear", "rbf")[: 1 + can_be_dense] if is_auto[0] else (kernel,)
    constants = _CONSTANTS if is_auto[1] else (C,)
    best = kernels[0], constants[0]
    if len(kernels) * len(constants) == 1 or n_rows < _LEAST_ROWS:
        return best
    rng = np.random.default_rng([seed, 2**33])
    some = np.sort(rng.permutation(n_rows)[:_CHOICE_ROWS])
    few = labels.take(some)
    fold = rng.permutation(some.size) % _CHOICE_FOLDS  # the same for Y and 1 - Y
    wrong: dict[Any, NDArray[np.float64]] = {}
    for is_of_c in (True, False, True):
        pairs = [(best[0], c) for c in constants] if is_of_c else [(k, best[1]) for k in kernels]
        for pair in [pair for pair in pairs if pair not in wrong]:
            task = _prepare(estimator, data, data.rows[some], few, *pair, seed)[-1]
            wrong[pair] = _held_out_errors(task, fold)
            gain = wrong[best] - wrong[pair]
            if gain.mean() > gain.std() / np.sqrt(gain.size):
                best = pair
    return best


def _held_out_errors(task: GraphTask, fold: NDArray[np.int64]) -> NDArray[np.float64]:
    """Count the wrong labels of each row by one graph that was trained on the other folds."""
    tol = max(task.problem.tol, _CHOICE_TOL)
    task = replace(task, problem=replace(task.problem, tol=tol))
    graph, wrong, stop = (task.draw_graph(0),), np.zeros(fold.size), _core.StopFlag()
    with threadpool_limits(1, "blas"):
        for f in range(_CHOICE_FOLDS):
            rows, scores = _held_out(task, graph, Combination(), np.flatnonzero(fold == f), stop)
            errors = winners(scores, task.data.n_states) != task.data.labels[rows]
            if task.data.label_cost is not None:
                errors = errors * task.data.label_cost[rows]
            wrong[rows] = errors.sum(axis=1) * task.data.example_weight[rows]
    return wrong


# Members ----------------------------------------------------------------------------------------


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
    one_hot : bool
        Whether every class is a channel of the target schema.
    seed : int
        Of all chance: member t depends on it and on t alone.
    """

    operator: KernelOperator
    data: LabelData
    problem: MarginProblem
    generator: GraphGenerator
    output_names: tuple[str, ...] | None
    one_hot: bool
    seed: int

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


def _task_of(
    estimator: Any,
    data: NumericData,
    labels: LabelData,
    operator: KernelOperator,
    constant: float,
    seed: int,
) -> GraphTask:
    problem = MarginProblem(
        labels.labels,
        mass_of(constant, labels.example_weight),
        labels.label_cost,
        estimator.margin_loss,
        float(estimator.tol),
        int(estimator.max_iter),
    )
    names = data.targets.schema.output_names
    one_hot = is_one_hot(data.targets.schema.kind)
    return GraphTask(operator, labels, problem, resolve(estimator.graph), names, one_hot, seed)


def _train_members(
    estimator: Any,
    task: GraphTask,
    graphs: list[LabelGraph],
    first: int,
    combination: Combination,
    n_threads: int,
    run: Run,
) -> tuple[GraphMembers, NDArray[np.float64] | None]:
    """Train members; give them, and completed parameters if the combination asks for them."""
    completion = None
    if combination.is_completed:
        _check_observed(task)
        consensus = Consensus(tuple(graphs))
        completion = ConsensusCompletion(consensus, task.problem, task.data.one_hot())
    kept: list[tuple[NDArray[np.float64], float, float, int]] = []
    n_unfinished = 0
    for solution in _solutions(task, graphs, first, n_threads, int(estimator.verbose), run):
        graph = graphs[len(kept)]
        parameters = task.operator.parameters(solution.coefficients)
        if not np.isfinite(parameters).all():
            raise ValueError(
                "The weights of the model are too large for numbers of 64 bits. Scale X (see "
                "scale_features), or lower C."
            )
        kept.append((parameters, solution.gap, solution.primal, solution.n_iter))
        n_unfinished += not solution.is_converged
        if completion is not None:
            completion.add(graph, solution.coefficients)
    if n_unfinished:
        left = max(gap / max(primal - gap, 1e-12 * primal) for _, gap, primal, _ in kept)
        warn_user(
            f"{n_unfinished} of {len(kept)} graphs did not reach a relative duality gap of "
            f"{estimator.tol} in {estimator.max_iter} passes; the largest gap left is {left:.3g}. "
            f"{_advice(estimator)}",
            ConvergenceWarning,
        )
    members = GraphMembers.collect(graphs, *zip(*kept))
    if completion is None:
        return members, None
    return members, completion.potential_parameters(task.operator)


def _advice(estimator: Any) -> str:
    """Say what helps a training that did not converge."""
    steps = ["Raise max_iter or tol", "lower C"]
    kernel = "linear" if estimator.kernel == "auto" else estimator.kernel
    if not isinstance(estimator.C, str):
        steps[1] = "lower C (C='scale' suits the size of the kernel)"
    if kernel in SCALED and not estimator.scale_features:
        steps.append("scale X (scale_features=True, or a StandardScaler)")
    elif kernel not in SCALED:
        steps.append("scale X, so that values of the kernel are near 1")
    return ", ".join(steps[:-1]) + f", or {steps[-1]}."


def _check_observed(task: GraphTask) -> None:
    """Refuse labels without a value, which a completion of dual variables needs."""
    observed = task.data.observed
    if observed is not None and not observed[task.problem.mass > 0.0].all():
        raise ValueError(
            "completion='consistent' needs every label of every row; got some that were not "
            "observed (NaN in Y, or a weight of 0). Use completion='zero', or leave these rows "
            "out."
        )


def _solutions(
    task: GraphTask,
    graphs: Sequence[LabelGraph],
    first: int,
    n_threads: int,
    verbose: int,
    run: Run,
) -> Iterator[MarginSolution]:
    """Train members side by side, and give them in order.

    Parameters
    ----------
    task : GraphTask
    graphs : sequence of LabelGraph
        One per member.
    first : int
        The number of the first member, which its chance depends on.
    n_threads, verbose : int
    run : callable
    """
    # One thread of BLAS each: sums then do not depend on the number of threads.
    with threadpool_limits(1, "blas"):
        solutions = run(
            lambda t, stop: task.solve(graphs[t], first + t, stop),
            range(len(graphs)),
            n_threads,
        )
        with progress_bar("graphs", len(graphs), verbose) as advance:
            for solution in solutions:
                advance()
                yield solution


# Calibration ------------------------------------------------------------------------------------


def calibrate(
    task: GraphTask,
    graphs: Sequence[LabelGraph],
    combination: Combination,
    n_folds: int,
    n_threads: int,
    run: Run = in_threads,
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
    n_channels = int(data.n_states.sum()) if task.one_hot else data.n_states.size
    if n_rows < n_folds:
        return np.ones(n_channels), np.ones(n_channels)
    rng = np.random.default_rng([task.seed, 2**32])
    fold = stratified_folds(data.labels, n_folds, rng)
    relative = np.empty((n_rows, int((data.n_states - 1).sum())))
    chosen = tuple(graphs[:_CALIBRATION_MEMBERS])
    with threadpool_limits(1, "blas"):
        outcomes = run(
            lambda f, stop: _held_out(task, chosen, combination, np.flatnonzero(fold == f), stop),
            range(n_folds),
            n_threads,
        )
        for rows, scores in outcomes:
            relative[rows] = scores
    targets, weights = _calibration_targets(task)
    scores = channel_scores(relative, data.n_states, one_hot=task.one_hot)
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
    return rows, aggregation.outcome().relative


def _calibration_targets(
    task: GraphTask,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give targets and weights of every row and channel."""
    data = task.data
    labels, width = data.labels, data.n_states if task.one_hot else np.ones_like(data.n_states)
    if task.one_hot:
        classes = np.concatenate([np.arange(n) for n in data.n_states])
        targets = (np.repeat(labels, data.n_states, axis=1) == classes).astype(np.float64)
    else:
        targets = labels.astype(np.float64)
    weights = np.broadcast_to((task.problem.mass > 0.0)[:, None], labels.shape).astype(np.float64)
    if data.observed is not None:
        weights = weights * data.observed
    return targets, np.repeat(weights, width, axis=1)
