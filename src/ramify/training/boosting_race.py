"""Which view of the outputs suits a problem: short fits on some rows, judged on others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ramify.projections import Adaptive, Gaussian, Projection, RoundRobin
from ramify.training.boosting import Booster, BoostingSettings
from ramify.training.boosting_loop import BoostingLoop, StoppingRule, Validation
from ramify.training.data import TrainingData

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A stream of chance for the rows of the race.
_RACE_STREAM = 2**32 + 2
#: Rows that take part; a quarter of them judges.
_MOST_ROWS, _LEAST_ROWS = 4000, 40
_JUDGES = 4
#: Rounds of a view, and of one output at a time, which learns faster and costs more.
_N_ROUNDS, _N_SINGLE_ROUNDS, _PATIENCE = 200, 50, 20
#: With more outputs, one at a time is not tried: a round of it has a tree for each.
_MOST_SINGLE_OUTPUTS = 64
#: How many times as many rounds as were best in the race are worth while for numbers: all rows
#: bear more rounds than some. Labels are given no limit: their sets and rankings go on getting
#: better long after the loss of their probabilities has begun to rise.
_MORE_ROUNDS = 2


@dataclass(frozen=True)
class ChosenView:
    """What the race has shown.

    Attributes
    ----------
    projection : Projection or None
        The view whose model predicted best; None: all outputs.
    most_rounds : int or None
        Rounds after which its model of numbers would only get worse; None: not seen.
    """

    projection: Projection | None
    most_rounds: int | None = None


def choose_projection(
    data: TrainingData,
    settings: BoostingSettings,
    entropy: Sequence[int],
    n_threads: int,
    n_estimators: int,
) -> ChosenView:
    """Find the view whose model predicts rows that were set aside best.

    Parameters
    ----------
    data : TrainingData
    settings : BoostingSettings
        But for the projection.
    entropy : sequence of int
        The seed; the rows of the race depend on it and on their number alone.
    n_threads, n_estimators : int

    Returns
    -------
    ChosenView
    """
    n_outputs = data.targets.schema.n_outputs
    rows = data.weighted_rows
    if data.targets.schema.n_channels == 1:
        return ChosenView(None)
    if rows.size < _LEAST_ROWS:
        return ChosenView(Adaptive())
    candidates: list[Projection | None] = [Adaptive(), Gaussian(n_components=1), None]
    is_joint = settings.loss.is_joint_over_outputs
    if 1 < n_outputs <= _MOST_SINGLE_OUTPUTS and not is_joint:
        candidates.append(RoundRobin())
    order = np.random.default_rng([*entropy, _RACE_STREAM]).permutation(rows.size)[:_MOST_ROWS]
    n_judges = order.size // _JUDGES
    judges, kept = np.sort(rows[order[:n_judges]]), np.sort(rows[order[n_judges:]])
    part = _part(data, kept)
    results = [
        _run(part, data, judges, _with(settings, candidate), entropy, n_threads, limit)
        for candidate in candidates
        for limit in [min(n_estimators, _rounds(candidate))]
    ]
    winner = int(np.argmin([loss for loss, _ in results]))
    best_at = results[winner][1]
    if best_at is None or data.targets.schema.kind != "regression":
        return ChosenView(candidates[winner])
    share = rows.size / order.size
    return ChosenView(candidates[winner], math.ceil(_MORE_ROUNDS * share * best_at))


def _rounds(candidate: Projection | None) -> int:
    return _N_SINGLE_ROUNDS if isinstance(candidate, RoundRobin) else _N_ROUNDS


def _with(settings: BoostingSettings, projection: Projection | None) -> BoostingSettings:
    return replace(settings, tree=replace(settings.tree, projection=projection))


def _part(data: TrainingData, rows: NDArray[np.int32]) -> TrainingData:
    return TrainingData(
        features=data.features.at(rows),
        encoded=data.encoded[rows],
        n_categories=data.n_categories,
        targets=data.targets.at(rows),
        weights=None if data.weights is None else data.weights[rows],
    )


def _run(
    part: TrainingData,
    data: TrainingData,
    judges: NDArray[np.int32],
    settings: BoostingSettings,
    entropy: Sequence[int],
    n_threads: int,
    n_estimators: int,
) -> tuple[float, int | None]:
    """Give the least mean loss of the judges, and its round if the loss has risen since."""
    booster = Booster(part, settings, entropy, n_threads)
    targets = booster.units.loss_targets(data.at(judges))
    validation = Validation(data.encoded[judges], targets)
    rule = StoppingRule(_PATIENCE)
    loop = BoostingLoop(booster, validation, rule, (), lambda **_: None)
    loop.run(n_estimators)
    losses = loop.history["validation_loss"]
    if not np.isfinite(losses).any():
        return np.inf, None
    best_at = int(np.nanargmin(losses)) + 1
    return float(losses[best_at - 1]), best_at if len(losses) < n_estimators else None
