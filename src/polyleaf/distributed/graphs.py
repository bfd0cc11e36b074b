"""Graphs on a cluster: every worker has all rows, and solves some of the members."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.data import NumericData
from polyleaf.distributed.collectives import Collective
from polyleaf.distributed.pieces import share_pieces
from polyleaf.estimator.running import in_threads
from polyleaf.graphs.solver import MarginSolution

Arrays = dict[str, NDArray[Any]]


def train_graphs(estimator: Any, data: NumericData, collective: Collective) -> Any:
    """Train graphs on the rows of all workers.

    Parameters
    ----------
    estimator : GraphEstimator
    data : NumericData
        The same on all workers.
    collective : Collective

    Returns
    -------
    FittedGraphs
        The same on all workers.
    """
    estimator._check_given(data.rows, data)
    return estimator._train(data, partial(_run, collective))


def _run(
    collective: Collective,
    work: Callable[[int, _core.StopFlag], Any],
    numbers: range,
    n_threads: int,
) -> Iterator[Any]:
    """Do some of the pieces here, and give those of all workers; see `in_threads`."""
    own = numbers[collective.rank :: collective.world]
    with closing(in_threads(work, own, n_threads if own else 1)) as found:
        packed = (_pack(piece) for piece in found)
        for arrays in share_pieces(collective, packed, len(numbers)):
            yield _unpack(arrays)


def _pack(piece: MarginSolution | tuple[Any, Any]) -> Arrays:
    """Name the arrays of a member, without its state; or the scores of a fold."""
    if isinstance(piece, tuple):
        return {"rows": piece[0], "scores": piece[1]}
    facts = [piece.primal, piece.dual, piece.n_iter, piece.is_converged]
    return {"coefficients": piece.coefficients, "facts": np.array(facts, np.float64)}


def _unpack(arrays: Arrays) -> MarginSolution | tuple[Any, Any]:
    if "rows" in arrays:
        return arrays["rows"], arrays["scores"]
    primal, dual, n_iter, is_converged = arrays["facts"].tolist()
    state = np.empty(0)
    return MarginSolution(
        arrays["coefficients"], state, primal, dual, int(n_iter), bool(is_converged)
    )
