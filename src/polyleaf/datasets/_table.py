"""Read CSV, TSV and Parquet tables whose outputs are named columns."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyleaf.checks.optional import require
from polyleaf.checks.spelling import nearest_names
from polyleaf.datasets._dataset import Dataset
from polyleaf.datasets._files import (
    MAX_BYTES,
    DataFormatError,
    FilePath,
    check_distinct,
    dataset_name,
    format_suffix,
    matching,
    read_bytes,
    read_lines,
    too_large,
)
from polyleaf.datasets._table_columns import as_features, as_outputs

if TYPE_CHECKING:
    import pandas as pd

#: Of a number, or of the place where a text lies.
_CELL_BYTES = 8
_SEPARATORS = {".csv": ",", ".tsv": "\t"}


def read_table(
    path: FilePath,
    targets: Sequence[str],
    *,
    exclude: Sequence[str] = (),
    max_bytes: int = MAX_BYTES,
) -> Dataset:
    r"""Read a CSV, TSV or Parquet file with a header, given the names of the outputs.

    Parameters
    ----------
    path : str or os.PathLike
        The file, named .csv, .tsv or .parquet; text may be compressed by gzip, bzip2 or xz.
    targets : sequence of str
        The columns that are outputs, in the order wanted; ``'sensor *'`` stands for all that
        begin so. The others are features.
    exclude : sequence of str, default=()
        Columns that are neither, such as an identifier.
    max_bytes : int, default=2**30
        Most bytes that a compressed file may grow to; one that holds more is refused. Parquet is
        always compressed: a cell counts 8 bytes, or what its pages take.

    Returns
    -------
    Dataset
        X is an array of numbers, or a DataFrame with ``category`` columns where some features
        are texts. Empty cells are missing features and unobserved outputs; so are ``?`` and
        what pandas reads as missing, such as ``NA`` and ``null``. Dates and durations of a
        Parquet file are numbers of nanoseconds. The first column of a text file is left out if
        it has no name: pandas and R write row names so.

    Raises
    ------
    DataFormatError
        If the file is malformed, or lacks a column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from polyleaf.datasets import read_table
    >>> path = Path(tempfile.mkdtemp()) / "plants.csv"
    >>> _ = path.write_text("rain,soil,yield,height\n3.5,clay,10,1.2\n,sand,,0.8\n")
    >>> data = read_table(path, ["yield", "height"])
    >>> data
    Dataset('plants': n=2, p=2, d=2; X frame, Y dense; 1 missing in X, 1 missing in Y)
    """
    if isinstance(targets, str) or not targets:
        raise ValueError(f"targets must be a list of column names, at least one; got {targets!r}.")
    check_distinct(targets)
    pandas = require("pandas", f"reading {path}")
    frame = _read_frame(path, pandas, max_bytes)
    columns = [str(name) for name in frame.columns]
    exclude = matching(exclude, columns)
    targets = matching(targets, [name for name in columns if name not in exclude])
    _check_columns(frame, [*targets, *exclude], path)
    dropped = {*targets, *exclude}
    names = [name for name in frame.columns if name not in dropped]
    if not names:
        raise DataFormatError(
            "expected at least one feature, but every column is an output", path=path
        )
    return Dataset(
        as_features(frame[names], path),
        as_outputs(frame[list(targets)], path),
        names,
        list(targets),
        dataset_name(path),
    )


def read_features(
    path: FilePath,
    *,
    exclude: Sequence[str] = (),
    as_frame: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Any:
    r"""Read only the features of a CSV, TSV or Parquet file, such as those of new rows.

    Parameters
    ----------
    path : str or os.PathLike
        The file, as for :func:`read_table`.
    exclude : sequence of str, default=()
        Columns to leave out, such as outputs; names that the file does not have are ignored.
    as_frame : bool, default=False
        Whether numbers, too, come as a frame with the names of the columns.
    max_bytes : int, default=2**30
        Most bytes that a compressed file may grow to; one that holds more is refused. Parquet is
        always compressed: a cell counts 8 bytes, or what its pages take.

    Returns
    -------
    ndarray of shape (n, p) or pandas.DataFrame
        As X of :func:`read_table`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from polyleaf.datasets import read_features
    >>> path = Path(tempfile.mkdtemp()) / "new.csv"
    >>> _ = path.write_text("rain,height\n3.5,2\n")
    >>> read_features(path, exclude=["yield"])
    array([[3.5, 2. ]])
    """
    pandas = require("pandas", f"reading {path}")
    frame = _read_frame(path, pandas, max_bytes)
    dropped = set(matching(exclude, [str(name) for name in frame.columns]))
    frame = frame[[name for name in frame.columns if name not in dropped]]
    features = as_features(frame, path)
    if as_frame and isinstance(features, np.ndarray):
        return pandas.DataFrame(features, columns=frame.columns)
    return features


def _read_frame(path: FilePath, pandas: Any, max_bytes: int) -> pd.DataFrame:
    suffix = format_suffix(path)
    if suffix == ".parquet":
        require("pyarrow", f"reading {path}")
        source, read = read_bytes(path, max_bytes), partial(_read_parquet, max_bytes)
    elif suffix in _SEPARATORS:
        source, read = read_lines(path, max_bytes), _read_text  # type: ignore[assignment]
    else:
        raise ValueError(f"path must end in .csv, .tsv or .parquet; got {Path(path).name!r}.")
    try:
        frame = read(source, path, pandas)
    except DataFormatError:
        raise
    except Exception as error:  # what the parsers raise is not documented
        kind = suffix.removeprefix(".")
        raise DataFormatError(f"expected a {kind} table: {error}", path=path) from error
    names = [str(name).strip() for name in frame.columns]
    _check_names(names, path)
    frame.columns = names
    if frame.shape[0] == 0:
        raise DataFormatError("expected at least one row below the header, got none", path=path)
    return frame


def _read_parquet(max_bytes: int, source: bytes, path: FilePath, pandas: Any) -> pd.DataFrame:
    about = require("pyarrow.parquet", f"reading {path}").read_metadata(io.BytesIO(source))
    # A column that repeats one value takes a few bytes, however many rows it has.
    n_bytes = [about.num_rows * about.num_columns * _CELL_BYTES]
    n_bytes += [sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))]
    if max(n_bytes) > max_bytes:
        raise too_large(max_bytes, path)
    frame: pd.DataFrame = pandas.read_parquet(io.BytesIO(source))
    return frame


def _read_text(source: list[str], path: FilePath, pandas: Any) -> pd.DataFrame:
    separator = _SEPARATORS[format_suffix(path)]
    header = _check_lines(source, separator, path)
    frame: pd.DataFrame = pandas.read_csv(
        io.StringIO("\n".join(source)),
        sep=separator,
        skipinitialspace=True,
        na_values=["?"],
        low_memory=False,  # else a long column could be numbers here and texts there
    )
    # Without a name, the first column holds row names: pandas and R write them so.
    return frame.iloc[:, 1:] if not header[0] and len(header) > 1 else frame


def _check_lines(lines: list[str], separator: str, path: FilePath) -> list[str]:
    """Refuse what pandas would mend: names that occur twice, and rows of another length."""
    rows = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    header = [name.strip() for name in next(filter(None, rows))]  # pandas skips empty lines
    _check_names(header, path, line=rows.line_num)
    for row in rows:
        if row and len(row) != len(header):
            raise DataFormatError(
                f"expected {len(header)} values, as many as names in the first line, got "
                f"{len(row)}",
                path=path,
                line=rows.line_num,
            )
    return header


def _check_names(names: list[str], path: FilePath, line: int | None = None) -> None:
    duplicates = sorted(name for name, count in Counter(names).items() if count > 1)
    if duplicates:
        raise DataFormatError(
            f"expected every column name once, got {duplicates[:5]} again", path=path, line=line
        )


def _check_columns(frame: pd.DataFrame, wanted: list[str], path: FilePath) -> None:
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        shown = ", ".join(map(repr, list(frame.columns)[:12]))
        more = ", ..." if frame.shape[1] > 12 else ""
        only = str(frame.columns[0]) if frame.shape[1] == 1 else ""
        hint = next((f"; is its separator {mark!r}?" for mark in ";\t|," if mark in only), "")
        hint += nearest_names(missing, [str(name) for name in frame.columns])
        raise DataFormatError(
            f"expected the columns {missing}, but the file has {shown}{more}{hint}", path=path
        )
