"""The rounds of boosting: learning curves, early stopping and callbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from polyleaf.boosting.boosted_models import BoostedModels
from polyleaf.boosting.booster import Booster
from polyleaf.boosting.model import BoostedTrees
from polyleaf.losses import LossTargets

Boosted: TypeAlias = BoostedTrees | BoostedModels


@dataclass(frozen=True)
class BoostingProgress:
    """How far boosting has come, for callbacks.

    Attributes
    ----------
    n_estimators : int
        Number of rounds so far, those of an earlier fit included.
    train_loss : float
        Mean loss of the training rows.
    validation_loss : float or None
        Mean loss of the validation rows.
    validation_score : float or None
        The metric that was asked for, on the validation rows.
    """

    n_estimators: int
    train_loss: float
    validation_loss: float | None = None
    validation_score: float | None = None


@dataclass(frozen=True, eq=False)
class Validation:
    """Rows that are predicted after every round but not trained on.

    Attributes
    ----------
    encoded : ndarray or csr_array of shape (n_rows, n_features)
    targets : LossTargets
        In the units of the training targets.
    score : callable or None
        From raw predictions to a number; larger is better.
    watch : callable or None
        Told the raw predictions of every round that is the best so far; they change after that.
    """

    encoded: Any
    targets: LossTargets
    score: Callable[[NDArray[np.float32]], float] | None = None
    watch: Callable[[NDArray[np.float32]], None] | None = None


@dataclass(frozen=True)
class StoppingRule:
    """When to stop: after so many rounds without anything better.

    Attributes
    ----------
    n_iter_no_change : int or None
        None: never.
    tolerance : float
        By how much the loss or score must get better to count, relative to its size.
    """

    n_iter_no_change: int | None = None
    tolerance: float = 1e-7


class BoostingLoop:
    """Runs the rounds of one fit.

    Parameters
    ----------
    booster : Booster
        Not started yet.
    validation : Validation or None
    rule : StoppingRule
    callbacks : sequence of callable
        Called after every round with a `BoostingProgress`; one that returns True stops the fit.
    advance : callable
        Of a progress bar.
    """

    def __init__(
        self,
        booster: Booster,
        validation: Validation | None,
        rule: StoppingRule,
        callbacks: Sequence[Callable[[BoostingProgress], Any]],
        advance: Callable[..., None],
    ) -> None:
        self.booster, self.validation, self.rule = booster, validation, rule
        self.callbacks, self.advance = callbacks, advance
        self.history: dict[str, list[float]] = {"train_loss": []}
        if validation is not None:
            self.history["validation_loss"] = []
            if validation.score is not None:
                self.history["validation_score"] = []

    def run(
        self,
        n_estimators: int,
        start: Boosted | None = None,
        trees_per_stage: int | None = None,
    ) -> Boosted | None:
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
        BoostedTrees, BoostedModels or None
            `start` and the new trees, up to the best round if there is early stopping; None if
            there are none.

        Raises
        ------
        ValueError
            If a round would have more or fewer trees than those of `start`.
        """
        # Products of matrices must not depend on how many threads BLAS would take.
        with threadpool_limits(1, user_api="blas"):
            return self._run(n_estimators, start, trees_per_stage)

    def _run(
        self, n_estimators: int, start: Boosted | None, trees_per_stage: int | None
    ) -> Boosted | None:
        booster = self.booster
        booster.start(start)
        per_stage = booster.n_trees_per_stage
        if trees_per_stage not in (None, per_stage):
            raise ValueError(
                f"A round of the fitted model has {trees_per_stage} trees, one for each output "
                f"that varies; in this y {per_stage} vary. Use warm_start=False to start anew."
            )
        raw = self._validation_start(start)
        first = 0 if start is None else start.n_trees
        rounds: list[Any] = []
        # New rounds are kept only if they are better than what is there.
        best, best_at = np.inf if start is None else self._start_criterion(raw), 0
        for stage in range(first // per_stage, n_estimators):
            for t in range(stage * per_stage, (stage + 1) * per_stage):
                rounds.append(booster.grow(t))
                if self.validation is not None:
                    booster.model(rounds[-1:]).add_to(self.validation.encoded, raw)
            progress = self._report(stage + 1, raw)
            criterion = self._checked_criterion(progress)
            least = self.rule.tolerance * abs(best) if np.isfinite(best) else 0.0
            if criterion < best - least:
                best, best_at = criterion, len(rounds)
                if self.validation is not None and self.validation.watch is not None:
                    self.validation.watch(raw)
            answers = [callback(progress) for callback in self.callbacks]
            if any(isinstance(answer, bool | np.bool_) and answer for answer in answers):
                break
            patience = self.rule.n_iter_no_change
            if patience is not None and len(rounds) - best_at >= patience * per_stage:
                break
        if self.rule.n_iter_no_change is not None:
            rounds = rounds[: max(best_at, per_stage if start is None else 0)]
        parts: list[Any] = [] if start is None else [start]
        if rounds:
            parts.append(booster.model(rounds))
        return type(parts[0]).concatenate(parts) if parts else None

    def _validation_start(self, start: Boosted | None) -> NDArray[np.float32]:
        if self.validation is None:
            return np.zeros((0, 0), np.float32)
        n_rows = self.validation.targets.n_rows
        raw = np.tile(self.booster.baseline.astype(np.float32), (n_rows, 1))
        if start is not None:
            raw[:] = np.nan_to_num(start.predict(self.validation.encoded))
        return raw

    def _report(self, n_estimators: int, raw: NDArray[np.float32]) -> BoostingProgress:
        """Note losses in the history and show them."""
        progress = self._progress(n_estimators, raw)
        for name, values in self.history.items():
            values.append(getattr(progress, name))
        shown = {
            "train": progress.train_loss,
            "validation": progress.validation_loss,
            "score": progress.validation_score,
        }
        self.advance(**{name: value for name, value in shown.items() if value is not None})
        return progress

    def _progress(self, n_estimators: int, raw: NDArray[np.float32]) -> BoostingProgress:
        """Measure the losses and the score."""
        loss = score = None
        if self.validation is not None:
            loss = self.booster.settings.loss.value(self.validation.targets, raw)
            loss /= self._validation_weight
            if self.validation.score is not None:
                score = self.validation.score(raw)
        return BoostingProgress(n_estimators, self.booster.mean_loss(), loss, score)

    @cached_property
    def _validation_weight(self) -> float:
        assert self.validation is not None
        total = self.booster.settings.loss.total_weight(self.validation.targets)
        if not total > 0:
            raise ValueError(
                "At least one validation row must have both a positive weight and an observed "
                "output; got none. Check the y and the weights of eval_set."
            )
        return total

    def _start_criterion(self, raw: NDArray[np.float32]) -> float:
        return _criterion(self._progress(0, raw))

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
