"""A blend as an ONNX graph: a weighted mean of members that share their inputs.

A blend is an estimator whose `_fitted` has `members` (fitted estimators with its features and
targets), `weights` of shape (n_outputs, n_members), `sharpness` (log-odds of labels are multiplied
by it, probabilities of classes raised to its power), and `decoder` and `calibrator` of labels, or
None. A member whose `_fitted` has `parts` is their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from polyleaf.checks.fitted import expect_fitted
from polyleaf.data import TargetSchema
from polyleaf.export._links import Decision, Reading, read_decoder, read_links
from polyleaf.export._onnx_decoding import calibrated
from polyleaf.export._onnx_graph import Graph
from polyleaf.export._onnx_label_graphs import check_graph_model, is_graph_model
from polyleaf.export._onnx_labellings import LabellingResults
from polyleaf.export._onnx_outputs import Results
from polyleaf.export._onnx_trees import add_scores
from polyleaf.export._sums import CannotExportError, check_exportable, read_sums

#: Probabilities keep so far away from 0 and 1 before their odds are taken, as in the model.
_LEAST = 1e-9


def is_blend(model: Any) -> bool:
    """Whether a fitted model is a blend of others."""
    return hasattr(getattr(model, "_fitted", None), "members")


def check_model(model: Any, exact: bool) -> None:
    """Raise a CannotExportError unless a model can be written as a graph."""
    if is_blend(model):
        _check_blend(model, exact)
    elif parts := _parts(model):
        for part in parts:
            check_model(part, exact)
    elif is_graph_model(model):
        check_graph_model(model, exact)
    else:
        check_exportable(model)


def add_results(
    graph: Graph,
    X: str,
    model: Any,
    reading: Reading,
    exact: bool,
    calibrate: Callable[[str], str] | None = None,
) -> tuple[Results, int]:
    """Add the nodes that score rows by one model; give what adds results, and the channels."""
    if is_graph_model(model):
        labellings = LabellingResults(graph, X, model, calibrate)
        return labellings, int(model._targets.channel_offsets[-1])
    sums = read_sums(model, exact)
    scores = add_scores(graph, X, sums, exact)
    return Results(graph, reading, scores, calibrate), sums.n_channels


def _check_blend(model: Any, exact: bool) -> None:
    expect_fitted(model)
    for member in _members(model):
        try:
            check_model(member, exact)
        except CannotExportError as error:
            raise CannotExportError(
                f"This {type(model).__name__} has a {type(member).__name__} among its members. "
                f"{error}"
            ) from None


def add_blend(graph: Graph, X: Any, model: Any, exact: bool) -> Results:
    """Add the nodes of all members and of their mean; give what adds results of it."""
    fitted, targets = model._fitted, model._targets
    widths = np.diff(targets.channel_offsets)
    total = None
    for member, weights in zip(fitted.members, fitted.weights.T):
        if not weights.any():
            continue
        value = _add_channels(graph, X, member, exact)
        value = graph.add("Mul", graph.numbers(np.repeat(weights, widths)[None, :]), value)
        total = value if total is None else graph.add("Add", total, value)
    assert total is not None
    if targets.kind != "regression" and fitted.sharpness != 1.0:
        total = _sharpened(graph, total, fitted.sharpness, targets)
    calibrate = None
    if fitted.calibrator is not None:
        is_sparse = bool(targets.is_sparse)
        calibrate = partial(_calibrate, graph, fitted.calibrator, is_sparse)
    return Results(graph, Reading(targets), total, calibrate)


def _parts(model: Any) -> Sequence[Any]:
    """Give the parts of a member that is the mean of them; none if it is one model."""
    parts: Sequence[Any] = getattr(getattr(model, "_fitted", None), "parts", ())
    return parts


def _add_channels(graph: Graph, X: Any, member: Any, exact: bool) -> str:
    """Add what a member predicts; of a mean, parts that know nothing of a channel are left out."""
    parts = _parts(member)
    if not parts:
        results, _ = add_results(graph, X, member, read_links(member), exact)
        return results.channels()
    zero, sums, counts = graph.numbers(0.0), "", ""
    for part in parts:
        value = _add_channels(graph, X, part, exact)
        known = graph.add("Not", graph.add("IsNaN", value))
        count, value = graph.cast(known, graph.dtype), graph.add("Where", known, value, zero)
        sums = graph.add("Add", sums, value) if sums else value
        counts = graph.add("Add", counts, count) if counts else count
    return graph.add("Div", sums, counts)  # NaN where all are left out


def blend_decision(model: Any) -> Decision:
    """Read how a blend of classifiers chooses."""
    decoder = model._fitted.decoder
    if decoder is None:
        return Decision("threshold", np.array(0.5))
    return read_decoder(decoder, model._targets.n_outputs)


def _members(model: Any) -> list[Any]:
    fitted = model._fitted
    return [m for m, weights in zip(fitted.members, fitted.weights.T) if weights.any()]


def _calibrate(graph: Graph, calibrator: Any, is_sparse: bool, p: str) -> str:
    return calibrated(graph, p, calibrator, is_sparse)


def _sharpened(graph: Graph, p: str, sharpness: float, targets: TargetSchema) -> str:
    """Multiply log-odds of labels; raise probabilities of classes to a power."""
    power, zero, one = (graph.numbers(value) for value in (sharpness, 0.0, 1.0))
    # float32 has no number as close to 1.
    highest = 1.0 - max(_LEAST, float(np.finfo(graph.dtype).epsneg))
    inside = graph.add("Clip", p, graph.numbers(_LEAST), graph.numbers(highest))
    powers = graph.add("Pow", inside, power)
    if targets.kind in ("binary", "multilabel"):
        others = graph.add("Pow", graph.add("Sub", one, inside), power)
        found = graph.add("Div", powers, graph.add("Add", powers, others))
        # What no member thinks possible stays impossible.
        found = graph.add("Where", graph.add("LessOrEqual", p, zero), zero, found)
        return graph.add("Where", graph.add("GreaterOrEqual", p, one), one, found)
    offsets = targets.channel_offsets.tolist()
    axis = graph.constant(np.array([1], np.int64))
    parts = [graph.columns(powers, a, b) for a, b in pairwise(offsets)]
    shares = [
        graph.add("Div", part, graph.add("ReduceSum", part, axis, keepdims=1)) for part in parts
    ]
    return shares[0] if len(shares) == 1 else graph.add("Concat", *shares, axis=1)
