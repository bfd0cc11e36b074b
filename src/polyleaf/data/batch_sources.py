"""Read X, and Y beside it, batch by batch, as often as is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

from polyleaf.checks.numbers import expect_list, shown
from polyleaf.checks.optional import require
from polyleaf.checks.spelling import did_you_mean
from polyleaf.data.tables import is_frame

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")
_COMPRESSED = (".gz", ".bz2", ".xz")
_EXPECTED = (
    "batches must be the path of a .parquet, .csv or .tsv file, a list of such paths, a list of "
    "batches, or a function without arguments that returns an iterator over them"
)


class BatchSource:
    """Batches that can be walked over any number of times.

    Parameters
    ----------
    batches, targets, exclude, batch_rows
        As `BinnedData.from_batches` takes them.

    Raises
    ------
    TypeError
        If they can be walked over only once, or are something else.
    """

    def __init__(
        self, batches: Any, targets: Sequence[str] | None, exclude: Sequence[str], batch_rows: int
    ) -> None:
        self._open = _opener(batches, batch_rows)
        self._targets = _names(() if targets is None else targets, "targets")
        self._exclude = _names(exclude, "exclude")

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Yield (X, Y) of every batch that has rows; Y is None where there is none."""
        for batch in self._open():
            X, Y = batch if isinstance(batch, tuple) and len(batch) == 2 else (batch, None)
            X, Y = _as_table(X), _as_table(Y)
            if self._targets or self._exclude:
                if Y is not None and self._targets:
                    raise ValueError(
                        "targets names columns of X that are outputs, but the batches are pairs "
                        "(X, Y). Leave one of them out."
                    )
                X, named = self._split(X)
                Y = Y if named is None else named
            if X.shape[0] if hasattr(X, "shape") else len(X):
                yield X, Y

    def _split(self, X: Any) -> tuple[Any, Any]:
        """Take the columns that are outputs, or neither, from a frame."""
        if not is_frame(X):
            raise TypeError(
                "targets and exclude name columns, so batches must be files, frames or Arrow "
                f"tables; got {type(X).__name__}. Give pairs (X, Y) instead."
            )
        frame: Any = nw.from_native(X, eager_only=True)
        for name in (*self._targets, *self._exclude):
            if name not in frame.columns:
                hint = did_you_mean(name, frame.columns)
                raise ValueError(
                    f"targets and exclude must name columns of the batches; got {name!r}, which "
                    f"is none of the {len(frame.columns)} columns.{hint}"
                )
        dropped = {*self._targets, *self._exclude}
        kept = frame.select([name for name in frame.columns if name not in dropped])
        named = frame.select(list(self._targets)).to_native() if self._targets else None
        return kept.to_native(), named


def _names(names: Sequence[str], parameter: str) -> tuple[str, ...]:
    given = expect_list(parameter, names, "column names")
    if not all(isinstance(name, str) for name in given):
        raise TypeError(f"{parameter} must be a list of column names; got {shown(names, 80)}.")
    return tuple(given)


def _opener(batches: Any, batch_rows: int) -> Callable[[], Iterable[Any]]:
    """Give a function that starts over the batches."""
    if isinstance(batches, str | os.PathLike):
        batches = [batches]
    is_list = isinstance(batches, list | tuple)
    if is_list and batches and all(isinstance(item, str | os.PathLike) for item in batches):
        paths = [Path(item) for item in batches]
        readers = [_file_reader(path) for path in paths]
        return lambda: (
            batch for read, path in zip(readers, paths) for batch in read(path, batch_rows)
        )
    if callable(batches) and not is_frame(batches):
        return _checked(batches)
    if isinstance(batches, np.ndarray) or sparse.issparse(batches) or is_frame(batches):
        raise TypeError(
            f"{_EXPECTED}; got one {type(batches).__name__}. Give a table that is in memory to "
            "BinnedData(X), or put it into a list."
        )
    if not isinstance(batches, Iterable):
        raise TypeError(f"{_EXPECTED}; got {type(batches).__name__}.")
    if iter(batches) is batches:
        raise TypeError(
            f"{_EXPECTED}; got {type(batches).__name__}, over which one can walk only once, but "
            "the rows are read twice: for the bins, and for the codes. Give the function that "
            "makes the iterator, without calling it."
        )
    return lambda: batches


def _checked(make: Callable[[], Any]) -> Callable[[], Iterable[Any]]:
    def start() -> Iterable[Any]:
        made = make()
        if not isinstance(made, Iterable) or isinstance(made, np.ndarray | str) or is_frame(made):
            raise TypeError(f"{_EXPECTED}; the function returned {type(made).__name__}.")
        return made

    return start


def _file_reader(path: Path) -> Callable[[Path, int], Iterator[Any]]:
    if _suffix(path) in _PARQUET:
        return _read_parquet
    if _suffix(path) in _SEPARATORS:
        return _read_text
    raise ValueError(f"paths of batches must end in .parquet, .csv or .tsv; got {path.name!r}.")


def _suffix(path: Path) -> str:
    name = path.with_suffix("") if path.suffix.lower() in _COMPRESSED else path
    return name.suffix.lower()


def _read_parquet(path: Path, batch_rows: int) -> Iterator[Any]:
    arrow = require("pyarrow", f"reading {path}")
    parquet = require("pyarrow.parquet", f"reading {path}")
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=batch_rows):
            yield arrow.Table.from_batches([batch])


def _read_text(path: Path, batch_rows: int) -> Iterator[Any]:
    """Read CSV or TSV as `polyleaf.datasets.read_table` does."""
    pandas = require("pandas", f"reading {path}")
    options: dict[str, Any] = {"sep": _SEPARATORS[_suffix(path)], "skipinitialspace": True}
    with pandas.read_csv(path, chunksize=batch_rows, na_values=["?"], **options) as chunks:
        for chunk in chunks:
            chunk.columns = [str(name).strip() for name in chunk.columns]
            # Without a name, the first column holds row names: pandas and R write them so.
            has_row_names = chunk.columns[0] == "Unnamed: 0" and chunk.shape[1] > 1
            yield chunk.iloc[:, 1:] if has_row_names else chunk


def _as_table(batch: Any) -> Any:
    """Turn a record batch of Arrow into a table, which narwhals knows; leave the rest alone."""
    kind = type(batch)
    if kind.__name__ == "RecordBatch" and kind.__module__.startswith("pyarrow"):
        return require("pyarrow", "record batches").Table.from_batches([batch])
    return batch


def join_targets(parts: list[Any]) -> Any:
    """Put the Y of all batches below each other, as the kind of table that they are."""
    if any(part is None for part in parts):
        if all(part is None for part in parts):
            return None
        raise ValueError("Y must come with every batch, or with none; got it with some.")
    if all(sparse.issparse(part) for part in parts):
        return sparse.csr_array(sparse.vstack(parts))
    if all(is_frame(part) for part in parts):
        frames = [nw.from_native(part, eager_only=True) for part in parts]
        return nw.concat(frames, how="vertical").to_native()
    arrays = [np.asarray(part) for part in parts]
    if len({array.shape[1:] for array in arrays}) > 1:
        shown = sorted({array.shape[1:] for array in arrays})
        raise ValueError(f"Y must have the same outputs in every batch; got the shapes {shown}.")
    return np.concatenate(arrays)
