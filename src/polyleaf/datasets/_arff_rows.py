"""Parse the rows of an ARFF file: whole blocks at once, and line by line where that fails."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import compress

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.datasets._encoders import Encoder
from polyleaf.datasets._files import SkippedLines
from polyleaf.datasets._tokens import RowError, Token, next_value, shown, split_values

_BLOCK_VALUES = 1_000_000  # values held as Python strings at a time
_NEEDS_CARE = re.compile(r"""['"\\%{}]""")
# Without re.ASCII, \s is what str.split takes for white space: the quick parser relies on it.
_ENTRY = r"[ \t]*+[0-9]{1,9}+[ \t]++[^\s,{}'\"\\%]++[ \t]*+"
_SPARSE_LINE = re.compile(rf"\{{(?:{_ENTRY}(?:,{_ENTRY})*+|[ \t]*+)\}}")
_INDEX = re.compile(r"\s*+(\d++)(?:\s++|$)", re.ASCII)
_WEIGHT = re.compile(r",\s*+\{[^{}]*+\}$")
_NO_WEIGHTS = "instance weights are not supported; remove the weight {...} at the end of the line"

Block = NDArray[np.float64] | sparse.csr_array
SparseRow = tuple[list[int], list[float]]


def read_rows(
    lines: list[str], start: int, encoders: list[Encoder], skipped: SkippedLines
) -> Block:
    """Return the rows of ``lines[start:]`` as numbers and codes.

    Returns
    -------
    values : ndarray of shape (n, m), or csr_array of that shape if every row is sparse, float64
    """
    rows: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(lines[start:], start=start + 1):
        row = line.strip()
        if row and not row.startswith("%"):
            rows.append(row)
            numbers.append(number)
    n_rows = max(1, _BLOCK_VALUES // len(encoders))
    blocks = [
        _read_block(rows[i : i + n_rows], numbers[i : i + n_rows], encoders, skipped)
        for i in range(0, len(rows), n_rows)
    ]
    return _stack(blocks, len(encoders))


def _stack(blocks: list[Block], n_columns: int) -> Block:
    """Stack blocks; the result is sparse only if all of them are."""
    blocks = [block for block in blocks if block.shape[0]]
    if not blocks:
        return np.empty((0, n_columns))
    sparse_blocks = [block for block in blocks if isinstance(block, sparse.csr_array)]
    if len(sparse_blocks) == len(blocks):
        stacked = sparse.csr_array(sparse.vstack(sparse_blocks, format="csr"))
        stacked.eliminate_zeros()
        return stacked
    return np.vstack([b.toarray() if isinstance(b, sparse.csr_array) else b for b in blocks])


def _read_block(
    rows: list[str], numbers: list[int], encoders: list[Encoder], skipped: SkippedLines
) -> Block:
    quick = _quick_sparse if rows[0].startswith("{") else _quick_dense
    with suppress(ValueError):
        return quick(rows, encoders)
    return _strict_rows(rows, numbers, encoders, skipped)


def _quick_dense(rows: list[str], encoders: list[Encoder]) -> NDArray[np.float64]:
    """Encode dense rows column by column; ValueError if any line needs the strict parser."""
    m = len(encoders)
    if any(row.count(",") != m - 1 for row in rows):
        raise ValueError("wrong number of values")
    text = ",".join(rows)
    if _NEEDS_CARE.search(text):
        raise ValueError("quotes, escapes, comments or braces")
    tokens = text.split(",")
    values = np.empty((len(rows), m))
    for idx, encoder in enumerate(encoders):
        values[:, idx] = encoder.encode_many(tokens[idx::m])
    return values


def _quick_sparse(rows: list[str], encoders: list[Encoder]) -> sparse.csr_array:
    """Encode sparse rows in bulk; ValueError if any line needs the strict parser."""
    if any(_SPARSE_LINE.fullmatch(row) is None for row in rows):
        raise ValueError("malformed or quoted entries")
    # Every row now holds pairs of an index and a value, so that tokens alternate.
    contents = [row[1:-1] for row in rows]
    counts = [content.count(",") + 1 if content.strip() else 0 for content in contents]
    tokens = " ".join(contents).replace(",", " ").split()
    columns = np.fromiter(map(int, tokens[::2]), np.int64, len(tokens) // 2)
    indptr = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    ascending = np.diff(columns, prepend=-1) > 0
    ascending[indptr[:-1][np.asarray(counts) > 0]] = True
    if not ascending.all() or (columns.size and columns.max() >= len(encoders)):
        raise ValueError("indices out of order or out of range")
    values = _encode_entries(columns, tokens[1::2], encoders)
    return sparse.csr_array((values, columns, indptr), shape=(len(rows), len(encoders)))


def _encode_entries(
    columns: NDArray[np.int64], texts: list[str], encoders: list[Encoder]
) -> NDArray[np.float64]:
    """Encode the values of sparse rows, all entries of equal encoders at once."""
    keys: dict[object, int] = {}
    group_of = np.array([keys.setdefault(e.key, len(keys)) for e in encoders])
    if len(keys) == 1:
        return encoders[0].encode_many(texts)
    values = np.empty(len(texts))
    groups = group_of[columns]
    for group in np.unique(groups):
        member = groups == group
        encoder = encoders[int(np.argmax(group_of == group))]
        values[member] = encoder.encode_many(list(compress(texts, member.tolist())))
    return values


def _strict_rows(
    rows: list[str], numbers: list[int], encoders: list[Encoder], skipped: SkippedLines
) -> Block:
    """Encode row by row, and raise at or skip malformed lines."""
    parsed: list[list[float] | SparseRow] = []
    for row, number in zip(rows, numbers, strict=True):
        try:
            is_sparse = row.startswith("{")
            parsed.append(
                _parse_sparse(row, encoders) if is_sparse else _parse_dense(row, encoders)
            )
        except RowError as error:
            skipped.report(str(error), number)
    if all(isinstance(row, tuple) for row in parsed):
        return _to_csr([row for row in parsed if isinstance(row, tuple)], len(encoders))
    values = np.zeros((len(parsed), len(encoders)))
    for idx, parsed_row in enumerate(parsed):
        if isinstance(parsed_row, tuple):
            values[idx, parsed_row[0]] = parsed_row[1]
        else:
            values[idx] = parsed_row
    return values


def _to_csr(rows: list[SparseRow], n_columns: int) -> sparse.csr_array:
    indptr = np.concatenate(([0], np.cumsum([len(row[0]) for row in rows], dtype=np.int64)))
    columns = np.array([idx for row in rows for idx in row[0]], dtype=np.int64)
    values = np.array([value for row in rows for value in row[1]], dtype=np.float64)
    return sparse.csr_array((values, columns, indptr), shape=(len(rows), n_columns))


def _parse_dense(row: str, encoders: list[Encoder]) -> list[float]:
    if row.endswith("}") and _WEIGHT.search(row):
        raise RowError(_NO_WEIGHTS)
    tokens, _ = split_values(row)
    if len(tokens) != len(encoders):
        raise RowError(f"expected {len(encoders)} values, one per attribute, got {len(tokens)}")
    for position, token in enumerate(tokens):
        if not token.text and not token.quoted:
            raise RowError(f"expected a value at position {position + 1}, got nothing")
    return [encoder.encode(token) for encoder, token in zip(encoders, tokens, strict=True)]


def _parse_sparse(row: str, encoders: list[Encoder]) -> SparseRow:
    columns: list[int] = []
    values: list[float] = []
    pos = 1
    if not row[1:].lstrip().startswith("}"):
        end = ","
        while end == ",":
            column, token, pos = _parse_entry(row, pos, len(encoders))
            if columns and column <= columns[-1]:
                problem = "repeated" if column == columns[-1] else "out of order"
                raise RowError(f"expected ascending attribute indices, got {column} {problem}")
            columns.append(column)
            values.append(encoders[column].encode(token))
            end = row[pos : pos + 1]
            pos += 1
        if end != "}":
            raise RowError(f"expected '}}' or a comma after an entry, got {shown(row[pos - 1 :])}")
    else:
        pos = row.index("}") + 1
    rest = row[pos:].strip()
    if _WEIGHT.fullmatch(rest):
        raise RowError(_NO_WEIGHTS)
    if rest and not rest.startswith("%"):
        raise RowError(f"expected the end of the line after '}}', got {shown(rest)}")
    return columns, values


def _parse_entry(row: str, pos: int, n_columns: int) -> tuple[int, Token, int]:
    """Read ``index value`` at `pos`; return index, value and the position after them."""
    match = _INDEX.match(row, pos)
    if match is None or len(match[1]) > 9:
        raise RowError(f"expected entries 'index value' within {{...}}, got {shown(row[pos:])}")
    column = int(match[1])
    if column >= n_columns:
        raise RowError(f"expected attribute indices from 0 to {n_columns - 1}, got {column}")
    token, pos = next_value(row, match.end())
    if not token.text and not token.quoted:
        raise RowError(f"expected a value for attribute {column}, got nothing")
    return column, token, pos
