"""Read hierarchies of labels from files: ontologies in OBO, and plain lists of edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from polyleaf.datasets._files import MAX_BYTES, DataFormatError, FilePath, read_lines
from polyleaf.hierarchy import Hierarchy

#: Names by which edges say that a child has no parent among the labels.
_ROOT = "root"


def read_obo(
    path: FilePath,
    *,
    relationships: Sequence[str] = ("part_of",),
    max_bytes: int = MAX_BYTES,
) -> Hierarchy:
    """Read an ontology in OBO format, such as the Gene Ontology.

    Parents of a term are those that it names by ``is_a``, and by the relationships that are
    asked for. Obsolete terms are left out.

    Parameters
    ----------
    path : str or os.PathLike
        The OBO file; gzip, bzip2 and xz are decompressed.
    relationships : sequence of str, default=("part_of",)
        Other relationships that make a parent; none: ``is_a`` alone.
    max_bytes : int, default=2**30
        Most bytes that a compressed file may grow to; one that holds more is refused.

    Returns
    -------
    Hierarchy
        Over all terms, named by their identifiers. A classifier takes the part of it that the
        names of its outputs ask for; `Hierarchy.restrict` gives that part.

    Raises
    ------
    DataFormatError
        If the file is malformed, or its terms form a cycle.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from polyleaf.datasets import read_obo
    >>> path = Path(tempfile.mkdtemp()) / "toy.obo"
    >>> _ = path.write_text('''format-version: 1.2
    ...
    ... [Term]
    ... id: GO:1
    ... name: everything
    ...
    ... [Term]
    ... id: GO:2
    ... is_a: GO:1 ! everything
    ...
    ... [Term]
    ... id: GO:3
    ... relationship: part_of GO:2
    ... ''')
    >>> ontology = read_obo(path)
    >>> ontology.names, ontology.edges.tolist()
    (('GO:1', 'GO:2', 'GO:3'), [[0, 1], [1, 2]])
    """
    wanted = {relationships} if isinstance(relationships, str) else set(relationships)
    parents: dict[str, list[tuple[str, int]]] = {}
    for term, above, is_obsolete, line in _terms(read_lines(path, max_bytes), wanted, path):
        if is_obsolete:
            continue
        if term in parents:
            raise DataFormatError(
                f"expected every term once, got {term!r:.60} again", path=path, line=line
            )
        parents[term] = above
    if not parents:
        raise DataFormatError("expected [Term] stanzas with an id, got none", path=path)
    place = {term: number for number, term in enumerate(parents)}
    edges = []
    for term, above in parents.items():
        for parent, line in above:
            if parent not in place:
                raise DataFormatError(
                    f"expected a term of the file as parent of {term!r:.60}, got {parent!r:.60}",
                    path=path,
                    line=line,
                )
            edges.append((place[parent], place[term]))
    return _hierarchy(edges, list(place), path)


def _terms(
    lines: list[str], wanted: set[str], path: FilePath
) -> Iterator[tuple[str, list[tuple[str, int]], bool, int]]:
    """Yield the id of every term, its parents with their lines, whether it is obsolete, a line."""
    above: list[tuple[str, int]] = []
    term, is_obsolete, is_term, start = "", False, False, 0
    for number, line in enumerate([*lines, "[End]"], start=1):
        text = line.split("!", 1)[0].strip()
        if text.startswith("["):
            if is_term:
                if not term:
                    raise DataFormatError("expected an id in a [Term]", path=path, line=start)
                yield term, above, is_obsolete, start
            term, above, is_obsolete, is_term, start = "", [], False, text == "[Term]", number
            continue
        key, _, value = (part.strip() for part in text.partition(":"))
        value = value.split("{", 1)[0].strip()  # trailing qualifiers
        if key == "id":
            term = value
        elif key == "is_a" and value:
            above.append((value, number))
        elif key == "relationship":
            kind, _, parent = value.partition(" ")
            if kind in wanted and parent.strip():
                above.append((parent.strip(), number))
        elif key == "is_obsolete":
            is_obsolete = value == "true"


def read_edges(
    path: FilePath, *, separator: str | None = None, max_bytes: int = MAX_BYTES
) -> Hierarchy:
    r"""Read a hierarchy from a file with one edge per line, parent first.

    Empty lines and what follows ``#`` are left out. A line with one name is a label without
    parents; so is the child of ``root``, which is no label itself.

    Parameters
    ----------
    path : str or os.PathLike
        The file; gzip, bzip2 and xz are decompressed.
    separator : str or None, default=None
        What stands between parent and child; None: a tab, a comma, or blanks, whichever the line
        has first in this order.
    max_bytes : int, default=2**30
        Most bytes that a compressed file may grow to; one that holds more is refused.

    Returns
    -------
    Hierarchy
        Named by the labels, in the order in which they come.

    Raises
    ------
    DataFormatError
        If a line is no edge, or the edges form a cycle.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from polyleaf.datasets import read_edges
    >>> path = Path(tempfile.mkdtemp()) / "toy.edges"
    >>> _ = path.write_text("root animal\nanimal cat\nanimal dog\n")
    >>> animals = read_edges(path)
    >>> animals.names, animals.edges.tolist()
    (('animal', 'cat', 'dog'), [[0, 1], [0, 2]])
    """
    if separator is not None and (not isinstance(separator, str) or not separator):
        raise ValueError(f"separator must be None or a text; got {separator!r:.60}.")
    place: dict[str, int] = {}
    edges = []
    for number, line in enumerate(read_lines(path, max_bytes), start=1):
        text = line.split("#", 1)[0].strip()
        if not text:
            continue
        names = [name.strip() for name in _parts(text, separator)]
        if len(names) > 2 or not all(names):
            raise DataFormatError(
                f"expected the names of a parent and a child, got {text!r:.60}; give "
                "separator=, if they are separated otherwise",
                path=path,
                line=number,
            )
        ends = [place.setdefault(name, len(place)) for name in names if name != _ROOT]
        if len(names) == 2 and names[1] == _ROOT:
            raise DataFormatError(
                f"expected {_ROOT!r} as parent only, got it as child", path=path, line=number
            )
        if len(ends) == 2:
            edges.append((ends[0], ends[1]))
    if not place:
        raise DataFormatError("expected at least one edge, got none", path=path)
    return _hierarchy(edges, list(place), path)


def _parts(text: str, separator: str | None) -> list[str]:
    if separator is None:
        separator = next((mark for mark in ("\t", ",") if mark in text), None)
    return text.split(separator)


def _hierarchy(edges: list[tuple[int, int]], names: list[str], path: FilePath) -> Hierarchy:
    try:
        pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
        return Hierarchy(pairs, len(names), tuple(names))
    except ValueError as error:
        raise DataFormatError(f"expected a hierarchy. {error}", path=path) from error
