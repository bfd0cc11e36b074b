"""Turn the values of one ARFF attribute into float64 numbers or codes, and back.

A nominal value is stored as the index of its level. The value that a sparse row omits is the
number 0, so that it is the first declared level for a nominal attribute.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polyleaf.datasets._tokens import RowError, Token, parse_number, parse_numbers, shown

_MAX_DEPTH = 64  # levels of a class hierarchy; bounds the work on a hostile path


class Encoder(Protocol):
    """Encodes the values of one attribute: strictly one by one, or quickly many at once."""

    @property
    def key(self) -> object:
        """Equal for attributes whose values are encoded alike, so that they can be pooled."""

    def encode(self, token: Token) -> float:
        """Return the number for one value, or raise `RowError`."""

    def encode_many(self, texts: list[str]) -> NDArray[np.float64]:
        """Return the numbers of unquoted values; ValueError if one needs a closer look."""


class NumberEncoder:
    """Numeric attributes: the number itself."""

    @property
    def key(self) -> object:
        """All numeric attributes are alike."""
        return "numeric"

    def encode(self, token: Token) -> float:
        """Return the number, NaN if missing."""
        return math.nan if token.is_missing else parse_number(token.text.strip())

    def encode_many(self, texts: list[str]) -> NDArray[np.float64]:
        """Return the numbers, NaN where missing."""
        return parse_numbers(texts)


class LevelEncoder:
    """Nominal attributes: the index of the level.

    Parameters
    ----------
    levels : sequence of str
        The declared levels.
    """

    def __init__(self, levels: Sequence[str]) -> None:
        self._levels = tuple(levels)
        self._codes = {level: float(code) for code, level in enumerate(levels)}
        self._codes_or_missing = self._codes | {"?": math.nan}

    @property
    def key(self) -> object:
        """Attributes with the same levels in the same order are alike."""
        return self._levels

    def encode(self, token: Token) -> float:
        """Return the index of the level, NaN if missing."""
        if token.is_missing:
            return math.nan
        code = self._codes.get(token.text)
        if code is not None:
            return code
        levels = ", ".join(self._levels[:10]) + (", ..." if len(self._levels) > 10 else "")
        raise RowError(f"expected one of {{{levels}}}, got {shown(token.text)}")

    def encode_many(self, texts: list[str]) -> NDArray[np.float64]:
        """Return the indices of the levels, NaN where missing."""
        codes = self._codes_or_missing
        try:
            return np.fromiter(map(codes.__getitem__, texts), np.float64, len(texts))
        except KeyError:
            stripped = [text.strip() for text in texts]
        try:
            return np.fromiter(map(codes.__getitem__, stripped), np.float64, len(texts))
        except KeyError as error:
            raise ValueError("unknown level") from error


class TextEncoder:
    """String attributes: the index into the distinct texts met so far; index 0 is the empty text.

    Attributes
    ----------
    texts : list of str
        The distinct texts, by code.
    """

    def __init__(self) -> None:
        self._codes: dict[str, float] = {"": 0.0}

    @property
    def key(self) -> object:
        """Every string attribute has its own texts."""
        return id(self)

    @property
    def texts(self) -> list[str]:
        """The distinct texts, by code."""
        return list(self._codes)

    def encode(self, token: Token) -> float:
        """Return the index of the text, NaN if missing."""
        if token.is_missing:
            return math.nan
        if not token.text and not token.quoted:
            raise RowError("expected a value, got nothing")
        self.check(token.text)
        return self._codes.setdefault(token.text, float(len(self._codes)))

    def encode_many(self, texts: list[str]) -> NDArray[np.float64]:
        """Return the indices of the texts, NaN where missing."""
        try:
            codes = (self.encode(Token(text.strip(), quoted=False)) for text in texts)
            return np.fromiter(codes, np.float64, len(texts))
        except RowError as error:
            raise ValueError("malformed text") from error

    def check(self, text: str) -> None:
        """Raise `RowError` if the text is not allowed."""


class HierarchyEncoder(TextEncoder):
    """CLUS class attributes: sets of classes such as ``01/04@14/01`` in a declared hierarchy.

    A tree is declared by its paths (``01/04/02``), a directed acyclic graph by its edges, pairs of
    parent and child, of which some begin at ``root`` (``root/GO0003674,GO0003674/GO0003774``).

    Parameters
    ----------
    declared : sequence of str
        Paths or edges. Undeclared ancestors of a path are added before their first descendant.

    Attributes
    ----------
    labels : list of str
        All classes of the hierarchy, ancestors included; without ``root``.
    edges : ndarray of shape (m, 2), int64
        Pairs of parent and child, as positions in `labels`.
    """

    def __init__(self, declared: Sequence[str]) -> None:
        super().__init__()
        self._label_idx: dict[str, int] = {}
        #: The ancestors of each class and the class itself, as positions.
        self._with_ancestors: dict[str, frozenset[int]] = {}
        self._edges: dict[tuple[int, int], None] = {}
        paths = [self._parts(path) for path in declared]
        is_graph = all(len(path) == 2 for path in paths) and any(p[0] == "root" for p in paths)
        if is_graph:
            self._read_graph([(parent, child) for parent, child in paths])
        else:
            self._read_tree(paths)

    def _read_tree(self, paths: list[list[str]]) -> None:
        for parts in paths:
            above: frozenset[int] = frozenset()
            parent = -1
            for depth in range(1, len(parts) + 1):
                label = "/".join(parts[:depth])
                own = self._label_idx.setdefault(label, len(self._label_idx))
                if parent >= 0:
                    self._edges[parent, own] = None
                parent = own
                above |= {own}
                self._with_ancestors[label] = above

    def _read_graph(self, edges: list[tuple[str, str]]) -> None:
        parents: dict[str, list[str]] = {}
        for parent, child in edges:
            for label in (parent, child):
                if label != "root":
                    self._label_idx.setdefault(label, len(self._label_idx))
                    parents.setdefault(label, [])
            if parent != "root" and child != "root":
                parents[child].append(parent)
                self._edges[self._label_idx[parent], self._label_idx[child]] = None
        # Parents before their children; what is left over lies on a cycle.
        waiting = {label: len(above) for label, above in parents.items()}
        children: dict[str, list[str]] = {label: [] for label in parents}
        for child, above in parents.items():
            for parent in above:
                children[parent].append(child)
        ready = [label for label, n in waiting.items() if n == 0]
        while ready:
            label = ready.pop()
            own = frozenset([self._label_idx[label]])
            inherited = [self._with_ancestors[parent] for parent in parents[label]]
            self._with_ancestors[label] = own.union(*inherited)
            for child in children[label]:
                waiting[child] -= 1
                if waiting[child] == 0:
                    ready.append(child)
        cyclic = [label for label in parents if label not in self._with_ancestors]
        if cyclic:
            raise RowError(
                f"expected a class graph without cycles, got one through {shown(cyclic[0])}"
            )

    @property
    def labels(self) -> list[str]:
        """All classes of the hierarchy, ancestors included."""
        return list(self._label_idx)

    @property
    def edges(self) -> NDArray[np.int64]:
        """Pairs of parent and child, of shape (m, 2)."""
        return np.array(list(self._edges), dtype=np.int64).reshape(-1, 2)

    def check(self, text: str) -> None:
        """Raise `RowError` unless every path is a class of the hierarchy."""
        for path in text.split("@"):
            if path.strip() not in self._label_idx:
                raise RowError(f"expected declared classes joined by '@', got {shown(path)}")

    def label_idx(self, text: str) -> list[int]:
        """Return the sorted indices of the classes in `text` and all their ancestors."""
        found: set[int] = set()
        for path in text.split("@") if text else ():
            found.update(self._with_ancestors[path.strip()])
        return sorted(found)

    @staticmethod
    def _parts(path: str) -> list[str]:
        """Return the names of a path."""
        parts = path.strip().split("/")
        if len(parts) > _MAX_DEPTH or not all(part.strip() for part in parts):
            raise RowError(
                f"expected a class path of at most {_MAX_DEPTH} names joined by '/', "
                f"got {shown(path)}"
            )
        return parts
