"""The race: successive halving of candidates on folds, within a budget of work.

All candidates are trained on all folds where the budget allows it. Otherwise all run on one fold,
the better half on two, and the best on all. Seconds are a second, softer limit: who has finished
when they are over is blended.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.auto.candidates import Candidate, Shape, budget_of, candidates_for
from polyleaf.auto.judging import Judge
from polyleaf.auto.problem import Problem, channels_of, trained
from polyleaf.checks.warning import warn_user
from polyleaf.data import BinnedData, whole_rows

#: Candidates that finish, at least.
_FEWEST = 3
#: Share of the budget that the first fold may take.
_FIRST_SHARE = 0.4
#: Work of a fit on all rows, in that of a fold.
_REFIT = 1.25


class Clock:
    """Seconds that are left, and how long the next fit will take."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.start = time.perf_counter()
        self.work = self.seconds = 0.0

    def told(self, work: float, seconds: float) -> None:
        """Take note of a fit."""
        self.work, self.seconds = self.work + work, self.seconds + seconds

    def allows(self, work: float) -> bool:
        """Whether so much work is likely to be done in time."""
        if self.limit is None:
            return True
        rate = self.seconds / self.work if self.work > 0 else 0.0
        return time.perf_counter() - self.start + rate * work <= self.limit


@dataclass(eq=False)
class Entry:
    """A candidate on its way.

    Attributes
    ----------
    candidate : Candidate
    seed : int
    fold_work : float
        Work of one fold.
    models : list of estimator
        Of the folds that are done.
    channels : ndarray of shape (n_held_out, n_channels), float32, or None
        Predictions of held-out rows, of the folds that are done.
    seconds : float
    scores : ndarray
        Of the folds that are done.
    """

    candidate: Candidate
    seed: int
    fold_work: float
    models: list[Any] = field(default_factory=list)
    channels: NDArray[np.float32] | None = None
    seconds: float = 0.0
    scores: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    failed: bool = False

    @property
    def score(self) -> float:
        """Mean score of the folds that are done."""
        return float(self.scores.mean()) if self.scores.size else float("nan")

    @property
    def work(self) -> float:
        """Work that was done."""
        return self.fold_work * self.scores.size


class Race:
    """Trains candidates on folds.

    Parameters
    ----------
    problem : Problem
    judge : Judge
    budget : {"small", "medium", "large"}
    time_limit : float or None
        In seconds.
    seeds : Generator
    n_jobs : int or None
    advance : callable
        Told of every fit.
    """

    def __init__(
        self,
        problem: Problem,
        judge: Judge,
        budget: str,
        clock: Clock,
        seeds: np.random.Generator,
        n_jobs: int | None,
        advance: Callable[..., None],
    ) -> None:
        self.problem, self.judge, self.clock = problem, judge, clock
        self.n_jobs, self.advance = n_jobs, advance
        self.n_folds = len(problem.folds)
        self.allowed = budget_of(problem, budget)
        self.spent = 0.0
        shape = Shape.of(problem)
        share = 1.0 - 1.0 / self.n_folds
        self.entries = [
            Entry(c, int(seeds.integers(2**31)), share * c.work(shape))
            for c in candidates_for(problem, budget)
        ]

    def run(self) -> list[Entry]:
        """Run the race; give those that finished, best first."""
        everything = sum(entry.fold_work for entry in self.entries) * self.n_folds
        if everything <= self.allowed:
            self._run_all(self.entries)
        else:
            self._halve()
        done = [e for e in self.entries if len(e.models) == self.n_folds and not e.failed]
        return sorted(done, key=lambda e: -self.judge.merit(e.score))

    def _run_all(self, entries: list[Entry]) -> None:
        for number, entry in enumerate(entries):
            rest = self.n_folds - len(entry.models) + _REFIT
            if number and not self.clock.allows(rest * entry.fold_work):
                continue
            for fold in range(len(entry.models), self.n_folds):
                self._step(entry, fold)

    def _halve(self) -> None:
        alive: list[Entry] = []
        for number, entry in enumerate(self.entries):
            cost = entry.fold_work
            affordable = self.spent + cost <= _FIRST_SHARE * self.allowed
            if number and not (affordable and self.clock.allows(cost)):
                continue
            self._step(entry, 0)
            alive.append(entry)
        for n_folds in (2, self.n_folds):
            alive = self._best(alive, max(_FEWEST, (len(alive) + 1) // 2))
            for place, entry in enumerate(alive):
                rest = (max(0, n_folds - len(entry.models)) + _REFIT) * entry.fold_work
                affordable = place < 2 or self.spent + rest <= self.allowed
                if place and not (affordable and self.clock.allows(rest)):
                    continue
                for fold in range(len(entry.models), n_folds):
                    self._step(entry, fold)

    def _best(self, entries: list[Entry], n_kept: int) -> list[Entry]:
        alive = [entry for entry in entries if not entry.failed]
        return sorted(alive, key=lambda e: -self.judge.merit(e.score))[:n_kept]

    def _step(self, entry: Entry, fold: int) -> None:
        """Train a candidate on a fold, and predict the rows that were held out."""
        if entry.failed:
            return
        problem, start = self.problem, time.perf_counter()
        train, test = problem.folds[fold]
        try:
            model = trained(entry.candidate.make(entry.seed + fold, self.n_jobs), problem, train)
            rows = BinnedData.of_encoded(problem.schema, whole_rows(problem.binned.encoded)[test])
            found = channels_of(model, rows, problem.targets.schema)
        except MemoryError as error:
            entry.failed = True
            warn_user(f"{entry.candidate.name} left the race: {error}")
            return
        if entry.channels is None:
            shape = (problem.held_out.size, problem.targets.n_channels)
            entry.channels = np.zeros(shape, np.float32)
        places = np.flatnonzero(problem.fold_of == fold)
        entry.channels[places] = _known(found, problem, train)
        entry.models.append(model)
        score = self.judge.score(entry.channels[places], places)
        entry.scores = np.append(entry.scores, score)
        seconds = time.perf_counter() - start
        entry.seconds += seconds
        self.spent += entry.fold_work
        self.clock.told(entry.fold_work, seconds)
        self.advance(1, score=entry.score)


def _known(
    found: NDArray[np.float64], problem: Problem, train: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Replace what a model cannot tell by the means of its training rows."""
    unknown = np.isnan(found)
    if not unknown.any():
        return found
    targets = problem.targets.at(train)
    values = targets.dense_values()
    seen = np.ones(values.shape) if targets.observed is None else targets.observed
    means = (values * seen).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    return np.where(unknown, means, found)
