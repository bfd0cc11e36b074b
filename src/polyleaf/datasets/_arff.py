"""Read ARFF files into one table of numbers and codes; what is an output is decided elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.spelling import nearest_names
from polyleaf.datasets._arff_rows import read_rows
from polyleaf.datasets._encoders import (
    Encoder,
    HierarchyEncoder,
    LevelEncoder,
    NumberEncoder,
    TextEncoder,
)
from polyleaf.datasets._files import (
    MAX_BYTES,
    DataFormatError,
    FilePath,
    OnError,
    SkippedLines,
    read_lines,
)
from polyleaf.datasets._tokens import RowError, next_value, shown, split_values, unescape

Kind = Literal["numeric", "nominal", "string", "hierarchical"]

_DECLARATION = re.compile(r"@(\w+)\s*(.*)", re.DOTALL)
# What most attributes of wide files are; the others take five times as long.
_PLAIN_NUMBER = re.compile(
    r"@attribute[ \t]+([\w.-]++)[ \t]+(?:numeric|real|integer)", re.ASCII | re.IGNORECASE
)
_PLAIN_NAME = re.compile(r"""(?!['"])(?:\\.|[^\s{}\\])++""")
_KEYWORD = re.compile(r"\w*+")
_NUMERIC_TYPES = {"numeric", "real", "integer"}
_REFUSED_TYPES = {
    "date": "convert dates to numbers first",
    "relational": "flatten it into plain attributes first",
}


class Attribute(NamedTuple):
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
                near = nearest_names([target], list(by_name)) if isinstance(target, str) else ""
                raise ValueError(
                    f"targets must be attribute names of {self.path} (such as {known}) or "
                    f"indices below {len(by_name)}; got {target!r}{near}."
                )
            found.append(idx % len(by_name))
        if len(set(found)) != len(found):
            raise ValueError(f"targets must be distinct; got {list(targets)!r}.")
        return found


@dataclass(frozen=True, eq=False)
class ArffHeader:
    """What stands above the rows of an ARFF file, and all its lines.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    relation : str
        Its relation name, options included.
    attributes : list of Attribute
        The columns.
    lines : list of str
        All lines of the file.
    n_lines : int
        How many of them are the header.
    """

    path: FilePath
    relation: str
    attributes: list[Attribute]
    lines: list[str]
    n_lines: int


def read_arff(header: ArffHeader, on_error: OnError) -> ArffTable:
    """Read the rows of an ARFF file, dense or sparse."""
    skipped = SkippedLines(header.path, on_error)
    encoders = _make_encoders(header.attributes)
    values = read_rows(header.lines, header.n_lines, encoders, skipped)
    skipped.warn(stacklevel=4)  # this function, its reader, the user
    if values.shape[0] == 0:
        raise DataFormatError("expected at least one row after @data, got none", path=header.path)
    return ArffTable(
        header.path, header.relation, header.attributes, encoders, values, skipped.count
    )


def _make_encoders(attributes: list[Attribute]) -> list[Encoder]:
    """Make one encoder per attribute; numeric ones, of which there may be millions, share one."""
    number = NumberEncoder()
    return [number if a.kind == "numeric" else a.make_encoder() for a in attributes]


def read_header(path: FilePath, max_bytes: int = MAX_BYTES) -> ArffHeader:
    """Read an ARFF file, plain or compressed, up to its rows."""
    lines = read_lines(path, max_bytes)
    relation = ""
    attributes: list[Attribute] = []
    names: set[str] = set()
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        plain = _PLAIN_NUMBER.fullmatch(text)
        try:
            keyword, rest = ("attribute", "") if plain else _declaration(text)
            if keyword == "data":
                break
            if keyword == "relation":
                relation = _relation_name(rest)
                continue
            attribute = Attribute(plain[1], "numeric") if plain else _attribute(rest)
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
    return ArffHeader(path, relation, attributes, lines, number)


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
    keyword = _KEYWORD.match(type_text)[0].lower()  # type: ignore[index]  # may be empty
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
