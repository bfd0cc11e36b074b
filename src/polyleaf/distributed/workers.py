"""What runs on the workers of a Dask cluster: a socket is opened, then rows are trained on."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from polyleaf._version import __version__
from polyleaf.boosting.checks import BoostingProgress
from polyleaf.checks.memory import limited_memory
from polyleaf.checks.optional import require
from polyleaf.distributed.collectives import Collective, CollectiveError, Traffic
from polyleaf.distributed.dask_comms import DaskCollective, Inbox, answer_calls
from polyleaf.distributed.reading import Rows
from polyleaf.distributed.sockets import Listener, SocketCollective
from polyleaf.distributed.training import Part, Settings, Trained, train_on_worker

#: Between looks at whether the client has answered or the fit was stopped.
_GLANCE = 0.2


@dataclass(eq=False)
class _OpenFit:
    """What a worker knows of a fit that it takes part in."""

    listener: Listener | None
    inbox: Inbox = field(default_factory=Inbox)
    collective: Collective | None = None
    stopped: str | None = None
    answered: threading.Event = field(default_factory=threading.Event)
    answer: bool = False
    records: list[bytes] = field(default_factory=list)

    def close(self) -> None:
        """Listen no more."""
        if self.listener is not None:
            self.listener.close()


#: By the number of the fit and the address of the worker: threads share a process.
_OPEN: dict[tuple[str, str], _OpenFit] = {}


def count_rows(rows: Rows) -> int:
    """Count the rows of a part."""
    return rows.n_rows


def report_version(dask_worker: Any) -> str:
    """Tell which release of polyleaf this worker has."""
    return str(__version__)


def open_fit(fit: str, patience: float, by_comms: bool, dask_worker: Any) -> tuple[str, int]:
    """Get ready for a fit: listen for the others on this worker's interface, or to their calls."""
    from distributed.comm.addressing import get_address_host

    address = dask_worker.address
    listener = None
    if by_comms:
        answer_calls(dask_worker, lambda other: _inbox_of(other, address))
    else:
        is_inside = address.startswith("inproc")
        listener = Listener("127.0.0.1" if is_inside else get_address_host(address))
    _OPEN[fit, address] = _OpenFit(listener)
    # Whatever becomes of the client, nobody listens for longer.
    timer = threading.Timer(patience, _close_unused, (fit, address))
    timer.daemon = True
    timer.start()
    return ("", 0) if listener is None else listener.address


def _inbox_of(fit: str, address: str) -> Inbox | None:
    known = _OPEN.get((fit, address))
    return None if known is None else known.inbox


def _close_unused(fit: str, address: str) -> None:
    known = _OPEN.get((fit, address))
    if known is not None and known.collective is None:
        known.close()
        _OPEN.pop((fit, address), None)


def stop_fit(fit: str, reason: str, dask_worker: Any) -> None:
    """End a fit on this worker, even while it waits."""
    known = _OPEN.get((fit, dask_worker.address))
    if known is None:
        return
    known.stopped = reason
    known.answered.set()
    if known.collective is not None:
        known.collective.stop(reason)
    else:
        known.close()


def answer_round(fit: str, stops: bool, dask_worker: Any) -> None:
    """Say what the callbacks at the client said of a round."""
    known = _OPEN.get((fit, dask_worker.address))
    if known is not None:
        known.answer = stops
        known.answered.set()


def take_records(fit: str, dask_worker: Any) -> list[bytes]:
    """Give the rounds that were grown since the last time."""
    known = _OPEN.get((fit, dask_worker.address))
    if known is None:
        return []
    found, known.records = known.records, []
    return found


@dataclass(frozen=True)
class Seat:
    """The place of one worker in a fit.

    Attributes
    ----------
    fit : str
        Number of the fit.
    rank : int
    names : tuple of str
        Addresses of all workers, as Dask knows them.
    addresses : tuple of (host, port)
        Where they listen for each other, if they do.
    secret : bytes
    timeout : float
    tells, asks : bool
        Whether the client wants to hear of each round, and to answer.
    records : bool
        Whether rounds are to be written down.
    n_told : int
        Rounds that the client has heard of already, before a worker was lost.
    output_names : sequence of str or None
        As the client names the outputs.
    """

    fit: str
    rank: int
    names: tuple[str, ...]
    addresses: tuple[tuple[str, int], ...]
    secret: bytes
    timeout: float
    tells: bool
    asks: bool
    records: bool
    n_told: int
    output_names: Any = None


def train_part(
    seat: Seat,
    estimator: Any,
    parts: Sequence[Rows],
    validation: Sequence[Rows] | None,
    records: Sequence[bytes],
) -> Trained:
    """Take part in a fit; the model is that of worker 0, others give back what they sent."""
    dask_engine = require("distributed", "training on a cluster")
    worker = dask_engine.get_worker()
    dask_engine.secede()  # so that tasks of others, such as a second fit, find a thread
    own = seat.fit, worker.address
    known = _OPEN.get(own)
    if known is None:
        raise CollectiveError(worker.address, "was restarted, or waited too long for the fit.")
    try:
        known.collective = _connected(seat, known, worker)
        if known.stopped is not None:  # while there was no collective to tell
            known.collective.stop(known.stopped)
        if estimator.n_jobs is None:
            estimator.set_params(n_jobs=worker.state.nthreads)
        tell = _teller(seat, known, worker) if seat.tells or seat.asks else None
        note = known.records.append if seat.records else None
        settings = Settings(estimator, tell, records, note, seat.output_names)
        # Dask kills a worker that takes more.
        with limited_memory(getattr(worker.memory_manager, "memory_limit", None)):
            trained = _train(known.collective, Part(parts, validation), settings)
    finally:
        known.close()
        _OPEN.pop(own, None)
    if seat.rank == 0:
        return trained
    return Trained(None, trained.n_rows, trained.start, trained.rounds)


def _connected(seat: Seat, known: _OpenFit, worker: Any) -> Collective:
    """Reach the other workers: by sockets, or where there are none by Dask's connections."""
    if known.listener is None:
        return DaskCollective(
            seat.rank, worker, seat.fit, seat.names, seat.secret, known.inbox, seat.timeout
        )
    return SocketCollective(
        seat.rank,
        seat.addresses,
        seat.secret,
        known.listener,
        seat.timeout,
        names=seat.names,
        stopped=lambda: known.stopped,
    )


def _train(collective: Collective, part: Part, settings: Settings) -> Trained:
    try:
        trained = train_on_worker(collective, part, settings)
        collective.close()
    except BaseException as error:
        collective.abort(str(error))
        raise
    return trained


def _teller(seat: Seat, known: _OpenFit, worker: Any) -> Any:
    """Tell the client of each round; wait for its answer if it has callbacks."""

    def tell(progress: BoostingProgress, traffic: Traffic) -> bool:
        if progress.n_estimators <= seat.n_told:
            return False
        known.answered.clear()
        told = {"progress": asdict(progress), "bytes_sent": traffic.bytes_sent}
        worker.log_event(seat.fit, told)
        if not seat.asks:
            return False
        deadline = time.monotonic() + 20 * seat.timeout
        while not known.answered.wait(_GLANCE):
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"The callbacks at the client did not answer within {20 * seat.timeout:g} s."
                )
        if known.stopped is not None:
            raise CollectiveError(worker.address, known.stopped)
        return known.answer

    return tell
