"""Fits whose workers exchange blocks over Dask's own connections."""

from __future__ import annotations

import asyncio
import gc
import time
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import dask.array as da
import numpy as np
import pytest
from divided import assert_same
from sklearn.base import clone

from distributed import Client, LocalCluster
from polyleaf import BoostingRegressor, RandomForestRegressor
from polyleaf.distributed import CollectiveError, fit
from polyleaf.distributed.collectives import MOST_BYTES
from polyleaf.distributed.dask_comms import (
    ABORT,
    ALIVE,
    BLOCK,
    DaskCollective,
    Inbox,
    answer_calls,
)
from polyleaf.distributed.workers import _OPEN


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def comms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no address have sockets, as if all workers had TLS."""
    monkeypatch.setattr("polyleaf.distributed.cluster._WITH_SOCKETS", ())


def make_data(n_rows: int = 300) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    return X, np.sin(X) @ rng.normal(size=(4, 3))


@pytest.mark.parametrize(
    "model",
    [
        BoostingRegressor(n_estimators=5, projection="gaussian", random_state=0),
        RandomForestRegressor(n_estimators=3, random_state=0),
    ],
    ids=["boosting", "forest"],
)
def test_models_are_those_of_one_machine(client: Client, comms: None, model: Any) -> None:
    X, Y = make_data()
    local = clone(model)
    if isinstance(model, BoostingRegressor):
        local.set_params(sums="fixed")
    lazy = [da.from_array(values, chunks=(70, -1)) for values in (X, Y)]
    assert_same(fit(model, *lazy, client=client), local.fit(X, Y))


def test_an_error_of_one_worker_ends_the_fit_of_all(client: Client, comms: None) -> None:
    X, Y = make_data()
    Y[5, 1] = np.inf
    lazy = [da.from_array(values, chunks=(70, -1)) for values in (X, Y)]
    with pytest.raises(ValueError, match="infinity"):
        fit(BoostingRegressor(), *lazy, client=client)
    deadline = time.monotonic() + 30
    while _OPEN:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_callbacks_stop_a_fit(client: Client, comms: None) -> None:
    X, Y = make_data()
    lazy = [da.from_array(values, chunks=(70, -1)) for values in (X, Y)]
    model = BoostingRegressor(n_estimators=50, random_state=0)
    found = fit(model, *lazy, client=client, callbacks=lambda p: p.n_estimators == 2)
    assert found.n_estimators_ == 2

    def interrupt(progress: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(model, *lazy, client=client, callbacks=interrupt)
    deadline = time.monotonic() + 30
    while _OPEN:
        assert time.monotonic() < deadline
        time.sleep(0.05)


class FakeWorker:
    def __init__(self) -> None:
        self.handlers: dict[str, Any] = {}


def test_calls_without_the_secret_or_out_of_step_are_turned_away() -> None:
    inbox, worker = Inbox(secret=b"right"), FakeWorker()
    answer_calls(worker, lambda fit: inbox if fit == "fit" else None)
    take, tell, fail = (worker.handlers[name] for name in (BLOCK, ALIVE, ABORT))
    assert take("fit", b"right", 1, 1, b"block") == "taken"
    assert take("fit", b"wrong", 1, 1, b"block") == "gone"
    assert take("other", b"right", 1, 1, b"block") == "gone"
    assert take("fit", b"right", 1, 2, b"block") == "refused"
    assert take("fit", b"right", 1, 1, "text") == "refused"
    assert take("fit", b"right", 1, 1, bytes(MOST_BYTES + 1)) == "refused"
    assert (tell("fit", b"right"), tell("fit", b"wrong")) == ("alive", "gone")
    fail("fit", b"wrong", 1, "no")
    assert inbox.failure is None
    fail("fit", b"right", 1, "x" * 10_000)
    assert inbox.failure is not None
    assert len(inbox.failure[1]) == 4096
    assert inbox.blocks == {(1, 1): b"block"}


def test_a_worker_that_is_not_there_is_named(client: Client, comms: None) -> None:
    X, Y = make_data()
    lazy = [da.from_array(values, chunks=(70, -1)) for values in (X, Y)]
    heard: list[int] = []

    def forget(progress: Any) -> None:
        heard.append(progress.n_estimators)
        if len(heard) == 2:
            _OPEN.clear()

    model = BoostingRegressor(n_estimators=50, random_state=0)
    with pytest.raises(CollectiveError, match=r"inproc.*(left the fit|failed)"):
        fit(model, *lazy, client=client, callbacks=forget, worker_timeout=2.0)


@pytest.mark.parametrize("is_closed", [False, True])
def test_an_event_loop_that_has_ended_leaves_no_call_behind(
    is_closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polyleaf.distributed.dask_comms._GOODBYE", 0.2)
    loop = asyncio.new_event_loop()  # nobody runs it, or will
    if is_closed:
        loop.close()
    worker = SimpleNamespace(loop=SimpleNamespace(asyncio_loop=loop))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        collective = DaskCollective(0, worker, "fit", ["a", "b"], b"secret", Inbox(), 0.2)
        with pytest.raises(CollectiveError, match=r"b (closed its connection|was silent)"):
            collective._exchange([b"", b"block"], [0, 5])
        collective.abort("was stopped.")
        loop.close()
        gc.collect()
    assert [str(one.message) for one in found] == []
