"""Workers in network namespaces of their own, for `make test-cluster`: one of them is cut off.

Needs Linux, root and the program ip; without them the tests are skipped. Every worker has an
address of its own on a bridge; the scheduler and the client stay outside.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from divided import assert_same

from distributed import Client, LocalCluster
from polyleaf import BoostingRegressor, RandomForestRegressor
from polyleaf.distributed import CollectiveError, fit

_BRIDGE, _NETWORK, _WORLD = "plfbr", "10.213.77", 3


def ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=True)


def can_make_namespaces() -> bool:
    """Tell whether this machine lets us make network namespaces."""
    if os.name != "posix" or not hasattr(os, "geteuid") or os.geteuid() or not shutil.which("ip"):
        return False
    made = subprocess.run(["ip", "netns", "add", "plfprobe"], check=False, capture_output=True)
    ip("netns", "del", "plfprobe", check=False)
    return made.returncode == 0


pytestmark = pytest.mark.skipif(
    not can_make_namespaces(), reason="needs Linux, root and the program ip"
)


def build_network() -> None:
    """Give every worker a namespace with one end of a cable to a bridge."""
    ip("link", "add", _BRIDGE, "type", "bridge")
    ip("addr", "add", f"{_NETWORK}.1/24", "dev", _BRIDGE)
    ip("link", "set", _BRIDGE, "up")
    for number in range(_WORLD):
        space, here, there = f"plf{number}", f"plfh{number}", f"plfw{number}"
        ip("netns", "add", space)
        ip("link", "add", here, "type", "veth", "peer", "name", there)
        ip("link", "set", here, "master", _BRIDGE, "up")
        ip("link", "set", there, "netns", space)
        ip("-n", space, "addr", "add", f"{_NETWORK}.{number + 2}/24", "dev", there)
        ip("-n", space, "link", "set", there, "up")
        ip("-n", space, "link", "set", "lo", "up")


def remove_network() -> None:
    for number in range(_WORLD):
        ip("link", "del", f"plfh{number}", check=False)
        ip("netns", "del", f"plf{number}", check=False)
    ip("link", "del", _BRIDGE, check=False)


def start_worker(scheduler: str, number: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-nanny"]
    command += ["--nthreads", "1", "--host", f"{_NETWORK}.{number + 2}", "--no-dashboard"]
    space = ["ip", "netns", "exec", f"plf{number}"]
    environment = os.environ | {"PYTHONPATH": os.path.dirname(__file__)}
    return subprocess.Popen(
        [*space, *command],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture
def client() -> Iterator[Client]:
    remove_network()
    build_network()
    workers = []
    try:
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "60s"}),
            LocalCluster(n_workers=0, host=f"{_NETWORK}.1", dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            workers = [start_worker(cluster.scheduler_address, i) for i in range(_WORLD)]
            client.wait_for_workers(_WORLD, timeout=120)
            yield client
            for worker in workers:
                worker.kill()
    finally:
        for worker in workers:
            worker.kill()
            worker.wait(30)
        remove_network()


def make_data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 6))
    return X, np.sin(X) @ rng.normal(size=(6, 4))


def test_workers_with_addresses_of_their_own_give_the_model_of_one_machine(client: Client) -> None:
    X, Y = make_data()
    lazy = [da.from_array(values, chunks=(100, -1)) for values in (X, Y)]
    model = BoostingRegressor(n_estimators=8, projection="gaussian", random_state=0)
    found = fit(model, *lazy, client=client)
    assert len({address.rpartition(":")[0] for address in found.fit_report_.workers}) == _WORLD
    assert_same(found, model.set_params(sums="fixed").fit(X, Y))
    forest = RandomForestRegressor(n_estimators=3, random_state=0)
    assert_same(fit(forest, *lazy, client=client), forest.fit(X, Y))


@pytest.mark.parametrize("with_checkpoint", [False, True])
def test_a_worker_that_is_cut_off_is_named_or_left_behind(
    client: Client, tmp_path: Any, with_checkpoint: bool
) -> None:
    X, Y = make_data()
    lazy = [da.from_array(values, chunks=(100, -1)) for values in (X, Y)]
    model = BoostingRegressor(n_estimators=30, projection="gaussian", random_state=0)
    fit(model, *lazy, client=client)  # workers import what they need
    cut_at: list[float] = []

    def cut_off(progress: Any) -> None:
        if progress.n_estimators == 5 and not cut_at:
            ip("link", "set", "plfh2", "down")
            cut_at.append(time.monotonic())

    given: dict[str, Any] = {"callbacks": cut_off, "worker_timeout": 8.0}
    if with_checkpoint:
        given["checkpoint"] = tmp_path / "fit.checkpoint"
        found = fit(model, *lazy, client=client, **given)
        assert_same(found, model.set_params(sums="fixed").fit(X, Y))
        return
    with pytest.raises(CollectiveError, match=rf"{_NETWORK}\.\d:.*(silent|closed|left)") as raised:
        fit(model, *lazy, client=client, **given)
    assert cut_at, raised.value
    assert raised.value.name.startswith(f"tcp://{_NETWORK}.4:")
    assert time.monotonic() - cut_at[0] < 60
