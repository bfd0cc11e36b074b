"""Graph generators by name: for the `graph` parameter and for model files."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.files.described import read_description, registered
from polyleaf.graphs.generators import (
    ChowLiu,
    Edges,
    GraphGenerator,
    RandomPairs,
    RecursiveTree,
    SpanningTree,
)

GRAPHS: dict[str, type[GraphGenerator]] = {
    "spanning_tree": SpanningTree,
    "recursive_tree": RecursiveTree,
    "random_pairs": RandomPairs,
    "chow_liu": ChowLiu,
    "edges": Edges,
}


def resolve(graph: Any) -> GraphGenerator:
    """Return the generator that an estimator's `graph` parameter names.

    Parameters
    ----------
    graph : str, GraphGenerator, sequence of pairs or networkx.Graph
        A key of `GRAPHS` but "edges", which stands for that class with its defaults; an instance,
        which is returned; or edges, by positions or names of labels.

    Returns
    -------
    GraphGenerator

    Examples
    --------
    >>> resolve("spanning_tree")
    SpanningTree()
    >>> resolve([(0, 1), (1, 2)])
    Edges(edges=[(0, 1), (1, 2)])
    >>> resolve("spaning_tree")
    Traceback (most recent call last):
        ...
    ValueError: graph must be one of 'spanning_tree', 'recursive_tree', ...
    or a GraphGenerator; got 'spaning_tree'. Did you mean 'spanning_tree'?
    """
    if isinstance(graph, GraphGenerator):
        graph.check_params()
        return graph
    if isinstance(graph, str):
        if graph == "edges":
            raise ValueError(
                "graph='edges' does not say which edges. Pass them, for example "
                "graph=[(0, 1), (1, 2)]."
            )
        return _class_named(graph)()
    if hasattr(graph, "edges") and hasattr(graph, "nodes"):  # networkx
        graph = [tuple(edge[:2]) for edge in graph.edges()]
    if isinstance(graph, np.ndarray):
        graph = graph.tolist()
    if not isinstance(graph, (list, tuple)):
        raise TypeError(
            f"graph must be one of {_names()}, edges (an array of shape (n_edges, 2) or a "
            f"networkx.Graph) or a GraphGenerator; got {shown(graph, 80)}."
        )
    given = Edges([tuple(edge) if isinstance(edge, list) else edge for edge in graph])
    given.check_params()
    return given


def to_json(generator: GraphGenerator) -> dict[str, Any]:
    """Describe a registered generator in JSON's types, for a model file.

    Examples
    --------
    >>> to_json(ChowLiu(row_share=0.5))
    {'name': 'chow_liu', 'params': {'row_share': 0.5}}
    """
    names = {cls: name for name, cls in GRAPHS.items()}
    if type(generator) not in names:
        raise TypeError(
            f"A model file can hold the graphs {_names()}; got "
            f"{shown(generator, 80)}. Register its "
            "class in polyleaf.graphs.GRAPHS, before saving and before loading."
        )
    generator.check_params()
    params = {key: _plain(value) for key, value in generator.get_params(deep=False).items()}
    return {"name": names[type(generator)], "params": params}


def from_json(description: Any) -> GraphGenerator:
    """Make the generator that :func:`to_json` described.

    Raises
    ------
    ValueError
        If it is anything else.

    Examples
    --------
    >>> from_json({"name": "chow_liu", "params": {"row_share": 0.5}})
    ChowLiu(row_share=0.5)
    """
    generator: GraphGenerator
    generator, params = read_description(description, "graph", _stored_class)
    if isinstance(generator, Edges) and isinstance(params["edges"], list):
        pairs = params["edges"]
        params["edges"] = [tuple(pair) if isinstance(pair, list) else pair for pair in pairs]
    generator.set_params(**params)
    generator.check_params()
    return generator


def parameter_to_json(graph: Any) -> Any:
    """Describe the `graph` parameter of an estimator: a name as it is, else its generator."""
    return graph if graph is None or isinstance(graph, str) else to_json(resolve(graph))


def parameter_from_json(stored: Any) -> Any:
    """Undo :func:`parameter_to_json`, but for edges, which come back as `Edges`."""
    if not isinstance(stored, str):
        return from_json(stored)
    _stored_class(stored)
    return stored


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _stored_class(name: str) -> Any:
    return registered(name, GRAPHS, "graph", "polyleaf.graphs.GRAPHS")


def _class_named(name: str) -> type[GraphGenerator]:
    """Look up a generator class; suggest the nearest name if there is none."""
    if name in GRAPHS:
        return GRAPHS[name]
    hint = did_you_mean(name, GRAPHS)
    raise ValueError(
        f"graph must be one of {_names()} or a GraphGenerator; got {shown(name)}.{hint}"
    )


def _names() -> str:
    return ", ".join(map(repr, GRAPHS))
