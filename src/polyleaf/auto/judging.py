"""Score predictions of held-out rows by the metric that the user cares about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import metrics

if TYPE_CHECKING:
    from polyleaf.auto.problem import Problem
    from polyleaf.data import TargetSchema

#: By kind of Y, what is meant by metric=None.
_DEFAULTS = {"regression": "r2"}


def resolve_metric(metric: Any, task: str) -> metrics.Metric:
    """Give the metric that the parameter stands for.

    Parameters
    ----------
    metric : str, Metric or None
    task : {"regression", "classification"}
    """
    kind = "regression" if task == "regression" else "multilabel"
    return metrics.resolve(metric or _DEFAULTS.get(kind, "log_loss"), kind)


@dataclass(frozen=True, eq=False)
class Judge:
    """Scores predictions of held-out rows.

    Attributes
    ----------
    metric : Metric
    problem : Problem
    truth : ndarray or csr_array of shape (n_held_out, n_channels)
        NaN where not observed.
    weights : ndarray of shape (n_held_out,) or None
    """

    metric: metrics.Metric
    problem: Problem
    truth: Any
    weights: NDArray[np.float64] | None

    @classmethod
    def of(cls, metric: metrics.Metric, problem: Problem) -> Judge:
        """Make a judge of the held-out rows of a problem."""
        rows = problem.held_out
        weights = problem.targets.weights
        if weights is not None:
            weights = (weights if weights.ndim == 1 else weights.mean(axis=1))[rows]
        return cls(metric, problem, problem.targets.at(rows).with_gaps(), weights)

    def score(self, channels: NDArray[Any], at: NDArray[Any] | slice = slice(None)) -> float:
        """Score predictions of all held-out rows, or of some of them."""
        if self.metric.needs == "labels":
            channels = most_likely(self.problem.targets.schema, channels)
        truth = self.truth[at]
        weights = None if self.weights is None else self.weights[at]
        if weights is not None and not weights.any():
            return float("nan")
        score = self.metric.prepare(self.problem.targets.with_gaps())
        return float(score(truth, channels, sample_weight=weights))

    def of_folds(self, channels: NDArray[Any], folds: Iterable[int]) -> NDArray[np.float64]:
        """Score the predictions of some folds one by one."""
        fold_of = self.problem.fold_of
        places = (np.flatnonzero(fold_of == fold) for fold in folds)
        return np.array([self.score(channels[at], at) for at in places])

    def merit(self, score: float) -> float:
        """Give a number of which more is better; NaN is worst."""
        if np.isnan(score):
            return -np.inf
        return score if self.metric.greater_is_better else -score


def most_likely(schema: TargetSchema, channels: NDArray[Any]) -> NDArray[np.int64]:
    """Choose labels above 1/2, or the likeliest class of every output, as 0 and 1."""
    if schema.kind in ("binary", "multilabel"):
        return (channels > 0.5).astype(np.int64)
    chosen = np.zeros(channels.shape, np.int64)
    for start, end in pairwise(schema.channel_offsets.tolist()):
        best = channels[:, start:end].argmax(axis=1)
        chosen[np.arange(best.size), start + best] = 1
    return chosen
