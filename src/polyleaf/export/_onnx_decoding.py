"""Label sets inside an ONNX graph: thresholds, likeliest labels, expected F1 and Jaccard index.

The expected F1 and Jaccard index of the k likeliest labels follow the recursions of
`polyleaf.decoding` (Ye, Chai, Lee and Chieu, ICML 2012), one label per step of a Scan. They take
probabilities as float64, so that sizes are those of the model unless two are equally good.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.decoding import LabelCalibrator
from polyleaf.export._links import Decision
from polyleaf.export._onnx_graph import Graph

#: As in `decoding`: probabilities of 0 and 1 have bounded log-odds.
_LEAST_ODDS = 1e-9


def decoded(graph: Graph, p: str, n_labels: int, decision: Decision) -> str:
    """Choose label sets by the probabilities of labels.

    Parameters
    ----------
    graph : Graph
    p : str
        Of shape (n, n_labels).
    n_labels : int
    decision : Decision

    Returns
    -------
    str
        Of shape (n, n_labels), int64.
    """
    if decision.kind == "threshold":
        p = graph.cast(p, np.float64)
        above = graph.add("Greater", p, graph.constant(decision.thresholds))
        return graph.cast(above, np.int64)
    if decision.kind == "known_by_odds":
        assert decision.label_sets is not None
        sets = decision.label_sets
        odds = _log_odds(graph, graph.cast(p, np.float64))
        sums = graph.add("MatMul", odds, graph.constant(sets.astype(np.float64).T))
        best = graph.add("ArgMax", sums, axis=1, keepdims=0)
        return graph.add("Gather", graph.constant(sets.astype(np.int64)), best, axis=0)
    values, order = _sorted(graph, p, n_labels)
    if decision.kind == "top_k" and decision.k is not None:
        size = graph.constant(np.array([[decision.k]], np.int64))
    elif decision.kind == "top_k":
        axis = graph.constant(np.array([1], np.int64))
        p = graph.cast(p, np.float64)
        size = graph.add("Round", graph.add("ReduceSum", p, axis, keepdims=1))
        size = graph.cast(size, np.int64)
    else:
        descending = graph.cast(values, np.float64)
        size = _best_size(graph, descending, n_labels, is_f1=decision.kind == "f1")
    return _first_labels(graph, order, n_labels, size)


def _sorted(graph: Graph, p: str, n_labels: int) -> tuple[str, str]:
    """Sort labels, the likeliest first; of equal ones, the first."""
    values, order = graph.name("values"), graph.name("order")
    n = graph.constant(np.array([n_labels], np.int64))
    node = graph.onnx.helper.make_node("TopK", [p, n], [values, order], axis=1)
    graph.nodes.append(node)
    return values, order


def _first_labels(graph: Graph, order: str, n_labels: int, size: str) -> str:
    place = graph.constant(np.arange(n_labels, dtype=np.int64)[None, :])
    is_first = graph.cast(graph.add("Less", place, size), np.int64)
    none = graph.add("Mul", order, graph.constant(np.array(0, np.int64)))
    is_first = graph.add("Add", is_first, none)  # of all rows
    return graph.add("ScatterElements", none, order, is_first, axis=1)


# The best number of likeliest labels -------------------------------------------------------------


def _best_size(graph: Graph, descending: str, n_labels: int, is_f1: bool) -> str:
    """Give the best k of every row, of shape (n, 1)."""
    by_label = graph.add("Transpose", descending, perm=[1, 0])
    steps = graph.add("Unsqueeze", by_label, _axes(graph, 2))  # (d, n, 1)
    if is_f1:
        shares = _head_distributions(graph, steps, n_labels)
        width = 2 * n_labels + 1
    else:
        total = graph.add("CumSum", descending, graph.constant(np.array(1, np.int64)))
        by_size = graph.add("Transpose", total, perm=[1, 0])
        shares = graph.add("Unsqueeze", by_size, _axes(graph, 2))
        width = n_labels + 1
    empty, values = _tail_values(graph, steps, shares, n_labels, width, is_f1)
    values = graph.add("Transpose", graph.add("Squeeze", values, _axes(graph, 2)), perm=[1, 0])
    values = graph.add("Concat", empty, values, axis=1)
    return graph.add("ArgMax", values, axis=1, keepdims=1)


def _head_distributions(graph: Graph, steps: str, n_labels: int) -> str:
    """Give P(A = a) among the k likeliest labels, of shape (d, n, d + 1) for k = 1 .. d."""
    first = np.zeros((1, n_labels + 1))
    first[0, 0] = 1.0
    body = graph.inner()
    head, p = body.input("head"), body.input("p")
    before = np.maximum(np.arange(n_labels + 1) - 1, 0)
    moved = body.add("Gather", head, graph.constant(before), axis=1)
    moved = body.add("Mul", moved, graph.constant(1.0 - first))
    none = body.add("Mul", head, body.add("Sub", graph.constant(np.array(1.0)), p))
    new = body.add("Add", none, body.add("Mul", moved, p))
    given = body.add("Identity", new)
    scan = body.close("head", [new, given])
    _, heads = graph.add_many(
        "Scan", 2, _of_all_rows(graph, first, steps), steps, body=scan, num_scan_inputs=1
    )
    return heads


def _tail_values(
    graph: Graph, steps: str, shares: str, n_labels: int, width: int, is_f1: bool
) -> tuple[str, str]:
    """Give the value of the empty set, (n, 1), and of the k likeliest labels, (d, n, 1).

    The state holds s(k, x) = E[1 / (x + B)] in column x, from k = d down to 1, where B counts
    true labels among those that are less likely.
    """
    x = np.arange(width, dtype=np.float64)
    x[0] = 1.0  # never used
    n_used = n_labels + 1 if is_f1 else 1
    body = graph.inner()
    none, inverse = body.input("none"), body.input("inverse")
    p, share, k = body.input("p"), body.input("share"), body.input("k", np.int64)
    used = body.add("Add", k, graph.constant(np.arange(n_used)))
    value = body.add("Mul", body.add("Gather", inverse, used, axis=1), share)
    if is_f1:
        value = body.add("Mul", value, graph.constant(2.0 * np.arange(n_used)[None, :]))
        value = body.add("ReduceSum", value, _axes(graph, 1), keepdims=1)
    other = body.add("Sub", graph.constant(np.array(1.0)), p)
    after = np.minimum(np.arange(width) + 1, width - 1)  # the last column is not used again
    moved = body.add("Gather", inverse, graph.constant(after), axis=1)
    new = body.add("Add", body.add("Mul", p, moved), body.add("Mul", other, inverse))
    scan = body.close("tail", [body.add("Mul", none, other), new, value])
    empty, _, values = graph.add_many(
        "Scan",
        3,
        _of_all_rows(graph, np.ones((1, 1)), steps),
        _of_all_rows(graph, 1.0 / x[None, :], steps),
        steps,
        shares,
        graph.constant(np.arange(1, n_labels + 1)[:, None]),
        body=scan,
        num_scan_inputs=3,
        scan_input_directions=[1, 1, 1],
        scan_output_directions=[1],
    )
    return empty, values


def _of_all_rows(graph: Graph, values: NDArray[np.float64], steps: str) -> str:
    """Repeat a row for all rows of `steps`, of shape (d, n, 1)."""
    n_rows = graph.add("Shape", steps, start=1, end=2)
    width = graph.constant(np.array([values.shape[1]], np.int64))
    return graph.add("Expand", graph.constant(values), graph.add("Concat", n_rows, width, axis=0))


def _axes(graph: Graph, *axes: int) -> str:
    return graph.constant(np.array(axes, np.int64))


# Calibration -------------------------------------------------------------------------------------


def calibrated(graph: Graph, p: str, calibrator: LabelCalibrator, keeps_zeros: bool) -> str:
    """Calibrate the probabilities of labels, as `LabelCalibrator.transform` does.

    Parameters
    ----------
    graph : Graph
    p : str
        Of shape (n, n_labels).
    calibrator : LabelCalibrator
        Fitted, for probabilities.
    keeps_zeros : bool
        Whether the model gives sparse probabilities, whose zeros are not calibrated.

    Returns
    -------
    str
        Of shape (n, n_labels), in the precision of the graph.
    """
    given = graph.cast(p, np.float64)
    slope, level = graph.constant(calibrator.slopes_), graph.constant(calibrator.intercepts_)
    line = graph.add("Add", graph.add("Mul", _log_odds(graph, given), slope), level)
    value = graph.add("Sigmoid", line)
    if calibrator.isotonic_:
        columns = [
            _interpolated(graph, graph.columns(given, j, j + 1), calibrator.isotonic_[j])
            if j in calibrator.isotonic_
            else graph.columns(value, j, j + 1)
            for j in range(calibrator.slopes_.size)
        ]
        value = graph.add("Concat", *columns, axis=1)
    if keeps_zeros:
        zero = graph.constant(np.array(0.0))
        value = graph.add("Where", graph.add("Equal", given, zero), zero, value)
    return graph.cast(value, graph.dtype)


def _log_odds(graph: Graph, p: str) -> str:
    ends = (_LEAST_ODDS, 1.0 - _LEAST_ODDS)
    inside = graph.add("Clip", p, *(graph.constant(np.array(end)) for end in ends))
    other = graph.add("Sub", graph.constant(np.array(1.0)), inside)
    return graph.add("Sub", graph.add("Log", inside), graph.add("Log", other))


def _interpolated(graph: Graph, column: str, isotonic: Any) -> str:
    """Interpolate between the steps of one label, as `numpy.interp` does."""
    x, y = (np.asarray(v, np.float64) for v in (isotonic.X_thresholds_, isotonic.y_thresholds_))
    if x.size == 1:
        column = graph.add("Mul", column, graph.constant(np.array(0.0)))
        return graph.add("Add", column, graph.constant(y))
    rises = np.diff(y) / np.diff(x)
    ends = (graph.constant(end) for end in (x[0], x[-1]))
    column = graph.add("Clip", column, *ends)
    # How many inner steps lie at or below the value: the piece that it is in.
    passed = graph.add("GreaterOrEqual", column, graph.constant(x[None, 1:-1]))
    counts = graph.cast(passed, np.int64)
    piece = graph.add("ReduceSum", counts, _axes(graph, 1), keepdims=1)
    start, base, rise = (
        graph.add("Gather", graph.constant(v), piece) for v in (x[:-1], y[:-1], rises)
    )
    return graph.add("Add", graph.add("Mul", graph.add("Sub", column, start), rise), base)
