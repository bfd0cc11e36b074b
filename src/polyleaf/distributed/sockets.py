"""Workers that are connected by TCP: every two of them by one connection.

Who connects must know the secret of the fit: both sides prove it by an HMAC over random numbers
of both, so that nothing that was overheard can be used again. What arrives are numbers in frames
of bounded size; nothing is ever unpickled. A thread sends a sign of life while its worker
computes, so that a silent worker is one that is cut off, not one that is busy.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from polyleaf.distributed.collectives import (
    MOST_BYTES,
    Block,
    Collective,
    CollectiveError,
    check_size,
)

#: Mark, kind, number of the step, bytes that follow.
_HEADER = struct.Struct("<4sIQQ")
_MARK = b"plf1"
_DATA, _ALIVE, _ABORT = 0, 1, 2
_NONCE_BYTES, _PROOF_BYTES = 32, 32
_JOIN = struct.Struct(f"<I{_NONCE_BYTES}s{_PROOF_BYTES}s")
_MOST_REASON = 4096
#: Seconds: for one handshake; between looks at whether to stop; for a goodbye.
_HANDSHAKE, _GLANCE, _GOODBYE = 5.0, 0.2, 2.0
#: How many times as long as for a sign of life one waits for a worker that is alive but late.
_LATE = 40


class Listener:
    """A socket that waits for the other workers of one fit.

    Parameters
    ----------
    host : str
        Address of the interface to listen on; never all of them.

    Attributes
    ----------
    address : tuple (host, port)
    """

    def __init__(self, host: str) -> None:
        family, kind, protocol, _, bound = socket.getaddrinfo(
            host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        self.socket = socket.socket(family, kind, protocol)
        self.socket.bind(bound)
        self.socket.listen(128)
        self.address: tuple[str, int] = host, int(self.socket.getsockname()[1])

    def close(self) -> None:
        """Stop listening."""
        with suppress(OSError):  # it may be closed already
            self.socket.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits for a connection
        self.socket.close()


@dataclass(eq=False)
class _Peer:
    """The connection to another worker, and what is under way on it."""

    socket: socket.socket
    lock: threading.Lock = field(default_factory=threading.Lock)
    sending: list[memoryview] = field(default_factory=list)
    holds_lock: bool = False
    header: bytearray = field(default_factory=bytearray)
    kind: int = _DATA
    step: int = 0
    payload: memoryview | None = None
    n_received: int = 0
    #: Holds the last block: fresh memory for every message would cost more than the message.
    room: bytearray = field(default_factory=bytearray)
    heard: float = 0.0


class SocketCollective(Collective):
    """A worker that is connected to the others by TCP.

    Parameters
    ----------
    rank : int
    addresses : sequence of (host, port)
        Where each worker listens.
    secret : bytes
        Of this fit; whoever does not know it is not let in.
    listener : Listener
        That of this worker; closed once all others are there.
    timeout : float
        Seconds without a sign of life after which a worker counts as lost.
    join_timeout : float, optional
        Seconds that workers have to come; by default ten times as many.
    names : sequence of str, optional
        What error messages call the workers; by default where they listen.
    stopped : callable, optional
        Asked while the others are waited for: why the fit is over, None as long as it is not.

    Raises
    ------
    CollectiveError
        If a worker does not come.
    """

    def __init__(
        self,
        rank: int,
        addresses: Sequence[tuple[str, int]],
        secret: bytes,
        listener: Listener,
        timeout: float = 30.0,
        join_timeout: float | None = None,
        names: Sequence[str] | None = None,
        stopped: Callable[[], str | None] = lambda: None,
    ) -> None:
        shown = names or [f"{host}:{port}" for host, port in addresses]
        super().__init__(rank, len(addresses), shown)
        self._secret, self._timeout, self._is_over = secret, timeout, stopped
        self._peers: dict[int, _Peer] = {}
        self._joining = threading.Condition()
        self._step = 0
        self._ended = threading.Event()
        try:
            self._join(addresses, listener, 10 * timeout if join_timeout is None else join_timeout)
        except BaseException:
            self._drop()
            raise
        finally:
            listener.close()
        threading.Thread(target=self._show_life, daemon=True, name="polyleaf-alive").start()

    # Coming together ---------------------------------------------------------------------------

    def _join(
        self, addresses: Sequence[tuple[str, int]], listener: Listener, patience: float
    ) -> None:
        deadline = time.monotonic() + patience
        welcoming = threading.Thread(target=self._welcome_all, args=(listener,), daemon=True)
        welcoming.start()
        for peer in range(self.rank):
            self._keep(peer, self._connect(peer, addresses[peer], deadline))
        with self._joining:
            while len(self._peers) < self.world - 1:
                self._check_over()
                if time.monotonic() > deadline:
                    absent = set(range(self.world)) - set(self._peers) - {self.rank}
                    raise self._absent(min(absent), patience)
                self._joining.wait(_GLANCE)

    def _check_over(self) -> None:
        reason = self._stopped or self._is_over()
        if reason is not None:
            raise CollectiveError(self.names[self.rank], reason)

    def _absent(self, peer: int, patience: float) -> CollectiveError:
        return CollectiveError(
            self.names[peer],
            f"did not join the fit within {patience:g} s. It may be busy with other tasks, gone, "
            "or a firewall keeps workers from connecting to each other.",
        )

    def _keep(self, peer: int, connection: socket.socket) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._joining:
            if self._ended.is_set():
                connection.close()
                return
            self._peers[peer] = _Peer(connection)
            self._joining.notify_all()

    def _connect(self, peer: int, address: tuple[str, int], deadline: float) -> socket.socket:
        started = time.monotonic()
        while True:
            self._check_over()
            try:
                connection = socket.create_connection(address, timeout=_HANDSHAKE)
                try:
                    self._prove(connection, peer)
                    return connection
                except BaseException:
                    connection.close()
                    raise
            except OSError:
                if time.monotonic() > deadline:
                    raise self._absent(peer, time.monotonic() - started) from None
                time.sleep(_GLANCE / 2)

    def _prove(self, connection: socket.socket, peer: int) -> None:
        """Show the secret to the worker that listens, and see that it knows it, too."""
        connection.settimeout(_HANDSHAKE)
        theirs, mine = _receive(connection, _NONCE_BYTES), secrets.token_bytes(_NONCE_BYTES)
        about = struct.pack("<II", self.rank, peer) + theirs + mine
        connection.sendall(_JOIN.pack(self.rank, mine, self._proof(b"join", about)))
        answer = _receive(connection, _PROOF_BYTES)
        if not hmac.compare_digest(answer, self._proof(b"welcome", about)):
            raise OSError("the listener does not know the secret")

    def _proof(self, what: bytes, about: bytes) -> bytes:
        return hmac.digest(self._secret, what + about, hashlib.sha256)

    def _welcome_all(self, listener: Listener) -> None:
        while True:
            try:
                connection, _ = listener.socket.accept()
            except OSError:
                return  # it was closed: all are there, or the fit is over
            threading.Thread(target=self._welcome, args=(connection,), daemon=True).start()

    def _welcome(self, connection: socket.socket) -> None:
        """Let a worker in that knows the secret; hang up on all others."""
        try:
            connection.settimeout(_HANDSHAKE)
            mine = secrets.token_bytes(_NONCE_BYTES)
            connection.sendall(mine)
            peer, theirs, proof = _JOIN.unpack(_receive(connection, _JOIN.size))
            about = struct.pack("<II", peer, self.rank) + mine + theirs
            is_known = hmac.compare_digest(proof, self._proof(b"join", about))
            if not is_known or not self.rank < peer < self.world or peer in self._peers:
                connection.close()
                return
            connection.sendall(self._proof(b"welcome", about))
            self._keep(peer, connection)
        except OSError:
            connection.close()

    # Exchanging --------------------------------------------------------------------------------

    def _exchange(self, blocks: Sequence[Block], sizes: Sequence[int]) -> list[Block]:
        self._step += 1
        now = time.monotonic()
        found: list[Block] = list(blocks)
        with selectors.DefaultSelector() as selector:
            for number, peer in self._peers.items():
                peer.lock.acquire()
                peer.holds_lock, peer.heard = True, now
                header = _HEADER.pack(_MARK, _DATA, self._step, len(blocks[number]))
                peer.sending += [memoryview(header), memoryview(blocks[number])]
                both = selectors.EVENT_READ | selectors.EVENT_WRITE
                selector.register(peer.socket, both, number)
            try:
                self._run(selector, found, sizes, now + _LATE * self._timeout)
            finally:
                for peer in self._peers.values():
                    if peer.holds_lock:
                        peer.holds_lock = False
                        peer.lock.release()
        return found

    def _run(
        self,
        selector: selectors.BaseSelector,
        found: list[Block],
        sizes: Sequence[int],
        latest: float,
    ) -> None:
        """Send and receive until all is done."""
        waiting = set(self._peers)
        while selector.get_map():
            for key, events in selector.select(min(_GLANCE, self._timeout / 4)):
                number, peer = key.data, self._peers[key.data]
                try:
                    if events & selectors.EVENT_WRITE:
                        _send_some(peer)
                    if events & selectors.EVENT_READ and number in waiting:
                        block = self._receive_some(number, peer, sizes[number])
                        if block is not None:
                            found[number] = block
                            waiting.discard(number)
                except OSError as error:
                    raise CollectiveError(
                        self.names[number],
                        f"closed its connection ({error}). It was stopped, killed or restarted.",
                    ) from None
                events = selectors.EVENT_READ if number in waiting else 0
                # Without the lock, what lies in `sending` is a sign of life of the other thread.
                if peer.holds_lock and peer.sending:
                    events |= selectors.EVENT_WRITE
                elif peer.holds_lock:
                    peer.holds_lock = False
                    peer.lock.release()
                if events:
                    selector.modify(peer.socket, events, number)
                else:
                    selector.unregister(peer.socket)
            self._check_time(selector, waiting, latest)

    def _check_time(
        self, selector: selectors.BaseSelector, waiting: set[int], latest: float
    ) -> None:
        if self._stopped is not None:
            raise CollectiveError(self.names[self.rank], self._stopped)
        now = time.monotonic()
        for key in selector.get_map().values():
            peer = self._peers[key.data]
            if now - peer.heard > self._timeout:
                raise CollectiveError(
                    self.names[key.data],
                    f"was silent for {self._timeout:g} s: it hangs, or is cut off.",
                )
            if now > latest:
                raise CollectiveError(
                    self.names[key.data],
                    f"is alive, but did not take part for {_LATE * self._timeout:g} s.",
                )

    def _receive_some(self, number: int, peer: _Peer, expected: int) -> Block | None:
        """Read what has arrived; give the block once it is whole."""
        while True:
            if peer.payload is None:
                some = _read(peer.socket, _HEADER.size - len(peer.header))
                if some is None:
                    return None
                peer.header += some
                peer.heard = time.monotonic()
                if len(peer.header) < _HEADER.size:
                    continue
                self._begin(number, peer, expected)
            payload = peer.payload
            assert payload is not None
            while peer.n_received < len(payload):
                try:
                    n = peer.socket.recv_into(payload[peer.n_received :])
                except BlockingIOError:
                    return None
                if n == 0:
                    raise OSError("end of stream")
                peer.n_received += n
                peer.heard = time.monotonic()
            peer.payload, peer.n_received = None, 0
            if peer.kind == _DATA:
                return payload
            if peer.kind == _ABORT:
                reason = bytes(payload).decode(errors="replace")
                raise CollectiveError(self.names[number], f"failed: {reason}", is_first=False)

    def _begin(self, number: int, peer: _Peer, expected: int) -> None:
        """Check the header of a frame and make room for the rest."""
        mark, peer.kind, step, size = _HEADER.unpack(bytes(peer.header))
        peer.header.clear()
        most = {_DATA: MOST_BYTES, _ALIVE: 0, _ABORT: _MOST_REASON}.get(peer.kind, -1)
        if mark != _MARK or size > most:
            raise CollectiveError(
                self.names[number], "sent something that is no message of this fit."
            )
        if peer.kind == _DATA:
            if step != self._step:
                raise CollectiveError(
                    self.names[number], f"is at step {step}, the others at {self._step}."
                )
            check_size(self.names[number], size, expected)
        if size > len(peer.room):
            peer.room = bytearray(size)
        peer.payload, peer.n_received = memoryview(peer.room)[:size], 0

    # Signs of life, and the end ------------------------------------------------------------------

    def _show_life(self) -> None:
        frame = _HEADER.pack(_MARK, _ALIVE, 0, 0)
        while not self._ended.wait(self._timeout / 5):
            for peer in list(self._peers.values()):
                if not peer.lock.acquire(blocking=False):
                    continue  # a message is under way
                try:
                    if not peer.sending:
                        peer.sending.append(memoryview(frame))
                    _send_some(peer)  # what is left of it goes out before the next message
                except OSError:
                    pass  # whoever waits for it will see
                finally:
                    peer.lock.release()

    def abort(self, reason: str) -> None:
        """Tell the others that this worker fails, and leave."""
        said = reason.encode()[:_MOST_REASON]
        frame = _HEADER.pack(_MARK, _ABORT, 0, len(said)) + said
        for peer in self._peers.values():
            with peer.lock:
                try:
                    peer.socket.settimeout(_GOODBYE / 2)
                    # A message that was begun goes first, or else this would be taken for it.
                    peer.socket.sendall(b"".join(peer.sending) + frame)
                except OSError:
                    continue
        self._say_goodbye()

    def stop(self, reason: str) -> None:
        """End what this worker waits for by an error; may be called from any thread."""
        self._stopped = reason

    def close(self) -> None:
        """Leave after a last step of all, so that no connection ends with something unread."""
        if not self._ended.is_set() and self._stopped is None:
            self._exchange([b""] * self.world, [0] * self.world)
        self._say_goodbye()

    def _say_goodbye(self) -> None:
        self._ended.set()
        for peer in self._peers.values():
            try:
                peer.socket.shutdown(socket.SHUT_WR)
            except OSError:
                continue
        deadline = time.monotonic() + _GOODBYE
        for peer in self._peers.values():
            try:
                peer.socket.setblocking(True)
                while (rest := deadline - time.monotonic()) > 0:
                    peer.socket.settimeout(rest)
                    if not peer.socket.recv(1 << 16):
                        break
            except OSError:
                continue
        self._drop()

    def _drop(self) -> None:
        self._ended.set()
        with self._joining:
            for peer in self._peers.values():
                peer.socket.close()


def _send_some(peer: _Peer) -> None:
    """Send as much as the connection takes."""
    while peer.sending:
        block = peer.sending[0]
        if len(block):
            try:
                n = peer.socket.send(block)
            except BlockingIOError:
                return
            if n < len(block):
                peer.sending[0] = block[n:]
                return
        peer.sending.pop(0)


def _read(connection: socket.socket, n_bytes: int) -> bytes | None:
    """Read up to so many bytes, None if there are none yet."""
    try:
        some = connection.recv(n_bytes)
    except BlockingIOError:
        return None
    if not some:
        raise OSError("end of stream")
    return some


def _receive(connection: socket.socket, n_bytes: int) -> bytes:
    """Read exactly so many bytes of a blocking connection."""
    parts: list[Any] = []
    while n_bytes:
        some = connection.recv(n_bytes)
        if not some:
            raise OSError("end of stream")
        parts.append(some)
        n_bytes -= len(some)
    return b"".join(parts)
