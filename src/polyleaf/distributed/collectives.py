"""What workers do together: sums, gathering and sending arrays to all, over any transport.

A `Collective` belongs to one worker of a fit. All workers call the same methods in the same order.
Every method here is made of one step, `_exchange`: each worker gives a block of bytes to every
other one and gets one from each. To send bytes in another way, write that step.
"""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.memory import check_memory

#: What one worker gives another at a time, at most.
MOST_BYTES = 1 << 26
#: Up to so many bytes everybody sends all it has to everybody: one step instead of two.
_SMALL_BYTES = 1 << 16

Block: TypeAlias = "bytes | memoryview"


class CollectiveError(RuntimeError):
    """A worker of a fit failed, left or kept silent.

    Attributes
    ----------
    name : str
        The worker that it was.
    reason : str
    is_first : bool
        Whether the worker that raises it saw the cause itself, or learnt of it from another.
    """

    def __init__(self, name: str, reason: str, *, is_first: bool = True) -> None:
        super().__init__(f"Worker {name} {reason}")
        self.name, self.reason, self.is_first = name, reason, is_first

    def __reduce__(self) -> Any:
        return _rebuilt_error, (self.name, self.reason, self.is_first)


def _rebuilt_error(name: str, reason: str, is_first: bool) -> CollectiveError:
    return CollectiveError(name, reason, is_first=is_first)


@dataclass
class Traffic:
    """What a worker has sent so far.

    Attributes
    ----------
    bytes_sent, bytes_reduced : int
        To all others; and that were handed over to be reduced, counted once.
    n_collectives : int
    seconds_waited : float
        Spent in collectives.
    """

    bytes_sent: int = 0
    bytes_reduced: int = 0
    n_collectives: int = 0
    seconds_waited: float = 0.0

    def since(self, before: Traffic) -> Traffic:
        """Give what was added since."""
        return Traffic(
            self.bytes_sent - before.bytes_sent,
            self.bytes_reduced - before.bytes_reduced,
            self.n_collectives - before.n_collectives,
            self.seconds_waited - before.seconds_waited,
        )

    def copy(self) -> Traffic:
        """Give the numbers of this moment."""
        return Traffic(**vars(self))


class Collective(ABC):
    """One worker's way to the others.

    Attributes
    ----------
    rank : int
        Number of this worker, from 0.
    world : int
        Number of workers.
    names : tuple of str
        What error messages call the workers.
    traffic : Traffic

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.distributed import LocalCollective
    >>> alone = LocalCollective()
    >>> numbers = np.array([1, 2])
    >>> alone.allreduce(numbers)
    >>> numbers, [part.tolist() for part in alone.allgather(numbers)]
    (array([1, 2]), [[1, 2]])
    """

    def __init__(self, rank: int, world: int, names: Sequence[str] | None = None) -> None:
        self.rank, self.world = rank, world
        self.names = tuple(names) if names is not None else tuple(map(str, range(world)))
        self.traffic = Traffic()
        self._stopped: str | None = None

    @abstractmethod
    def _exchange(self, blocks: Sequence[Block], sizes: Sequence[int]) -> list[Block]:
        """Give `blocks[i]` to worker i, and take a block of `sizes[i]` bytes from it.

        The own block is given back as it is. The others may be overwritten by the next exchange.
        Raises a `CollectiveError` if a worker fails.
        """

    def abort(self, reason: str) -> None:
        """Tell the others that this worker fails, so that they need not wait for it."""
        self._stopped = reason

    def stop(self, reason: str) -> None:
        """End what this worker waits for by an error; may be called from any thread."""
        self._stopped = reason

    def close(self) -> None:
        """Leave; the others are done, too."""
        self._stopped = "has left the fit."

    # Made of exchanges -------------------------------------------------------------------------

    def allreduce(self, numbers: NDArray[Any], by: str = "sum") -> None:
        """Replace numbers, in place, by those of all workers: their "sum", or their "max".

        Parameters
        ----------
        numbers : ndarray, C-contiguous
            Of the same shape and type on all workers.
        by : {"sum", "max"}
        """
        self.traffic.bytes_reduced += numbers.nbytes
        if self.world == 1:
            self._timed([b""], [0])
            return
        flat = numbers.reshape(-1)
        step = max(1, MOST_BYTES // numbers.itemsize)
        for start in range(0, flat.size, step):
            self._reduce_piece(flat[start : start + step], by)

    def _reduce_piece(self, flat: NDArray[Any], by: str) -> None:
        if self.world == 2 or flat.nbytes <= _SMALL_BYTES:
            block = _bytes_of(flat)
            found = self._timed([block] * self.world, [flat.nbytes] * self.world)
            parts = [np.frombuffer(part, flat.dtype) for part in found]
            if self.world == 2:  # either order gives the same bits
                _reduce_into(flat, parts[1 - self.rank], by)
            else:  # in the order of the workers, so that all get the same bits
                flat[:] = _reduced(parts, by)
            return
        own = self.reduce_scatter(flat, by, counted=False)
        parts = self._gather_known(own, [s.stop - s.start for s in self._slices(flat.size)])
        np.concatenate(parts, out=flat)

    def reduce_scatter(
        self, numbers: NDArray[Any], by: str = "sum", *, counted: bool = True
    ) -> NDArray[Any]:
        """Reduce numbers, and give each worker one slice of the result.

        Parameters
        ----------
        numbers : ndarray of shape (n,)
            Of the same size and type on all workers.
        by : {"sum", "max"}
        counted : bool
            Whether the bytes count as reduced.

        Returns
        -------
        ndarray of shape (n // world or one more,)
            Worker r has the r-th of `world` slices of about the same size.
        """
        flat = np.ascontiguousarray(numbers).reshape(-1)
        if counted:
            self.traffic.bytes_reduced += flat.nbytes
        if self.world == 1:
            return flat
        slices = self._slices(flat.size)
        blocks = [flat[part].tobytes() for part in slices]
        own = slices[self.rank]
        found = self._timed(blocks, [(own.stop - own.start) * flat.itemsize] * self.world)
        return _reduced([np.frombuffer(part, flat.dtype) for part in found], by)

    def _slices(self, size: int) -> list[slice]:
        ends = [size * r // self.world for r in range(self.world + 1)]
        return [slice(ends[r], ends[r + 1]) for r in range(self.world)]

    def allgather(self, rows: NDArray[Any]) -> list[NDArray[Any]]:
        """Give everybody the rows of all workers, one array for each.

        Parameters
        ----------
        rows : ndarray of shape (n, ...)
            Workers may have different numbers of rows, but of one type and shape.
        """
        rows = np.ascontiguousarray(rows)
        if self.world == 1:
            return [rows]
        own = np.array([len(rows)], np.int64)
        counts = [int(part[0]) for part in self._gather_known(own, [1] * self.world)]
        width = int(np.prod(rows.shape[1:]))
        check_memory(
            sum(counts) * width * rows.itemsize,
            f"The rows that {self.world} workers share with each other take",
            "Use fewer rows or columns, or workers with more memory.",
        )
        parts = self._gather_known(rows.reshape(-1), [count * width for count in counts])
        return [part.reshape(count, *rows.shape[1:]) for part, count in zip(parts, counts)]

    def _gather_known(self, flat: NDArray[Any], sizes: Sequence[int]) -> list[NDArray[Any]]:
        """Gather flat arrays of known sizes, piece by piece."""
        found = [np.empty(size, flat.dtype) for size in sizes]
        step = max(1, MOST_BYTES // flat.itemsize)
        for start in range(0, max(max(sizes), 1), step):
            piece = flat[start : start + step]
            expected = [min(max(size - start, 0), step) for size in sizes]
            block = _bytes_of(np.ascontiguousarray(piece))
            blocks = self._timed(
                [block] * self.world, [count * flat.itemsize for count in expected]
            )
            for whole, part, count in zip(found, blocks, expected):
                whole[start : start + count] = np.frombuffer(part, flat.dtype)
        return found

    def deal(self, parts: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Give every worker an array of its own, and take one from each.

        Parameters
        ----------
        parts : sequence of ndarray of shape (n_i,)
            `parts[i]` is for worker i; all of one type.
        """
        if self.world == 1:
            return [np.ascontiguousarray(parts[0])]
        table = self.allgather(np.array([[part.size for part in parts]], np.int64))
        sizes = [int(row[0, self.rank]) for row in table]
        most = max(int(row.max()) for row in table)
        itemsize, dtype = parts[0].itemsize, parts[0].dtype
        found = [np.empty(size, dtype) for size in sizes]
        step = max(1, MOST_BYTES // itemsize)
        for start in range(0, most, step):
            given = [part[start : start + step].tobytes() for part in parts]
            expected = [min(max(size - start, 0), step) for size in sizes]
            blocks = self._timed(given, [count * itemsize for count in expected])
            for whole, block, count in zip(found, blocks, expected):
                whole[start : start + count] = np.frombuffer(block, dtype)
        return found

    def broadcast(self, rows: NDArray[Any], root: int = 0) -> NDArray[Any]:
        """Give everybody the rows of one worker.

        Parameters
        ----------
        rows : ndarray of shape (n, ...)
            Those of `root` count; others give an empty array of the same type and shape.
        root : int
        """
        return self.allgather(rows if self.rank == root else rows[:0])[root]

    def gather_json(self, value: Any) -> list[Any]:
        """Give everybody what each worker has, in JSON's types.

        Parameters
        ----------
        value : object
        """
        encoded = np.frombuffer(json.dumps(value).encode(), np.uint8)
        return [json.loads(part.tobytes()) for part in self.allgather(encoded)]

    def _timed(self, blocks: Sequence[Block], sizes: Sequence[int]) -> list[Block]:
        start = time.perf_counter()
        found = self._exchange(blocks, sizes)
        self.traffic.seconds_waited += time.perf_counter() - start
        self.traffic.n_collectives += 1
        self.traffic.bytes_sent += sum(
            len(block) for peer, block in enumerate(blocks) if peer != self.rank
        )
        return found


def _bytes_of(flat: NDArray[Any]) -> Block:
    """Give the bytes of a contiguous array without a copy."""
    return memoryview(flat.view(np.uint8)) if flat.size else b""  # type: ignore[arg-type]


def _reduced(parts: Sequence[NDArray[Any]], by: str) -> NDArray[Any]:
    total = parts[0].copy()
    for part in parts[1:]:
        _reduce_into(total, part, by)
    return total


def _reduce_into(total: NDArray[Any], part: NDArray[Any], by: str) -> None:
    if by not in ("sum", "max"):
        raise ValueError(f"Numbers are reduced by 'sum' or 'max'; got {by!r}.")
    (np.add if by == "sum" else np.maximum)(total, part, out=total)


class LocalCollective(Collective):
    """The only worker: nothing is sent.

    Examples
    --------
    >>> LocalCollective().world
    1
    """

    def __init__(self) -> None:
        super().__init__(0, 1)

    def _exchange(self, blocks: Sequence[Block], sizes: Sequence[int]) -> list[Block]:
        if self._stopped is not None:
            raise CollectiveError(self.names[0], self._stopped)
        return list(blocks)


class ThreadCollective(Collective):
    """A worker that is a thread of this process; `group` makes all of them.

    Parameters
    ----------
    rank, world : int
    meeting : _Meeting
    timeout : float
        Seconds that a worker waits for the others.
    """

    def __init__(self, rank: int, world: int, meeting: _Meeting, timeout: float) -> None:
        super().__init__(rank, world)
        self._meeting, self._timeout = meeting, timeout

    @classmethod
    def group(cls, world: int, timeout: float = 30.0) -> list[ThreadCollective]:
        """Make the workers of one fit.

        Parameters
        ----------
        world : int
        timeout : float
            Seconds that a worker waits for the others.

        Examples
        --------
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> def total(worker):
        ...     numbers = np.array([worker.rank + 1.0])
        ...     worker.allreduce(numbers)
        ...     return float(numbers[0])
        >>> with ThreadPoolExecutor(3) as pool:
        ...     list(pool.map(total, ThreadCollective.group(3)))
        [6.0, 6.0, 6.0]
        """
        meeting = _Meeting(world)
        return [cls(rank, world, meeting, timeout) for rank in range(world)]

    def _exchange(self, blocks: Sequence[Block], sizes: Sequence[int]) -> list[Block]:
        meeting = self._meeting
        meeting.blocks[self.rank] = [bytes(block) for block in blocks]
        self._wait()
        found: list[Block] = [given[self.rank] for given in meeting.blocks]
        self._wait()
        for peer, (block, size) in enumerate(zip(found, sizes)):
            check_size(self.names[peer], len(block), size)
        return found

    def _wait(self) -> None:
        try:
            self._meeting.barrier.wait(self._timeout)
        except threading.BrokenBarrierError:
            peer, reason = self._meeting.failure or (-1, f"was silent for {self._timeout:g} s.")
            name = self.names[peer] if peer >= 0 else "of this fit"
            raise CollectiveError(name, reason, is_first=False) from None

    def abort(self, reason: str) -> None:
        """Tell the others that this worker fails."""
        if self._meeting.failure is None:
            self._meeting.failure = self.rank, f"failed: {reason}"
        self._meeting.barrier.abort()

    def stop(self, reason: str) -> None:
        """End what all workers wait for."""
        self.abort(reason)


class _Meeting:
    """Where threads put what they give each other."""

    def __init__(self, world: int) -> None:
        self.barrier = threading.Barrier(world)
        self.blocks: list[list[bytes]] = [[] for _ in range(world)]
        self.failure: tuple[int, str] | None = None


def check_size(name: str, size: int, expected: int) -> None:
    """Raise a `CollectiveError` if a worker sent another number of bytes than the others."""
    if size != expected:
        raise CollectiveError(
            name,
            f"sent {size} bytes where {expected} were expected: it is not in step with the "
            "others. All workers must have the same release of polyleaf and the same settings.",
        )
