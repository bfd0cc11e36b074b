"""Results of graph classifiers in an ONNX graph: by relative scores of classes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from polyleaf.export._links import Decision, Reading
from polyleaf.export._onnx_graph import Graph
from polyleaf.export._onnx_label_graphs import add_relative_scores
from polyleaf.export._onnx_outputs import Results


class LabellingResults(Results):
    """Adds the nodes that turn relative scores into results.

    Parameters
    ----------
    graph : Graph
    X : str
        Of shape (n, n_features).
    model : GraphClassifier or GraphEnsembleClassifier
        That `check_graph_model` accepts.
    calibrate : callable, optional
        As of Results.
    """

    def __init__(
        self, graph: Graph, X: str, model: Any, calibrate: Callable[[str], str] | None = None
    ) -> None:
        reading = Reading(model._targets, margins=True)
        self._relative = add_relative_scores(graph, X, model)
        self._slopes = model._fitted.slopes
        self._offsets = np.concatenate(
            [[0], np.cumsum(model._model.members.n_states - 1)]
        ).tolist()
        self._wide = self._relative
        if reading.is_grouped:
            self._full = [self._with_first(graph, a, b) for a, b in pairwise(self._offsets)]
            widths = np.diff(self._offsets) + 1
            parts = [_against_others(graph, *each) for each in zip(self._full, widths.tolist())]
            self._wide = graph.add("Concat", *parts, axis=1)
        super().__init__(graph, reading, graph.cast(self._wide, graph.dtype), calibrate)

    def _with_first(self, graph: Graph, start: int, stop: int) -> str:
        """Give the relative scores of one label, with the 0 of its first class."""
        part = graph.columns(self._relative, start, stop)
        widths = graph.constant(np.array([0, 1, 0, 0], np.int64))
        return graph.add("Pad", part, widths, graph.constant(np.array(0.0)))

    def _linked(self) -> str:
        graph = self._graph
        above, below = (graph.constant(slope[None, :]) for slope in self._slopes)
        is_above = graph.add("Greater", self._wide, graph.constant(np.array(0.0)))
        slope = graph.add("Where", is_above, above, below)
        value = graph.add("Sigmoid", graph.add("Mul", slope, self._wide))
        if self._reading.is_grouped:
            axis = graph.constant(np.array([1], np.int64))
            value = self._by_output(
                value,
                lambda part: graph.add(
                    "Div", part, graph.add("ReduceSum", part, axis, keepdims=1)
                ),
            )
        return graph.cast(value, graph.dtype)

    def _class_codes(self) -> list[str]:
        graph = self._graph
        if self._reading.is_grouped:
            return [graph.add("ArgMax", full, axis=1, keepdims=0) for full in self._full]
        return [self._first_column(self._positive())]

    def _label_sets(self, decision: Decision) -> str:
        return self._positive() if decision.kind == "labelling" else super()._label_sets(decision)

    def _positive(self) -> str:
        graph = self._graph
        is_positive = graph.add("Greater", self._relative, graph.constant(np.array(0.0)))
        return graph.cast(is_positive, np.int64)


def _against_others(graph: Graph, full: str, n_classes: int) -> str:
    """Score every class relative to the best of the others."""
    if n_classes == 1:
        return full
    best, _ = graph.add_many("TopK", 2, full, graph.constant(np.array([2], np.int64)), axis=1)
    first, second = graph.columns(best, 0, 1), graph.columns(best, 1, 2)
    is_best = graph.add("Equal", full, first)
    return graph.add("Sub", full, graph.add("Where", is_best, second, first))
