"""Slow tests of clusters, for `make test-cluster`: many sizes and partitionings, kill -9."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from divided import assert_same, rows_at
from scipy import sparse
from sklearn.base import clone

from distributed import Client, LocalCluster
from polyleaf import (
    BaggedTreesRegressor,
    BoostingClassifier,
    BoostingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GraphClassifier,
    GraphEnsembleClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    TreeClassifier,
    TreeRegressor,
)
from polyleaf.boosting.base import Boosting
from polyleaf.distributed import CollectiveError, fit

N_ROWS, N_GRAPH_ROWS = 2000, 200
#: Sizes of parts, of 200 in all.
PARTITIONINGS: dict[str, Sequence[int]] = {
    "one part": (200,),
    "even": (25,) * 8,
    "one giant": (1,) * 10 + (190,),
    "some empty": (0, 70, 0, 0, 80, 50),
    "many": (10,) * 20,
}
#: Regressors of numbers, and classifiers of labels or classes; one of each family at least.
MODELS: dict[str, Any] = {
    "boosting": BoostingRegressor(n_estimators=6, projection="gaussian"),
    "boosting that chooses": BoostingRegressor(n_estimators=6),
    "medians": BoostingRegressor(n_estimators=3, loss="absolute_error"),
    "tree": TreeRegressor(),
    "forest": RandomForestRegressor(n_estimators=4),
    "extra trees": ExtraTreesRegressor(n_estimators=4),
    "bagged trees": BaggedTreesRegressor(n_estimators=3),
    "boosted labels": BoostingClassifier(n_estimators=6, early_stopping=True),
    "tree of labels": TreeClassifier(),
    "forest of labels": RandomForestClassifier(n_estimators=4),
    "extra trees of labels": ExtraTreesClassifier(n_estimators=4),
    "graph of labels": GraphClassifier(C=1.0),
    "graphs of labels": GraphEnsembleClassifier(n_estimators=3, C=1.0),
}
KINDS = ("plain", "masks", "weights", "weights of entries", "categories", "sparse", "classes")


def is_case(name: str, kind: str) -> bool:
    """Tell whether a model takes such data."""
    if "graph" in name:  # neither missing numbers nor categories, nor weights of entries
        return kind in ("plain", "weights", "sparse", "classes")
    if kind == "classes":
        return "labels" in name
    return kind != "sparse" or "labels" in name


CASES = [(name, kind) for name in MODELS for kind in KINDS if is_case(name, kind)]


def make_data(n_rows: int = N_ROWS) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 8))
    X[rng.random(X.shape) < 0.05] = np.nan
    Y = np.sin(np.nan_to_num(X)) @ rng.normal(size=(8, 5)) + 0.3 * rng.normal(size=(n_rows, 5))
    return X, Y


def make_case(name: str, kind: str) -> tuple[Any, Any, Any]:
    """Give X, Y and weights for a model."""
    X, Y = make_data(N_GRAPH_ROWS if "graph" in name else N_ROWS)
    rng, weights = np.random.default_rng(1), None
    if "labels" in name:
        Y = (Y > 0).astype(float)
    if "graph" in name:
        X = np.nan_to_num(X)
    if kind == "masks":
        Y[rng.random(Y.shape) < 0.1] = np.nan
        Y[: len(Y) // 8] = np.nan  # parts without an observed output
    elif kind == "weights":
        weights = rng.uniform(0.0, 2.0, len(X)) * (rng.random(len(X)) < 0.9)
    elif kind == "weights of entries":
        weights = rng.uniform(0.5, 2.0, Y.shape) * (rng.random(Y.shape) < 0.9)
    elif kind == "categories":
        frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
        frame["colour"] = np.sort(rng.choice(["red", "green", "blue", "grey"], len(X)))
        frame["size"] = pd.Categorical(rng.choice(["s", "m", "l"], len(X)))
        X, Y = frame, pd.DataFrame(Y, columns=[f"y{j}" for j in range(Y.shape[1])])
    elif kind == "sparse":
        X = sparse.csr_array(np.where(np.nan_to_num(X) > 1.0, np.nan_to_num(X), 0.0))
        Y = sparse.csr_array(Y)
    elif kind == "classes":
        Y = np.array(["high", "low", "mid"], dtype=object)[(Y.sum(axis=1) % 3).astype(int)]
    return X, Y, weights


def cuts_of(partitioning: str, n_rows: int) -> list[slice]:
    ends = np.cumsum([0, *PARTITIONINGS[partitioning]]) * n_rows // 200
    return [slice(a, b) for a, b in pairwise(ends.tolist())]


def lazily(values: Any, cuts: Sequence[slice], as_parts: bool) -> Any:
    """Cut rows: an array of dask, or delayed parts."""
    if values is None:
        return None
    if as_parts:
        return [dask.delayed(rows_at(values, rows)) for rows in cuts]
    sizes = tuple(rows.stop - rows.start for rows in cuts)
    return da.from_array(values, chunks=(sizes, *values.shape[1:]))


@pytest.fixture(scope="module", params=[1, 2, 3, 5])
def client(request: Any) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=request.param, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_one_model_for_all_partitionings(client: Client, name: str, kind: str) -> None:
    X, Y, weights = make_case(name, kind)
    model = clone(MODELS[name]).set_params(random_state=0)
    local = clone(model)
    if isinstance(model, Boosting):
        local.set_params(sums="fixed")
    expected = local.fit(X, Y, sample_weight=weights)
    for partitioning in PARTITIONINGS:
        cuts = cuts_of(partitioning, X.shape[0])
        as_parts = kind in ("categories", "sparse", "classes")
        lazy = [lazily(values, cuts, as_parts) for values in (X, Y, weights)]
        found = fit(model, *lazy[:2], client=client, sample_weight=lazy[2])
        assert_same(found, expected)


def settled(client: Client, killed: Sequence[int]) -> list[int]:
    """Wait until three workers run, none of them one that was killed; give their processes."""
    deadline = time.monotonic() + 400
    while True:
        pids = client.run(os.getpid, on_error="ignore", callback_timeout=60)
        if len(pids) == 3 and not set(pids.values()) & set(killed):
            return list(pids.values())
        assert time.monotonic() < deadline, pids
        time.sleep(0.5)


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
        killed: list[int] = []
        for number in range(5):  # twenty in all
            pids = settled(client, killed)
            at, victim = int(rng.integers(1, 40)), pids[int(rng.integers(3))]
            moment: list[float] = []

            def kill(
                progress: Any, at: int = at, victim: int = victim, moment: list[float] = moment
            ) -> None:
                if progress.n_estimators == at and not moment:
                    os.kill(victim, signal.SIGKILL)
                    moment.append(time.monotonic())

            killed.append(victim)
            if (number + seed) % 2:
                path = tmp_path / f"{number}.checkpoint"
                found = fit(model, *lazy, client=client, callbacks=kill, checkpoint=path)
                assert_same(found, expected)
                assert moment
                continue
            with pytest.raises(CollectiveError, match="tcp://") as raised:
                fit(model, *lazy, client=client, callbacks=kill)
            assert moment, raised.value
            assert time.monotonic() - moment[0] < 60
