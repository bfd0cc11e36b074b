"""How much memory may still be taken."""

from __future__ import annotations

import os
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


def available_memory() -> int | None:
    """Count the bytes that are free for use, None where the system does not tell.

    Linux tells what is available to the machine and to its group of processes; of other systems
    the size of the memory is taken.
    """
    found = [bytes_ for bytes_ in (_of_machine(), _of_group()) if bytes_ is not None]
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


def _of_group() -> int | None:
    try:
        limit = int((_GROUP / "memory.max").read_text())  # "max": none
        return max(0, limit - int((_GROUP / "memory.current").read_text()))
    except (OSError, ValueError):
        return None
