"""Validation rows of boosting: set aside or given, with their weights, and scores on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, log_loss, make_scorer

from polyleaf.boosting.exact import ShardTargets, exact_output_values, weighted_row_losses
from polyleaf.data import (
    BinnedData,
    Targets,
    TargetSchema,
    align_mixed,
    align_targets,
    class_weights,
    combine_weights,
    read_classes,
    read_numbers,
    read_weights,
    whole_rows,
)
from polyleaf.estimator.mixed_scores import score_of_targets
from polyleaf.losses import Loss, LossPerOutput, LossTargets
from polyleaf.metrics import METRICS, Metric
from polyleaf.trees.shards import Shard, draw_share, exact_sums

if TYPE_CHECKING:
    from polyleaf.boosting.fitted import RawReader
    from polyleaf.data import TrainingData

#: A stream of chance for the rows that are set aside.
_SPLIT_STREAM = 2**32 + 1


@dataclass(frozen=True, eq=False)
class Validation:
    """Rows that are predicted after every round but not trained on.

    Attributes
    ----------
    encoded : ndarray or csr_array of shape (n_rows, n_features)
    targets : LossTargets
        In the units of the training targets.
    loss : Loss
    score : callable or None
        From raw predictions to a number; larger is better.
    output_scores : callable or None
        The same for every output, of shape (n_outputs,).
    by_output : bool
        Whether to measure the loss of every output, too.
    shard : Shard or None
        If sums must not depend on how rows are divided between workers.
    watch : callable or None
        Told the raw predictions of every round that is the best so far; they change after that.

    Raises
    ------
    ValueError
        If no row counts.
    """

    encoded: Any
    targets: LossTargets
    loss: Loss
    score: Callable[[NDArray[np.float32]], float] | None = None
    output_scores: Callable[[NDArray[np.float32]], NDArray[np.float64]] | None = None
    by_output: bool = False
    shard: Shard | None = None
    watch: Callable[[NDArray[np.float32]], None] | None = None
    _total: float = field(init=False)
    _totals: NDArray[np.float64] | None = field(init=False)

    def __post_init__(self) -> None:
        targets = self.targets
        if self.shard is not None:
            targets = ShardTargets.around(targets, self.shard)
        total = self.loss.total_weight(targets)
        if not total > 0:
            raise ValueError(
                "At least one validation row must have both a positive weight and an observed "
                "output; got none. Check the y and the weights of eval_set."
            )
        totals = _output_weights(self.loss, targets, self.shard) if self.by_output else None
        object.__setattr__(self, "_total", total)
        object.__setattr__(self, "_totals", totals)

    def measure(self, raw: NDArray[np.float32]) -> dict[str, Any]:
        """Give the mean "loss", the "score" if there is one, and both "_per_output"."""
        found: dict[str, Any] = {}
        totals = self._totals
        sums = None if totals is None else self._output_values(raw)
        if sums is None or totals is None:
            found["loss"] = self._value(raw) / self._total
        else:
            unknown = np.full(sums.shape, np.nan)
            found["loss"] = float(sums.sum()) / self._total
            found["loss_per_output"] = np.divide(sums, totals, out=unknown, where=totals > 0)
        if self.score is not None:
            found["score"] = self.score(raw)
        if self.output_scores is not None:
            found["score_per_output"] = self.output_scores(raw)
        return found

    def _output_values(self, raw: NDArray[np.float32]) -> NDArray[np.float64] | None:
        if self.shard is None:
            return self.loss.output_values(self.targets, raw)
        return exact_output_values(self.loss, self.targets, raw, self.shard)

    def _value(self, raw: NDArray[np.float32]) -> float:
        if self.shard is None:
            return self.loss.value(self.targets, raw)
        by_row = weighted_row_losses(self.loss, self.targets, raw)
        return float(exact_sums(by_row[:, None], self.shard)[0])


def _output_weights(loss: Loss, targets: LossTargets, shard: Shard | None) -> NDArray[np.float64]:
    """Sum the weights of what the loss adds up for every output, of shape (n_outputs,)."""
    weights, totals = targets.weights, []
    for j, (start, stop) in enumerate(pairwise(targets.channel_offsets)):
        own = loss.parts[j] if isinstance(loss, LossPerOutput) else loss
        by_entry = weights is not None and weights.ndim == 2
        part = LossTargets(
            targets.values[:, start:stop],
            weights[:, start:stop] if weights is not None and by_entry else weights,
            np.array([0, stop - start], np.int32),
        )
        if shard is not None:
            part = ShardTargets.around(part, shard)
        totals.append(own.total_weight(part))
    return np.array(totals)


def joined_rows(parts: Sequence[Any]) -> Any:
    """Put encoded rows below each other: an array, or a csr_array if some part is one."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return sparse.csr_array(sparse.vstack([sparse.csr_array(part) for part in parts]))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows that are not trained on.

    Attributes
    ----------
    encoded : ndarray or csr_array of shape (n_rows, n_features)
    targets : Targets
        With the weights of the loss: those of rows or entries, times those of classes.
    sample_weight : ndarray of shape (n_rows,) or (n_rows, n_channels), or None
        Weights of rows or entries alone.
    """

    encoded: Any
    targets: Targets
    sample_weight: NDArray[np.float64] | None


def set_aside(
    data: TrainingData, fraction: float, entropy: Sequence[int], shard: Shard | None = None
) -> tuple[TrainingData, Shard | None, HeldOut]:
    """Draw the rows to train on and those to validate on.

    A row without weight or observed output validates nothing: it stays with the others.

    Parameters
    ----------
    data : TrainingData
    fraction : float
        Share of the rows that count.
    entropy : sequence of int
        The seed.
    shard : Shard, optional
        If sums are in fixed point: each row is then drawn by its number, whoever holds the others.

    Returns
    -------
    data : TrainingData
        The rows to train on.
    shard : Shard or None
        Theirs.
    held_out : HeldOut
    """
    targets, weights, given = data.targets, data.targets.weights, data.sample_weight
    counts = np.ones((data.n_rows, 1), np.bool_) if targets.observed is None else targets.observed
    if weights is not None:
        counts = counts & (weights > 0 if weights.ndim == 2 else weights[:, None] > 0)
    rows = np.flatnonzero(counts.any(axis=1))
    rng = np.random.default_rng([*entropy, _SPLIT_STREAM])
    n_rows, n_aside = rows.size, int(np.ceil(fraction * rows.size))
    if shard is not None:
        drawn = draw_share(int(rng.integers(2**63)), shard.numbers[rows], fraction)
        n_rows, n_aside = shard.count(n_rows), shard.count(int(drawn.sum()))
    if not 0 < n_aside < n_rows:
        raise ValueError(
            f"early_stopping=True sets {n_aside} of {n_rows} rows with a weight and an "
            "observed output aside, which leaves none to train or to validate on. Give more rows, "
            "an eval_set, or early_stopping=False."
        )
    is_aside = np.zeros(data.n_rows, np.bool_)
    if shard is not None:
        is_aside[rows[drawn]] = True
    else:
        is_aside[rows[rng.permutation(n_rows)[:n_aside]]] = True
    kept, aside = np.flatnonzero(~is_aside), np.flatnonzero(is_aside)
    held_out = HeldOut(
        data.encoded[aside],
        targets.at(aside).weighted(None if weights is None else weights[aside]),
        None if given is None else given[aside],
    )
    if shard is None:
        return data.take(kept), None, held_out
    held_targets = with_unit(held_out.targets, shard)
    return *taken(data, kept, shard), replace(held_out, targets=held_targets)


def taken(data: TrainingData, rows: NDArray[Any], shard: Shard) -> tuple[TrainingData, Shard]:
    """Take some rows of this worker; weights are in one unit on all workers.

    Parameters
    ----------
    data : TrainingData
    rows : ndarray of int
    shard : Shard
        Of all rows of `data`.
    """
    part = data.take(rows)
    return replace(part, targets=with_unit(part.targets, shard)), shard.at(rows)


def with_unit(targets: Targets, shard: Shard) -> Targets:
    """Give weights the unit of all workers."""
    if targets.weights is None:
        return targets
    counts = bool(targets.weights.max(initial=0.0) > 0)
    return replace(targets, weight_unit=shard.unit(targets.weight_unit, counts))


def read_eval_sets(estimator: Any, data: TrainingData, eval_set: Any) -> list[HeldOut]:
    """Read the validation rows that were given.

    Parameters
    ----------
    estimator : Boosting
    data : TrainingData
    eval_set : tuple (X, y) or (X, y, sample_weight), or list of those
    """
    several = eval_set if isinstance(eval_set, list) else [eval_set]
    for given in several:
        if not isinstance(given, tuple) or len(given) not in (2, 3):
            raise ValueError(
                "eval_set must be a pair (X, y), or (X, y, sample_weight), or a list of such "
                f"tuples; got {_described(eval_set)}. For early stopping on training rows leave "
                "it out."
            )
    if not several:
        raise ValueError("eval_set must have at least one pair (X, y); got an empty list.")
    return [_read_eval_set(estimator, data, given) for given in several]


def _described(eval_set: Any) -> str:
    name = type(eval_set).__name__
    if isinstance(eval_set, list):
        return f"a list with {', '.join(sorted({type(item).__name__ for item in eval_set}))}"
    return f"a tuple of {len(eval_set)}" if isinstance(eval_set, tuple) else name


def _read_eval_set(estimator: Any, data: TrainingData, eval_set: tuple[Any, ...]) -> HeldOut:
    name = type(estimator).__name__
    encoded = _encoded(data, eval_set[0], name)
    schema, y, n_rows = data.targets.schema, eval_set[1], encoded.shape[0]
    if schema.frame is not None:
        targets = align_mixed(y, n_rows, schema, what="y of eval_set", estimator_name=name)
    else:
        read = read_numbers if schema.kind == "regression" else read_classes
        targets = align_targets(read(y, n_rows, estimator_name=name), schema)
    given = read_weights(eval_set[2] if len(eval_set) == 3 else None, targets)
    by_class = class_weights(getattr(estimator, "class_weight", None), targets, data.targets)
    return HeldOut(encoded, targets.weighted(combine_weights(given, by_class)), given)


def _encoded(data: TrainingData, X: Any, estimator_name: str) -> Any:
    """Encode validation rows as the training rows were."""
    if not isinstance(X, BinnedData):
        return data.schema.encode(X, estimator_name=estimator_name)
    if X.schema.to_json() != data.schema.to_json():
        raise ValueError(
            "The BinnedData of eval_set has other columns or categories than X. Give the rows of "
            "eval_set as they were read: they are encoded like X."
        )
    return whole_rows(X.encoded)


def score_function(
    estimator: Any, reader: RawReader, held_out: HeldOut, training: Targets
) -> Callable[[NDArray[np.float32]], float]:
    """Make the function from raw predictions of validation rows to a score; larger is better.

    Parameters
    ----------
    estimator : Boosting
        Whose `eval_metric` it is.
    reader : RawReader
        What raw predictions stand for.
    held_out : HeldOut
    training : Targets
    """
    metric, kind = estimator.eval_metric, held_out.targets.schema.kind
    if held_out.targets.schema.frame is not None and isinstance(metric, str):
        schema, rows = reader.schema, held_out.targets
        return lambda raw: score_of_targets(
            schema, reader.mixed(raw), rows, held_out.sample_weight
        )
    truth = estimator._truth(held_out.targets)
    given = _row_weights(held_out)
    if _is_scorer(metric) or (isinstance(metric, str) and metric not in METRICS):
        return _scorer_function(estimator, reader, held_out.targets, truth, given)
    if not isinstance(metric, str | Metric):
        needs = "values" if kind == "regression" else "labels"
        return lambda raw: float(metric(truth, estimator._shown(reader, raw, needs)))
    known = METRICS[metric] if isinstance(metric, str) else metric
    if known.task != kind:
        names = sorted(name for name, other in METRICS.items() if other.task == kind)
        raise ValueError(
            f"eval_metric={known.name!r} is for {known.task} problems; y is {kind}. Use one of "
            f"{', '.join(map(repr, names or ['accuracy', 'neg_log_loss']))}, the name of a "
            "scorer of scikit-learn, or a callable."
        )
    score = _metric_function(estimator, reader, held_out, training, known)
    return lambda raw: float(score(raw))


def output_score_function(
    estimator: Any, reader: RawReader, held_out: HeldOut, training: Targets
) -> Callable[[NDArray[np.float32]], NDArray[np.float64]] | None:
    """Make the same with a score for every output; None if the metric judges no single one.

    Parameters
    ----------
    estimator, reader, held_out, training
        See `score_function`.
    """
    metric = estimator.eval_metric
    known = METRICS.get(metric) if isinstance(metric, str) else metric
    if not isinstance(known, Metric) or known.per_output is None:
        return None
    return _metric_function(estimator, reader, held_out, training, known, per_output=True)


def _metric_function(
    estimator: Any,
    reader: RawReader,
    held_out: HeldOut,
    training: Targets,
    metric: Metric,
    *,
    per_output: bool = False,
) -> Callable[[NDArray[np.float32]], Any]:
    sign = 1.0 if metric.greater_is_better else -1.0
    function = metric.prepare(estimator._truth(training), per_output=per_output)
    truth, given = estimator._truth(held_out.targets), _row_weights(held_out)
    return lambda raw: sign * function(truth, estimator._shown(reader, raw, metric.needs), **given)


def _row_weights(held_out: HeldOut) -> dict[str, Any]:
    """Give the weights that a metric takes: those of rows."""
    weights = held_out.sample_weight
    return {} if weights is None or weights.ndim == 2 else {"sample_weight": weights}


class _Predicted(BaseEstimator):
    """A model that knows what it is to predict."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:
        """Give the values or labels."""
        return self.values


class _PredictedValues(RegressorMixin, _Predicted):
    """A regressor."""


class _PredictedClasses(ClassifierMixin, _Predicted):
    """A classifier."""

    def __init__(self, values: Any, probabilities: Any, classes: Any) -> None:
        self.values, self.probabilities, self.classes_ = values, probabilities, classes

    def predict_proba(self, X: Any) -> Any:
        """Give the probabilities."""
        return self.probabilities


class _PredictedLabels(_PredictedClasses):
    """A classifier of several labels, whose probabilities also rank."""

    def decision_function(self, X: Any) -> Any:
        """Give the probabilities."""
        return self.probabilities


def _is_scorer(metric: Any) -> bool:
    """Tell a scorer of scikit-learn, which takes a model, from a metric."""
    return type(metric).__module__.startswith("sklearn.metrics")


def _scorer_function(
    estimator: Any, reader: RawReader, targets: Targets, truth: Any, given: dict[str, Any]
) -> Callable[[NDArray[np.float32]], float]:
    """Score by a scorer of scikit-learn, or its name: on predictions that are there already.

    Parameters
    ----------
    estimator : Boosting
    reader : RawReader
    targets : Targets
        Those of the rows.
    truth : array-like
        The same for a metric.
    given : dict
        With "sample_weight", or empty.
    """
    metric, schema = estimator.eval_metric, targets.schema
    scorer = get_scorer(metric)
    if not schema.is_1d and targets.observed is not None and not targets.observed.all():
        raise ValueError(
            f"eval_metric={metric!r} is a scorer of scikit-learn, which cannot leave single "
            "outputs out; some validation targets are not observed. Use one of "
            "polyleaf.metrics.METRICS, a callable, or None for the loss itself."
        )
    rows = np.arange(targets.n_rows)
    if schema.is_1d and targets.observed is not None:
        rows = np.flatnonzero(targets.observed[:, 0])
    if metric == "neg_log_loss" and schema.kind in ("binary", "multiclass"):
        # Validation rows need not have all classes.
        scorer = make_scorer(
            log_loss,
            response_method="predict_proba",
            greater_is_better=False,
            labels=schema.classes_,
        )
    kept = {key: value[rows] for key, value in given.items()}
    index = rows[:, None]

    def score(raw: NDArray[np.float32]) -> float:
        if schema.kind == "regression":
            model: Any = _PredictedValues(estimator._shown(reader, raw[rows], "values"))
        else:
            labels = estimator._shown(reader, raw[rows], "labels")
            probabilities = estimator._shown(reader, raw[rows], "probabilities")
            cls = _PredictedLabels if schema.kind == "multilabel" else _PredictedClasses
            model = cls(labels, probabilities, schema.classes_)
        try:
            return float(scorer(model, index, truth[rows], **kept))
        except ValueError as error:
            raise _lacking(metric, schema, truth[rows]) or error from error

    return score


def _lacking(metric: Any, schema: TargetSchema, truth: Any) -> ValueError | None:
    """Say that validation rows lack a class, if they do: some scorers cannot do without."""
    if schema.kind not in ("binary", "multiclass"):
        return None
    absent = np.setdiff1d(schema.classes_, truth)
    if absent.size == 0:
        return None
    return ValueError(
        f"eval_metric={metric!r} needs rows of all classes; the validation rows have none of "
        f"{absent[0]!r}. Give an eval_set with all of them, use another metric, or None for the "
        "loss itself."
    )
