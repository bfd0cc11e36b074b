"""Results of runs, one JSON line each, written as they come and taken up again after a stop.

The first line says what was compared. A run is appended as one line and flushed to the disk, so
that a process that is killed loses at most the runs it was in; half a last line is dropped.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

_FORMAT = 1


class ResultsFileError(ValueError):
    """A results file is damaged, or is about another comparison."""


class ResultsFile:
    """A results file that is read if it exists and appended to.

    Parameters
    ----------
    path : path-like
    plan : dict
        What is compared, in JSON's types. A file with another plan is refused.

    Attributes
    ----------
    rows : list of dict
        The runs in the file.
    """

    def __init__(self, path: str | os.PathLike[str], plan: dict[str, Any]) -> None:
        self.path = Path(path)
        self.plan = json.loads(json.dumps(plan))
        self.rows: list[dict[str, Any]] = []
        if self.path.exists() and self.path.stat().st_size > 0:
            self._resume()
        else:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._append({"format": _FORMAT, "plan": self.plan})

    def add(self, row: dict[str, Any]) -> None:
        """Append one run."""
        self._append(row)
        self.rows.append(row)

    def _append(self, value: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(value, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _resume(self) -> None:
        header, rows, n_good = read_lines(self.path)
        if header.get("plan") != self.plan:
            was = header.get("plan", {})
            changed = [
                key for key in sorted({*self.plan, *was}) if was.get(key) != self.plan.get(key)
            ]
            raise ResultsFileError(
                f"{self.path} holds results of another comparison: {', '.join(changed)} differ"
                f"{self._version_words(was)}. Give another path, or remove the file."
            )
        if n_good < self.path.stat().st_size:  # a killed process left half a line
            with self.path.open("r+b") as file:
                file.truncate(n_good)
        self.rows = rows

    def _version_words(self, was: dict[str, Any]) -> str:
        old, new = was.get("versions", {}), self.plan.get("versions", {})
        words = [
            f"{name} was {old.get(name, 'not there')} and is {new.get(name, 'not there')}"
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        ]
        return f" ({'; '.join(words)})" if words else ""


def read_lines(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]], int]:
    """Return header, rows, and the number of bytes up to the last complete line."""
    raw = path.read_bytes()
    n_good = raw.rfind(b"\n") + 1
    values = []
    for number, line in enumerate(raw[:n_good].splitlines(), start=1):
        try:
            values.append(json.loads(line))
        except ValueError as error:
            raise ResultsFileError(f"{path}, line {number}: expected JSON: {error}") from None
        if not isinstance(values[-1], dict):
            raise ResultsFileError(f"{path}, line {number}: expected a JSON object.")
    if not values or values[0].get("format") != _FORMAT:
        raise ResultsFileError(
            f"{path}: expected a results file of a comparison, with 'format': {_FORMAT} in its "
            "first line."
        )
    return values[0], values[1:], n_good
