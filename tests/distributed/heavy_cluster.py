"""Slow tests of clusters, for `make test-cluster`: many sizes and partitionings, kill -9."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import dask.array as da
import numpy as np
import pytest
from divided import assert_same
from sklearn.base import clone

from distributed import Client, LocalCluster
from polyleaf import (
    BaggedTreesRegressor,
    BoostingClassifier,
    BoostingRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    TreeRegressor,
)
from polyleaf.distributed import CollectiveError, fit

N_ROWS = 2000
PARTITIONINGS: dict[str, tuple[int, ...]] = {
    "one part": (N_ROWS,),
    "even": (250,) * 8,
    "one giant": (10,) * 10 + (1900,),
    "some empty": (0, 700, 0, 0, 800, 500),
    "many": (40,) * 50,
}
MODELS: dict[str, Any] = {
    "boosting": BoostingRegressor(n_estimators=8, projection="gaussian"),
    "boosting that chooses": BoostingRegressor(n_estimators=8),
    "boosted labels": BoostingClassifier(n_estimators=8, early_stopping=True),
    "tree": TreeRegressor(),
    "forest": RandomForestRegressor(n_estimators=6),
    "forest of labels": RandomForestClassifier(n_estimators=6),
    "extra trees": ExtraTreesRegressor(n_estimators=6),
    "bagged trees": BaggedTreesRegressor(n_estimators=3),
    "medians": BoostingRegressor(n_estimators=4, loss="absolute_error"),
}


def make_data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 8))
    X[rng.random(X.shape) < 0.05] = np.nan
    Y = np.sin(np.nan_to_num(X)) @ rng.normal(size=(8, 5)) + 0.3 * rng.normal(size=(N_ROWS, 5))
    Y[rng.random(Y.shape) < 0.1] = np.nan
    return X, Y


@pytest.fixture(scope="module", params=[1, 2, 3, 5])
def client(request: Any) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=request.param, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("name", MODELS)
def test_one_model_for_all_partitionings(client: Client, name: str) -> None:
    X, Y = make_data()
    model = MODELS[name].set_params(random_state=0)
    if "label" in name:
        Y = np.where(np.isnan(Y), np.nan, Y > 0)
    local = clone(model)
    if "boost" in name:
        local.set_params(sums="fixed")
    expected = local.fit(X, Y)
    for sizes in PARTITIONINGS.values():
        cuts = [slice(a, b) for a, b in pairwise(np.cumsum([0, *sizes]).tolist())]
        lazy = [
            da.concatenate([da.from_array(values[rows], chunks=-1) for rows in cuts])
            for values in (X, Y)
        ]
        assert_same(fit(model, *lazy, client=client), expected)


@pytest.mark.parametrize("seed", range(4))
def test_kill_9_at_random_rounds_never_hangs_and_never_gives_another_model(
    tmp_path: Any, seed: int
) -> None:
    X, Y = make_data()
    model = BoostingRegressor(n_estimators=40, projection="gaussian", random_state=0)
    expected = clone(model).set_params(sums="fixed").fit(X, Y)
    lazy = [da.from_array(values, chunks=(200, -1)) for values in (X, Y)]
    rng = np.random.default_rng(seed)
    with (
        LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for number in range(5):  # twenty in all
            client.wait_for_workers(3, timeout=120)
            pids = list(client.run(os.getpid).values())
            at, victim = int(rng.integers(1, 40)), pids[int(rng.integers(3))]

            def kill(progress: Any, at: int = at, victim: int = victim) -> None:
                if progress.n_estimators == at:
                    os.kill(victim, signal.SIGKILL)

            if (number + seed) % 2:
                path = tmp_path / f"{number}.checkpoint"
                found = fit(model, *lazy, client=client, callbacks=kill, checkpoint=path)
                assert_same(found, expected)
                continue
            with pytest.raises(CollectiveError, match="tcp://"):
                fit(model, *lazy, client=client, callbacks=kill)
