"""Facts that timings depend on, without anything that tells which machine it was."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def machine_facts(packages: Iterable[str]) -> dict[str, Any]:
    """Describe the processor and the software.

    Parameters
    ----------
    packages : iterable of str
        Distributions whose versions are wanted besides those that all methods use.
    """
    from polyleaf import _core

    names = sorted({"numpy", "scipy", "scikit-learn", "polyleaf", *packages})
    return {
        "cpu": _cpu_model(),
        "cores": _n_usable_cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.machine()}",
        "load_average": round(os.getloadavg()[0], 2),
        "instruction_set": _core.instruction_set(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in names},
    }


def use_instruction_set(name: str) -> None:
    """Let polyleaf's kernels of this process be those of an instruction set."""
    from polyleaf import _core

    if not _core.use_instruction_set(name):
        raise ValueError(
            f"--instruction-set must be one that this processor has; got {name!r}, and the best "
            f"here is {_core.instruction_set()!r}."
        )


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, "unknown")


def _n_usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
