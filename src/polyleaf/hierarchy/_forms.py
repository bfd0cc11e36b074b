"""The forms in which people have hierarchies: parents, edges, paths and graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyleaf.checks.matrices import is_sparse
from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.hierarchy._hierarchy import Hierarchy, read_count, read_names

_EXPECTED = (
    "hierarchy must be the parent of each output (-1 for roots), a list of edges (parent, child), "
    "a path such as '01/04/02' for each output, a networkx.DiGraph or a Hierarchy"
)

#: Bounds the work on a hostile path.
_MOST_LEVELS = 1000


def as_hierarchy(
    given: Any, n_outputs: int | None = None, names: Sequence[str] | None = None
) -> Hierarchy:
    """Read a hierarchy over outputs.

    Parameters
    ----------
    given : Hierarchy, array-like of int, list of pairs, list of str or networkx.DiGraph
        The parent of each output (-1 for roots), of shape (d,); edges, parent first, of shape
        (m, 2), as numbers or names of outputs; a path such as ``"01/04/02"`` for each output; a
        graph with edges from parent to child; or a hierarchy, of which the outputs may be a part
        if both have names.
    n_outputs : int, optional
        d. Needed for edges without `names`.
    names : sequence of str, of length d, optional
        Names of the outputs, in their order. Paths that are these names may come in any order.

    Returns
    -------
    Hierarchy

    Raises
    ------
    ValueError, TypeError
        If it has another size, an unknown name, a cycle or a label that is its own parent.

    Examples
    --------
    >>> from polyleaf.hierarchy import as_hierarchy
    >>> as_hierarchy([-1, 0, 0, 1]).edges.tolist()
    [[0, 1], [0, 2], [1, 3]]
    >>> as_hierarchy([("animal", "cat")], names=["cat", "animal"]).edges.tolist()
    [[1, 0]]
    >>> as_hierarchy(["01", "01/04", "01/04/02", "14"]).depth
    array([0, 1, 2, 0])
    """
    outputs = None if names is None else read_names(names)
    if n_outputs is not None:
        n_outputs = read_count(n_outputs)
    if n_outputs is None and outputs is not None:
        n_outputs = len(outputs)
    if isinstance(given, Hierarchy):
        return _of_outputs(given, n_outputs, outputs)
    if hasattr(given, "edges") and hasattr(given, "nodes"):  # networkx
        return _from_graph(given, n_outputs, outputs)
    values = _listed(given)
    if not values:
        return Hierarchy([], _needed(n_outputs), outputs)  # type: ignore[arg-type]
    if all(isinstance(value, str) for value in values):
        return _from_paths(values, n_outputs, outputs)
    if all(_is_pair(value) for value in values):
        return _from_edges(values, n_outputs, outputs)
    if all(_is_whole(value) for value in values):
        return _from_parents(values, n_outputs, outputs)
    raise TypeError(f"{_EXPECTED}; got {shown(given, 80)}.")


def _listed(given: Any) -> list[Any]:
    """Give the entries of a sequence or array."""
    is_other = isinstance(given, str | bytes | Mapping) or is_sparse(given)
    if is_other or not hasattr(given, "__len__"):
        raise TypeError(f"{_EXPECTED}; got {shown(given, 80)}.")
    if hasattr(given, "tolist"):  # NumPy's arrays, pandas' series
        given = given.tolist()
    elif hasattr(given, "to_numpy"):  # frames with the columns parent and child
        given = given.to_numpy().tolist()
    try:
        values = list(given)
    except TypeError as error:
        raise TypeError(f"{_EXPECTED}; got {shown(given, 80)}.") from error
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in values]


def _is_pair(value: Any) -> bool:
    if not isinstance(value, list | tuple) or len(value) != 2:
        return False
    return all(_is_whole(end) or isinstance(end, str) for end in value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)


def _needed(n_outputs: int | None) -> int:
    if n_outputs is None:
        raise ValueError("Edges do not say how many outputs there are; give n_outputs or names.")
    return n_outputs


def _check_size(n_given: int, n_outputs: int | None, what: str) -> None:
    if n_outputs is not None and n_given != n_outputs:
        raise ValueError(
            f"hierarchy must have one {what} for each of the {n_outputs} outputs of y; got "
            f"{n_given}."
        )


def _of_outputs(
    given: Hierarchy, n_outputs: int | None, names: tuple[str, ...] | None
) -> Hierarchy:
    """Bring a hierarchy into the order of the outputs."""
    if n_outputs is None or (given.names is not None and given.names == names):
        return given
    if given.names is not None and names is not None:
        return given.restrict(names)
    if given.n_outputs != n_outputs:
        hint = (
            "Give fit output_names, or use Hierarchy.restrict(names)."
            if given.names is not None
            else "It must be made of the same outputs in the same order."
        )
        raise ValueError(
            f"hierarchy must be one of the {n_outputs} outputs of y; it has {given.n_outputs} "
            f"labels. {hint}"
        )
    return given if names is None else Hierarchy(given.edges, n_outputs, names, given.w0)


def _from_parents(
    parents: list[Any], n_outputs: int | None, names: tuple[str, ...] | None
) -> Hierarchy:
    _check_size(len(parents), n_outputs, "parent")
    d = len(parents)
    wrong = [(j, p) for j, p in enumerate(parents) if not -1 <= p < d]
    if wrong:
        raise ValueError(
            f"hierarchy must hold the parent of each output, from 0 to {d - 1}, or -1 for roots; "
            f"output {wrong[0][0]} has {wrong[0][1]}."
        )
    edges = [(parent, child) for child, parent in enumerate(parents) if parent >= 0]
    return Hierarchy(edges, d, names)  # type: ignore[arg-type]


def _from_edges(
    pairs: list[Any], n_outputs: int | None, names: tuple[str, ...] | None
) -> Hierarchy:
    d = _needed(n_outputs)
    place = {} if names is None else {name: number for number, name in enumerate(names)}
    edges = [tuple(_number_of(end, place, d) for end in pair) for pair in pairs]
    return Hierarchy(edges, d, names)  # type: ignore[arg-type]


def _number_of(end: Any, place: dict[str, int], n_outputs: int) -> int:
    """Find the output that an end of an edge means."""
    if isinstance(end, str):
        if end in place:
            return place[end]
        known = "have no names" if not place else "have other names"
        raise ValueError(
            f"hierarchy must have edges between outputs of y, which {known}; got {shown(end, 60)}."
            f"{did_you_mean(end, list(place)[:5000])} Name outputs by a frame or output_names of "
            "fit; leave out edges from a root that is no output."
        )
    if not 0 <= end < n_outputs:
        raise ValueError(
            f"hierarchy must have edges between the outputs 0 to {n_outputs - 1}; got {end}."
        )
    return int(end)


def _from_graph(graph: Any, n_outputs: int | None, names: tuple[str, ...] | None) -> Hierarchy:
    if not graph.is_directed():
        raise ValueError(
            "hierarchy must be a directed graph, with edges from parent to child; got a graph "
            "without directions. Use networkx.DiGraph."
        )
    nodes = list(graph.nodes)
    if n_outputs is None:
        are_numbers = all(_is_whole(node) for node in nodes)
        names = None if are_numbers else tuple(str(node) for node in nodes)
        n_outputs = len(nodes)
    pairs = [tuple(edge[:2]) for edge in graph.edges]
    strange = [node for node in nodes if not (_is_whole(node) or isinstance(node, str))]
    if strange:
        raise TypeError(
            f"Nodes of a hierarchy must be numbers or names of outputs; got "
            f"{shown(strange[0], 60)}."
        )
    return _from_edges(pairs, n_outputs, names)


def _from_paths(
    paths: list[str], n_outputs: int | None, names: tuple[str, ...] | None
) -> Hierarchy:
    """Connect every path with the longest part of it that is a path, too."""
    _check_size(len(paths), n_outputs, "path")
    parts = [tuple(path.strip().strip("/").split("/")) for path in paths]
    deep = [path for path, names_of in zip(paths, parts) if len(names_of) > _MOST_LEVELS]
    if deep:
        raise ValueError(
            f"A path of a hierarchy may have {_MOST_LEVELS} names; got "
            f"{shown(deep[0], 60)} with more."
        )
    empty = [path for path, names_of in zip(paths, parts) if not all(p.strip() for p in names_of)]
    if empty:
        raise ValueError(
            f"A path of a hierarchy must be names joined by '/', none empty; got "
            f"{shown(empty[0], 60)}."
        )
    if names is not None and set(names) == set(paths):
        parts = [tuple(name.strip().strip("/").split("/")) for name in names]
    place = {path: number for number, path in enumerate(parts)}
    if len(place) < len(parts):
        raise ValueError("Paths of a hierarchy must be different; got one twice.")
    edges = []
    for child, path in enumerate(parts):
        for length in range(len(path) - 1, 0, -1):
            if path[:length] in place:
                edges.append((place[path[:length]], child))
                break
    return Hierarchy(edges, len(parts), names if names is not None else paths)  # type: ignore[arg-type]
