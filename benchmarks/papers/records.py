"""Results that are kept in the repository: one line of JSON per row of a table.

A line has the values of every repeat, the call that made the estimator, the processor time, the
date, versions and the command. Rows that were measured before this runner have means and
deviations alone, and a note.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.papers.tables import Labels, Outcome, Row, Table

FOLDER = Path(__file__).resolve().parent / "records"
QUICK = "quick"


class Records:
    """The lines of one file.

    Parameters
    ----------
    name : str
        Of a table, or "quick".
    folder : Path
    """

    def __init__(self, name: str, folder: Path = FOLDER) -> None:
        self.path = folder / f"{name}.jsonl"
        self.lines: list[dict[str, Any]] = []
        if self.path.exists():
            self.lines = [json.loads(line) for line in self.path.read_text().splitlines()]

    def find(self, table: str, labels: Labels) -> dict[str, Any] | None:
        """Give the line of a row."""
        for line in self.lines:
            if line["table"] == table and line["row"] == dict(labels):
                return line
        return None

    def of(self, table: str) -> list[dict[str, Any]]:
        """Give the lines of a table."""
        return [line for line in self.lines if line["table"] == table]

    def add(self, table: Table, row: Row, outcome: Outcome, seconds: float, command: str) -> None:
        """Append a repeat to the line of its row, and write the file."""
        line = self.find(table.name, row.labels)
        if line is not None and "values" not in line:
            self.lines.remove(line)  # measured before this runner: our repeats take its place
            line = None
        if line is None:
            line = {"table": table.name, "row": dict(row.labels), "values": {}, "cpu_s": 0.0}
            self.lines.append(line)
        for name, value in outcome.values.items():
            line["values"].setdefault(name, []).append(_rounded(value))
        line["cpu_s"] = round(line["cpu_s"] + seconds, 2)
        line |= {"settings": outcome.settings, "date": today(), "versions": versions()}
        line |= {"command": command}
        self.write()

    def drop(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Forget some lines."""
        gone = [id(line) for line in lines]
        self.lines = [line for line in self.lines if id(line) not in gone]

    def write(self) -> None:
        """Write all lines, so that a stop never leaves half a file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".part")
        partial.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        os.replace(partial, self.path)


def repeats_of(line: Mapping[str, Any] | None) -> int:
    """Count the repeats of a line."""
    if line is None:
        return 0
    if "values" not in line:
        return int(line["repeats"])
    return max((len(values) for values in line["values"].values()), default=0)


def today() -> str:
    """Give the date of today, in ISO form."""
    return datetime.date.today().isoformat()


def versions() -> dict[str, str]:
    """Give the versions that matter."""
    names = ("polyleaf", "numpy", "scikit-learn")
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in names},
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_rounded(entry) for entry in value]
    return float(f"{float(value):.6g}")
