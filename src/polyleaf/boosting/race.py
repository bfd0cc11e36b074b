"""Which view of the outputs suits a problem: short fits on some rows, judged on others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from polyleaf.boosting.booster import Booster, BoostingSettings
from polyleaf.boosting.loop import BoostingLoop, BoostingProgress, StoppingRule, Validation
from polyleaf.data.training import TrainingData
from polyleaf.losses import Loss, LossTargets
from polyleaf.projections import Adaptive, Gaussian, Projection, RoundRobin

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A stream of chance for the rows of the race.
_RACE_STREAM = 2**32 + 2
#: Rows that take part; a quarter of them judges, in groups whose losses tell how sure they are.
_MOST_ROWS, _LEAST_ROWS = 4000, 40
_JUDGES, _MOST_GROUPS = 4, 32
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


@dataclass(frozen=True, eq=False)
class _Result:
    """What the judges say of one view.

    Attributes
    ----------
    projection : Projection or None
    loss : float
        Mean loss of all judges in the best round; infinite if no round had a finite loss.
    group_losses : ndarray of shape (n_groups,)
        The sums that it is made of.
    best_at : int or None
        The best round, if the loss has risen since.
    work : float
        Additions of all rounds.
    """

    projection: Projection | None
    loss: float
    group_losses: NDArray[np.float64]
    best_at: int | None
    work: float

    def is_clearly_better_than(self, other: _Result) -> bool:
        """Tell whether the groups agree: less loss by more than the standard error of that."""
        if self.loss >= other.loss or not np.isfinite(other.loss):
            return self.loss < other.loss
        gains = other.group_losses - self.group_losses
        error = float(gains.std(ddof=1)) * math.sqrt(gains.size)
        return float(gains.sum()) > error


def choose_projection(
    data: TrainingData,
    settings: BoostingSettings,
    entropy: Sequence[int],
    n_threads: int,
    n_estimators: int,
) -> ChosenView:
    """Find the view whose model predicts rows that were set aside best.

    The cheapest view comes first; another takes its place if it is clearly better. What has cost
    as much as the view in the lead without being any better is given up.

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
    rows = data.weighted_rows
    if data.targets.schema.n_channels == 1:
        return ChosenView(None)
    if rows.size < _LEAST_ROWS:
        return ChosenView(Adaptive())
    race = _Race(data, settings, entropy, n_threads, n_estimators)
    leader = race.run(Gaussian(n_components=1), None)
    for challenger in _challengers(data, settings):
        result = race.run(challenger, leader)
        if result.is_clearly_better_than(leader):
            leader = result
    if leader.best_at is None or data.targets.schema.kind != "regression":
        return ChosenView(leader.projection)
    most_rounds = math.ceil(_MORE_ROUNDS * leader.best_at / race.share)
    return ChosenView(leader.projection, most_rounds)


def _challengers(data: TrainingData, settings: BoostingSettings) -> list[Projection | None]:
    views: list[Projection | None] = [Adaptive(), None]
    n_outputs = data.targets.schema.n_outputs
    is_joint = settings.loss.is_joint_over_outputs
    if 1 < n_outputs <= _MOST_SINGLE_OUTPUTS and not is_joint:
        views.append(RoundRobin())
    return views


class _Race:
    """Trains views on some rows and has others judge them.

    Attributes
    ----------
    share : float
        Of all rows, those that take part.
    """

    def __init__(
        self,
        data: TrainingData,
        settings: BoostingSettings,
        entropy: Sequence[int],
        n_threads: int,
        n_estimators: int,
    ) -> None:
        self._settings, self._entropy, self._n_threads = settings, entropy, n_threads
        self._n_estimators = n_estimators
        rows = data.weighted_rows
        rng = np.random.default_rng([*entropy, _RACE_STREAM])
        order = rng.permutation(rows.size)[:_MOST_ROWS]
        n_judges = order.size // _JUDGES
        judges = np.sort(rows[order[:n_judges]])
        self._judges, self._judging = data.at(judges), data.encoded[judges]
        self._part = _part(data, np.sort(rows[order[n_judges:]]))
        self.share = order.size / rows.size

    def run(self, projection: Projection | None, leader: _Result | None) -> _Result:
        """Train one view until it no longer gets better, or has to be given up."""
        tree = replace(self._settings.tree, projection=projection)
        booster = Booster(
            self._part, replace(self._settings, tree=tree), self._entropy, self._n_threads
        )
        targets = booster.units.loss_targets(self._judges)
        best = np.zeros((targets.n_rows, targets.n_channels), np.float32)
        validation = Validation(self._judging, targets, watch=partial(np.copyto, best))
        least = np.inf

        def is_given_up(progress: BoostingProgress) -> bool:
            nonlocal least
            least = min(least, progress.validation_loss or 0.0)
            return leader is not None and booster.spent >= leader.work and least >= leader.loss

        rule = StoppingRule(_PATIENCE)
        loop = BoostingLoop(booster, validation, rule, [is_given_up], lambda **_: None)
        is_single = isinstance(projection, RoundRobin)
        most_rounds = min(self._n_estimators, _N_SINGLE_ROUNDS if is_single else _N_ROUNDS)
        loop.run(most_rounds)
        losses = loop.history["validation_loss"]
        if not np.isfinite(losses).any():
            return _Result(projection, np.inf, np.zeros(0), None, booster.spent)
        best_at = int(np.nanargmin(losses)) + 1
        return _Result(
            projection,
            loss=losses[best_at - 1],
            group_losses=_group_losses(self._settings.loss, targets, best),
            best_at=best_at if len(losses) < most_rounds else None,
            work=booster.spent,
        )


def _group_losses(
    loss: Loss, targets: LossTargets, raw: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Sum the loss over each group of rows."""
    n_groups = min(_MOST_GROUPS, targets.n_rows)
    groups = [np.arange(g, targets.n_rows, n_groups) for g in range(n_groups)]
    return np.array([loss.value(targets.at(rows), raw[rows]) for rows in groups])


def _part(data: TrainingData, rows: NDArray[np.int32]) -> TrainingData:
    return TrainingData(
        features=data.features.at(rows),
        encoded=data.encoded[rows],
        n_categories=data.n_categories,
        targets=data.targets.at(rows),
        weights=None if data.weights is None else data.weights[rows],
    )
