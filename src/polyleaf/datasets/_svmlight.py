"""Read multi-label files in svmlight format, with or without the header of extreme classification.

A line is ``3,17 4:0.5 9:1``: labels, then ascending feature indices with values.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.datasets._dataset import Dataset, NumberedNames
from polyleaf.datasets._files import (
    MAX_BYTES,
    DataFormatError,
    FilePath,
    OnError,
    SkippedLines,
    dataset_name,
    read_lines,
)
from polyleaf.datasets._tokens import RowError, parse_number, parse_numbers, shown

_BLOCK_LINES = 20_000
_MAX_INDEX = 2**31 - 1
# Without re.ASCII, \s is what str.split takes for white space: the quick parser relies on it.
_LABELS = r"[0-9]{1,9}(?:,[0-9]{1,9})*+(?=[ \t]|$)"
_FEATURE = r"[ \t]*+[0-9]{1,9}:[^\s:,]++(?=[ \t]|$)"
_LINE = re.compile(rf"({_LABELS})?+((?:{_FEATURE})*+)")
_INTEGER = re.compile(r"\d{1,10}", re.ASCII)
_HEADER = re.compile(r"(\d{1,40})\s+([1-9]\d{0,39})\s+([1-9]\d{0,39})", re.ASCII)

_OUT_OF_RANGE = (
    "expected indices within {} features and {} labels, got one outside; check n_features, "
    "n_labels, zero_based and zero_based_labels"
)

ZeroBased = bool | Literal["auto"]


@dataclass(frozen=True)
class _Rows:
    """Ragged rows in flat arrays: indices as they stand in the file, and how many per row."""

    labels: NDArray[np.int64]
    label_counts: NDArray[np.int64]
    features: NDArray[np.int64]
    feature_counts: NDArray[np.int64]
    values: NDArray[np.float64]
    numbers: NDArray[np.int64]  # line numbers


def read_svmlight(
    path: FilePath,
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: ZeroBased = "auto",
    zero_based_labels: ZeroBased = "auto",
    on_error: OnError = "raise",
    max_bytes: int = MAX_BYTES,
) -> Dataset:
    r"""Read a multi-label file in svmlight format.

    Parameters
    ----------
    path : str or os.PathLike
        The file; gzip, bzip2 and xz are decompressed. Its first line may be ``n p d``, as in
        the extreme classification repository: then all indices are counted from 0.
    n_features, n_labels : int, optional
        p and d; by default the header's, or what the largest index needs. Give them to read
        parts of one data set into matrices of the same shape.
    zero_based, zero_based_labels : bool or "auto", default="auto"
        Whether indices of features and labels are counted from 0. "auto" assumes so if an index
        0 occurs, which can be wrong for a small part of a data set.
    on_error : {"raise", "skip"}, default="raise"
        Whether a malformed line is an error, or is skipped and counted in ``n_skipped``.
    max_bytes : int, default=2**30
        Most bytes that a compressed file may grow to; one that holds more is refused.

    Returns
    -------
    Dataset
        X a csr_array of float64, Y a csr_array of int8.

    Raises
    ------
    DataFormatError
        If the file is malformed; it says which line, what was expected and what came.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from polyleaf.datasets import read_svmlight
    >>> path = Path(tempfile.mkdtemp()) / "toy.svm"
    >>> _ = path.write_text("0,2 1:0.5 3:1\n 2:0.25  # no label\n")
    >>> data = read_svmlight(path)
    >>> data
    Dataset('toy': n=2, p=3, d=3; X sparse, Y sparse; nothing missing)
    >>> data.X.toarray()
    array([[0.5 , 0.  , 1.  ],
           [0.  , 0.25, 0.  ]])
    """
    skipped = SkippedLines(path, on_error)
    _check_parameters(n_features, n_labels, zero_based, zero_based_labels)
    lines = read_lines(path, max_bytes)
    header = _HEADER.fullmatch(lines[0].strip())
    if header is not None:
        n_rows, header_features, header_labels = _header_sizes(header, path)
        n_features = header_features if n_features is None else n_features
        n_labels = header_labels if n_labels is None else n_labels
        zero_based = True if zero_based == "auto" else zero_based
        zero_based_labels = True if zero_based_labels == "auto" else zero_based_labels
    rows = _read_rows(lines, 0 if header is None else 1, skipped)
    if header is not None and len(rows.numbers) + skipped.count != n_rows:
        raise DataFormatError(
            f"expected {n_rows} rows, as the header says, got {len(rows.numbers)}", path=path
        )
    X, bad_X = _matrix(rows.features, rows.feature_counts, rows.values, n_features, zero_based)
    ones = np.ones(len(rows.labels), dtype=np.int8)
    Y, bad_Y = _matrix(rows.labels, rows.label_counts, ones, n_labels, zero_based_labels)
    is_bad = bad_X | bad_Y
    for number in rows.numbers[is_bad]:
        skipped.report(_OUT_OF_RANGE.format(X.shape[1], Y.shape[1]), int(number))
    skipped.warn(stacklevel=3)
    if is_bad.all():
        raise DataFormatError("expected at least one row, got none", path=path)
    return Dataset(
        X[~is_bad],
        Y[~is_bad],
        NumberedNames("x", X.shape[1]),
        NumberedNames("y", Y.shape[1]),
        dataset_name(path),
        skipped.count,
    )


def _header_sizes(header: re.Match[str], path: FilePath) -> list[int]:
    """Return n, p and d of a header, if they are sizes of matrices."""
    sizes = [int(size) for size in header.groups()]
    for name, size in zip(("rows", "features", "labels"), sizes, strict=True):
        if size > _MAX_INDEX:
            raise DataFormatError(
                f"expected a header n p d (rows, features, labels) of numbers up to {_MAX_INDEX}, "
                f"got {size} {name}",
                path=path,
                line=1,
            )
    return sizes


def _check_parameters(
    n_features: int | None, n_labels: int | None, zero_based: object, zero_based_labels: object
) -> None:
    for name, count in (("n_features", n_features), ("n_labels", n_labels)):
        if count is not None and not 1 <= count <= _MAX_INDEX:
            raise ValueError(f"{name} must be from 1 to {_MAX_INDEX}; got {count!r}.")
    for name, choice in (("zero_based", zero_based), ("zero_based_labels", zero_based_labels)):
        if choice not in (True, False, "auto"):
            raise ValueError(f"{name} must be True, False or 'auto'; got {choice!r}.")


def _matrix(
    indices: NDArray[np.int64],
    counts: NDArray[np.int64],
    values: NDArray[np.float64] | NDArray[np.int8],
    n_columns: int | None,
    zero_based: ZeroBased,
) -> tuple[sparse.csr_array, NDArray[np.bool_]]:
    """Return a matrix, and which rows have an index outside it (these are left empty)."""
    if zero_based == "auto":
        zero_based = bool(indices.size and indices.min() == 0)
    columns = indices if zero_based else indices - 1
    if n_columns is None:
        n_columns = int(columns.max()) + 1 if columns.size and columns.max() >= 0 else 1
    is_bad = (columns < 0) | (columns >= n_columns)
    row_of = np.repeat(np.arange(len(counts)), counts)
    is_bad_row = np.bincount(row_of[is_bad], minlength=len(counts)) > 0
    keep = ~is_bad_row[row_of]
    indptr = np.concatenate(([0], np.cumsum(np.where(is_bad_row, 0, counts))))
    matrix = sparse.csr_array(
        (values[keep], columns[keep], indptr), shape=(len(counts), n_columns)
    )
    matrix.sort_indices()
    return matrix, is_bad_row


def _read_rows(lines: list[str], start: int, skipped: SkippedLines) -> _Rows:
    """Read all rows; indices are those of the file."""
    texts: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(lines[start:], start=start + 1):
        text = line.partition("#")[0].rstrip()
        if text:  # a row without labels and features cannot be told from a blank line
            texts.append(text)
            numbers.append(number)
    blocks = [
        _read_block(texts[i : i + _BLOCK_LINES], numbers[i : i + _BLOCK_LINES], skipped)
        for i in range(0, len(texts), _BLOCK_LINES)
    ]
    if not any(len(block.numbers) for block in blocks):
        raise DataFormatError("expected at least one row, got none", path=skipped.path)
    return _Rows(
        *(
            np.concatenate([getattr(block, field) for block in blocks])
            for field in _Rows.__dataclass_fields__
        )
    )


def _read_block(texts: list[str], numbers: list[int], skipped: SkippedLines) -> _Rows:
    with suppress(ValueError):
        return _quick_rows(texts, numbers)
    return _strict_rows(texts, numbers, skipped)


def _quick_rows(texts: list[str], numbers: list[int]) -> _Rows:
    """Read rows in bulk; ValueError if any line needs the strict parser."""
    matches = [_LINE.fullmatch(text) for text in texts]
    label_parts: list[str] = []
    feature_parts: list[str] = []
    for match in matches:
        if match is None:
            raise ValueError("malformed line")
        label_parts.append(match[1] or "")
        feature_parts.append(match[2])
    label_counts = np.array(
        [part.count(",") + 1 if part else 0 for part in label_parts], dtype=np.int64
    )
    label_tokens = ",".join(filter(None, label_parts)).replace(",", " ").split()
    labels = np.fromiter(map(int, label_tokens), np.int64, len(label_tokens))
    feature_counts = np.array([part.count(":") for part in feature_parts], dtype=np.int64)
    tokens = " ".join(feature_parts).replace(":", " ").split()
    features = np.fromiter(map(int, tokens[::2]), np.int64, len(tokens) // 2)
    values = parse_numbers(tokens[1::2], allow_missing=False)
    rows = _Rows(
        labels, label_counts, features, feature_counts, values, np.array(numbers, np.int64)
    )
    if not _is_ascending(features, feature_counts):
        raise ValueError("feature indices out of order")
    row_of = np.repeat(np.arange(len(texts)), label_counts)
    order = np.lexsort((labels, row_of))
    if not _is_ascending(labels[order], label_counts):
        raise ValueError("repeated label")
    return rows


def _is_ascending(indices: NDArray[np.int64], counts: NDArray[np.int64]) -> bool:
    """Whether indices ascend strictly within every row."""
    ascending = np.diff(indices, prepend=-1) > 0
    starts = np.cumsum(counts) - counts
    ascending[starts[counts > 0]] = True
    return bool(ascending.all())


def _strict_rows(texts: list[str], numbers: list[int], skipped: SkippedLines) -> _Rows:
    """Read row by row, and raise at or skip malformed lines."""
    labels: list[list[int]] = []
    features: list[list[int]] = []
    values: list[float] = []
    kept: list[int] = []
    for text, number in zip(texts, numbers, strict=True):
        try:
            row_labels, row_features, row_values = _parse_row(text)
        except RowError as error:
            skipped.report(str(error), number)
            continue
        labels.append(row_labels)
        features.append(row_features)
        values.extend(row_values)
        kept.append(number)
    return _Rows(
        np.array([label for row in labels for label in row], dtype=np.int64),
        np.array([len(row) for row in labels], dtype=np.int64),
        np.array([feature for row in features for feature in row], dtype=np.int64),
        np.array([len(row) for row in features], dtype=np.int64),
        np.array(values, dtype=np.float64),
        np.array(kept, dtype=np.int64),
    )


def _parse_row(text: str) -> tuple[list[int], list[int], list[float]]:
    """Return labels, feature indices and values of one line."""
    parts = text.split()
    labels: list[int] = []
    if ":" not in parts[0]:
        labels = [_parse_index(part, "a label") for part in parts.pop(0).split(",")]
    if len(set(labels)) != len(labels):
        raise RowError(f"expected every label once, got {shown(text.split()[0])}")
    features: list[int] = []
    values: list[float] = []
    for part in parts:
        index, colon, value = part.partition(":")
        if index == "qid":
            raise RowError("query ids are not supported; remove 'qid:...'")
        if not colon:
            raise RowError(f"expected index:value, got {shown(part)}")
        feature = _parse_index(index, "a feature index")
        if features and feature <= features[-1]:
            raise RowError(
                f"expected ascending feature indices, got {feature} after {features[-1]}"
            )
        features.append(feature)
        values.append(parse_number(value))
    return labels, features, values


def _parse_index(text: str, what: str) -> int:
    if not _INTEGER.fullmatch(text) or int(text) >= _MAX_INDEX:
        raise RowError(f"expected {what}, an integer from 0 below {_MAX_INDEX}, got {shown(text)}")
    return int(text)
