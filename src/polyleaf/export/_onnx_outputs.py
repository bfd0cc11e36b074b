"""Results of an ONNX graph: numbers, probabilities, and decisions about classes and labels."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from polyleaf.export._links import Decision, Reading
from polyleaf.export._onnx_decoding import decoded
from polyleaf.export._onnx_graph import Graph
from polyleaf.export._sums import CannotExportError

#: Scores of labels are cut off here before their exponentials are taken, as in the model.
_LARGEST_SCORE = 300.0
_LEAST_PROBABILITY = 1e-15


class Results:
    """Adds the nodes that turn scores into results.

    Parameters
    ----------
    graph : Graph
    reading : Reading
    scores : str
        Of shape (n, n_channels).
    calibrate : callable, optional
        Adds the nodes that calibrate the probabilities of labels, by which labels are chosen then.
    """

    def __init__(
        self,
        graph: Graph,
        reading: Reading,
        scores: str,
        calibrate: Callable[[str], str] | None = None,
    ) -> None:
        self._graph, self._reading, self._scores = graph, reading, scores
        self._calibrate = calibrate
        self._by_label: str | None = None
        self._calibrated: str | None = None

    def channels(self) -> str:
        """Give what the model predicts of every channel: numbers, or probabilities."""
        if self._reading.targets.kind == "regression":
            return self._numbers()
        return self._probabilities()

    # Scores and numbers ------------------------------------------------------------------------

    def add_score(self, n_channels: int) -> None:
        """Add `score`: the decision function, or numbers before their link."""
        graph, reading = self._graph, self._reading
        kind = reading.targets.kind
        value = self._scores
        if kind == "regression":
            value = self._in_units(value)
        elif not reading.margins:
            value = self._labels_alone()
            if kind == "binary":
                one = graph.numbers(1.0)
                value = graph.add("Sub", value, graph.add("Sub", one, value))
            elif kind == "multilabel":
                double = graph.add("Mul", graph.numbers(2.0), value)
                value = graph.add("Sub", double, graph.numbers(1.0))
        shape: tuple[int, ...] = (n_channels,)
        if kind == "binary" or (reading.targets.is_1d and n_channels == 1):
            value, shape = self._first_column(value), ()
        graph.output("score", value, graph.dtype, shape)

    def add_numbers(self, n_channels: int) -> None:
        """Add `prediction` of a regression."""
        graph, targets = self._graph, self._reading.targets
        value = self._numbers()
        shape: tuple[int, ...] = (n_channels,)
        if self._reading.value_shape:
            shape = (targets.n_outputs, *self._reading.value_shape)
            shape = shape[1:] if targets.is_1d else shape
            value = graph.add("Reshape", value, graph.constant(np.array([-1, *shape], np.int64)))
        elif targets.is_1d:
            value, shape = self._first_column(value), ()
        graph.output("prediction", value, graph.dtype, shape)

    def _numbers(self) -> str:
        value = self._scores
        if self._reading.link == "exp":
            value = self._graph.add("Exp", value)
        return self._in_units(value)

    def _in_units(self, value: str) -> str:
        graph, reading = self._graph, self._reading
        if reading.scale is None or reading.shift is None:
            return value
        value = graph.add("Mul", value, graph.numbers(reading.scale[None, :]))
        return graph.add("Add", value, graph.numbers(reading.shift[None, :]))

    def _first_column(self, value: str) -> str:
        return self._graph.add("Squeeze", value, self._graph.constant(np.array([1], np.int64)))

    # Probabilities -----------------------------------------------------------------------------

    def add_probability(self, n_channels: int) -> None:
        """Add `probability`, as `predict_proba` gives it, outputs side by side."""
        graph, value = self._graph, self._probabilities()
        if self._reading.targets.kind == "binary":
            other = graph.add("Sub", graph.numbers(1.0), value)
            value, n_channels = graph.add("Concat", other, value, axis=1), 2
        graph.output("probability", value, graph.dtype, (n_channels,))

    def _probabilities(self) -> str:
        """Probabilities of all channels."""
        if self._calibrated is None:
            sets = self._reading.label_sets
            value = self._labels_alone() if sets is None else self._marginals(sets)
            self._calibrated = value if self._calibrate is None else self._calibrate(value)
        return self._calibrated

    def _for_labels(self) -> str:
        """Probabilities by which labels are chosen one by one: their own, unless calibrated."""
        return self._labels_alone() if self._calibrate is None else self._probabilities()

    def _labels_alone(self) -> str:
        """Probabilities of channels by their own scores."""
        if self._by_label is None:
            self._by_label = self._linked()
        return self._by_label

    def _linked(self) -> str:
        graph, reading = self._graph, self._reading
        value = self._scores
        if reading.link == "sigmoid":
            value = graph.add("Sigmoid", value)
        elif reading.link == "softmax":
            value = self._by_output(value, lambda part: graph.add("Softmax", part, axis=1))
        elif reading.link == "half":
            value = graph.add("Mul", graph.numbers(0.5), value)
            value = self._clipped(graph.add("Add", graph.numbers(0.5), value))
        unknown = graph.add("IsNaN", value)  # never observed: improbable
        value = graph.add("Where", unknown, graph.numbers(0.0), value)
        if reading.is_share:
            value = self._clipped(value)
        if reading.normalises and reading.is_grouped:
            value = self._by_output(value, self._normalised)
        return value

    def _clipped(self, value: str) -> str:
        return self._graph.add("Clip", value, self._graph.numbers(0.0), self._graph.numbers(1.0))

    def _normalised(self, part: str) -> str:
        graph = self._graph
        axis = graph.constant(np.array([1], np.int64))
        total = graph.add("ReduceSum", part, axis, keepdims=1)
        is_empty = graph.add("Equal", total, graph.numbers(0.0))
        shares = graph.add("Div", part, graph.add("Where", is_empty, graph.numbers(1.0), total))
        if self._reading.empty == "zero":
            return shares
        ones = graph.add("Add", graph.add("Mul", part, graph.numbers(0.0)), graph.numbers(1.0))
        even = graph.add("Div", ones, graph.add("ReduceSum", ones, axis, keepdims=1))
        return graph.add("Where", is_empty, even, shares)

    def _by_output(self, value: str, change: Callable[[str], str]) -> str:
        """Change the channels of every output together."""
        offsets = self._reading.targets.channel_offsets.tolist()
        if len(offsets) == 2:
            return change(value)
        parts = [change(self._graph.columns(value, a, b)) for a, b in pairwise(offsets)]
        return self._graph.add("Concat", *parts, axis=1)

    # Known label sets --------------------------------------------------------------------------

    def _set_losses(self, sets: NDArray[np.bool_]) -> str:
        """Give the loss of every known label set, in float64: (n, n_sets)."""
        graph = self._graph
        scores = graph.cast(self._scores, np.float64)
        size = graph.add("Abs", scores)
        right, wrong = self._costs(size), self._costs(graph.add("Neg", size))
        extra = graph.add("Sub", wrong, right)
        zero = graph.constant(np.array(0.0))
        says_yes = graph.add("Greater", scores, zero)
        members = sets.astype(np.float64).T
        of_sets = graph.add("Where", says_yes, zero, extra)
        of_others = graph.add("Where", says_yes, extra, zero)
        sums = graph.add(
            "Add",
            graph.add("MatMul", of_sets, graph.constant(members)),
            graph.add("MatMul", of_others, graph.constant(1.0 - members)),
        )
        axis = graph.constant(np.array([1], np.int64))
        sums = graph.add("Add", sums, graph.add("ReduceSum", right, axis, keepdims=1))
        if self._reading.link == "sigmoid":
            return graph.add("Log", graph.add("Add", sums, graph.constant(np.array(1.0))))
        return graph.add("Sqrt", graph.add("Mul", graph.constant(np.array(2.0)), sums))

    def _costs(self, margins: str) -> str:
        graph = self._graph
        if self._reading.link == "sigmoid":
            ends = (graph.constant(np.array(end)) for end in (-_LARGEST_SCORE, _LARGEST_SCORE))
            return graph.add("Exp", graph.add("Neg", graph.add("Clip", margins, *ends)))
        short = graph.add("Sub", graph.constant(np.array(1.0)), margins)
        if self._reading.cuts_margins:
            short = graph.add("Max", short, graph.constant(np.array(0.0)))
        square = graph.add("Mul", short, short)
        return graph.add("Mul", graph.constant(np.array(0.5)), square)

    def _marginals(self, sets: NDArray[np.bool_]) -> str:
        """Add up the probabilities of label sets for each label."""
        graph = self._graph
        if self._reading.set_form == "chain_rule":
            p = graph.cast(self._labels_alone(), np.float64)
            ends = (_LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
            p = graph.add("Clip", p, *(graph.constant(np.array(end)) for end in ends))
            other = graph.add("Sub", graph.constant(np.array(1.0)), p)
            odds = graph.add("Sub", graph.add("Log", other), graph.add("Log", p))
            losses = graph.add("MatMul", odds, graph.constant(sets.astype(np.float64).T))
        else:
            losses = self._set_losses(sets)
        joint = graph.add("Softmax", graph.add("Neg", losses), axis=1)
        sums = graph.add("MatMul", joint, graph.constant(sets.astype(np.float64)))
        return graph.cast(sums, graph.dtype)

    # Decisions ---------------------------------------------------------------------------------

    def add_decision(self, decision: Decision) -> None:
        """Add `prediction` of a classifier."""
        graph, targets = self._graph, self._reading.targets
        if targets.kind == "multilabel":
            labels = self._label_sets(decision)
            graph.output("prediction", labels, np.int64, (targets.n_outputs,))
            return
        classes = _exportable_classes(list(targets.classes))
        codes = self._class_codes()
        chosen = [graph.add("Gather", graph.constant(c), code) for c, code in zip(classes, codes)]
        if targets.kind != "multiclass-multioutput":
            graph.output("prediction", chosen[0], classes[0].dtype, ())
            return
        axis = graph.constant(np.array([1], np.int64))
        columns = [graph.add("Unsqueeze", column, axis) for column in chosen]
        value = graph.add("Concat", *columns, axis=1)
        graph.output("prediction", value, classes[0].dtype, (targets.n_outputs,))

    def _class_codes(self) -> list[str]:
        """Give the position of the class of every output, each of shape (n,)."""
        graph, targets = self._graph, self._reading.targets
        p = self._probabilities()
        if targets.kind == "binary":
            is_second = graph.add("Greater", p, graph.numbers(0.5))
            return [self._first_column(graph.cast(is_second, np.int64))]
        offsets = targets.channel_offsets.tolist()
        parts = [graph.columns(p, a, b) for a, b in pairwise(offsets)]
        return [graph.add("ArgMax", part, axis=1, keepdims=0) for part in parts]

    def _label_sets(self, decision: Decision) -> str:
        graph = self._graph
        if decision.kind == "known_label_set":
            sets = self._reading.label_sets
            assert sets is not None
            best = graph.add("ArgMin", self._set_losses(sets), axis=1, keepdims=0)
            return graph.add("Gather", graph.constant(sets.astype(np.int64)), best, axis=0)
        return decoded(graph, self._for_labels(), self._reading.targets.n_outputs, decision)


def _exportable_classes(classes: list[NDArray[np.generic]]) -> list[NDArray[np.generic]]:
    """Give classes as tensors of one type: strings, int64, bool or numbers."""
    kinds = {c.dtype.kind for c in classes}
    if all(all(isinstance(value, str) for value in c.tolist()) for c in classes):
        return [c.astype(object) for c in classes]
    if kinds <= {"i", "u"}:
        return [c.astype(np.int64) for c in classes]
    if kinds == {"b"}:
        return classes
    if kinds <= {"i", "u", "f"}:
        return [c.astype(np.float64) for c in classes]
    raise CannotExportError(
        "The classes of the outputs are of different types, or neither strings nor numbers, so "
        "that no tensor can hold them. Export with outputs=('probability', 'score')."
    )
