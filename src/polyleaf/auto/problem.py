"""What a race is run on: training data, folds, and rows that each model has not seen."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.auto.baselines import Baseline
from polyleaf.boosting.validation import HeldOut
from polyleaf.data import BinnedData, NumericData, TrainingData, whole_rows
from polyleaf.graphs.base import GraphEstimator

if TYPE_CHECKING:
    from polyleaf.data import FeatureSchema, Targets, TargetSchema

Folds = list[tuple[NDArray[np.intp], NDArray[np.intp]]]

#: Numbers that are predicted for held-out rows by one candidate, at most.
_MOST_CELLS = 2**24
#: Held-out rows that are scored, at least, whatever they cost.
_FEWEST_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Problem:
    """Training data and folds.

    Attributes
    ----------
    binned : BinnedData
        X, encoded once.
    targets : Targets
        With weights.
    given : ndarray or None
        Weights as they were given.
    folds : list of (train, test)
        Test rows are some of the fold's where there are too many cells to predict.
    n_threads : int
    is_divided_at_random : bool
        Whether rows are in folds by chance, so that bootstrap samples may take their place.
    """

    binned: BinnedData
    targets: Targets
    given: NDArray[np.float64] | None
    folds: Folds
    n_threads: int
    is_divided_at_random: bool = False
    _cache: dict[Any, TrainingData] = field(default_factory=dict)

    @property
    def schema(self) -> FeatureSchema:
        """What was learnt about the columns of X."""
        return self.binned.schema

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return self.targets.n_rows

    @property
    def allows_bags(self) -> bool:
        """Whether forests may predict each row by the trees that have not seen it."""
        n_cells = self.n_rows * self.targets.n_channels
        return self.is_divided_at_random and n_cells <= _MOST_CELLS

    @property
    def row_values(self) -> float:
        """Number of values of X in a row, on average; of a sparse X, of those stored."""
        encoded: Any = self.binned.encoded
        if not hasattr(encoded, "nnz"):
            return float(encoded.shape[1])
        return float(encoded.nnz / encoded.shape[0])

    @property
    def held_out(self) -> NDArray[np.intp]:
        """Rows of all folds that are predicted, fold by fold."""
        return np.concatenate([test for _, test in self.folds])

    @property
    def fold_of(self) -> NDArray[np.intp]:
        """The fold of each of these rows."""
        return np.repeat(np.arange(len(self.folds)), [test.size for _, test in self.folds])

    def training(self, estimator: Any) -> Any:
        """Give all rows as an estimator is trained on them."""
        if isinstance(estimator, GraphEstimator):
            rows = whole_rows(self.binned.encoded).astype(np.float64)
            return NumericData(self.schema, rows, self.targets)
        bins = 255 if isinstance(estimator, Baseline) else estimator.max_bins
        if bins not in self._cache:
            features = self.binned.binned(bins, self.n_threads)
            self._cache[bins] = TrainingData(
                self.schema, features, self.binned.encoded, self.targets, self.given
            )
        return self._cache[bins]


def limited(folds: Folds, n_channels: int) -> Folds:
    """Keep so many test rows that their predictions fit into the memory."""
    n_tested = sum(test.size for _, test in folds)
    most = max(_FEWEST_ROWS, _MOST_CELLS // n_channels)
    if n_tested <= most:
        return folds
    step = n_tested / most
    return [
        (train, test[np.unique((np.arange(0, test.size, step)).astype(np.intp))])
        for train, test in folds
    ]


def trained(
    estimator: Any,
    problem: Problem,
    rows: NDArray[np.intp] | None = None,
    judging: NDArray[np.intp] | None = None,
) -> Any:
    """Train an estimator on all rows of a problem, or on some.

    The estimator itself is trained, as its `fit` would do with what was read already.

    Parameters
    ----------
    estimator : estimator
    problem : Problem
    rows : ndarray, optional
    judging : ndarray, optional
        Rows on which boosting sees when to stop.
    """
    data = problem.training(estimator)
    told = {} if judging is None else {"eval_set": _held_out(data, judging)}
    if rows is not None:
        data = _taken(data, rows)
    estimator._fitted = estimator._train(data, **told)
    estimator._fit_facts = time.time(), data.targets.n_rows
    estimator._card = None
    return estimator


def _taken(data: Any, rows: NDArray[np.intp]) -> Any:
    if isinstance(data, NumericData):
        return replace(data, rows=data.rows[rows], targets=data.targets.at(rows))
    return data.take(rows)


def _held_out(data: TrainingData, rows: NDArray[np.intp]) -> HeldOut | None:
    targets = data.targets.at(rows)
    if targets.observed is not None and not targets.observed.any():
        return None  # nothing to judge by: training rows are set aside
    given = None if data.sample_weight is None else data.sample_weight[rows]
    return HeldOut(whole_rows(data.encoded)[rows], targets, given)


def channels_of(estimator: Any, rows: Any, targets: TargetSchema) -> NDArray[np.float64]:
    """Predict numbers or probabilities of every channel, of shape (n, n_channels).

    Parameters
    ----------
    estimator : estimator
        Fitted by `trained`.
    rows : BinnedData, or array-like, frame or sparse matrix of shape (n, p)
        Binned with the schema of the estimator, or X as users give it.
    targets : TargetSchema
    """
    is_regression = targets.kind == "regression"
    # Graphs need the numbers themselves.
    needs_numbers = isinstance(estimator, GraphEstimator) and isinstance(rows, BinnedData)
    X: Any = whole_rows(rows.encoded) if needs_numbers else rows
    found: Any = estimator.predict(X) if is_regression else estimator.predict_proba(X)
    if isinstance(found, list):
        found = np.concatenate(found, axis=1)
    elif hasattr(found, "toarray"):
        found = found.toarray()
    if targets.kind == "binary":
        found = found[:, 1]
    channels: NDArray[np.float64] = np.asarray(found, dtype=np.float64)
    return channels[:, None] if channels.ndim == 1 else channels
