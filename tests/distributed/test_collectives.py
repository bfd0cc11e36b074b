"""Sums, gathering and failures of workers, in threads and over sockets."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from polyleaf.distributed import collectives
from polyleaf.distributed.collectives import (
    Collective,
    CollectiveError,
    LocalCollective,
    ThreadCollective,
)
from polyleaf.distributed.sockets import _HEADER, _MARK, Listener, SocketCollective, _send_some

SECRET = b"s" * 32


def over_sockets(
    world: int, work: Callable[[Collective], Any], timeout: float = 20.0, closes: bool = True
) -> list[Any]:
    """Run a function on workers that are threads with sockets; errors are results."""
    listeners = [Listener("127.0.0.1") for _ in range(world)]
    addresses = [listener.address for listener in listeners]

    def run(rank: int) -> Any:
        try:
            worker = SocketCollective(rank, addresses, SECRET, listeners[rank], timeout)
        except CollectiveError as error:
            return error
        try:
            result = work(worker)
            if closes:
                worker.close()
            return result
        except Exception as error:
            worker.abort(str(error))
            return error

    with ThreadPoolExecutor(world) as pool:
        return list(pool.map(run, range(world)))


def in_threads(world: int, work: Callable[[Collective], Any]) -> list[Any]:
    def run(worker: ThreadCollective) -> Any:
        try:
            return work(worker)
        except Exception as error:
            worker.abort(str(error))
            return error

    with ThreadPoolExecutor(world) as pool:
        return list(pool.map(run, ThreadCollective.group(world, timeout=20.0)))


def alone(world: int, work: Callable[[Collective], Any]) -> list[Any]:
    return [work(LocalCollective())]


KINDS = [(alone, 1), (in_threads, 1), (in_threads, 3), (over_sockets, 2), (over_sockets, 4)]


@pytest.mark.parametrize(("run", "world"), KINDS)
@pytest.mark.parametrize("size", [0, 1, 5, 40_000])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
def test_all_workers_get_the_sum_and_the_maximum(
    run: Any, world: int, size: int, dtype: str
) -> None:
    own = [np.random.default_rng(r).integers(-99, 99, size).astype(dtype) for r in range(world)]

    def work(worker: Collective) -> Any:
        total, largest = own[worker.rank].copy(), own[worker.rank].copy()
        worker.allreduce(total, "sum")
        worker.allreduce(largest, "max")
        return total, largest

    for total, largest in run(world, work):
        assert np.array_equal(total, np.sum(own, axis=0))
        assert np.array_equal(largest, np.max(own, axis=0))


@pytest.mark.parametrize(("run", "world"), KINDS)
def test_rows_of_all_workers_are_gathered_whatever_their_number(run: Any, world: int) -> None:
    own = [np.random.default_rng(r).normal(size=(7 * r % 5, 3)) for r in range(world)]

    def work(worker: Collective) -> Any:
        return worker.allgather(own[worker.rank]), worker.gather_json({"rank": worker.rank})

    for rows, described in run(world, work):
        assert all(np.array_equal(a, b) for a, b in zip(rows, own, strict=True))
        assert described == [{"rank": r} for r in range(world)]


@pytest.mark.parametrize(("run", "world"), KINDS)
def test_slices_of_a_sum_and_the_rows_of_one_worker(run: Any, world: int) -> None:
    numbers = np.arange(11)

    def work(worker: Collective) -> Any:
        rows = np.full((2, 2), worker.rank)
        return worker.reduce_scatter(numbers), worker.broadcast(rows, root=world - 1)

    results = run(world, work)
    assert np.array_equal(np.concatenate([own for own, _ in results]), world * numbers)
    assert all(np.array_equal(sent, np.full((2, 2), world - 1)) for _, sent in results)


def test_large_arrays_go_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collectives, "MOST_BYTES", 1000)
    monkeypatch.setattr(collectives, "_SMALL_BYTES", 100)

    def work(worker: Collective) -> Any:
        numbers = np.arange(3001.0) + worker.rank
        worker.allreduce(numbers)
        return numbers, worker.allgather(np.arange(1000 * worker.rank))

    for numbers, rows in over_sockets(3, work):
        assert np.array_equal(numbers, 3 * np.arange(3001.0) + 3)
        assert [part.size for part in rows] == [0, 1000, 2000]


def test_traffic_counts_bytes_and_steps() -> None:
    def work(worker: Collective) -> Any:
        worker.allreduce(np.zeros(10))
        return worker.traffic

    for traffic in over_sockets(3, work):
        assert (traffic.bytes_reduced, traffic.bytes_sent, traffic.n_collectives) == (80, 160, 1)


@pytest.mark.parametrize("run", [in_threads, over_sockets])
def test_the_failure_of_one_worker_ends_all_with_its_name_and_reason(run: Any) -> None:
    def work(worker: Collective) -> None:
        worker.allreduce(np.zeros(3))
        if worker.rank == 1:
            raise ValueError("no such column")
        worker.allreduce(np.zeros(3))

    results = run(3, work)
    assert isinstance(results[1], ValueError)
    for other in (results[0], results[2]):
        assert isinstance(other, CollectiveError)
        assert "failed: no such column" in str(other)


@pytest.mark.parametrize("run", [in_threads, over_sockets])
def test_workers_that_are_not_in_step_are_refused(run: Any) -> None:
    def work(worker: Collective) -> None:
        worker.allreduce(np.zeros(3 + worker.rank))

    assert all(isinstance(result, CollectiveError) for result in run(2, work))


def test_a_worker_that_vanishes_is_named_at_once() -> None:
    def work(worker: Any) -> Any:
        worker.allreduce(np.zeros(3))
        if worker.rank == 2:
            worker._drop()
            return None
        start = time.monotonic()
        with pytest.raises(CollectiveError, match="closed its connection"):
            worker.allreduce(np.zeros(3))
        return time.monotonic() - start

    waited = over_sockets(3, work, closes=False)
    assert max(waited[:2]) < 5.0


def test_a_worker_without_a_sign_of_life_is_named_after_the_timeout() -> None:
    done = threading.Event()

    def work(worker: Any) -> Any:
        worker.allreduce(np.zeros(3))
        if worker.rank == 1:
            worker._ended.set()  # no signs of life, no message, but the connection stays
            done.wait(20)
            return None
        try:
            with pytest.raises(CollectiveError, match=r"was silent for 1\.5 s"):
                worker.allreduce(np.zeros(3))
        finally:
            done.set()
        return "named"

    assert over_sockets(2, work, timeout=1.5, closes=False)[0] == "named"


def test_a_busy_worker_is_waited_for() -> None:
    def work(worker: Collective) -> float:
        numbers = np.ones(2)
        worker.allreduce(numbers)
        if worker.rank == 0:
            time.sleep(2.5)  # longer than a silent one would get
        worker.allreduce(numbers)
        return float(numbers.sum())

    assert over_sockets(2, work, timeout=1.0) == [8.0, 8.0]


def test_a_sign_of_life_is_sent_by_one_thread_alone() -> None:
    """While a worker waits, it must not send what its other thread has begun to send."""

    def work(worker: Any) -> Any:
        worker.allreduce(np.ones(2))
        if worker.rank == 1:
            time.sleep(1.2)  # its signs of life wake the other one
            worker.allreduce(np.ones(2))
            return None
        peer, was_left_alone = worker._peers[1], []

        def send_slowly() -> None:
            time.sleep(0.3)
            with peer.lock:
                peer.sending.append(memoryview(_HEADER.pack(_MARK, 1, 0, 0)))
                time.sleep(0.5)
                was_left_alone.append(len(peer.sending) == 1)
                _send_some(peer)

        other = threading.Thread(target=send_slowly)
        other.start()
        worker.allreduce(np.ones(2))
        other.join()
        return was_left_alone

    assert over_sockets(2, work, timeout=0.5) == [[True], None]


def test_a_worker_can_be_stopped_while_it_waits() -> None:
    def work(worker: Any) -> Any:
        if worker.rank == 1:
            time.sleep(1.0)
        else:
            threading.Timer(0.3, worker.stop, ["was told to stop."]).start()
        worker.allreduce(np.zeros(3))

    assert all(isinstance(result, CollectiveError) for result in over_sockets(2, work))


def test_strangers_are_not_let_in() -> None:
    listeners = [Listener("127.0.0.1") for _ in range(2)]
    addresses = [listener.address for listener in listeners]
    found: list[Any] = []

    def run(rank: int, secret: bytes) -> None:
        try:
            found.append(SocketCollective(rank, addresses, secret, listeners[rank], 1.0, 1.5))
        except CollectiveError as error:
            found.append(error)

    stranger = socket.create_connection(addresses[0])
    stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" + b"x" * 200)
    threads = [
        threading.Thread(target=run, args=(0, SECRET)),
        threading.Thread(target=run, args=(1, b"t" * 32)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(found) == 2
    assert all("did not join" in str(error) for error in found)
    stranger.close()
    with pytest.raises(OSError, match=r".*"):
        socket.create_connection(addresses[0], timeout=1)  # nobody listens any more


def test_frames_are_bounded() -> None:
    def work(worker: Any) -> Any:
        if worker.rank == 1:
            worker._peers[0].socket.send(_HEADER.pack(_MARK, 0, 1, 1 << 40))
            time.sleep(1.0)
            return None
        with pytest.raises(CollectiveError, match="no message of this fit"):
            worker.allreduce(np.zeros(3))
        return "refused"

    assert over_sockets(2, work, closes=False)[0] == "refused"
