"""Write predictions in the format that the file's ending names."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.optional import require

Writer = Callable[[Path, Sequence[str], NDArray[Any]], None]


def writer_for(path: Path) -> Writer:
    """Give the function that writes a table to a file of that name.

    Parameters
    ----------
    path : Path

    Returns
    -------
    callable (path, names, rows)
        With the names of the columns, and rows of shape (n, n_columns).

    Raises
    ------
    ValueError
        If no format has this ending.
    ImportError
        If the format needs a package that is not installed.

    Examples
    --------
    >>> writer_for(Path("out.xlsx"))
    Traceback (most recent call last):
        ...
    ValueError: --out must end in .csv, .tsv, .parquet, .arrow, .feather, .jsonl or .ndjson; ...
    """
    ending = path.suffix.lower()
    if ending not in _WRITERS:
        *others, last = _WRITERS
        raise ValueError(f"--out must end in {', '.join(others)} or {last}; got {path.name!r}.")
    if ending in (".parquet", ".arrow", ".feather"):
        require("pyarrow", f"writing {ending} files")
    return _WRITERS[ending]


def _write_csv(path: Path, names: Sequence[str], rows: NDArray[Any]) -> None:
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_text(value) for value in row] for row in rows)


def _write_json_lines(path: Path, names: Sequence[str], rows: NDArray[Any]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows.tolist():
            line = {name: _plain(value) for name, value in zip(names, row)}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _write_parquet(path: Path, names: Sequence[str], rows: NDArray[Any]) -> None:
    require("pyarrow.parquet", "writing Parquet files").write_table(_table(names, rows), path)


def _write_arrow(path: Path, names: Sequence[str], rows: NDArray[Any]) -> None:
    table = _table(names, rows)
    ipc = require("pyarrow.ipc", "writing Arrow files")
    with path.open("wb") as file, ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _table(names: Sequence[str], rows: NDArray[Any]) -> Any:
    pyarrow = require("pyarrow", "writing Parquet and Arrow files")
    columns = [pyarrow.array(rows[:, j].tolist()) for j in range(rows.shape[1])]
    return pyarrow.Table.from_arrays(columns, names=list(names))


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _text(value: Any) -> Any:
    return f"{value:.10g}" if isinstance(value, (float, np.floating)) else value


_WRITERS: dict[str, Writer] = {
    ".csv": _write_csv,
    ".tsv": _write_csv,
    ".parquet": _write_parquet,
    ".arrow": _write_arrow,
    ".feather": _write_arrow,
    ".jsonl": _write_json_lines,
    ".ndjson": _write_json_lines,
}
