"""Read a fitted graph classifier: which labels attract each other, what averaging gains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.fitted import expect_fitted
from polyleaf.checks.numbers import expect_count
from polyleaf.data import read_classes
from polyleaf.graphs.base import GraphEstimator
from polyleaf.graphs.labels import LabelData


@dataclass(frozen=True, eq=False)
class ConsensusEdges:
    """The edges of a graph classifier or of the union of an ensemble's graphs.

    Attributes
    ----------
    labels : list of str
        Names of the labels.
    edges : ndarray of shape (n_edges, 2), int32
        Pairs of positions in `labels`.
    counts : ndarray of shape (n_edges,), int64
        How many members have the edge.
    attraction : ndarray of shape (n_edges,), float64
        Of two-class labels: how much the averaged score of a labelling gains if both labels are
        1 rather than one of them, on average over the rows; negative if they repel each other.
        Of other labels: the average size of what their pairs of classes add, without a sign.

    Examples
    --------
    >>> from polyleaf import GraphClassifier
    >>> from polyleaf.datasets import make_circle_labels
    >>> from polyleaf.inspection import consensus_edges
    >>> X, Y = make_circle_labels(100, 6, random_state=0)
    >>> found = consensus_edges(GraphClassifier(random_state=0).fit(X, Y), X)
    >>> found.edges.shape  # a tree of six labels
    (5, 2)
    >>> found.strongest(2).counts
    array([1, 1])
    """

    labels: list[str]
    edges: NDArray[np.int32]
    counts: NDArray[np.int64]
    attraction: NDArray[np.float64]

    def strongest(self, n_edges: int) -> ConsensusEdges:
        """Keep the edges of the largest attraction, whatever its sign; the strongest first."""
        n_edges = expect_count("n_edges", n_edges, 0)
        order = np.argsort(-np.abs(self.attraction), kind="stable")[:n_edges]
        return ConsensusEdges(
            self.labels, self.edges[order], self.counts[order], self.attraction[order]
        )


def consensus_edges(
    model: Any, X: Any, *, output_names: Sequence[str] | None = None
) -> ConsensusEdges:
    """List the edges of a graph classifier with how strongly they bind their labels.

    Parameters
    ----------
    model : GraphClassifier or GraphEnsembleClassifier
        Fitted.
    X : array-like, frame or sparse matrix of shape (n, p)
        Rows to average over: potentials of edges depend on x.
    output_names : sequence of str, optional
        Names to use instead of those the model knows.

    Returns
    -------
    ConsensusEdges

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import GraphClassifier
    >>> from polyleaf.inspection import consensus_edges
    >>> X = np.random.default_rng(0).normal(size=(300, 1))
    >>> Y = np.column_stack([X > 0, X > 0, X < 0]).astype(int)
    >>> model = GraphClassifier(graph=[(0, 1), (1, 2)], random_state=0).fit(X, Y)
    >>> found = consensus_edges(model, X, output_names=["up", "also up", "down"])
    >>> [(found.labels[a], found.labels[b]) for a, b in found.edges]
    [('up', 'also up'), ('also up', 'down')]
    >>> bool(found.attraction[0] > 0 > found.attraction[1])
    True
    """
    check_graph_model(model)
    fitted = model._model
    consensus = fitted.consensus
    design = fitted.design(model._rows(X))
    potentials = design @ fitted.consensus_parameters.T
    blocks = np.split(potentials, consensus.graph.edge_offsets[:-1], axis=1)[1:]
    if (consensus.graph.n_states == 2).all():
        sizes = [block.mean() for block in blocks]
    else:
        sizes = [np.sqrt((block**2).mean()) if block.size else 0.0 for block in blocks]
    names = label_names_of(model, output_names)
    return ConsensusEdges(names, consensus.graph.edges, consensus.counts, np.array(sizes))


def score_variance(model: Any, X: Any, y: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Split the variance of the members' scores of the labelling y into the terms of theorem 1.

    The squared error of the members' average is below the average squared error of the members by
    the sum of both terms, whatever the true scores are.

    Parameters
    ----------
    model : GraphEnsembleClassifier
        Fitted.
    X : array-like, frame or sparse matrix of shape (n, p)
    y : array-like, frame or sparse matrix of shape (n,) or (n, d)
        Labellings to score, without missing values.

    Returns
    -------
    diversity : ndarray of shape (n,), float64
        Variance over members of the score of each label, summed over labels.
    coherence : ndarray of shape (n,), float64
        Covariance of the scores of every two labels, summed over ordered pairs.

    Examples
    --------
    >>> from polyleaf import GraphEnsembleClassifier
    >>> from polyleaf.datasets import make_circle_labels
    >>> from polyleaf.inspection import score_variance
    >>> X, Y = make_circle_labels(100, 6, random_state=0)
    >>> model = GraphEnsembleClassifier(n_estimators=5, random_state=0).fit(X, Y)
    >>> diversity, coherence = score_variance(model, X, Y)
    >>> bool((diversity + coherence >= 0).all())
    True
    """
    check_graph_model(model)
    rows = model._rows(X)
    fitted = model._model
    targets = read_classes(y, rows.shape[0], estimator_name="score_variance")
    same = targets.schema.kind == model._targets.kind
    if not same or targets.schema.n_outputs != model.n_outputs_ or targets.observed is not None:
        raise ValueError(
            "y must hold labels like those of fit, none missing; got a "
            f"{targets.schema.kind} problem of {targets.schema.n_outputs} outputs for a model of "
            f"a {model._targets.kind} one of {model.n_outputs_}."
        )
    labels = LabelData.of(targets).labels
    diversity, coherence = fitted.variance_terms(fitted.design(rows), labels)
    return diversity, coherence


def check_graph_model(model: Any) -> None:
    """Raise unless the model is a fitted graph classifier or ensemble."""
    if not isinstance(model, GraphEstimator):
        raise TypeError(
            f"Expected a GraphClassifier or a GraphEnsembleClassifier; got {type(model).__name__}."
        )
    expect_fitted(model)


def label_names_of(model: Any, output_names: Sequence[str] | None) -> list[str]:
    """Give the names of the labels, those of the user if there are any."""
    if output_names is None:
        return [str(name) for name in model.output_names_]
    if len(output_names) != model.n_outputs_:
        raise ValueError(
            f"output_names must have {model.n_outputs_} names, one per output; got "
            f"{len(output_names)}."
        )
    return [str(name) for name in output_names]
