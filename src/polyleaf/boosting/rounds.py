"""The rounds of boosting: learning curves, early stopping, callbacks, and the race of views.

The race chooses the view of the outputs that suits a problem, and the depth of trees where there
are few rows: short fits on some rows, judged on others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from polyleaf.boosting.booster import Booster, BoostingSettings
from polyleaf.boosting.checks import BoostingProgress, StoppingRule
from polyleaf.boosting.exact import MOST_GROUPS, exact_group_losses
from polyleaf.boosting.leaves import Units
from polyleaf.boosting.validation import Validation, joined_rows, taken
from polyleaf.losses import Loss, LossTargets
from polyleaf.projections import Adaptive, Gaussian, Projection, RoundRobin
from polyleaf.trees.moments import channel_moments
from polyleaf.trees.shards import Shard, draw_share

if TYPE_CHECKING:
    from polyleaf.boosting.model import BoostedTrees
    from polyleaf.boosting.weak_models import BoostedModels
    from polyleaf.data.targets import Targets
    from polyleaf.data.training import TrainingData

    Boosted: TypeAlias = BoostedTrees | BoostedModels

#: NumPy's BLAS; to look for it takes as long as a few rounds.
_blas = cache(ThreadpoolController)
#: A stream of chance for the rows of the race.
_RACE_STREAM = 2**32 + 2
#: Rows that take part; a quarter of them judges, in groups whose losses tell how sure they are.
_MOST_ROWS, _LEAST_ROWS, _JUDGES = 4000, 40, 4
#: The race learns so many times as fast as the fit, at most at that rate, in fewer rounds.
_SPEED, _FASTEST = 2.0, 0.3
#: Rounds of a view at the rate of the fit, and of one output at a time, which learns faster and
#: costs more.
_N_ROUNDS, _N_SINGLE_ROUNDS, _PATIENCE = 200, 50, 30
#: Shares of the leader's work after which a view may be given up (trees for all outputs learn
#: alike, those for one output overtake late), and after which it has to be clearly better.
_SHARED_TRIAL, _SINGLE_TRIAL, _LONG_TRIAL = 0.4, 1.0, 3.0
#: What a tree costs besides additions, in additions.
_TREE_WORK = 1e5
#: With more outputs, one at a time is not tried: a round of it has a tree for each.
_MOST_SINGLE_OUTPUTS = 64
#: How many times as many rounds as were best in the race are worth while: all rows bear more
#: than some, and rankings of labels gain for a while after their loss has begun to rise.
_MORE_ROUNDS = 2
#: Depth of trees, and that tried where all rows race: 6 parts few rows down to single ones.
DEPTH, _SMALL_DEPTH = 6, 3


class BoostingLoop:
    """Runs the rounds of one fit.

    Parameters
    ----------
    booster : Booster
        Not started yet.
    validations : sequence of Validation
        The last one decides when to stop.
    rule : StoppingRule
    callbacks : sequence of callable
        Called after every round with a `BoostingProgress`; one that returns True stops the fit.
    advance : callable, optional
        Of a progress bar.

    Attributes
    ----------
    history : dict of str to list
        What was measured after every round, see `Boosting.history_`.
    """

    def __init__(
        self,
        booster: Booster,
        validations: Sequence[Validation],
        rule: StoppingRule,
        callbacks: Sequence[Callable[[BoostingProgress], Any]],
        advance: Callable[..., None] | None = None,
    ) -> None:
        self.booster, self.validations, self.rule = booster, validations, rule
        self.callbacks, self.advance = callbacks, advance
        self.history: dict[str, list[Any]] = {"train_loss": []}

    def run(
        self,
        n_estimators: int,
        start: Boosted | None = None,
        trees_per_stage: int | None = None,
    ) -> list[Any]:
        """Boost until there are `n_estimators` rounds, or until it no longer helps.

        Parameters
        ----------
        n_estimators : int
        start : BoostedTrees or BoostedModels, optional
            The model to go on from.
        trees_per_stage : int, optional
            How many trees a round of `start` has.

        Returns
        -------
        list
            What the booster has grown, up to the best round if there is early stopping.

        Raises
        ------
        ValueError
            If a round would have more or fewer trees than those of `start`.
        """
        # Products of matrices must not depend on how many threads BLAS would take.
        with _blas().limit(limits=1, user_api="blas"):
            return self._run(n_estimators, start, trees_per_stage)

    def _run(
        self, n_estimators: int, start: Boosted | None, trees_per_stage: int | None
    ) -> list[Any]:
        booster = self.booster
        booster.start(start)
        per_stage = booster.n_trees_per_stage
        if trees_per_stage not in (None, per_stage):
            raise ValueError(
                f"A round of the fitted model has {trees_per_stage} trees, one for each output "
                f"that varies; in this y {per_stage} vary. Use warm_start=False to start again."
            )
        raw = self._watched(start)
        first = 0 if start is None else start.n_trees
        rounds: list[Any] = []
        # New rounds are kept only if they are better than what is there.
        best, best_at = np.inf if start is None else self._start_criterion(raw), 0
        for stage in range(first // per_stage, n_estimators):
            trees = range(stage * per_stage, (stage + 1) * per_stage)
            rounds.extend(booster.grow(t) for t in trees)
            progress = self._report(stage + 1, raw)
            criterion = self._checked_criterion(progress)
            least = self.rule.tolerance * abs(best) if np.isfinite(best) else 0.0
            if criterion < best - least:
                best, best_at = criterion, len(rounds)
                if self.validations and (watch := self.validations[-1].watch) is not None:
                    watch(raw)
            answers = [callback(progress) for callback in self.callbacks]
            if any(isinstance(answer, bool | np.bool_) and answer for answer in answers):
                break
            patience = self.rule.n_iter_no_change
            if patience is not None and len(rounds) - best_at >= patience * per_stage:
                break
        if self.rule.n_iter_no_change is not None:
            rounds = rounds[: max(best_at, per_stage if start is None else 0)]
        return rounds

    def _watched(self, start: Boosted | None) -> NDArray[np.float32]:
        """Have the booster move raw predictions of all validation rows along."""
        if not self.validations:
            return np.zeros((0, 0), np.float32)
        encoded = joined_rows([validation.encoded for validation in self.validations])
        raw = np.tile(self.booster.baseline.astype(np.float32), (encoded.shape[0], 1))
        if start is not None:
            raw[:] = np.nan_to_num(start.predict(encoded))
        self.booster.watch(encoded, raw)
        return raw

    def _report(self, n_estimators: int, raw: NDArray[np.float32]) -> BoostingProgress:
        """Note losses in the history and show them."""
        measured, progress = self._measure(n_estimators, raw)
        for name, value in measured.items():
            self.history.setdefault(name, []).append(value)
        if self.advance is None:
            return progress
        shown = {
            "train": progress.train_loss,
            "validation": progress.validation_loss,
            "score": progress.validation_score,
        }
        self.advance(**{name: value for name, value in shown.items() if value is not None})
        return progress

    def _measure(
        self, n_estimators: int, raw: NDArray[np.float32]
    ) -> tuple[dict[str, Any], BoostingProgress]:
        """Measure losses and scores: all of them by name, and those of the last rows."""
        found: dict[str, Any] = {"train_loss": self.booster.mean_loss()}
        values: dict[str, Any] = {}
        start = 0
        for number, validation in enumerate(self.validations):
            stop = start + validation.targets.n_rows
            values = validation.measure(raw[start:stop])
            start = stop
            if len(self.validations) > 1:
                found |= {f"validation_{number}_{name}": value for name, value in values.items()}
        found |= {f"validation_{name}": value for name, value in values.items()}
        train_loss, loss, score = found["train_loss"], values.get("loss"), values.get("score")
        return found, BoostingProgress(n_estimators, train_loss, loss, score)

    def _start_criterion(self, raw: NDArray[np.float32]) -> float:
        return _criterion(self._measure(0, raw)[1])

    def _checked_criterion(self, progress: BoostingProgress) -> float:
        for name in ("train_loss", "validation_loss"):
            value = getattr(progress, name)
            if value is not None and np.isnan(value):
                raise ValueError(
                    f"{name} after {progress.n_estimators} rounds is NaN: "
                    f"{self.booster.settings.loss!r} is not defined for all raw predictions that "
                    "it is given. Use another loss, or a lower learning_rate."
                )
        score = progress.validation_score
        if self.rule.n_iter_no_change is not None and score is not None and np.isnan(score):
            raise ValueError(
                "Early stopping needs numbers to compare; the validation score (eval_metric) "
                f"after {progress.n_estimators} rounds is NaN. Use another eval_metric, other "
                "validation rows, or early_stopping=False."
            )
        return _criterion(progress)


def _criterion(progress: BoostingProgress) -> float:
    """Give what early stopping lowers: minus the score, the validation or the training loss."""
    if progress.validation_score is not None:
        return -progress.validation_score
    if progress.validation_loss is not None:
        return progress.validation_loss
    return progress.train_loss


@dataclass(frozen=True)
class ChosenView:
    """What the race has shown.

    Attributes
    ----------
    projection : Projection or None
        The view whose model predicted best; None: all outputs.
    most_rounds : int or None
        Rounds after which its model of numbers would only get worse; None: not seen.
    max_depth : int or None
        Depth of its trees, if that is not the one of the settings.
    """

    projection: Projection | None
    most_rounds: int | None = None
    max_depth: int | None = None


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
        Additions of all rounds, and what trees cost besides.
    max_depth : int or None
    course : sequence of (work, loss)
        The least loss after each round.
    """

    projection: Projection | None
    loss: float
    group_losses: NDArray[np.float64]
    best_at: int | None
    work: float
    max_depth: int | None = None
    course: Sequence[tuple[float, float]] = ()

    def is_clearly_better_than(self, other: _Result | None) -> bool:
        """Tell whether the groups agree: less loss by more than the standard error of that."""
        if other is None:
            return True
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
    tries_depth: bool = False,
    shard: Shard | None = None,
) -> ChosenView:
    """Find the view whose model predicts rows that were set aside best.

    The cheapest view comes first; another takes its place if it is clearly better. What is no
    better than the view in the lead was after the same work is given up, and steps are larger than
    those of the fit: the race is to cost less than what it chooses.

    Parameters
    ----------
    data : TrainingData
    settings : BoostingSettings
        But for the projection.
    entropy : sequence of int
        The seed; the rows of the race depend on it and on their number alone.
    n_threads, n_estimators : int
    tries_depth : bool
        Whether the best view may have smaller trees, too, where that is clearly better.
    shard : Shard, optional
        If rows are drawn by their numbers, and sums do not depend on how they are divided.

    Returns
    -------
    ChosenView
    """
    schema, rows = data.targets.schema, data.weighted_rows
    is_one_channel = schema.channel_offsets[-1] == 1
    n_rows = rows.size if shard is None else shard.count(rows.size)
    tries_depth = tries_depth and _LEAST_ROWS <= n_rows <= _MOST_ROWS
    if is_one_channel and not tries_depth:
        return ChosenView(None)
    if n_rows < _LEAST_ROWS:
        return ChosenView(Adaptive())
    judging, taking = _race_rows(rows, n_rows, entropy, shard)
    judges, n_raced = data.targets.at(judging), judging.size + taking.size
    if shard is None:
        part, part_shard = data.take(taking), None
    else:
        part, part_shard = taken(data, taking, shard)
        n_raced = shard.count(n_raced)
    moments = channel_moments(part.targets, part_shard)
    views: list[Projection | None] = [Gaussian(n_components=1), Adaptive(), None]
    if is_one_channel:
        views = [None]
    if 1 < schema.n_outputs <= _MOST_SINGLE_OUTPUTS and not settings.is_joint:
        views.append(RoundRobin())
    is_normalized = settings.tree.normalize_outputs
    units = Units.of(part, moments, settings.loss, settings.n_values, is_normalized, part_shard)
    judge_shard = None if shard is None else shard.at(judging)
    judge_rows = data.encoded[judging]
    shards = part_shard, judge_shard
    race = _Race(part, units, judge_rows, judges, settings, entropy, n_threads, *shards)
    leader: Any = None
    for view in views:
        result = race.run(view, leader, n_estimators)
        if result.is_clearly_better_than(leader):
            leader = result
    if tries_depth:
        result = race.run(leader.projection, leader, n_estimators, _SMALL_DEPTH)
        if result.is_clearly_better_than(leader):
            leader = result
    most_rounds = None
    if leader.best_at is not None and not is_one_channel:
        most_rounds = math.ceil(_MORE_ROUNDS * leader.best_at * n_rows / n_raced)
    return ChosenView(leader.projection, most_rounds, leader.max_depth)


def _race_rows(
    rows: NDArray[np.int32], n_rows: int, entropy: Sequence[int], shard: Shard | None
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw the rows that judge, and those that are trained on; ascending."""
    rng = np.random.default_rng([*entropy, _RACE_STREAM])
    if shard is None:
        order = rng.permutation(n_rows)[:_MOST_ROWS]
        n_judges = order.size // _JUDGES
        return np.sort(rows[order[:n_judges]]), np.sort(rows[order[n_judges:]])
    seeds = rng.integers(2**63, size=2).tolist()
    rows = rows[draw_share(seeds[0], shard.numbers[rows], _MOST_ROWS / n_rows)]
    judge = draw_share(seeds[1], shard.numbers[rows], 1.0 / _JUDGES)
    return rows[judge], rows[~judge]


class _Race:
    """Trains views on some rows and has others judge them.

    Parameters
    ----------
    part : TrainingData
        The rows to train on.
    units : Units
    judging : ndarray or csr_array of shape (n_judges, n_features)
        The rows that judge, encoded.
    judges : Targets
    settings : BoostingSettings
    entropy : sequence of int
    n_threads : int
    shard, judge_shard : Shard or None
        Of the rows to train on, and of those that judge.
    """

    def __init__(
        self,
        part: TrainingData,
        units: Units,
        judging: Any,
        judges: Targets,
        settings: BoostingSettings,
        entropy: Sequence[int],
        n_threads: int,
        shard: Shard | None = None,
        judge_shard: Shard | None = None,
    ) -> None:
        self._part, self._units, self._settings = part, units, settings
        self._entropy, self._n_threads = entropy, n_threads
        self._shard, self._judge_shard = shard, judge_shard
        self._speed = max(1.0, min(_SPEED, _FASTEST / settings.learning_rate))
        self._judging, self._judges = judging, units.loss_targets(judges)

    def run(
        self,
        projection: Projection | None,
        leader: _Result | None,
        n_estimators: int,
        max_depth: int | None = None,
    ) -> _Result:
        """Train one view until it no longer gets better, or has to be given up."""
        tree = replace(self._settings.tree, projection=projection)
        if max_depth is not None:
            tree = replace(tree, max_depth=max_depth)
        rate = self._speed * self._settings.learning_rate
        settings = replace(self._settings, tree=tree, learning_rate=rate)
        booster = Booster(
            self._part, settings, self._entropy, self._n_threads, self._units, self._shard
        )
        targets = self._judges
        best = np.zeros(targets.values.shape, np.float32)
        watch = partial(np.copyto, best)
        validation = Validation(
            self._judging, targets, self._settings.loss, shard=self._judge_shard, watch=watch
        )
        is_single = isinstance(projection, RoundRobin)
        trial = np.inf if leader is None else leader.work
        trial *= _SINGLE_TRIAL if is_single else _SHARED_TRIAL
        course: list[tuple[float, float]] = []
        is_long = False

        def result(best_at: int | None = None) -> _Result:
            by_group = _group_losses(self._settings.loss, targets, best, self._judge_shard)
            work, loss = course[-1]
            return _Result(projection, loss, by_group, best_at, work, max_depth, course)

        def is_given_up(progress: BoostingProgress) -> bool:
            nonlocal is_long
            work = booster.spent + _TREE_WORK * progress.n_estimators * booster.n_trees_per_stage
            least = min(course[-1][1] if course else np.inf, progress.validation_loss or 0.0)
            course.append((work, least))
            if leader is None or work < trial:
                return False
            if not is_long and work >= _LONG_TRIAL * leader.work:
                is_long = True
                return not result().is_clearly_better_than(leader)
            before = [loss for at, loss in leader.course if at <= work]
            return bool(before) and least >= before[-1]

        rule = StoppingRule(math.ceil(_PATIENCE / self._speed))
        loop = BoostingLoop(booster, [validation], rule, [is_given_up])
        most_rounds = min(n_estimators, _N_SINGLE_ROUNDS if is_single else _N_ROUNDS)
        most_rounds = math.ceil(most_rounds / self._speed)
        loop.run(most_rounds)
        losses = loop.history["validation_loss"]
        if not np.isfinite(losses).any():
            work = course[-1][0]
            return _Result(projection, np.inf, np.zeros(0), None, work, max_depth)
        if len(losses) == most_rounds:
            return result()
        return result(math.ceil(int(np.nanargmin(losses) + 1) * self._speed))


def _group_losses(
    loss: Loss, targets: LossTargets, raw: NDArray[np.float32], shard: Shard | None
) -> NDArray[np.float64]:
    """Sum the loss over each of `MOST_GROUPS` groups of rows, or as many as there are rows."""
    if shard is not None:
        return exact_group_losses(loss, targets, raw, shard)
    n_groups = min(MOST_GROUPS, targets.n_rows)
    groups = [np.arange(g, targets.n_rows, n_groups) for g in range(n_groups)]
    return np.array([loss.value(targets.at(rows), raw[rows]) for rows in groups])
