"""Do runs in a separate process, which may crash or be stopped without harm to the others.

Compiled code of other libraries can end a process, and nothing but the end of its process stops a
run that takes too long. Runs come in pickled by value on the standard input of the worker, rows go
out on its standard output. A worker ends with the process that started it, in the middle of a run,
too.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from typing import Any, BinaryIO

from joblib import wrap_non_picklable_objects
from threadpoolctl import threadpool_limits

from polyleaf.experiments._run import Job, describe, run

_SECONDS_BETWEEN_LOOKS = 0.5


class Worker:
    """A process that does one run after the other; a new one is started when it has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._said: Any = None

    def run(self, job: Job) -> dict[str, Any]:
        """Do a run; if the process dies or the limit is over, say so in the row."""
        process = self._started()
        received: list[dict[str, Any]] = []
        # A thread can wait for an answer for a limited time on every platform.
        thread = threading.Thread(target=_exchange, args=(process, job, received), daemon=True)
        thread.start()
        thread.join(job.limit)
        if received:
            return received[0]
        is_late = thread.is_alive()
        self.close()
        if is_late:
            seconds = float(job.limit or 0.0)
            reason = f"took longer than the limit of {seconds:g} s, and was stopped"
        else:
            reason = f"its process ended: {_cause(process.returncode)}{self._last_words()}"
            seconds = 0.0
        return describe(job) | {"error": reason, "seconds": seconds}

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # what was not written yet has nobody to read it
                    continue

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._said = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from {__name__} import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
            )
            pipes: Any = self._process
            pickle.dump((sys.path, os.getpid()), pipes.stdin)
            pipes.stdin.flush()
            pickle.load(pipes.stdout)  # noqa: S301 - the limit begins when it has started
        return self._process

    def _last_words(self) -> str:
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return f" ({lines[-1][:200]})" if lines else ""


def _exchange(process: Any, job: Job, received: list[dict[str, Any]]) -> None:
    try:
        pickle.dump(wrap_non_picklable_objects(partial(run, job)), process.stdin)
        process.stdin.flush()
        received.append(pickle.load(process.stdout))  # noqa: S301 - from our own process
    except (OSError, EOFError, pickle.UnpicklingError, ValueError):
        process.wait()
    except Exception as error:  # what cannot be pickled
        said = f"{type(error).__name__}: {error}"[:500]
        received.append(describe(job) | {"error": said, "seconds": 0.0})


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"


def end_with(parent: int) -> None:
    """End this process soon after its parent has ended, even if it is busy.

    A killed parent cannot tell its children, and a run may take hours. A run of compiled code
    that keeps Python's lock is ended when it gives the lock back.

    Parameters
    ----------
    parent : int
        Its process id.
    """
    if parent in _WATCHED:
        return
    _WATCHED.add(parent)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, name="end with parent", daemon=True).start()


_WATCHED: set[int] = set()
_WORKER = Worker()
atexit.register(_WORKER.close)


def run_apart(job: Job) -> dict[str, Any]:
    """Do a run in the worker of this process."""
    try:
        return _WORKER.run(job)
    except BaseException:  # Ctrl-C: what the worker does now is no longer wanted
        _WORKER.close()
        raise


def _serve(source: BinaryIO, sink: BinaryIO) -> None:
    sys.path[:], parent = pickle.load(source)  # noqa: S301 - from the process that started this one
    end_with(parent)
    pickle.dump("ready", sink)
    sink.flush()
    while True:
        try:
            run_job = pickle.load(source)  # noqa: S301
        except EOFError:
            return
        with threadpool_limits(1):
            row = run_job()
        pickle.dump(row, sink)
        sink.flush()


def main() -> None:
    """Be the worker."""
    # Libraries that print must not write between the rows.
    with os.fdopen(os.dup(1), "wb") as rows_out:
        os.dup2(2, 1)
        _serve(sys.stdin.buffer, rows_out)
