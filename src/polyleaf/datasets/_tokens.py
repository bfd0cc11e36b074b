"""Split lines into values and turn values into numbers, strictly and with reasons."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# A quoted value, or an unquoted one that reaches to the next delimiter.
_VALUE = re.compile(
    r"""\s*+(?:'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)"|((?!['"])[^,{}%]*+))\s*+"""
)
_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?", re.ASCII)
_NUMBER_BYTES = b"0123456789+-.eE?, \t"
_MISPLACED_MARK = re.compile(r"[^,]\?|\?[^,]")
_QUOTED_ESCAPE = re.compile(r"""\\([\\'"%tnr])""")
_PLAIN_ESCAPE = re.compile(r"""\\([\\'"%])""")
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r"}
_SHOWN = 40


class RowError(Exception):
    """Says why one line is malformed; the caller knows file and line number."""


class Token(NamedTuple):
    """A value of a line; a quoted question mark is a value, an unquoted one is missing."""

    text: str
    quoted: bool

    @property
    def is_missing(self) -> bool:
        """Whether this is the mark of a missing value."""
        return self.text == "?" and not self.quoted


def shown(text: str) -> str:
    """Return `text` quoted for a message, shortened if long."""
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")


def unescape(text: str, *, quoted: bool) -> str:
    r"""Resolve backslash escapes; outside quotes ``\t`` and the like are left as they are."""
    if "\\" not in text:
        return text
    escape = _QUOTED_ESCAPE if quoted else _PLAIN_ESCAPE
    return escape.sub(lambda match: _ESCAPED.get(match[1], match[1]), text)


def next_value(text: str, pos: int) -> tuple[Token, int]:
    """Read the value at `pos`; return it and the position of the delimiter after it."""
    match = _VALUE.match(text, pos)
    if match is None:
        raise RowError(f"expected a closing quote, got {shown(text[pos:].strip())}")
    single, double, plain = match.groups()
    if plain is not None:
        return Token(unescape(plain.rstrip(), quoted=False), quoted=False), match.end()
    return Token(unescape(double if single is None else single, quoted=True), True), match.end()


def split_values(text: str, pos: int = 0, *, closer: str = "") -> tuple[list[Token], int]:
    """Split comma-separated values up to `closer`, a comment or the end of the line.

    Returns
    -------
    tokens : list of Token
    pos : int
        The position after `closer`.
    """
    tokens: list[Token] = []
    while True:
        token, pos = next_value(text, pos)
        tokens.append(token)
        end = text[pos : pos + 1]
        if end == "," and closer != ",":
            pos += 1
        elif (end == closer and closer) or (not closer and end in ("", "%")):
            return tokens, pos + 1
        elif closer and end in ("", "%"):
            raise RowError(f"expected {closer!r} at the end of the list, got the end of the line")
        else:
            raise RowError(f"expected a comma or the end of the line, got {shown(text[pos:])}")


def parse_number(text: str) -> float:
    """Return a finite decimal number, or raise `RowError`."""
    if not _NUMBER.fullmatch(text):
        hint = "; write ? for a missing value" if text.lower() in ("", "nan", "na", "null") else ""
        raise RowError(f"expected a number, got {shown(text)}{hint}")
    number = float(text)
    if math.isinf(number):
        raise RowError(f"expected a number within the range of float64, got {shown(text)}")
    return number


def parse_numbers(texts: list[str], *, allow_missing: bool = True) -> NDArray[np.float64]:
    """Return many numbers at once, NaN for ``?``.

    Raises ValueError where `parse_number` would have raised for one of them: float() alone
    would let through words such as ``nan`` or ``1_000``.
    """
    joined = ",".join(texts)
    if not joined.isascii() or joined.encode().translate(None, _NUMBER_BYTES):
        raise ValueError("not a number")
    if "?" in joined:
        texts = [text.strip() for text in texts]
        if not allow_missing or _MISPLACED_MARK.search(",".join(texts)):
            raise ValueError("misplaced ?")
        texts = ["nan" if text == "?" else text for text in texts]
    numbers = np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
    if np.isinf(numbers).any():
        raise ValueError("out of range")
    return numbers
