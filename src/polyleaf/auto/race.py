"""The race: successive halving of candidates on folds, within a budget of work.

All candidates are trained on all folds where the budget allows it. Otherwise all run on one fold,
the better half on two, and the best on all. Seconds are a second, softer limit: who has finished
when they are over is blended.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.auto.bags import bag_of
from polyleaf.auto.candidates import Candidate, budget_of, candidates_for
from polyleaf.auto.judging import Judge
from polyleaf.auto.problem import Problem, channels_of, trained
from polyleaf.auto.work import Shape
from polyleaf.checks.warning import warn_user
from polyleaf.data import BinnedData, whole_rows
from polyleaf.forests.out_of_bag import predict_out_of_bag

#: Candidates that finish, at least.
_FEWEST = 3
#: Share of the budget that the first fold may take.
_FIRST_SHARE = 0.4


def count_steps(candidate: Candidate, problem: Problem) -> int:
    """Count the steps of a candidate that finishes: its folds, and a fit to all rows."""
    is_bag = candidate.way == "out-of-bag" and problem.allows_bags
    return len(problem.folds) + (candidate.way != "bag" and not is_bag)


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
    shape : Shape
        Of all rows.
    share : float
        That of them which a fold trains on.
    parts : list of estimator
        Trained on the folds that are done, if they are kept.
    member : estimator or None
        What goes into the blend, if it needs no training on all rows.
    channels : ndarray of shape (n_held_out, n_channels), float32, or None
        Predictions of held-out rows, of the folds that are done.
    work, seconds : float
        That were spent.
    scores : ndarray
        Of the folds that are done.
    """

    candidate: Candidate
    seed: int
    shape: Shape
    share: float
    parts: list[Any] = field(default_factory=list)
    member: Any = None
    channels: NDArray[np.float32] | None = None
    work: float = 0.0
    seconds: float = 0.0
    scores: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    failed: bool = False

    @property
    def score(self) -> float:
        """Mean score of the folds that are done."""
        return float(self.scores.mean()) if self.scores.size else float("nan")

    @property
    def n_done(self) -> int:
        """Number of folds that are done."""
        return self.scores.size

    @property
    def step_work(self) -> float:
        """Work of the next step: a fold, or all of them out of bag."""
        whole = self.candidate.work(self.shape)
        return whole if self.candidate.way == "out-of-bag" else self.share * whole

    def work_until(self, n_folds: int, *, with_member: bool = True) -> float:
        """Give the work until so many folds are done, and until the member is trained."""
        if self.candidate.way == "out-of-bag":
            return 0.0 if self.n_done else self.step_work
        refit = self.candidate.work(self.shape) if self.candidate.way == "refit" else 0.0
        return max(0, n_folds - self.n_done) * self.step_work + with_member * refit


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
        self.error: Exception | None = None
        shape = Shape.of(problem)
        share = 1.0 - 1.0 / self.n_folds
        self.entries = [
            Entry(self._as_possible(c), int(seeds.integers(2**31)), shape, share)
            for c in candidates_for(problem, budget)
        ]

    def _as_possible(self, candidate: Candidate) -> Candidate:
        if candidate.way != "out-of-bag" or self.problem.allows_bags:
            return candidate
        return replace(candidate, way="refit")

    def run(self) -> list[Entry]:
        """Run the race; give those that finished, best first."""
        everything = sum(entry.work_until(self.n_folds) for entry in self.entries)
        if everything <= self.allowed:
            self._run_all(self.entries)
        else:
            self._halve()
        done = [e for e in self.entries if e.n_done == self.n_folds and not e.failed]
        if not done and self.error is not None:
            raise self.error
        return sorted(done, key=lambda e: -self.judge.merit(e.score))

    def _run_all(self, entries: list[Entry]) -> None:
        for number, entry in enumerate(entries):
            if number and not self.clock.allows(entry.work_until(self.n_folds)):
                continue
            self._advance(entry, self.n_folds)

    def _halve(self) -> None:
        alive: list[Entry] = []
        n_compared = 1
        for number, entry in enumerate(self.entries):
            cost = entry.step_work
            affordable = self.spent + cost <= _FIRST_SHARE * self.allowed
            if number and not (affordable and self.clock.allows(cost)):
                continue
            self._advance(entry, 1)
            alive.append(entry)
        for n_folds in (2, self.n_folds):
            alive = self._best(alive, max(_FEWEST, (len(alive) + 1) // 2), n_compared)
            n_compared = n_folds
            for place, entry in enumerate(alive):
                rest = entry.work_until(n_folds)
                affordable = place < 2 or self.spent + rest <= self.allowed
                if place and not (affordable and self.clock.allows(rest)):
                    continue
                self._advance(entry, n_folds)

    def _best(self, entries: list[Entry], n_kept: int, n_folds: int) -> list[Entry]:
        """Keep those that are best on the first folds; forests may have seen more."""
        alive = [entry for entry in entries if not entry.failed]
        merits = {id(e): self.judge.merit(float(e.scores[:n_folds].mean())) for e in alive}
        return sorted(alive, key=lambda e: -merits[id(e)])[:n_kept]

    def _advance(self, entry: Entry, n_folds: int) -> None:
        """Train a candidate on further folds, until so many are done."""
        try:
            if entry.candidate.way == "out-of-bag" and not entry.n_done:
                self._step(entry, self._out_of_bag, range(self.n_folds))
            for fold in range(entry.n_done, n_folds):
                self._step(entry, self._fold, range(fold, fold + 1))
        except Exception as error:
            # Of many candidates, one that cannot learn these data must not take the others along.
            entry.failed = True
            self.error = self.error or error
            told = str(error) or type(error).__name__
            warn_user(f"{entry.candidate.name} left the race: {told}")
            return
        if entry.candidate.way == "bag" and entry.n_done == self.n_folds:
            entry.member, entry.parts = bag_of(entry.parts), []

    def _step(
        self, entry: Entry, predict: Callable[[Entry, range], NDArray[Any]], folds: range
    ) -> None:
        """Train a candidate, and score what it predicts for the rows of some folds."""
        start, work = time.perf_counter(), entry.step_work
        problem = self.problem
        places = np.flatnonzero(np.isin(problem.fold_of, folds))
        found = predict(entry, folds)
        if entry.channels is None:
            shape = (problem.held_out.size, problem.targets.n_channels)
            entry.channels = np.zeros(shape, np.float32)
        entry.channels[places] = found
        scores = self.judge.of_folds(entry.channels, folds)
        entry.scores = np.append(entry.scores, scores)
        seconds = time.perf_counter() - start
        entry.seconds, entry.work = entry.seconds + seconds, entry.work + work
        self.spent += work
        self.clock.told(work, seconds)
        self.advance(len(folds), score=entry.score)

    def _fold(self, entry: Entry, folds: range) -> NDArray[np.float64]:
        """Train on the rows of all folds but one; predict those that were held out."""
        problem, candidate = self.problem, entry.candidate
        train, test = problem.folds[folds.start]
        judging = test if candidate.is_stopped else None
        model = candidate.make(entry.seed + folds.start, self.n_jobs)
        model = trained(model, problem, train, judging)
        rows = BinnedData.of_encoded(problem.schema, whole_rows(problem.binned.encoded)[test])
        if candidate.settle is not None:
            settled = candidate.settle(model, rows, problem.targets.at(test))
            model = settled.model
            entry.candidate = replace(
                candidate, make=settled.make, work=settled.work, settle=None, is_stopped=False
            )
        if candidate.way == "bag":
            entry.parts.append(model)
        return _known(channels_of(model, rows, problem.targets.schema), problem, train)

    def _out_of_bag(self, entry: Entry, folds: range) -> NDArray[np.float64]:
        """Train on all rows; predict each by the trees that have not seen it."""
        problem = self.problem
        entry.member = trained(entry.candidate.make(entry.seed, self.n_jobs), problem)
        encoded = whole_rows(problem.binned.encoded)
        found: Any = predict_out_of_bag(entry.member._forest, encoded, problem.n_threads).values
        found = found[problem.held_out]
        found = found.toarray() if hasattr(found, "toarray") else found
        return _known(found, problem, np.arange(problem.n_rows))


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
