"""Decode the numeric matrices of a MATLAB file of level 5 (versions 5 to 7.2).

SciPy's reader is not used: it looks up type codes of the file in a C table without a check, so
that one damaged byte can end the interpreter. Only plain and sparse real matrices are decoded,
every length is checked, and cells, structures, texts and objects are never touched.

A file is a header of 128 bytes and elements: a tag (type code, length), then the bytes, padded to
a multiple of 8. A matrix is an element of elements: flags, dimensions, name, and its numbers; or
for a sparse one row indices, column starts, and its numbers.
"""

from __future__ import annotations

import math
import struct
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.datasets._files import MAX_BYTES, DataFormatError, FilePath, read_bytes, too_large

ByteOrder = Literal["<", ">"]

_HEADER_SIZE = 128
_BYTE_ORDERS: dict[bytes, ByteOrder] = {b"IM": "<", b"MI": ">"}
_MATRIX, _COMPRESSED, _INT32 = 14, 15, 5
_NUMBER_TYPES = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
_SPARSE_CLASS = 5
_NUMBER_CLASSES = range(6, 16)
_COMPLEX_FLAG = 0x800
_MAX_ROWS = 10**8  # of a sparse matrix; a damaged number must not ask for all memory
_OTHER_CLASSES = {1: "a cell array", 2: "a structure", 3: "an object", 4: "a text"}


class _DamagedError(Exception):
    """Says what is wrong; the caller knows the file."""


class _TooLargeError(Exception):
    """The matrices hold more bytes than may be decompressed."""


@dataclass
class _Elements:
    """Reads one element after the other."""

    data: bytes
    order: ByteOrder
    pos: int = 0

    def next(self, *, padded: bool = True) -> tuple[int, bytes]:
        """Return the type code and the bytes of the next element."""
        tag = self._take(8)
        (code,) = struct.unpack(self.order + "I", tag[:4])
        if code >> 16:  # up to four bytes are stored within the tag
            size = code >> 16
            if size > 4:
                raise _DamagedError(f"expected at most 4 bytes in a small element, got {size}")
            return code & 0xFFFF, tag[4 : 4 + size]
        (size,) = struct.unpack(self.order + "I", tag[4:])
        content = self._take(size)
        if padded:
            self.pos = min(len(self.data), self.pos + -size % 8)
        return code, content

    def next_numbers(self, expected: int | None = None) -> NDArray[Any]:
        """Return the next element as a flat array of numbers, `expected` of them if given."""
        code, content = self.next()
        if code not in _NUMBER_TYPES:
            raise _DamagedError(f"expected numbers, got an element of type {code}")
        dtype = np.dtype(_NUMBER_TYPES[code]).newbyteorder(self.order)
        if len(content) % dtype.itemsize:
            raise _DamagedError(f"expected a whole number of {dtype}, got {len(content)} bytes")
        numbers = np.frombuffer(content, dtype=dtype)
        if expected is not None and len(numbers) != expected:
            raise _DamagedError(f"expected {expected} numbers, got {len(numbers)}")
        return numbers.astype(dtype.newbyteorder("="))

    def _take(self, size: int) -> bytes:
        content = self.data[self.pos : self.pos + size]
        if len(content) < size:
            raise _DamagedError(f"expected {size} more bytes, got the end after {len(content)}")
        self.pos += size
        return content

    @property
    def at_end(self) -> bool:
        return self.pos >= len(self.data)


def read_matrices(path: FilePath, names: dict[str, str], max_bytes: int = MAX_BYTES) -> list[Any]:
    """Return numeric matrices of a MATLAB file.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    names : dict of str to str
        The names of the matrices wanted, and the parameter that gave each.
    max_bytes : int
        Most bytes that compressed matrices may grow to in all.

    Returns
    -------
    matrices : list of ndarray of shape (rows, columns) or csr_array
    """
    raw = read_bytes(path, max_bytes)
    found: dict[str, Any] = {}
    try:
        for name, elements, flags in _iterate_matrices(raw, _byte_order(raw), max_bytes):
            found[name] = _decode(elements, flags, name) if name in names else None
    except _TooLargeError:
        raise too_large(max_bytes, path) from None
    except (_DamagedError, zlib.error, struct.error) as error:
        raise DataFormatError(f"the MATLAB file is damaged: {error}", path=path) from None
    for name, parameter in names.items():
        if name not in found:
            known = ", ".join(map(repr, found)) or "none"
            raise DataFormatError(
                f"expected a matrix {name!r}, found {known}; pass {parameter}=", path=path
            )
        if isinstance(found[name], str):
            raise DataFormatError(
                f"expected {name!r} to be a matrix of real numbers, got {found[name]}; cells, "
                "structures, texts and objects are refused",
                path=path,
            )
    return [found[name] for name in names]


def _byte_order(raw: bytes) -> ByteOrder:
    """Return the byte order, after a look at the header."""
    order = _BYTE_ORDERS.get(raw[126:_HEADER_SIZE])
    if order is None:
        raise _DamagedError("expected a header of level 5 (save it with -v7), got another")
    (version,) = struct.unpack(order + "H", raw[124:126])
    if version != 0x0100:
        raise _DamagedError(
            f"expected version 5 to 7.2, got version code {version:#06x}; save it with -v7"
        )
    return order


def _iterate_matrices(
    raw: bytes, order: ByteOrder, max_bytes: int
) -> Iterator[tuple[str, _Elements, int]]:
    """Yield name, remaining elements and flags of every matrix."""
    n_left = max_bytes
    file = _Elements(raw, order, _HEADER_SIZE)
    while not file.at_end:
        code, content = file.next(padded=False)
        if code == _COMPRESSED:
            content = _decompress(content, n_left)
            n_left -= len(content)
            code, content = _Elements(content, order).next()
        if code != _MATRIX:
            raise _DamagedError(f"expected a matrix, got an element of type {code}")
        elements = _Elements(content, order)
        _, flag_bytes = elements.next()
        flags, _ = struct.unpack(order + "II", flag_bytes)
        if flags & 0xFF == 17:  # opaque objects have neither dimensions nor a name here
            continue
        yield *_name_first(elements), flags


def _decompress(content: bytes, max_bytes: int) -> bytes:
    stream = zlib.decompressobj()
    # At least one byte: no bound at all is what zlib takes 0 for.
    decompressed = stream.decompress(content, min(max_bytes + 1, sys.maxsize))
    if len(decompressed) > max_bytes:
        raise _TooLargeError
    if not stream.eof:
        raise _DamagedError("expected a complete compressed matrix, got the end of the data")
    return decompressed


def _name_first(elements: _Elements) -> tuple[str, _Elements]:
    """Return the name of a matrix, and its elements from the dimensions on."""
    start = elements.pos
    elements.next()
    _, name = elements.next()
    elements.pos = start
    return name.decode("latin-1"), elements


def _decode(elements: _Elements, flags: int, name: str) -> Any:
    """Return a matrix, or a text that says what it is instead."""
    kind = flags & 0xFF
    if kind != _SPARSE_CLASS and kind not in _NUMBER_CLASSES:
        return _OTHER_CLASSES.get(kind, f"class {kind}")
    if flags & _COMPLEX_FLAG:
        return "complex numbers"
    code, content = elements.next()
    if code != _INT32 or len(content) % 4:
        raise _DamagedError(f"expected the dimensions of {name!r}, got type {code}")
    shape = tuple(np.frombuffer(content, dtype=elements.order + "i4").tolist())
    elements.next()  # the name
    if len(shape) != 2 or min(shape) < 1:
        return f"shape {shape}"
    if kind == _SPARSE_CLASS:
        return _decode_sparse(elements, shape)
    return elements.next_numbers(math.prod(shape)).reshape(shape, order="F")


def _decode_sparse(elements: _Elements, shape: tuple[int, int]) -> sparse.csr_array:
    rows = elements.next_numbers()
    starts = elements.next_numbers(shape[1] + 1)
    n_entries = int(starts[-1])
    values = elements.next_numbers()
    is_valid = (
        shape[0] <= _MAX_ROWS
        and starts[0] == 0
        and (starts[1:] >= starts[:-1]).all()
        and n_entries <= min(len(rows), len(values))
        and ((rows[:n_entries] >= 0) & (rows[:n_entries] < shape[0])).all()
    )
    if not is_valid:
        raise _DamagedError("expected consistent indices of a sparse matrix, got others")
    matrix = sparse.csc_array(
        (values[:n_entries], rows[:n_entries].astype(np.int64), starts.astype(np.int64)),
        shape=shape,
    )
    return sparse.csr_array(matrix)
