"""A graph that the user knows."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.spelling import did_you_mean
from polyleaf.graphs.generators.base import GraphContext, GraphGenerator


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
            pairs = [tuple(pair) for pair in self.edges]
        except TypeError:
            pairs = [()]
        for pair in pairs:
            if len(pair) != 2 or not all(_is_label(end) for end in pair):
                raise ValueError(
                    "edges must be pairs of labels, each by its position or by the name of a "
                    f"column of Y; got {self.edges!r:.80}."
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
