"""The seam between the training of graph classifiers and the ways to draw a graph over labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator


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
