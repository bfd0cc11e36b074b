"""Runs cases in child processes, so that a crash or a hang is a finding and not the end.

A batch is a child that was forked, with a limit on its memory. Before each case it writes which
one comes next into a shared file; if it dies or stands still, that is the case to blame, and the
next child goes on behind it. `faulthandler` writes down where it was.
"""

import contextlib
import faulthandler
import json
import mmap
import os
import resource
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from hostile_outcomes import FAILED, IMPOSSIBLE, judge

#: Bytes that a child may take beyond those of its parent.
MEMORY = 3 << 30
#: Cases of one child at most.
BATCH = 2000
IS_SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")


@dataclass
class Failure:
    """A case that must not end as it did."""

    target: str
    kind: str
    seed: int
    case: int
    why: str


@dataclass
class Record:
    """How the cases of a target ended: outcomes by kind."""

    counts: Counter = field(default_factory=Counter)
    seconds: float = 0.0
    is_whole: bool = False

    @property
    def n_cases(self):
        return sum(n for (_, outcome), n in self.counts.items() if outcome != IMPOSSIBLE)

    def of(self, outcome):
        return sum(n for (_, found), n in self.counts.items() if found == outcome)


@dataclass
class _Job:
    """What is left to do for a target, and the child that does it."""

    target: object
    next: int
    end: int
    seconds: float
    pid: int = 0
    folder: str = ""
    progress: mmap.mmap | None = None
    seen: bytes = b""
    waited: float = 0.0
    looked: float = 0.0


def run(targets, *, seed, cases, seconds, workers=2, say=None, before_end=None):
    """Run cases of every target; return the records by name, and the failures.

    A target that the end of the time cuts off has the cases so far; `is_whole` of its record says
    that there is nothing left to do.

    Parameters
    ----------
    targets : sequence of Target
    seed : int
    cases, seconds : int, float
        Of every target: as many cases, or as fit into so much processor time.
    workers : int
        Children at the same time.
    say : callable, optional
        Told every target that is done, its record, and all failures so far.
    before_end : float, optional
        Time at which no further batch begins.
    """
    waiting = [_Job(target, 0, cases, seconds) for target in targets][::-1]
    running, failures = [], []
    records = {target.name: Record() for target in targets}
    while waiting or running:
        is_late = before_end is not None and time.time() > before_end
        while waiting and not is_late and len(running) < workers:
            running.append(_started(waiting.pop(), seed))
        if is_late:
            waiting = []
        time.sleep(0.005)
        for job in list(running):
            why = _end_of(job)
            if why is None:
                continue
            running.remove(job)
            record = records[job.target.name]
            failures += _collect(job, why, record, seed)
            if job.next < job.end and job.seconds > 0:
                waiting.append(job)
                continue
            record.is_whole = True
            if say is not None:
                say(job.target, record, failures)
    return records, failures


def _started(job, seed):
    job.folder = tempfile.mkdtemp(prefix="hostile-")
    with open(f"{job.folder}/progress", "w+b") as file:
        file.write(b" " * 4096)
        file.flush()
        job.progress = mmap.mmap(file.fileno(), 4096)
    job.seen, job.waited, job.looked = b"", 0.0, time.monotonic()
    job.pid = os.fork()
    if job.pid == 0:
        try:
            _live(job, seed)
        except BaseException:  # what the runner itself did wrong
            Path(job.folder, "broken").write_text(traceback.format_exc())
        finally:
            os._exit(0)
    return job


def _live(job, seed):
    """Run the cases of a batch in a child, and write down how they ended."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    log = open(f"{job.folder}/faults", "w")  # noqa: SIM115  # open until the child ends
    faulthandler.enable(log)
    os.dup2(log.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if not IS_SANITIZED:  # whose shadow memory takes terabytes of addresses
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.makedirs(f"{job.folder}/work")
    os.chdir(f"{job.folder}/work")
    warnings.simplefilter("ignore")
    counts, failures = Counter(), []
    begun = time.process_time()
    case = job.next
    while case < min(job.end, job.next + BATCH) and time.process_time() - begun < job.seconds:
        kind = job.target.kind_of(case)
        job.progress[:80] = f"{case:>12} {kind}"[:80].ljust(80).encode()
        outcome, why = judge(job.target, seed, case)
        counts[kind, outcome] += 1
        if outcome == FAILED:
            failures.append((kind, case, why))
        case += 1
    done = {
        "next": case,
        "seconds": time.process_time() - begun,
        "counts": [[*key, n] for key, n in counts.items()],
        "failures": failures,
    }
    Path(job.folder, "done").write_text(json.dumps(done))


def _end_of(job):
    """Return how a child ended, None while it is at work; end one that hangs."""
    pid, status = os.waitpid(job.pid, os.WNOHANG)
    if pid:
        code = os.waitstatus_to_exitcode(status)
        return "" if code == 0 else f"crash: the process ended with {_named(code)}"
    now = time.monotonic()
    # A machine that was suspended is no hang: what lies between two looks counts a second at most.
    job.waited += min(now - job.looked, 1.0)
    job.looked = now
    if job.progress[:80] != job.seen:
        job.seen, job.waited = job.progress[:80], 0.0
    elif job.waited > job.target.patience * (5 if IS_SANITIZED else 1):
        with contextlib.suppress(ProcessLookupError):
            os.kill(job.pid, signal.SIGABRT)  # faulthandler says where it is
            time.sleep(0.5)
            os.kill(job.pid, signal.SIGKILL)
        os.waitpid(job.pid, 0)
        return f"hang: no end after {job.target.patience:g} s"
    return None


def _named(code):
    return signal.Signals(-code).name if code < 0 else f"the code {code}"


def _collect(job, why, record, seed):
    """Read what a child left behind, and prepare the job for its next one."""
    folder = Path(job.folder)
    failures = []
    if (folder / "broken").exists():
        raise RuntimeError(f"{job.target.name}: {(folder / 'broken').read_text()}")
    if (folder / "done").exists() and not why:
        done = json.loads((folder / "done").read_text())
        record.counts.update({(kind, outcome): n for kind, outcome, n in done["counts"]})
        record.seconds += done["seconds"]
        failures = [Failure(job.target.name, k, seed, case, w) for k, case, w in done["failures"]]
        job.next, job.seconds = done["next"], job.seconds - max(done["seconds"], 1e-3)
    else:
        text = bytes(job.progress[:80]).decode().split(maxsplit=1)
        case = int(text[0]) if text else job.next
        kind = text[1].strip() if text else "?"
        told = (folder / "faults").read_text(errors="replace").splitlines()
        # The names of all extension modules would hide where it was.
        faults = "\n".join(t[:300] for t in told if not t.startswith("Extension"))[-4000:]
        failures = [Failure(job.target.name, kind, seed, case, f"{why or 'crash'}\n{faults}")]
        record.counts[kind, FAILED] += 1
        record.counts["?", "lost"] += case - job.next  # went well, but nobody wrote down how
        job.next = case + 1
    job.progress.close()
    shutil.rmtree(folder, ignore_errors=True)
    return failures
