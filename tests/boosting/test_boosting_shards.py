"""Boosting on rows that are divided between workers, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from polyleaf import BoostingClassifier, BoostingRegressor, projections
from polyleaf.boosting.booster import Booster, GrownRound
from polyleaf.boosting.leaves import Units
from polyleaf.data.training import read_training
from polyleaf.trees.moments import channel_moments
from polyleaf.trees.shards import Shard, draw_counts, draw_share


class Meeting:
    """Where workers reduce their numbers."""

    def __init__(self, n_workers: int) -> None:
        self.barrier = threading.Barrier(n_workers, timeout=30.0)
        self.given: list[Any] = [None] * n_workers

    def reducer(self, worker: int) -> Callable[[NDArray[Any], str], None]:
        def reduce(numbers: NDArray[Any], by: str) -> None:
            self.given[worker] = numbers.copy()
            self.barrier.wait()
            assert len({(item.shape, item.dtype) for item in self.given}) == 1
            stacked = np.stack(self.given)
            numbers[...] = stacked.sum(axis=0) if by == "sum" else stacked.max(axis=0)
            self.barrier.wait()

        return reduce


def make_data(n_rows: int = 600, n_outputs: int = 3) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.sin(np.nan_to_num(X)) @ rng.normal(size=(6, n_outputs))
    Y = signal + 0.3 * rng.normal(size=signal.shape)
    return X, Y, rng.uniform(0.5, 2.0, n_rows)


def grow_rounds(booster: Booster, n_rounds: int) -> tuple[list[GrownRound], list[float]]:
    booster.start()
    rounds, losses = [], []
    for t in range(n_rounds):
        rounds.append(booster.grow(t))
        losses.append(booster.mean_loss())
    return rounds, losses


def train(
    estimator: Any, X: Any, Y: Any, weights: Any, n_workers: int
) -> list[tuple[list[GrownRound], list[float]]]:
    """Train on shards of the rows, with the settings of an estimator."""
    task: Any = "regression" if isinstance(estimator, BoostingRegressor) else "classification"
    whole = read_training(
        X, Y, weights, task=task, max_bins=255, n_threads=1, estimator_name="test"
    )
    settings: Any = {}

    class Noted(type(estimator)):  # type: ignore[misc]
        def _booster(self, data: Any, given: Any, entropy: Any, units: Any, shard: Any) -> Any:
            settings.update(settings=given, entropy=entropy)
            raise StopIteration

    with pytest.raises(StopIteration):
        Noted(**estimator.get_params(deep=False)).fit(X, Y, sample_weight=weights)
    given = settings["settings"]
    moments = channel_moments(whole.targets)
    units = Units.of(whole, moments, given.loss, given.n_values, given.tree.normalize_outputs)
    if n_workers == 0:  # one that knows of no others
        return [grow_rounds(Booster(whole, given, settings["entropy"], 1, units), 5)]
    owners = np.random.default_rng(n_workers).integers(0, n_workers, len(X))
    meeting = Meeting(n_workers)

    def work(worker: int) -> tuple[list[GrownRound], list[float]]:
        rows = np.flatnonzero(owners == worker)
        part = whole.take(rows)
        own = replace(part.targets, weight_unit=whole.targets.weight_unit)
        part = replace(part, targets=own)
        shard = Shard(rows.astype(np.int64), meeting.reducer(worker))
        return grow_rounds(Booster(part, given, settings["entropy"], 1, units, shard), 5)

    with ThreadPoolExecutor(n_workers) as pool:
        return list(pool.map(work, range(n_workers)))


MODELS: dict[str, Any] = {
    "squared error": BoostingRegressor(projection=None),
    "gaussian views": BoostingRegressor(projection=projections.Gaussian(n_components=2)),
    "one output at a time": BoostingRegressor(projection="round_robin"),
    "linear leaves": BoostingRegressor(
        projection=projections.Gaussian(n_components=1), leaf_fit="linear"
    ),
    "subsampled": BoostingRegressor(projection=None, subsample=0.6),
    "large gradients": BoostingRegressor(projection=None, subsample=0.4, row_sampling="gradient"),
    "best first": BoostingRegressor(projection=None, max_depth=None, max_leaf_nodes=7),
    "labels": BoostingClassifier(projection=None),
    "labels subsampled": BoostingClassifier(projection=None, subsample=0.5),
}


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_any_number_of_workers_boosts_the_same_trees(name: str, is_weighted: bool) -> None:
    X, Y, weights = make_data()
    estimator = MODELS[name].set_params(sums="fixed", max_bins=63, random_state=0)
    if isinstance(estimator, BoostingClassifier):
        Y = (Y > 0).astype(float)
    weights = weights if is_weighted else None
    (alone, losses), *_ = train(estimator, X, Y, weights, 0)
    for n_workers in (1, 2, 4):
        for rounds, seen in train(estimator, X, Y, weights, n_workers):
            assert seen == losses
            for grown, expected in zip(rounds, alone, strict=True):
                assert np.array_equal(grown.structure.feature, expected.structure.feature)
                assert np.array_equal(grown.structure.threshold, expected.structure.threshold)
                assert np.array_equal(grown.move.values, expected.move.values)


def test_missing_targets_are_summed_over_workers() -> None:
    X, Y, _ = make_data()
    Y[np.random.default_rng(1).random(Y.shape) < 0.3] = np.nan
    estimator = BoostingRegressor(projection=None, sums="fixed", random_state=0)
    (alone, _), *_ = train(estimator, X, Y, None, 0)
    for rounds, _ in train(estimator, X, Y, None, 3):
        for grown, expected in zip(rounds, alone, strict=True):
            assert np.array_equal(grown.move.values, expected.move.values)


@pytest.mark.parametrize("Model", [BoostingRegressor, BoostingClassifier])
def test_fixed_sums_predict_as_well_as_floats(Model: Any) -> None:
    X, Y, _ = make_data(3000)
    Y = (Y > 0).astype(float) if Model is BoostingClassifier else Y
    scores = {
        sums: Model(n_estimators=40, projection=None, sums=sums, random_state=0)
        .fit(X[:2000], Y[:2000])
        .score(X[2000:], Y[2000:])
        for sums in ("float", "fixed")
    }
    assert abs(scores["float"] - scores["fixed"]) < 0.02


def test_few_rows_are_summed_in_floats_unless_that_is_asked_for() -> None:
    X, Y, _ = make_data()
    settings: dict[str, Any] = {"n_estimators": 5, "projection": None, "random_state": 0}
    auto = BoostingRegressor(**settings).fit(X, Y).predict(X)
    assert np.array_equal(auto, BoostingRegressor(sums="float", **settings).fit(X, Y).predict(X))
    fixed = BoostingRegressor(sums="fixed", **settings).fit(X, Y).predict(X)
    assert not np.array_equal(auto, fixed)


def test_the_order_of_the_rows_does_not_matter_in_fixed_point() -> None:
    X, Y, _ = make_data()
    order = np.random.default_rng(5).permutation(len(X))
    settings: dict[str, Any] = {"n_estimators": 8, "projection": None, "random_state": 0}
    settings |= {"sums": "fixed", "normalize_outputs": False}
    model = BoostingRegressor(**settings).fit(X, Y)
    other = BoostingRegressor(**settings).fit(X[order], Y[order])
    assert np.allclose(model.predict(X), other.predict(X), rtol=1e-6, atol=1e-6)


def test_rows_are_drawn_by_their_numbers() -> None:
    numbers = np.arange(100_000)
    drawn = draw_share(3, numbers, 0.3)
    assert np.array_equal(drawn[numbers % 7 == 2], draw_share(3, numbers[numbers % 7 == 2], 0.3))
    assert abs(drawn.mean() - 0.3) < 0.01
    assert abs(np.corrcoef(drawn, draw_share(4, numbers, 0.3))[0, 1]) < 0.01
    counts = draw_counts(3, numbers, 1.0)
    assert abs(counts.mean() - 1.0) < 0.02
    assert abs((counts == 0).mean() - np.exp(-1.0)) < 0.01
    assert counts.max() < 12
