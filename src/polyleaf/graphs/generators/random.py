"""Random graphs: spanning trees (paper 003, section 4.3), recursive trees and pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyleaf.graphs.generators.base import GraphContext, GraphGenerator


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
