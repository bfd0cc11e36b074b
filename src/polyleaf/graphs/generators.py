"""Ways to draw a graph over the labels: at random, from the training labels, or as given.

The training of graph classifiers knows `GraphGenerator.draw` alone. Random trees and pairs come
first (Su and Rousu 2013, section 4.3), then trees learnt from the labels, then a user's own edges.
A generator of your own is a subclass; `registry.py` has the names.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from polyleaf.checks.matrices import is_sparse
from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean


@dataclass(frozen=True, eq=False)
class GraphContext:
    """What a generator may look at when it draws a graph.

    Attributes
    ----------
    n_states : ndarray of shape (n_labels,), int32
        Number of classes of each label.
    labels : ndarray of shape (n_rows, n_labels), int32
        Class positions of the training rows; any class where unobserved.
    observed : ndarray of shape (n_rows, n_labels), bool, or None
        None if everything was observed. What has the weight 0 counts as unobserved.
    output_names : tuple of str, or None
        Names of Y's columns.
    round : int
        Which member of the ensemble the graph is for, from 0.
    rng : numpy.random.Generator
        The only source of chance.

    Examples
    --------
    >>> import numpy as np
    >>> context = GraphContext(
    ...     n_states=np.array([2, 2, 3], np.int32),
    ...     labels=np.array([[0, 1, 2], [1, 1, 0]], np.int32),
    ...     observed=None,
    ...     output_names=("rain", "wind", "season"),
    ...     round=0,
    ...     rng=np.random.default_rng(0),
    ... )
    >>> context.n_labels
    3
    """

    n_states: NDArray[np.int32]
    labels: NDArray[np.int32]
    observed: NDArray[np.bool_] | None
    output_names: tuple[str, ...] | None
    round: int
    rng: np.random.Generator

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.n_states.size)


class GraphGenerator(BaseEstimator, ABC):
    """A way to draw graphs over the labels.

    A generator holds parameters only and learns nothing between draws. To write one, subclass
    this, take the parameters in ``__init__`` as scikit-learn's estimators do, and write
    :meth:`draw`.

    Examples
    --------
    >>> import numpy as np
    >>> class Chain(GraphGenerator):
    ...     def draw(self, context):
    ...         labels = np.arange(context.n_labels)
    ...         return np.column_stack([labels[:-1], labels[1:]])
    >>> Chain()
    Chain()
    """

    @abstractmethod
    def draw(self, context: GraphContext) -> NDArray[Any]:
        """Draw the edges of a graph.

        Parameters
        ----------
        context : GraphContext
            The labels, the round and the source of chance.

        Returns
        -------
        ndarray of shape (n_edges, 2), of integers
            Pairs of different labels, in any order, no pair twice. A label may have no edge: it
            is then learnt by itself.
        """

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return bool(self.get_params() == other.get_params())

    # Parameters can be set, so that a hash of them would not last.
    __hash__ = None  # type: ignore[assignment]


def draw_edges(generator: GraphGenerator, context: GraphContext) -> NDArray[np.int32]:
    """Draw a graph and bring its edges into one form.

    Returns
    -------
    ndarray of shape (n_edges, 2), int32
        The smaller label first, edges ascending.

    Raises
    ------
    ValueError
        If the generator gave anything but pairs of different labels, each pair once.

    Examples
    --------
    >>> import numpy as np
    >>> class Star(GraphGenerator):
    ...     def draw(self, context):
    ...         others = np.arange(context.n_labels - 1, 0, -1)
    ...         return np.column_stack([others, np.zeros_like(others)])
    >>> states = np.full(3, 2, np.int32)
    >>> context = GraphContext(
    ...     states, np.zeros((1, 3), np.int32), None, None, 0, np.random.default_rng(0)
    ... )
    >>> draw_edges(Star(), context)
    array([[0, 1],
           [0, 2]], dtype=int32)
    """
    name = type(generator).__name__
    drawn = np.asarray(generator.draw(context))
    if drawn.size == 0:
        return np.zeros((0, 2), dtype=np.int32)
    if drawn.ndim != 2 or drawn.shape[1] != 2 or drawn.dtype.kind not in "iu":
        raise ValueError(
            f"{name}.draw must give an integer array of shape (n_edges, 2); got the shape "
            f"{drawn.shape} and the dtype {drawn.dtype}."
        )
    if drawn.min() < 0 or drawn.max() >= context.n_labels:
        wrong = drawn.min() if drawn.min() < 0 else drawn.max()
        raise ValueError(
            f"The edges of {name} must join labels from 0 to {context.n_labels - 1}; got {wrong}."
        )
    if (drawn[:, 0] == drawn[:, 1]).any():
        loop = drawn[drawn[:, 0] == drawn[:, 1]][0, 0]
        raise ValueError(
            f"The edges of {name} must join different labels; got {loop} with itself."
        )
    edges = np.unique(np.sort(drawn.astype(np.int32), axis=1), axis=0)
    if edges.shape[0] < drawn.shape[0]:
        raise ValueError(f"The edges of {name} must be different; got one more than once.")
    return np.ascontiguousarray(edges)


# Random graphs ----------------------------------------------------------------------------------


class SpanningTree(GraphGenerator):
    """A maximum spanning tree of random weights, as in the paper.

    Every pair of labels gets a weight, uniform in [0, 1).

    Examples
    --------
    >>> import polyleaf
    >>> polyleaf.GraphClassifier(graph=polyleaf.graphs.SpanningTree())
    GraphClassifier(graph=SpanningTree())
    """

    def draw(self, context: GraphContext) -> NDArray[np.int64]:
        """Draw a tree; see `GraphGenerator.draw`."""
        n = context.n_labels
        weights = context.rng.random((n, n))
        return maximum_spanning_tree(np.maximum(weights, weights.T))


class RecursiveTree(GraphGenerator):
    """A random recursive tree: labels join in random order, each at a random earlier one.

    Such trees are shallower than random spanning trees and have hubs: the expected number of
    neighbours of a label grows with the logarithm of how early it came.

    Examples
    --------
    >>> import polyleaf
    >>> polyleaf.GraphClassifier(graph=polyleaf.graphs.RecursiveTree())
    GraphClassifier(graph=RecursiveTree())
    """

    def draw(self, context: GraphContext) -> NDArray[np.int64]:
        """Draw a tree; see `GraphGenerator.draw`."""
        n = context.n_labels
        order = context.rng.permutation(n)
        earlier = context.rng.integers(np.arange(1, n)) if n > 1 else np.zeros(0, np.int64)
        return np.column_stack([order[1:], order[earlier]])


class RandomPairs(GraphGenerator):
    """Random pairs: every label has one neighbour, but for one label if their number is odd.

    Examples
    --------
    >>> import polyleaf
    >>> polyleaf.GraphClassifier(graph=polyleaf.graphs.RandomPairs())
    GraphClassifier(graph=RandomPairs())
    """

    def draw(self, context: GraphContext) -> NDArray[np.int64]:
        """Draw pairs; see `GraphGenerator.draw`."""
        order = context.rng.permutation(context.n_labels)
        return order[: order.size // 2 * 2].reshape(-1, 2)


def maximum_spanning_tree(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Find a maximum spanning tree of a complete graph by Prim's algorithm.

    Parameters
    ----------
    weights : ndarray of shape (n, n)
        Symmetric; the diagonal is not looked at. Zeros and negative weights are weights.

    Returns
    -------
    ndarray of shape (n - 1, 2), int64
    """
    n = weights.shape[0]
    edges = np.empty((n - 1, 2), dtype=np.int64)
    outside = np.ones(n, dtype=np.bool_)
    outside[0] = False
    nearest = np.zeros(n, dtype=np.int64)
    best = weights[0].copy()
    for step in range(n - 1):
        new = int(np.argmax(np.where(outside, best, -np.inf)))
        edges[step] = nearest[new], new
        outside[new] = False
        closer = weights[new] > best
        best[closer] = weights[new, closer]
        nearest[closer] = new
    return edges


# Trees learnt from the labels -------------------------------------------------------------------


class ChowLiu(GraphGenerator):
    """The tree whose edges carry the most mutual information between labels (Chow and Liu, 1968).

    Parameters
    ----------
    row_share : float, default=1.0
        Share of the training rows, drawn again for each graph, in (0, 1]. With less than 1 the
        members of an ensemble get different trees; with 1 they are all alike.

    Notes
    -----
    Mutual information of two labels is estimated on the rows where both are observed, with half
    a row added to each of their pairs of classes, so that chance agreements of rare labels count
    less.

    Examples
    --------
    >>> import numpy as np
    >>> import polyleaf
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> Y = X[:, [0, 1, 0]] > [[0.0, 0.0, 0.3]]  # the third label follows the first
    >>> model = polyleaf.GraphClassifier(graph=polyleaf.graphs.ChowLiu()).fit(X, Y.astype(int))
    >>> [0, 2] in model.edges_.tolist()
    True
    """

    def __init__(self, row_share: float = 1.0) -> None:
        self.row_share = row_share

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""
        share = self.row_share
        is_number = isinstance(share, (int, float, np.number)) and not isinstance(share, bool)
        if not is_number or not 0.0 < float(share) <= 1.0:
            raise ValueError(
                f"row_share of ChowLiu must be a number in (0, 1]; got {shown(share)}."
            )

    def draw(self, context: GraphContext) -> NDArray[np.int64]:
        """Find the tree; see `GraphGenerator.draw`."""
        self.check_params()
        rows = np.arange(context.labels.shape[0])
        if self.row_share < 1.0:
            n_drawn = max(1, round(self.row_share * rows.size))
            rows = np.sort(context.rng.choice(rows, n_drawn, replace=False))
        observed = None if context.observed is None else context.observed[rows]
        information = mutual_information(context.labels[rows], context.n_states, observed)
        return maximum_spanning_tree(information)


def mutual_information(
    labels: NDArray[np.int32], n_states: NDArray[np.int32], observed: NDArray[np.bool_] | None
) -> NDArray[np.float64]:
    """Estimate the mutual information of all pairs of labels, in nats.

    Parameters
    ----------
    labels : ndarray of shape (n_rows, n_labels), int32
    n_states : ndarray of shape (n_labels,), int32
    observed : ndarray of shape (n_rows, n_labels), bool, or None

    Returns
    -------
    ndarray of shape (n_labels, n_labels), float64
        Symmetric.
    """
    n_labels = n_states.size
    offsets = np.concatenate([[0], np.cumsum(n_states)])
    one_hot = np.zeros((labels.shape[0], offsets[-1]))
    for j in range(n_labels):
        rows = slice(None) if observed is None else observed[:, j]
        one_hot[np.arange(labels.shape[0])[rows], offsets[j] + labels[rows, j]] = 1.0
    joint = one_hot.T @ one_hot + 0.5
    group = np.repeat(np.arange(n_labels), n_states)
    totals = _sum_groups(_sum_groups(joint, offsets, 0), offsets, 1)
    joint /= totals[group][:, group]
    rows_sum = _sum_groups(joint, offsets, 1)[:, group]
    columns_sum = _sum_groups(joint, offsets, 0)[group]
    terms = joint * np.log(joint / (rows_sum * columns_sum))
    return _sum_groups(_sum_groups(terms, offsets, 0), offsets, 1)


def _sum_groups(
    values: NDArray[np.float64], offsets: NDArray[np.int64], axis: int
) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = np.add.reduceat(values, offsets[:-1], axis=axis)
    return sums


# Edges that the user knows ----------------------------------------------------------------------


class Edges(GraphGenerator):
    """Edges that are given.

    Parameters
    ----------
    edges : sequence of pairs, of length n_edges
        Each of two labels, by position or by the name of a column of Y.

    Examples
    --------
    >>> import polyleaf
    >>> polyleaf.GraphClassifier(graph=polyleaf.graphs.Edges([(0, 1), (1, 2)]))
    GraphClassifier(graph=Edges(edges=[(0, 1), (1, 2)]))

    Notes
    -----
    In a graph with cycles, inference is approximate (loopy max-product), in training, too.
    """

    def __init__(self, edges: Sequence[Sequence[Any]] = ()) -> None:
        self.edges = edges

    def check_params(self) -> None:
        """Raise a ValueError if the edges are no pairs of positions or names."""
        try:
            pairs = [()] if is_sparse(self.edges) else [tuple(pair) for pair in self.edges]
        except TypeError:
            pairs = [()]
        for pair in pairs:
            if len(pair) != 2 or not all(_is_label(end) for end in pair):
                raise ValueError(
                    "edges must be pairs of labels, each by its position or by the name of a "
                    f"column of Y; got {shown(self.edges, 80)}."
                )

    def draw(self, context: GraphContext) -> NDArray[np.int64]:
        """Look the labels up; see `GraphGenerator.draw`."""
        self.check_params()
        pairs = [[_position(end, context.output_names) for end in pair] for pair in self.edges]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Edges)
        return [tuple(pair) for pair in self.edges] == [tuple(pair) for pair in other.edges]

    __hash__ = None


def _is_label(end: Any) -> bool:
    return isinstance(end, str) or (
        isinstance(end, numbers.Integral) and not isinstance(end, (bool, np.bool_))
    )


def _position(end: Any, names: tuple[str, ...] | None) -> int:
    if not isinstance(end, str):
        return int(end)
    if names is None:
        raise ValueError(
            f"The graph names the label {end!r}, but Y has no column names. Give positions, or Y "
            "as a data frame."
        )
    if end not in names:
        hint = did_you_mean(end, names)
        raise ValueError(f"The graph names the label {end!r}, which is no column of Y.{hint}")
    return names.index(end)
