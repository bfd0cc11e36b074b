"""Open data files: transparent decompression, decoding, and the error that names file and line."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import struct
import warnings
import zlib
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from numbers import Integral
from pathlib import Path
from typing import IO, Any, Literal

from polyleaf.checks.numbers import is_one_of
from polyleaf.checks.paths import is_special

FilePath = str | os.PathLike[str]
OnError = Literal["raise", "skip"]

#: Most bytes that a compressed file may grow to, unless a reader is given another `max_bytes`.
MAX_BYTES = 2**30

_DECOMPRESSORS: dict[bytes, tuple[str, Callable[[IO[bytes]], Any]]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}
_BLOCK_BYTES = 2**20  # decompressed at a time
_COMPRESSION_SUFFIXES = {".gz", ".bz2", ".xz"}
_DAMAGED = (EOFError, OSError, ValueError, struct.error, zlib.error, lzma.LZMAError)


class DataFormatError(ValueError):
    """A data file does not follow its format.

    Parameters
    ----------
    message : str
        What was expected, what came and what to do.
    path : str or os.PathLike, optional
        The file.
    line : int, optional
        The line of the file, counted from 1.

    Attributes
    ----------
    path : str or None
        The file.
    line : int or None
        The line of the file, counted from 1.

    Examples
    --------
    >>> from polyleaf.datasets import DataFormatError
    >>> raise DataFormatError("expected 3 values, got 2", path="a.arff", line=7)
    Traceback (most recent call last):
        ...
    polyleaf.datasets._files.DataFormatError: a.arff, line 7: expected 3 values, got 2
    """

    def __init__(
        self, message: str, *, path: FilePath | None = None, line: int | None = None
    ) -> None:
        self.path = None if path is None else os.fspath(path)
        self.line = line
        self._message = message
        place = "" if self.path is None else self.path
        place += "" if line is None else f", line {line}"
        super().__init__(f"{place.lstrip(', ')}: {message}" if place else message)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_error, (self._message, self.path, self.line)


def _rebuild_error(message: str, path: str | None, line: int | None) -> DataFormatError:
    return DataFormatError(message, path=path, line=line)


class DataFormatWarning(UserWarning):
    """A data file was read although something in it is not as it should be."""


#: Formats of tables with a header.
TABLES = (".csv", ".tsv", ".parquet")


def dataset_name(path: FilePath) -> str:
    """Return the name of a file without folder, format and compression suffixes."""
    return _uncompressed(path).stem


def check_distinct(targets: Sequence[str] | None) -> None:
    """Refuse an output that is named twice."""
    names = [] if targets is None or isinstance(targets, str) else list(targets)
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise ValueError(f"targets must name each output once; got {twice[0]!r} twice.")


def matching(names: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Replace patterns, such as ``'sensor *'``, by the columns that match, in their order.

    A column's own name is never a pattern; a pattern that nothing matches stays.

    Examples
    --------
    >>> matching(["b*", "a?"], ["a1", "b1", "b2", "a?"])
    ['b1', 'b2', 'a?']
    """
    found: dict[str, None] = {}
    for name in names:
        is_pattern = name not in columns and any(sign in name for sign in "*?")
        pattern = name.replace("[", "[[]")  # brackets mean themselves
        hits = [column for column in columns if is_pattern and fnmatchcase(column, pattern)]
        found |= dict.fromkeys(hits or [name])
    return list(found)


def format_suffix(path: FilePath) -> str:
    """Return the suffix of a file's format in lower case, below that of a compression."""
    return _uncompressed(path).suffix.lower()


def _uncompressed(path: FilePath) -> Path:
    name = Path(path)
    return name.with_suffix("") if name.suffix.lower() in _COMPRESSION_SUFFIXES else name


def check_max_bytes(max_bytes: object) -> None:
    """Raise unless `max_bytes` is a number of bytes."""
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, Integral) or max_bytes < 1:
        raise ValueError(f"max_bytes must be an integer of at least 1; got {max_bytes!r}.")


def too_large(max_bytes: int, path: FilePath) -> DataFormatError:
    """Return the error for a file whose content is larger than the bound."""
    return DataFormatError(
        f"expected at most {max_bytes} bytes once it is decompressed (max_bytes), got more; raise "
        "max_bytes if the file is what you take it for",
        path=path,
    )


def read_bytes(path: FilePath, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the content of a file, decompressed if its first bytes say gzip, bzip2 or xz.

    Parameters
    ----------
    path : str or os.PathLike
    max_bytes : int
        A compressed file that holds more is refused, before more is decompressed. Files that are
        not compressed may have any size.

    Returns
    -------
    bytes
    """
    check_max_bytes(max_bytes)
    with open_data(path) as file:
        raw = file.read()
    for magic, (kind, opener) in _DECOMPRESSORS.items():
        if raw.startswith(magic):
            try:
                return _decompress(opener(io.BytesIO(raw)), max_bytes, path)
            except DataFormatError:
                raise
            except _DAMAGED as error:
                raise DataFormatError(
                    f"expected a complete {kind} file, but it is truncated or damaged ({error}); "
                    "fetch the file again",
                    path=path,
                ) from error
    return raw


def open_data(path: FilePath) -> IO[bytes]:
    """Open a file to read; refuse what would wait for a writer, such as a pipe with a name."""
    if is_special(path):
        raise DataFormatError("expected a file, got a pipe, socket or device", path=path)
    return open(path, "rb")


def _decompress(compressed: IO[bytes], max_bytes: int, path: FilePath) -> bytes:
    """Read block by block, so that no more than the bound is ever held."""
    blocks: list[bytes] = []
    n_bytes = 0
    while block := compressed.read(_BLOCK_BYTES):
        n_bytes += len(block)
        if n_bytes > max_bytes:
            raise too_large(max_bytes, path)
        blocks.append(block)
    return b"".join(blocks)


def read_lines(path: FilePath, max_bytes: int = MAX_BYTES) -> list[str]:
    """Return the lines of a text file in UTF-8 (with or without byte order mark) or Latin-1."""
    raw = read_bytes(path, max_bytes)
    if not raw.strip():
        raise DataFormatError("expected text, but the file is empty", path=path)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataFormatError(
            "expected UTF-8 or Latin-1 text, got UTF-16; convert the file to UTF-8", path=path
        )
    if b"\x00" in raw:
        raise DataFormatError(
            "expected text, got binary data (a zero byte); is this the right file?", path=path
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    # str.splitlines would also break lines at form feeds and Unicode separators inside values.
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def check_on_error(on_error: str) -> None:
    """Raise unless `on_error` is one of the two choices every text reader offers."""
    if not is_one_of(on_error, ("raise", "skip")):
        raise ValueError(f"on_error must be 'raise' or 'skip'; got {on_error!r}.")


class SkippedLines:
    """Counts malformed lines, or raises at the first one, as `on_error` asks."""

    def __init__(self, path: FilePath, on_error: OnError) -> None:
        check_on_error(on_error)
        self.path = path
        self.count = 0
        self._on_error = on_error
        self._first: DataFormatError | None = None

    def report(self, message: str, line: int) -> None:
        """Raise `DataFormatError`, or count the line."""
        error = DataFormatError(message, path=self.path, line=line)
        if self._on_error == "raise":
            raise error from None
        self._first = self._first or error
        self.count += 1

    def warn(self, stacklevel: int) -> None:
        """Say once how many lines were skipped, and show the first."""
        if self._first is not None:
            lines = "line" if self.count == 1 else "lines"
            warnings.warn(
                f"skipped {self.count} malformed {lines}; the first: {self._first}",
                DataFormatWarning,
                stacklevel=stacklevel,
            )
