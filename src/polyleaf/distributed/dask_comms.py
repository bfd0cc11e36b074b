"""Workers that exchange blocks over Dask's own connections: no port more, and the cluster's TLS.

A block is a call of the other worker, whose event loop puts it into the inbox of the fit. While a
worker waits, it asks those that it waits for whether they are alive; their event loops answer
while their trainers compute.
"""

from __future__ import annotations

import asyncio
import hmac
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from polyleaf.distributed.collectives import (
    MOST_BYTES,
    Block,
    Collective,
    CollectiveError,
    check_size,
)

#: Names of the calls that a worker answers.
BLOCK, ALIVE, ABORT = "polyleaf_block", "polyleaf_alive", "polyleaf_abort"
#: Seconds between looks at whether to stop; to say goodbye.
_GLANCE, _GOODBYE = 0.2, 2.0
#: How many times as long as for a sign of life one waits for a worker that is alive but late.
_LATE = 40
_MOST_REASON = 4096


@dataclass(eq=False)
class Inbox:
    """What other workers have sent to one fit on one worker.

    Attributes
    ----------
    step : int
        Of the exchange that is under way, or was the last.
    blocks : dict of (int, int) to bytes
        By step and sender.
    failure : tuple of (int, str) or None
        Who failed, and why.
    secret : bytes
        Of the fit; empty until the worker has learnt it.
    """

    step: int = 0
    blocks: dict[tuple[int, int], bytes] = field(default_factory=dict)
    failure: tuple[int, str] | None = None
    secret: bytes = b""
    changed: threading.Condition = field(default_factory=threading.Condition)

    def put(self, sender: int, step: int, block: bytes) -> str:
        """Take a block of this step or the next; others are not in step."""
        with self.changed:
            is_block = isinstance(block, bytes) and len(block) <= MOST_BYTES
            if not is_block or not self.step <= step <= self.step + 1:
                return "refused"
            self.blocks[step, sender] = block
            self.changed.notify_all()
        return "taken"

    def fail(self, sender: int, reason: str) -> None:
        """Note that another worker has failed."""
        with self.changed:
            self.failure = self.failure or (sender, str(reason)[:_MOST_REASON])
            self.changed.notify_all()


def answer_calls(worker: Any, find: Callable[[str], Inbox | None]) -> None:
    """Have a worker answer calls of the others.

    Parameters
    ----------
    worker : distributed.Worker
    find : callable
        Gives the inbox of a fit, None if the worker takes no part in it.
    """

    def known(fit: str, proof: bytes) -> Inbox | None:
        inbox = find(fit)
        # Before the worker has learnt the secret, the number of the fit must do: it is one, too.
        if inbox is None or (inbox.secret and not hmac.compare_digest(inbox.secret, proof)):
            return None
        return inbox

    def take(fit: str, proof: bytes, sender: int, step: int, block: bytes) -> str:
        inbox = known(fit, proof)
        return "gone" if inbox is None else inbox.put(sender, step, block)

    def tell(fit: str, proof: bytes) -> str:
        return "gone" if known(fit, proof) is None else "alive"

    def fail(fit: str, proof: bytes, sender: int, reason: str) -> str:
        inbox = known(fit, proof)
        if inbox is not None:
            inbox.fail(sender, reason)
        return "taken"

    worker.handlers.update({BLOCK: take, ALIVE: tell, ABORT: fail})


class DaskCollective(Collective):
    """A worker that reaches the others over Dask's connections.

    Parameters
    ----------
    rank : int
    worker : distributed.Worker
        This one.
    fit : str
        Number of the fit.
    addresses : sequence of str
        Of all workers, as Dask knows them.
    secret : bytes
        Of the fit.
    inbox : Inbox
        Of the fit on this worker.
    timeout : float
        Seconds without a sign of life after which a worker counts as lost.
    """

    def __init__(
        self,
        rank: int,
        worker: Any,
        fit: str,
        addresses: Sequence[str],
        secret: bytes,
        inbox: Inbox,
        timeout: float = 30.0,
    ) -> None:
        super().__init__(rank, len(addresses), addresses)
        self._worker, self._fit, self._secret = worker, fit, secret
        self._inbox, self._timeout = inbox, timeout
        inbox.secret = secret

    def _start(self, peer: int, name: str, timeout: float, **given: Any) -> Future[Any]:
        """Have the event loop call another worker; a loop that has ended fails the call."""
        loop, future = self._worker.loop.asyncio_loop, Future[Any]()

        def begin() -> None:
            # The coroutine is made where it runs: a loop that stops first leaves none behind.
            if future.set_running_or_notify_cancel():
                task = loop.create_task(self._call(peer, name, timeout, **given))
                task.add_done_callback(partial(_hand_over, future))

        try:
            loop.call_soon_threadsafe(begin)
        except RuntimeError:
            future.set_exception(OSError("the event loop of this worker has ended"))
        return future

    async def _call(self, peer: int, name: str, timeout: float, **given: Any) -> Any:
        remote = self._worker.rpc(self.names[peer])
        call = getattr(remote, name)(fit=self._fit, proof=self._secret, **given)
        return await asyncio.wait_for(call, timeout)

    def _exchange(self, blocks: Sequence[Block], sizes: Sequence[int]) -> list[Block]:
        others = [peer for peer in range(self.world) if peer != self.rank]
        with self._inbox.changed:
            self._inbox.step += 1
            step = self._inbox.step
        late = _LATE * self._timeout
        sending = {
            peer: self._start(
                peer, BLOCK, late, sender=self.rank, step=step, block=bytes(blocks[peer])
            )
            for peer in others
        }
        found: list[Block] = list(blocks)
        heard = _Signs(self, others, time.monotonic() + late)
        waiting = set(others)
        while waiting or sending:
            with self._inbox.changed:
                for peer in [p for p in waiting if (step, p) in self._inbox.blocks]:
                    block = self._inbox.blocks.pop((step, peer))
                    check_size(self.names[peer], len(block), sizes[peer])
                    found[peer] = block
                    waiting.discard(peer)
                failure = self._inbox.failure
            if failure is not None:
                raise CollectiveError(
                    self.names[failure[0]], f"failed: {failure[1]}", is_first=False
                )
            if self._stopped is not None:
                raise CollectiveError(self.names[self.rank], self._stopped)
            for peer in [p for p, call in sending.items() if call.done()]:
                self._check(peer, sending.pop(peer))
            heard.look(waiting | set(sending), partial(self._lacks, step, waiting))
            self._wait(step, waiting, sending)
        return found

    def _lacks(self, step: int, waiting: set[int], peer: int) -> bool:
        with self._inbox.changed:
            return peer in waiting and (step, peer) not in self._inbox.blocks

    def _wait(self, step: int, waiting: set[int], sending: dict[int, Future[Any]]) -> None:
        if not waiting:
            for call in sending.values():
                with suppress(Exception):
                    call.exception(min(_GLANCE, self._timeout / 4))
                return
            return
        with self._inbox.changed:
            if not any((step, peer) in self._inbox.blocks for peer in waiting):
                self._inbox.changed.wait(min(_GLANCE, self._timeout / 4))

    def _check(self, peer: int, call: Future[Any], *, may_be_gone: bool = False) -> None:
        """Raise a CollectiveError unless a worker has answered a call as it should."""
        try:
            answer = call.result()
        except TimeoutError:
            raise self._silent(peer) from None
        except OSError as error:
            raise CollectiveError(
                self.names[peer],
                f"closed its connection ({error}). It was stopped, killed or restarted.",
            ) from None
        if answer == "gone" and not may_be_gone:
            raise CollectiveError(self.names[peer], "has left the fit, or was restarted.")
        if answer == "refused":
            raise CollectiveError(self.names[peer], "is not in step with the others.")

    def _silent(self, peer: int) -> CollectiveError:
        return CollectiveError(
            self.names[peer], f"was silent for {self._timeout:g} s: it hangs, or is cut off."
        )

    def abort(self, reason: str) -> None:
        """Tell the others that this worker fails."""
        super().abort(reason)
        said = reason[:_MOST_REASON]
        calls = [
            self._start(peer, ABORT, _GOODBYE, sender=self.rank, reason=said)
            for peer in range(self.world)
            if peer != self.rank
        ]
        for call in calls:
            with suppress(Exception):
                call.result(_GOODBYE)
            call.cancel()  # a loop that has not begun it by now is about to end


def _hand_over(future: Future[Any], task: asyncio.Task[Any]) -> None:
    """Give what came of a task to the thread that waits for it."""
    if task.cancelled():
        future.set_exception(OSError("the event loop of this worker ends"))
    elif (error := task.exception()) is not None:
        future.set_exception(error)
    else:
        future.set_result(task.result())


class _Signs:
    """Asks workers that are waited for whether they are alive."""

    def __init__(self, collective: DaskCollective, peers: Sequence[int], latest: float) -> None:
        now = time.monotonic()
        self._collective, self._latest = collective, latest
        self._heard = dict.fromkeys(peers, now)
        self._asked: dict[int, Future[Any]] = {}

    def look(self, peers: set[int], lacks: Callable[[int], bool]) -> None:
        """Ask those that were not heard of for some time; raise if one does not answer.

        Whoever leaves at the end of a fit has sent its last block before: only those whose block
        is missing count as gone.
        """
        collective, now = self._collective, time.monotonic()
        for peer in peers:
            call = self._asked.get(peer)
            if call is not None and call.done():
                del self._asked[peer]
                collective._check(peer, call, may_be_gone=not lacks(peer))
                self._heard[peer] = now
            elif call is None and now - self._heard[peer] > collective._timeout / 4:
                self._asked[peer] = collective._start(peer, ALIVE, collective._timeout)
            if now - self._heard[peer] > 1.5 * collective._timeout:
                raise collective._silent(peer)
            if now > self._latest:
                raise CollectiveError(
                    collective.names[peer],
                    f"is alive, but did not take part for {_LATE * collective._timeout:g} s. If "
                    "its work takes so long, raise worker_timeout.",
                )
