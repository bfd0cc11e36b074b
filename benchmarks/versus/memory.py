"""The peak of this process's resident memory, counted anew from a chosen moment.

Linux keeps the peak of a process (VmHWM) and forgets it on request. The ``ru_maxrss`` of
getrusage is the substitute elsewhere: it can neither be reset nor tell a peak below an earlier
one, and under Linux it starts at the peak of the parent process.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

_FORGET_PEAK = "5"  # see the manual page proc_pid_clear_refs(5)


def restart_peak() -> int:
    """Forget earlier peaks where the system can; return the resident memory in bytes."""
    try:
        Path("/proc/self/clear_refs").write_text(_FORGET_PEAK)
    except OSError:
        return _lifetime_peak()
    return peak()


def peak() -> int:
    """Return the peak of the resident memory since `restart_peak`, in bytes."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return _lifetime_peak()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    if "VmHWM" not in fields:
        return _lifetime_peak()
    return int(fields["VmHWM"].split()[0]) * 1024


def _lifetime_peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
