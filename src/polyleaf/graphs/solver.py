"""Train one max-margin graph classifier: ascent on the factorised dual (Su and Rousu 2013, eq. 5).

The primal problem (eq. 2) is min 1/2 |w|^2 + sum_i c_i max_y [loss(y_i, y) + psi(x_i, y)
- psi(x_i, y_i)], with c_i = C times the weight of example i. Its dual is raised example by
example; see margin_block.hpp for the steps. The difference of both objectives bounds how far
either is from the optimum, and ends the training.

Labels that were not observed are learnt around by leaving them free (latent completion). With h_i
those of example i, the hinge compares the worst labelling with the best one that agrees with what
was observed: max_y [loss + psi(x_i, y)] - max_h psi(x_i, (y_i, h)). An error in an unobserved
label costs nothing. The difference of two maxima is not convex; as in the concave-convex
procedure, labels are completed by the present model and the convex problem that this leaves is
solved, in turns, so that the objective falls from round to round, up to the tolerance of the
training.

Labels of two classes are trained so that the first example has class 0 in each of them, and turned
back afterwards: a fit to 1 - Y then takes the very steps of a fit to Y, and neither class is
preferred where labellings score the same or rounding decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.graphs.kernels import FeatureOperator, GramOperator, KernelOperator
from polyleaf.graphs.label_graph import LabelGraph

MARGIN_LOSSES = ("edge", "node", "hamming")
#: A multiple of the constant that suits the size of the kernel.
_NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?"
SCALED_CONSTANT = re.compile(rf"(?:\s*({_NUMBER})\s*\*)?\s*scale\s*")

#: Largest product of C and a weight, far beyond any at which a margin may still be missed.
_LARGEST_MASS = 1e100
#: Examples whose scores are computed in one matrix product.
_BLOCK = 64
#: Steps per visit, and the share of an example's gap at which a visit ends.
_MAX_STEPS, _GAP_SHARE = 10, 0.1
#: An example is left alone if its gap is below this share of the target per example.
_ENOUGH = 0.1
#: Most rounds in which unobserved labels are completed.
_MAX_ROUNDS = 10
#: A kernel matrix is factored if this many of its rows span all, and it has that many per rank.
_SAMPLE, _MIN_ROWS_PER_RANK = 256, 8
#: Shares of the largest eigenvalue and of a row's diagonal entry that rounding leaves of 0.
_NO_EIGENVALUE, _NO_REST = 1e-11, 1e-9
#: A kernel with an eigenvalue below this share of the largest is none.
_NEGATIVE = 1e-6
#: Sparse features of at most so many entries cost less as dense ones, 32 MB.
_SMALL = 2**22


def constant_of(C: Any, mean_self_kernel: float) -> float:
    """Give the number that `C` stands for: ``'scale'`` is 1 over the mean of k(x, x).

    Examples
    --------
    >>> constant_of("scale", 4.0), constant_of("10 * scale", 4.0), constant_of(3, 4.0)
    (0.25, 2.5, 3.0)
    """
    if not isinstance(C, str):
        return float(C)
    found = SCALED_CONSTANT.fullmatch(C)
    assert found is not None
    size = mean_self_kernel if mean_self_kernel > 0.0 else 1.0
    return float(np.clip(float(found[1] or 1.0) / size, 1e-300, 1e12))


def mass_of(constant: float, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Multiply C and the weights; where products are too large to add up, all get smaller."""
    largest = float(weights.max(initial=0.0))
    if largest <= _LARGEST_MASS / constant:
        return constant * weights
    return weights * (1.0 / largest) * _LARGEST_MASS


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """What one classifier is trained on.

    Attributes
    ----------
    labels : ndarray of shape (n_rows, n_labels), int32
        Class positions.
    mass : ndarray of shape (n_rows,), float64
        C times the weight of each example.
    label_cost : ndarray of shape (n_rows, n_labels), float64, or None
        What an error in each label costs; None: 1 each.
    margin_loss : {"edge", "node", "hamming"}
        Loss between labellings: wrong edges; errors of both ends, summed over the edges; errors
        of labels.
    tol : float
        Duality gap to reach, as a share of the dual objective.
    max_iter : int
        Most passes over the examples.
    """

    labels: NDArray[np.int32]
    mass: NDArray[np.float64]
    label_cost: NDArray[np.float64] | None
    margin_loss: str
    tol: float
    max_iter: int

    def rows(self, chosen: NDArray[np.intp]) -> MarginProblem:
        """Give the problem of some rows."""
        cost = None if self.label_cost is None else self.label_cost[chosen]
        return self.with_labels(self.labels[chosen], self.mass[chosen], cost)

    def with_labels(
        self,
        labels: NDArray[np.int32],
        mass: NDArray[np.float64],
        label_cost: NDArray[np.float64] | None,
    ) -> MarginProblem:
        """Give the same problem with other examples."""
        return MarginProblem(labels, mass, label_cost, self.margin_loss, self.tol, self.max_iter)


@dataclass(frozen=True, eq=False)
class MarginSolution:
    """A trained classifier.

    Attributes
    ----------
    coefficients : ndarray of shape (n_rows, q), float64
        Dual variables as scores take them: c_i 1{u = y_ie} - mu(i, e, u).
    state : ndarray
        Of the operator.
    primal, dual : float
        Objectives; nan where they were not computed.
    n_iter : int
        Passes over the examples.
    is_converged : bool
    """

    coefficients: NDArray[np.float64]
    state: NDArray[np.float64]
    primal: float
    dual: float
    n_iter: int
    is_converged: bool

    @property
    def gap(self) -> float:
        """Primal less dual objective."""
        return self.primal - self.dual


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
    turned = turned_labels(graph, problem, observed)
    problem = replace(problem, labels=problem.labels ^ turned)
    solution = MarginTraining(graph, operator, problem, rng, stop=stop).run()
    if observed is None:
        return _turned_back(graph, solution, turned)
    for _ in range(_MAX_ROUNDS - 1):
        labels = complete_labels(graph, operator, solution.state, problem.labels, observed)
        changed = (labels != problem.labels).any(axis=1) & (problem.mass > 0.0)
        if not changed.any():
            break
        problem = replace(problem, labels=labels)
        # All mass of an example whose labels changed starts on its new labelling.
        start = np.where(changed[:, None], 0.0, solution.coefficients)
        solution = MarginTraining(graph, operator, problem, rng, start, stop).run()
    return _turned_back(graph, solution, turned)


def turned_labels(
    graph: LabelGraph, problem: MarginProblem, observed: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """Find the labels of two classes whose first example that counts has the second class.

    Returns
    -------
    ndarray of shape (n_labels,), bool
    """
    counts = np.broadcast_to((problem.mass > 0.0)[:, None], problem.labels.shape)
    if observed is not None:
        counts = counts & observed
    first = problem.labels[np.argmax(counts, axis=0), np.arange(graph.n_labels)]
    turned: NDArray[np.bool_] = (first == 1) & (graph.n_states == 2) & counts.any(axis=0)
    return turned


def _turned_back(
    graph: LabelGraph, solution: MarginSolution, turned: NDArray[np.bool_]
) -> MarginSolution:
    if not turned.any():
        return solution
    return replace(
        solution,
        coefficients=graph.turn(solution.coefficients, turned),
        state=graph.turn(solution.state, turned),
    )


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


class MarginTraining:
    """The ascent of one classifier.

    Parameters
    ----------
    graph : LabelGraph
    operator : KernelOperator
    problem : MarginProblem
    rng : numpy.random.Generator
        Orders the visits.
    coefficients : ndarray of shape (n_rows, q), optional
        Where to start; 0 by default, all mass on the true labellings.
    stop : StopFlag, optional
        Ends the training with a KeyboardInterrupt once it is set.
    """

    def __init__(
        self,
        graph: LabelGraph,
        operator: KernelOperator,
        problem: MarginProblem,
        rng: np.random.Generator,
        coefficients: NDArray[np.float64] | None = None,
        stop: _core.StopFlag | None = None,
    ) -> None:
        self._graph, self._operator, self._problem, self._rng = graph, operator, problem, rng
        self._stop = stop
        if coefficients is None:
            coefficients = np.zeros((operator.n_rows, graph.n_parameters))
        self.coefficients = coefficients
        self.state = operator.state_of(coefficients)
        self._edge_cost, self._node_cost = _loss_costs(graph, problem.margin_loss)
        self._labels, self._label_cost = _with_dummy(graph, problem.labels, problem.label_cost)
        self._active = np.flatnonzero(problem.mass > 0.0)

    def run(self) -> MarginSolution:
        """Pass over the examples until the gap is small, or there were enough passes."""
        problem = self._problem
        primal, dual = np.inf, 0.0
        is_converged, n_iter = False, 0
        if self.coefficients.any():
            primal, dual = self.objectives()
        while not is_converged and n_iter < problem.max_iter:
            n_iter += 1
            enough = _ENOUGH * problem.tol * dual / max(1, self._active.size)
            slack, loss, quadratic, ascent = self._pass(_MAX_STEPS, enough)
            dual += ascent
            # Summed while the model moved, this shows when to look.
            if slack - loss + quadratic <= problem.tol * dual or n_iter == problem.max_iter:
                primal, dual = self.objectives()
                is_converged = primal - dual <= problem.tol * dual
        return MarginSolution(self.coefficients, self.state, primal, dual, n_iter, is_converged)

    def objectives(self) -> tuple[float, float]:
        """Compute the primal and the dual objective of the present state."""
        slack, loss, quadratic, _ = self._pass(0, 0.0)
        return 0.5 * quadratic + slack, loss - 0.5 * quadratic

    def _pass(self, max_steps: int, enough_gap: float) -> NDArray[np.float64]:
        """Visit all examples with mass, and sum up slack, loss, quadratic term and ascent."""
        order = self._rng.permutation(self._active) if max_steps else self._active
        sums = np.zeros(4)
        for start in range(0, order.size, _BLOCK):
            if self._stop is not None and self._stop.is_set:
                raise KeyboardInterrupt
            sums += self._visit(order[start : start + _BLOCK], max_steps, enough_gap)
        return sums

    def _visit(
        self, rows: NDArray[np.intp], max_steps: int, enough_gap: float
    ) -> NDArray[np.float64]:
        """Sweep over a block of examples; the sums but the ascent are those of the first sweep."""
        gram, scores = self._operator.block(rows, self.state)
        before = self.coefficients[rows]
        coefficients = before.copy()
        sums = np.zeros(4)
        for sweep in range(self._operator.n_sweeps if max_steps else 1):
            step_sums = self._graph.core.visit_block(
                edge_cost=self._edge_cost,
                node_cost=self._node_cost,
                labels=self._labels[rows],
                mass=self._problem.mass[rows],
                label_cost=None if self._label_cost is None else self._label_cost[rows],
                gram=gram,
                scores=scores + gram @ (coefficients - before) if sweep else scores.copy(),
                coefficients=coefficients,
                max_steps=max_steps,
                enough_gap=enough_gap,
                gap_share=_GAP_SHARE,
                max_sweeps=self._graph.max_sweeps,
            )
            ascent = step_sums[3]
            sums += (0.0, 0.0, 0.0, ascent) if sweep else step_sums
            if ascent <= 0.0:
                break
        if sums[3] > 0.0:
            self.coefficients[rows] = coefficients
            self._operator.add(rows, coefficients - before, self.state)
        return sums


def _loss_costs(graph: LabelGraph, margin_loss: str) -> tuple[float, NDArray[np.float64]]:
    """Cost of a wrong edge, and for each edge of a node what an error there costs."""
    if margin_loss == "edge":
        return 1.0, np.zeros(graph.n_nodes)
    if margin_loss == "node":
        return 0.0, np.ones(graph.n_nodes)
    return 0.0, 1.0 / np.bincount(graph.edges.reshape(-1), minlength=graph.n_nodes)


def _with_dummy(
    graph: LabelGraph, labels: NDArray[np.int32], label_cost: NDArray[np.float64] | None
) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
    """Add the dummy node's columns, if the graph has one."""
    if graph.n_nodes == graph.n_labels:
        return labels, label_cost
    padded = np.pad(labels, ((0, 0), (0, 1)))
    return padded, None if label_cost is None else np.pad(label_cost, ((0, 0), (0, 1)))


# The kernel matrix of the training rows ---------------------------------------------------------


class FactorOperator(FeatureOperator):
    """A kernel matrix of low rank by a factor of it; the model keeps the coefficients."""

    def parameters(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the parameters of the model."""
        return np.ascontiguousarray(coefficients.T)


def low_rank_factor(gram: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Find F with K = F F' and far fewer columns than rows, if there is one.

    With S some of the rows, K_S' K_SS^+ K_S equals K if S spans the rows of K. What it leaves is
    positive semi-definite, so that the diagonal bounds all of it. Rows are brought to length 1
    first: beside a very long one, what others have of their own would pass for rounding.

    Parameters
    ----------
    gram : ndarray of shape (n, n), float64
        Symmetric.

    Returns
    -------
    ndarray of shape (n, rank), float64, or None

    Raises
    ------
    ValueError
        If the kernel among S is not positive semi-definite.
    """
    n_rows = gram.shape[0]
    rng = np.random.default_rng(0)
    chosen = rng.choice(n_rows, min(n_rows, _SAMPLE), replace=False)
    lengths = np.sqrt(np.maximum(gram.diagonal(), 0.0))
    lengths[lengths == 0.0] = 1.0
    values, vectors = np.linalg.eigh(
        gram[np.ix_(chosen, chosen)] / lengths[chosen] / lengths[chosen, None]
    )
    if values[0] < -_NEGATIVE * max(values[-1], 0.0):
        raise ValueError(
            "The kernel must be positive semi-definite; got one with an eigenvalue of "
            f"{values[0]:.3g} beside one of {values[-1]:.3g} among {chosen.size} rows, scaled "
            "to length 1. Use another kernel, or add a constant to its diagonal."
        )
    kept = values > _NO_EIGENVALUE * values[-1]
    if kept.all() or not 1 <= np.count_nonzero(kept) <= n_rows // _MIN_ROWS_PER_RANK:
        return None
    weights = vectors[:, kept] / np.sqrt(values[kept]) / lengths[chosen, None]
    factor: NDArray[np.float64] = gram[:, chosen] @ weights
    left = np.abs(gram.diagonal() - np.einsum("ij,ij->i", factor, factor))
    return factor if (left <= _NO_REST * lengths**2).all() else None


def operator_of(design: Any, is_explicit: bool) -> KernelOperator:
    """Choose the operator of a `KernelMap`'s design of the training rows.

    Dense features more numerous than the rows cost less as a kernel matrix, a kernel matrix of
    low rank less by a factor of it, and a small sparse matrix less as a dense one.
    """
    if not is_explicit:
        assert isinstance(design, np.ndarray)
        factor = low_rank_factor(design)
        return GramOperator(design) if factor is None else FactorOperator(factor)
    if not isinstance(design, np.ndarray) and design.shape[0] * design.shape[1] <= _SMALL:
        design = design.toarray()
    if isinstance(design, np.ndarray) and design.shape[1] > design.shape[0]:
        return GramOperator(design @ design.T, design)
    return FeatureOperator(design)
