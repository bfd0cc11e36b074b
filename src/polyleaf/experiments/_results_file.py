"""Results of runs, one JSON line each, written as they come and taken up again after a stop.

The first line says what was compared. A run is appended as one line and flushed to the disk, so
that a process that is killed loses at most the runs it was in; half a last line is dropped. One
process writes a file at a time: it holds a lock, which ends with the process. Every row names the
comparison that it belongs to, and is checked when it is read.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from polyleaf.experiments._result_rows import fault_of
from polyleaf.experiments._run import Job

try:
    import fcntl
except ImportError:  # a system without locks of this kind: rows read twice are still refused
    fcntl = None  # type: ignore[assignment]

_FORMAT = 2
_MOST_FAULTS = 5  # that a warning lists


class ResultsFileError(ValueError):
    """A results file is damaged, in use, or about another comparison."""


class ResultsFile:
    """A results file that is read if it exists, appended to, and locked until it is closed.

    Parameters
    ----------
    path : path-like
    plan : dict
        What is compared, in JSON's types. A file with another plan is refused.
    jobs : iterable of Job
        The runs of the comparison. Lines that are no row of one of them are reported and left
        out, and so are second rows of a run.

    Attributes
    ----------
    rows : list of dict
        The runs in the file.
    """

    def __init__(
        self, path: str | os.PathLike[str], plan: dict[str, Any], jobs: Iterable[Job]
    ) -> None:
        self.path = Path(path)
        self.plan = json.loads(json.dumps(plan))
        self.run = hashlib.sha256(json.dumps(self.plan, sort_keys=True).encode()).hexdigest()[:16]
        self.rows: list[dict[str, Any]] = []
        self._jobs = {job.key: job for job in jobs}
        self._fd = self._opened(os.O_CREAT)
        try:
            self._begin_or_resume()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let other processes write the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def add(self, row: dict[str, Any]) -> None:
        """Append one run."""
        self._check_place()
        self._append({"run": self.run} | row)
        self.rows.append(row)

    def _header(self) -> dict[str, Any]:
        return {"format": _FORMAT, "run": self.run, "plan": self.plan}

    def _opened(self, how: int) -> int:
        """Open and lock the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Not blocking: a named pipe would wait for someone at its other end.
        fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | how, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise ResultsFileError(f"{self.path} must be a file; it is something else.")
            self._lock(fd)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _lock(self, fd: int) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise ResultsFileError(
                    f"{self.path} is in use by another comparison that is still running. Wait "
                    "for it to end, or give another path."
                ) from None
            warnings.warn(
                f"{self.path} cannot be locked here ({error.strerror}); do not let a second "
                "comparison write it.",
                UserWarning,
                stacklevel=5,
            )

    def _check_place(self) -> None:
        """Notice that somebody removed or replaced the file; write a removed one again."""
        own = os.fstat(self._fd)
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            fd = self._opened(os.O_CREAT | os.O_EXCL)
            self.close()
            self._fd = fd
            for value in (self._header(), *({"run": self.run} | row for row in self.rows)):
                self._append(value)
            return
        if (own.st_dev, own.st_ino) != (there.st_dev, there.st_ino):
            raise ResultsFileError(
                f"{self.path} was replaced by another file while the comparison was running."
            )

    def _append(self, value: dict[str, Any]) -> None:
        """Append a line, all of it or nothing."""
        left = memoryview((json.dumps(value, allow_nan=False) + "\n").encode())
        size = os.fstat(self._fd).st_size
        try:
            while left:
                left = left[os.write(self._fd, left) :]
            os.fsync(self._fd)
        except BaseException as error:
            if left or isinstance(error, OSError):  # Ctrl-C may come after the last byte
                with contextlib.suppress(OSError):
                    os.ftruncate(self._fd, size)
            if isinstance(error, OSError):
                raise OSError(error.errno, error.strerror, str(self.path)) from error
            raise

    def _begin_or_resume(self) -> None:
        with os.fdopen(os.dup(self._fd), "rb") as file:
            file.seek(0)
            first = file.readline()
            expected = (json.dumps(self._header()) + "\n").encode()
            if not first.endswith(b"\n") and expected.startswith(first):
                os.ftruncate(self._fd, 0)  # new, or cut in its first line, as by a full disk
                self._append(self._header())
                return
            self._check_header(first)
            self._read_rows(file, len(first))

    def _read_rows(self, file: Iterable[bytes], n_good: int) -> None:
        line_of: dict[tuple[str, str, int], int] = {}
        faults: list[str] = []
        for number, line in enumerate(file, start=2):
            if not line.endswith(b"\n"):  # a killed process left half a line
                os.ftruncate(self._fd, n_good)
                break
            n_good += len(line)
            row, fault = self._read_row(line)
            if fault is None:
                key = row["dataset"], row["method"], row["fold"]
                if key in line_of:
                    fault = f"repeats the run of line {line_of[key]}"
                else:
                    line_of[key] = number
                    self.rows.append(row)
            if fault is not None:
                faults.append(f"line {number} {fault}")
        if faults:
            self._report(faults)

    def _read_row(self, line: bytes) -> tuple[dict[str, Any], str | None]:
        """Return a row, and what is wrong with it."""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return {}, "is not JSON"
        if not isinstance(row, dict):
            return {}, "is not a JSON object"
        if "format" in row:
            return {}, "is a second first line"
        if row.pop("run", None) != self.run:
            return {}, "does not say that it belongs to this comparison"
        key = row.get("dataset"), row.get("method"), row.get("fold")
        try:
            job = self._jobs.get(key)  # type: ignore[arg-type]
        except TypeError:  # a list or an object in place of a name
            job = None
        if job is None:
            return {}, "is of no data set, method and fold of this comparison"
        fault = fault_of(row, job)
        return row, None if fault is None else f"is no row of a run: {fault}"

    def _report(self, faults: list[str]) -> None:
        listed = "; ".join(faults[:_MOST_FAULTS])
        more = f"; and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
        warnings.warn(
            f"{self.path} has lines that are ignored; missing runs are repeated: {listed}{more}.",
            UserWarning,
            stacklevel=6,
        )

    def _check_header(self, first: bytes) -> None:
        """Refuse a file whose first line is not that of this comparison."""
        advice = "Give another path, or remove the file."
        try:
            header = json.loads(first)
        except (ValueError, RecursionError) as error:
            raise ResultsFileError(
                f"{self.path}, line 1: expected JSON: {str(error)[:100]}. {advice}"
            ) from None
        if not isinstance(header, dict) or header.get("format") != _FORMAT:
            raise ResultsFileError(
                f"{self.path}: expected a results file of a comparison, with 'format': {_FORMAT} "
                f"in its first line. {advice}"
            )
        if header == self._header():
            return
        was = header.get("plan")
        was = was if isinstance(was, dict) else {}
        changed = [key for key in sorted({*self.plan, *was}) if was.get(key) != self.plan.get(key)]
        raise ResultsFileError(
            f"{self.path} holds results of another comparison: {', '.join(changed) or 'run'} "
            f"differ{self._version_words(was)}. {advice}"
        )

    def _version_words(self, was: dict[str, Any]) -> str:
        old, new = was.get("versions"), self.plan.get("versions", {})
        old = old if isinstance(old, dict) else {}
        words = [
            f"{name} was {old.get(name, 'not there')} and is {new.get(name, 'not there')}"
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        ]
        return f" ({'; '.join(words)})" if words else ""
