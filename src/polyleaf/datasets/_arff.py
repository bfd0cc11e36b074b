"""Read ARFF files into one table of numbers and codes; what is an output is decided elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.datasets._arff_rows import read_rows
from polyleaf.datasets._encoders import (
    Encoder,
    HierarchyEncoder,
    LevelEncoder,
    NumberEncoder,
    TextEncoder,
)
from polyleaf.datasets._files import DataFormatError, FilePath, OnError, SkippedLines, read_lines
from polyleaf.datasets._tokens import RowError, next_value, shown, split_values, unescape

Kind = Literal["numeric", "nominal", "string", "hierarchical"]

_DECLARATION = re.compile(r"@(\w+)\s*(.*)", re.DOTALL)
_PLAIN_NAME = re.compile(r"""(?!['"])(?:\\.|[^\s{}\\])++""")
_NUMERIC_TYPES = {"numeric", "real", "integer"}
_REFUSED_TYPES = {
    "date": "convert dates to numbers first",
    "relational": "flatten it into plain attributes first",
}


@dataclass(frozen=True)
class Attribute:
    """A column of an ARFF file.

    Parameters
    ----------
    name : str
        Its name, quotes and escapes resolved.
    kind : {"numeric", "nominal", "string", "hierarchical"}
        What its values are.
    levels : tuple of str
        The declared levels of a nominal attribute, or what declares a hierarchical one.
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()

    @property
    def is_binary(self) -> bool:
        """Whether the levels are 0 and 1, in any order."""
        return self.kind == "nominal" and set(self.levels) <= {"0", "1"}

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers as they stand."""
        return self.kind == "numeric" or self.is_binary

    def make_encoder(self) -> Encoder:
        """Return a fresh encoder for the values."""
        if self.kind == "numeric":
            return NumberEncoder()
        if self.kind == "nominal":
            return LevelEncoder(self.levels)
        return HierarchyEncoder(self.levels) if self.kind == "hierarchical" else TextEncoder()


@dataclass(frozen=True, eq=False)
class ArffTable:
    """The content of an ARFF file.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    relation : str
        Its relation name, options included.
    attributes : list of Attribute, length m
        The columns.
    encoders : list of Encoder, length m
        What turned the values into numbers.
    values : ndarray of shape (n, m), or csr_array if all rows are sparse, float64
        Numbers, or codes of levels and texts; NaN is missing.
    n_skipped : int
        Malformed lines skipped.
    """

    path: FilePath
    relation: str
    attributes: list[Attribute]
    encoders: list[Encoder]
    values: NDArray[np.float64] | sparse.csr_array
    n_skipped: int

    def index_of(self, targets: Sequence[str | int]) -> list[int]:
        """Return the column indices of attributes given by name or index."""
        by_name = {attribute.name: idx for idx, attribute in enumerate(self.attributes)}
        found: list[int] = []
        for target in targets:
            idx = by_name.get(target) if isinstance(target, str) else int(target)
            if idx is None or not -len(by_name) <= idx < len(by_name):
                known = ", ".join(map(repr, list(by_name)[-5:]))
                raise ValueError(
                    f"targets must be attribute names of {self.path} (such as {known}) or "
                    f"indices below {len(by_name)}; got {target!r}."
                )
            found.append(idx % len(by_name))
        if len(set(found)) != len(found):
            raise ValueError(f"targets must be distinct; got {list(targets)!r}.")
        return found


def read_arff(path: FilePath, on_error: OnError) -> ArffTable:
    """Read an ARFF file, dense or sparse, plain or compressed."""
    skipped = SkippedLines(path, on_error)
    lines = read_lines(path)
    relation, attributes, n_header = read_header(lines, path)
    encoders = [attribute.make_encoder() for attribute in attributes]
    values = read_rows(lines, n_header, encoders, skipped)
    skipped.warn(stacklevel=4)  # this function, its reader, the user
    if values.shape[0] == 0:
        raise DataFormatError("expected at least one row after @data, got none", path=path)
    return ArffTable(path, relation, attributes, encoders, values, skipped.count)


def read_header(lines: list[str], path: FilePath) -> tuple[str, list[Attribute], int]:
    """Return relation name, attributes and the number of header lines."""
    relation = ""
    attributes: list[Attribute] = []
    names: set[str] = set()
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        try:
            keyword, rest = _declaration(text)
            if keyword == "data":
                break
            if keyword == "relation":
                relation = _relation_name(rest)
                continue
            attribute = _attribute(rest)
            if attribute.name in names:
                raise RowError(f"expected distinct attribute names, got {attribute.name!r} again")
        except RowError as error:
            raise DataFormatError(str(error), path=path, line=number) from None
        names.add(attribute.name)
        attributes.append(attribute)
    else:
        raise DataFormatError("expected a line @data after the header, found none", path=path)
    if not attributes:
        raise DataFormatError("expected @attribute lines before @data, got none", path=path)
    return relation, attributes, number


def _declaration(text: str) -> tuple[str, str]:
    match = _DECLARATION.fullmatch(text)
    keyword = match[1].lower() if match else ""
    if match is None or keyword not in ("relation", "attribute", "data"):
        raise RowError(f"expected @relation, @attribute or @data, got {shown(text)}")
    return keyword, match[2]


def _relation_name(text: str) -> str:
    if text.startswith(("'", '"')):
        return next_value(text, 0)[0].text
    return unescape(text, quoted=False)


def _attribute(text: str) -> Attribute:
    """Read the name and the type of an attribute."""
    if text.startswith(("'", '"')):
        token, pos = next_value(text, 0)
        name = token.text
    else:
        match = _PLAIN_NAME.match(text)
        if match is None:
            raise RowError(f"expected an attribute name and a type, got {shown(text)}")
        name, pos = unescape(match[0], quoted=False), match.end()
    type_text = text[pos:].strip()
    if type_text.startswith("{"):
        return Attribute(name, "nominal", _levels(type_text, name))
    keyword = re.split(r"\W", type_text, maxsplit=1)[0].lower()
    rest = type_text[len(keyword) :].strip()
    if keyword == "hierarchical":
        return Attribute(name, "hierarchical", _classes(rest))
    if keyword in _REFUSED_TYPES:
        raise RowError(
            f"attribute {name!r} has type {keyword}, which is not supported; "
            f"{_REFUSED_TYPES[keyword]}"
        )
    if not rest or rest.startswith("%"):
        if keyword in _NUMERIC_TYPES:
            return Attribute(name, "numeric")
        if keyword == "string":
            return Attribute(name, "string")
    raise RowError(
        f"expected numeric, real, integer, string, hierarchical or {{levels}} as the type of "
        f"attribute {name!r}, got {shown(type_text)}"
    )


def _levels(text: str, name: str) -> tuple[str, ...]:
    tokens, end = split_values(text, 1, closer="}")
    levels = tuple(token.text for token in tokens)
    rest = text[end:].strip()
    if rest and not rest.startswith("%"):
        raise RowError(f"expected the end of the line after '}}', got {shown(rest)}")
    if len(set(levels)) != len(levels) or any(not t.text and not t.quoted for t in tokens):
        raise RowError(f"expected distinct, non-empty levels of {name!r}, got {shown(text)}")
    return levels


def _classes(text: str) -> tuple[str, ...]:
    if not text:
        raise RowError("expected the classes of the hierarchy, separated by commas, got none")
    # Files in the wild end the list with a comma and repeat classes; neither is ambiguous.
    paths = [path.strip() for path in text.removesuffix(",").split(",")]
    HierarchyEncoder(paths)  # refuses what is no hierarchy, at its line
    return tuple(paths)
