"""Fits on a cluster of processes: inputs, refusals, failures."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from divided import assert_same
from scipy import sparse
from sklearn.base import clone

from distributed import Client, LocalCluster, get_worker
from polyleaf import (
    BoostingClassifier,
    BoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    TreeRegressor,
)
from polyleaf.distributed import CollectiveError, fit, predict
from polyleaf.distributed.trees import fit_everywhere


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "60s"}),
        LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def make_data(n_rows: int = 600) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    Y = np.sin(np.nan_to_num(X)) @ rng.normal(size=(5, 3)) + 0.2 * rng.normal(size=(n_rows, 3))
    return X, Y


def boosting(**settings: Any) -> BoostingRegressor:
    given: dict[str, Any] = {"n_estimators": 5, "projection": "gaussian", "random_state": 0}
    return BoostingRegressor(**(given | settings))


def fixed(model: Any) -> Any:
    return clone(model).set_params(sums="fixed")


@pytest.mark.parametrize("chunks", [(100, 5), (600, 5), ((1, 0, 350, 249), (2, 3))])
def test_arrays_however_they_are_cut(client: Client, chunks: Any) -> None:
    X, Y = make_data()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 600)
    given = da.from_array(X, chunks=chunks), da.from_array(Y, chunks=(200, 3))
    found = fit(boosting(), *given, client=client, sample_weight=da.from_array(weights, 150))
    expected = fixed(boosting()).fit(X, Y, sample_weight=weights)
    assert_same(found, expected)
    assert found.get_params() == boosting().get_params()
    report = found.fit_report_
    assert report.n_rows == 600
    assert len(report.table()["bytes_sent"]) == 5
    lazy = predict(found, given[0], client=client)
    assert isinstance(lazy, da.Array)
    assert np.array_equal(lazy.compute(), expected.predict(X))


def test_frames_with_named_targets_and_files(client: Client, tmp_path: Any) -> None:
    X, Y = make_data(400)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["colour"] = np.sort(np.random.default_rng(1).choice(["red", "green", "blue"], 400))
    whole = frame.assign(u=Y[:, 0], v=Y[:, 1])
    expected = fixed(boosting()).fit(frame, whole[["u", "v"]])
    lazy = dd.from_pandas(whole, npartitions=5)
    assert_same(fit(boosting(), lazy, client=client, targets=["u", "v"]), expected)
    inputs, outputs = lazy.drop(columns=["u", "v"]), lazy[["u", "v"]]
    found = fit(boosting(), inputs, outputs, client=client)
    assert_same(found, expected)
    predicted = predict(found, inputs, client=client)
    assert isinstance(predicted, dd.DataFrame)
    assert np.array_equal(predicted.compute().to_numpy(), expected.predict(frame))
    assert list(predicted.columns) == ["u", "v"]
    for number, part in enumerate(np.array_split(np.arange(400), 3)):
        whole.iloc[part].to_parquet(tmp_path / f"part{number}.parquet", index=False)
        whole.iloc[part].to_csv(tmp_path / f"part{number}.csv", index=False)
    for ending in ("parquet", "csv"):
        pattern = str(tmp_path / f"*.{ending}")
        assert_same(fit(boosting(), pattern, client=client, targets=["u", "v"]), expected)


def test_sparse_parts_as_delayed_and_as_futures(client: Client) -> None:
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 30), density=0.1, rng=rng, format="csr")
    Y = sparse.csr_array((X[:, :4].toarray() + 0.1 * rng.normal(size=(300, 4)) > 0.1) * 1.0)
    cuts = [slice(0, 10), slice(10, 200), slice(200, 300)]
    models = [
        BoostingClassifier(n_estimators=4, random_state=0, sums="fixed"),
        RandomForestClassifier(n_estimators=4, random_state=0),
    ]
    for model in models:
        expected = clone(model).fit(X, Y)
        parts = [dask.delayed(X[rows]) for rows in cuts]
        found = fit(model, parts, client.scatter([Y[rows] for rows in cuts]), client=client)
        assert_same(found, expected)
        predicted = dask.compute(*predict(found, parts))
        whole = sparse.vstack([sparse.csr_array(part) for part in predicted]).toarray()
        assert np.array_equal(whole, expected.predict(X).toarray())


def test_validation_rows_callbacks_and_probabilities(client: Client) -> None:
    X, Y = make_data()
    labels = (Y > 0).astype(int)
    model = BoostingClassifier(
        n_estimators=12, learning_rate=0.5, early_stopping=True, n_iter_no_change=3, random_state=0
    )
    expected = fixed(model).fit(X[:400], labels[:400], eval_set=(X[400:], labels[400:]))
    arrays = [da.from_array(v, chunks=(90, -1)) for v in (X[:400], labels[:400])]
    held_out = tuple(da.from_array(v, chunks=(70, -1)) for v in (X[400:], labels[400:]))
    rounds: list[int] = []
    found = fit(
        model,
        *arrays,
        client=client,
        eval_set=held_out,
        callbacks=lambda progress: rounds.append(progress.n_estimators),
        verbose=1,
    )
    assert_same(found, expected)
    assert rounds == list(range(1, rounds[-1] + 1))
    lazy = predict(found, held_out[0], method="predict_proba")
    assert np.array_equal(lazy.compute(), expected.predict_proba(X[400:]))
    stopped = fit(model, *arrays, client=client, callbacks=[lambda p: p.n_estimators == 2])
    assert stopped.n_estimators_ <= 2


def test_trees_and_forests(client: Client) -> None:
    X, Y = make_data(300)
    given = da.from_array(X, chunks=(70, 5)), da.from_array(Y, chunks=(70, 3))
    tree = TreeRegressor(random_state=0)
    for model in (tree, RandomForestRegressor(n_estimators=4, random_state=0)):
        assert_same(fit(model, *given, client=client), clone(model).fit(X, Y))


def keep_codes_apart(is_apart: bool) -> None:
    """Let no worker hold the codes of all rows, and small nodes be small."""
    from polyleaf.distributed import trees
    from polyleaf.trees import growing

    trees.fit_everywhere = (lambda *given: False) if is_apart else fit_everywhere
    growing._FLOAT_ROWS = 50 if is_apart else 4096


def test_forests_whose_codes_do_not_fit_a_worker(client: Client) -> None:
    X, Y = make_data(300)
    given = da.from_array(X, chunks=(70, 5)), da.from_array(Y, chunks=(70, 3))
    model = RandomForestRegressor(n_estimators=2, sums="fixed", random_state=0)
    client.run(keep_codes_apart, True)
    keep_codes_apart(True)
    try:
        found = fit(model, *given, client=client)
        assert_same(found, clone(model).fit(X, Y))
        with pytest.raises(MemoryError, match="With sums='fixed' codes stay where they are"):
            fit(model.set_params(sums="auto"), *given, client=client)
    finally:
        keep_codes_apart(False)
        client.run(keep_codes_apart, False)


def memory_on_worker() -> int | None:
    from polyleaf.checks.memory import available_memory, limited_memory

    with limited_memory(get_worker().memory_manager.memory_limit):
        return available_memory()


def test_a_worker_has_no_more_memory_than_dask_gives_it(client: Client) -> None:
    limits = client.run(lambda dask_worker: dask_worker.memory_manager.memory_limit)
    (limit,) = set(limits.values())
    found = client.submit(memory_on_worker).result(60)
    assert 0 < found < limit


def test_two_fits_at_once(client: Client) -> None:
    X, Y = make_data()
    given = da.from_array(X, chunks=(100, 5)), da.from_array(Y, chunks=(100, 3))
    found: dict[int, Any] = {}

    def run(seed: int) -> None:
        found[seed] = fit(boosting(random_state=seed, n_estimators=20), *given, client=client)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for seed in (1, 2):
        expected = fixed(boosting(random_state=seed, n_estimators=20)).fit(X, Y)
        assert_same(found[seed], expected)


def test_workers_are_looked_for_at_the_scheduler(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, Y = make_data()
    given = da.from_array(X, chunks=(100, 5)), da.from_array(Y, chunks=(100, 3))
    monkeypatch.setattr("polyleaf.distributed.cluster._ROLL_CALL", 0.0)
    # What the client knows after its periodic look at the scheduler.
    monkeypatch.setattr(type(client), "scheduler_info", lambda *given, **named: {"workers": {}})
    fit(boosting(n_estimators=20), *given, client=client)


def test_errors_of_a_part_are_those_of_the_fit(client: Client) -> None:
    X, Y = make_data()
    Y[450, 1] = np.inf
    given = da.from_array(X, chunks=(100, 5)), da.from_array(Y, chunks=(100, 3))
    with pytest.raises(ValueError, match="infinity"):
        fit(boosting(), *given, client=client)

    @dask.delayed
    def broken() -> Any:
        raise OSError("no such file")

    with pytest.raises(OSError, match="no such file"):
        fit(boosting(), [broken()], [dask.delayed(Y)], client=client)


def test_another_release_is_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = make_data()
    monkeypatch.setattr("polyleaf.distributed.cluster.__version__", "9.9.9")
    with pytest.raises(RuntimeError, match=r"must have polyleaf 9\.9\.9.*worker tcp"):
        fit(boosting(), da.from_array(X), da.from_array(Y), client=client)


def n_open(dask_worker: Any) -> int:
    from polyleaf.distributed.workers import _OPEN

    return len(_OPEN)


def test_an_interrupt_at_the_client_ends_the_fit_on_all_workers(client: Client) -> None:
    X, Y = make_data()
    given = da.from_array(X, chunks=(100, 5)), da.from_array(Y, chunks=(100, 3))

    def interrupt(progress: Any) -> None:
        if progress.n_estimators == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(boosting(n_estimators=10_000), *given, client=client, callbacks=interrupt)
    deadline = time.monotonic() + 30
    while any(client.run(n_open).values()):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_killed_worker_is_named_and_the_cluster_goes_on(client: Client) -> None:
    X, Y = make_data()
    given = da.from_array(X, chunks=(50, 5)), da.from_array(Y, chunks=(50, 3))
    pids = client.run(os.getpid)
    victim = sorted(pids)[1]

    def kill(progress: Any) -> None:
        if progress.n_estimators == 3:
            os.kill(pids[victim], signal.SIGKILL)

    with pytest.raises(CollectiveError, match=victim):
        fit(boosting(n_estimators=10_000), *given, client=client, callbacks=kill)
    client.wait_for_workers(3, timeout=60)
    assert_same(fit(boosting(), *given, client=client), fixed(boosting()).fit(X, Y))


def test_a_fit_with_a_checkpoint_goes_on_without_a_killed_worker(
    client: Client, tmp_path: Any
) -> None:
    X, Y = make_data()
    client.wait_for_workers(3, timeout=60)
    given = da.from_array(X, chunks=(50, 5)), da.from_array(Y, chunks=(50, 3))
    pids = client.run(os.getpid)
    heard: list[int] = []

    def kill(progress: Any) -> None:
        heard.append(progress.n_estimators)
        if progress.n_estimators == 12:
            time.sleep(1.5)  # long enough for some rounds to be written down
            os.kill(pids[max(pids)], signal.SIGKILL)

    model = boosting(n_estimators=25)
    path = tmp_path / "fit.checkpoint"
    found = fit(model, *given, client=client, callbacks=kill, checkpoint=path)
    assert_same(found, fixed(model).fit(X, Y))
    assert sorted(set(heard)) == list(range(1, 26))
    assert not path.exists()
