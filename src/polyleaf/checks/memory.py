"""How much memory may still be taken, and a refusal of what needs more."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_STATUS = Path("/proc/self/statm")
_GROUP = Path("/sys/fs/cgroup")
#: What needs no look at the memory; callers may ask first, and save the message.
SMALL_BYTES = 2**28


#: What this process may have in memory, beside the limits of the system.
_LIMIT: ContextVar[int | None] = ContextVar("polyleaf_memory_limit", default=None)


@contextmanager
def limited_memory(most: int | None) -> Iterator[None]:
    """Let this process have so many bytes in memory, as far as this thread looks.

    Parameters
    ----------
    most : int or None
        None or 0: as many as the system gives.

    Examples
    --------
    >>> with limited_memory(2**30):
    ...     available_memory() <= 2**30
    True
    """
    token = _LIMIT.set(most or None)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def check_memory(needed: int, purpose: str, advice: str) -> None:
    """Refuse what does not fit, before anything is taken.

    Parameters
    ----------
    needed : int
        Bytes.
    purpose : str
        What they are for: the beginning of the message, up to the number of bytes.
    advice : str
        What to do instead, in sentences.

    Examples
    --------
    >>> check_memory(2**10, "A small thing takes", "Take less.")
    >>> check_memory(2**80, "A view takes", "Take less.")
    Traceback (most recent call last):
        ...
    MemoryError: A view takes 1125899906842624.0 GiB, of which ... are available. Take less.
    """
    if needed < SMALL_BYTES:
        return
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"{purpose} {needed / 2**30:.1f} GiB, of which {available / 2**30:.1f} are available. "
            f"{advice}"
        )


def available_memory() -> int | None:
    """Count the bytes that are free for use, None where the system does not tell.

    Linux tells what is available to the machine, to its group of processes and, below a limit on
    addresses (``ulimit -v``), to this process; of other systems the size of the memory is taken.
    `limited_memory` may leave less.
    """
    asked = (_of_machine(), _of_group(), _of_process(), _of_limit())
    found = [bytes_ for bytes_ in asked if bytes_ is not None]
    if found:
        return min(found)
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_machine() -> int | None:
    try:
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return None


def _of_process() -> int | None:
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        n_pages = int(_STATUS.read_text().split()[0])
        return max(0, limit - n_pages * resource.getpagesize())
    except (ImportError, OSError, ValueError, IndexError):
        return None


def _of_limit() -> int | None:
    limit = _LIMIT.get()
    if limit is None:
        return None
    try:
        import resource

        resident = int(_STATUS.read_text().split()[1]) * resource.getpagesize()
    except (ImportError, OSError, ValueError, IndexError):
        resident = 0
    return max(0, limit - resident)


def _of_group() -> int | None:
    try:
        limit = int((_GROUP / "memory.max").read_text())  # "max": none
        return max(0, limit - int((_GROUP / "memory.current").read_text()))
    except (OSError, ValueError):
        return None
