"""The way of a fit: race, weights, members, and how probabilities become decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.auto.blending import Blend, choose_weights, error_products
from polyleaf.auto.candidates import candidates_for
from polyleaf.auto.fitted import FittedBlend, sharpened
from polyleaf.auto.judging import Judge
from polyleaf.auto.problem import Problem, trained
from polyleaf.auto.race import Clock, Entry, Race, count_steps
from polyleaf.metrics import log_loss
from polyleaf.tuning.tuned_decoder import tuned_decision

if TYPE_CHECKING:
    from polyleaf.metrics import Metric

Floats = NDArray[np.float64]

#: A member whose mean weight is smaller is left out.
_LEAST_WEIGHT = 0.03
#: Factors of log-odds that are tried.
_SHARPNESSES = np.round(np.geomspace(0.6, 2.5, 21), 3)


def train_blend(
    problem: Problem,
    metric: Metric,
    *,
    budget: str,
    clock: Clock,
    rng: np.random.Generator,
    n_jobs: int | None,
    advance: Callable[..., None],
) -> FittedBlend:
    """Race the candidates, weigh those that finished, and train the members.

    Parameters
    ----------
    problem : Problem
    metric : Metric
    budget : {"small", "medium", "large"}
    clock : Clock
        Has the limit in seconds.
    rng : Generator
        Of all chance.
    n_jobs : int or None
    advance : callable
        Told of every fit.
    """
    judge = Judge.of(metric, problem)
    race = Race(problem, judge, budget, clock, rng, n_jobs, advance)
    finished = race.run()
    blend, products = weigh(problem, finished)
    kept = np.flatnonzero(blend.weights.mean(axis=0) >= _LEAST_WEIGHT)
    entries = [finished[k] for k in kept]
    blend, products = weigh(problem, entries)
    channels = blended(problem, entries, blend.weights)
    sharpness = 1.0
    decision: tuple[Any, Any] = (None, None)
    schema = problem.targets.schema
    if schema.kind != "regression":
        sharpness = choose_sharpness(problem, judge, channels)
        if metric.needs == "labels" and schema.kind == "multilabel":
            channels = sharpened(channels, sharpness, schema)
            decision = _decision(problem, judge, channels)
    leaderboard = _leaderboard(race, entries, blend)
    n_to_train = sum(entry.member is None for entry in entries)
    n_steps = sum(count_steps(entry.candidate, problem) for entry in race.entries)
    n_spared = n_steps - n_to_train - sum(entry.n_done for entry in race.entries)
    if n_spared:  # of candidates that were left out, or left the race
        advance(n_spared)
    members = _members(problem, entries, n_jobs, advance)
    return FittedBlend(
        problem.schema,
        schema,
        tuple(entry.candidate.name for entry in entries),
        members,
        blend.weights,
        products,
        sharpness,
        leaderboard,
        decoder=decision[1],
        calibrator=decision[0],
    )


def weigh(problem: Problem, entries: list[Entry]) -> tuple[Blend, Floats]:
    """Choose the weights of candidates; also give the mean products of their errors."""
    targets = problem.targets.at(problem.held_out)
    schema, fold_of = targets.schema, problem.fold_of
    truth = targets.dense_values()
    counted = _counted(targets)
    errors = []
    for entry in entries:
        assert entry.channels is not None
        gap = entry.channels - truth
        errors.append((gap if counted is None else gap * (counted > 0)).astype(np.float32))
    products = error_products(errors, counted, fold_of, schema.channel_offsets)
    mass, unit = _mass_and_unit(truth, counted, problem)
    blend = choose_weights(products, mass, unit)
    totals = np.maximum(mass.sum(axis=0), 1e-300)
    return blend, products.sum(axis=0) / (totals * unit)[:, None, None]


def _counted(targets: Any) -> Floats | None:
    """Give the weight of every entry, 0 where it is not observed; (n, 1) if they share it."""
    weights = targets.weights
    if weights is not None:
        weights = weights / max(float(weights.mean()), 1e-300)
        weights = weights[:, None] if weights.ndim == 1 else weights
    if targets.observed is None:
        return weights  # type: ignore[no-any-return]
    return targets.observed * (1.0 if weights is None else weights)  # type: ignore[no-any-return]


def _mass_and_unit(
    truth: Floats, counted: Floats | None, problem: Problem
) -> tuple[Floats, Floats]:
    """Give how much the rows of a fold tell about each output, and the unit of its errors.

    A label of which a share p of the rows is 1 tells as much as 4 p (1 - p) of them.
    """
    shares = np.ones((truth.shape[0], 1)) if counted is None else counted
    shares = np.broadcast_to(shares, truth.shape)
    offsets = problem.targets.schema.channel_offsets[:-1]
    fold_of = problem.fold_of
    starts = np.searchsorted(fold_of, np.arange(len(problem.folds)))
    mass = np.add.reduceat(shares, starts, axis=0)[:, offsets]
    totals = np.maximum(shares.sum(axis=0), 1e-300)
    means = (shares * truth).sum(axis=0) / totals
    variances = (shares * (truth - means) ** 2).sum(axis=0) / totals
    by_output = np.add.reduceat(variances, offsets)
    if problem.targets.schema.kind == "regression":
        return mass, np.maximum(by_output, 1e-300)
    return mass * np.minimum(4.0 * by_output, 1.0), np.ones(by_output.size)


def blended(problem: Problem, entries: list[Entry], weights: Floats) -> Floats:
    """Blend the predictions of held-out rows, of shape (n_held_out, n_channels)."""
    widths = np.diff(problem.targets.schema.channel_offsets)
    found = np.zeros((problem.held_out.size, int(widths.sum())))
    for entry, own in zip(entries, weights.T):
        found += np.repeat(own, widths) * entry.channels
    return found


def choose_sharpness(problem: Problem, judge: Judge, channels: Floats) -> float:
    """Find the factor of log-odds with the smallest log loss of held-out rows."""
    schema = problem.targets.schema
    losses = [
        log_loss(judge.truth, sharpened(channels, factor, schema), sample_weight=judge.weights)
        for factor in _SHARPNESSES
    ]
    if not np.isfinite(losses).any():
        return 1.0
    return float(_SHARPNESSES[int(np.nanargmin(losses))])


def _decision(problem: Problem, judge: Judge, channels: Floats) -> tuple[Any, Any]:
    """Choose calibration and decoder for the metric, on folds of held-out rows."""
    places = [np.flatnonzero(problem.fold_of == f) for f in range(len(problem.folds))]
    scores = [channels[at] for at in places]
    labels = [judge.truth[at] for at in places]
    return tuned_decision(scores, labels, judge.metric)


def _members(
    problem: Problem, entries: list[Entry], n_jobs: int | None, advance: Callable[..., None]
) -> tuple[Any, ...]:
    """Train every candidate of the blend on all rows, but those that need not be."""
    members = []
    for entry in entries:
        member = entry.member
        if member is None:
            member = trained(entry.candidate.make(entry.seed, n_jobs), problem)
            advance(1, score=entry.score)
        members.append(member)
    return tuple(members)


def _leaderboard(race: Race, entries: list[Entry], blend: Blend) -> tuple[dict[str, Any], ...]:
    """List what was tried, best first, and what was not tried for want of budget last."""
    mean_weights = dict(zip(map(id, entries), blend.weights.mean(axis=0)))
    lines = []
    for entry in sorted(race.entries, key=lambda e: -race.judge.merit(e.score)):
        n_done = entry.scores.size
        spread = float(entry.scores.std(ddof=1)) if n_done > 1 else float("nan")
        line = {
            "name": entry.candidate.name,
            "score": entry.score,
            "score_std": spread,
            "work": entry.work,
            "seconds": entry.seconds,
            "weight": float(mean_weights.get(id(entry), 0.0)),
        }
        lines.append(line)
    return tuple(lines)


def train_alone(problem: Problem, n_jobs: int | None, rng: np.random.Generator) -> FittedBlend:
    """Train the first candidate alone, where there are too few rows to compare any."""
    first = candidates_for(problem, "small")[0]
    member = trained(first.make(int(rng.integers(2**31)), n_jobs), problem)
    n_outputs = problem.targets.schema.n_outputs
    nothing = {name: float("nan") for name in ("score", "score_std")}
    line = {"name": first.name, **nothing, "work": 0.0, "seconds": 0.0, "weight": 1.0}
    return FittedBlend(
        problem.schema,
        problem.targets.schema,
        (first.name,),
        (member,),
        np.ones((n_outputs, 1)),
        np.ones((n_outputs, 1, 1)),
        1.0,
        (line,),
    )
