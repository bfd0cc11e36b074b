"""Max-margin labelling on graphs over the labels, and the graphs: random, learnt or given."""

from polyleaf.graphs.generators import (
    GRAPHS,
    ChowLiu,
    Edges,
    GraphContext,
    GraphGenerator,
    RandomPairs,
    RecursiveTree,
    SpanningTree,
    draw_edges,
    from_json,
    parameter_from_json,
    parameter_to_json,
    resolve,
    to_json,
)

__all__ = [
    "GRAPHS",
    "ChowLiu",
    "Edges",
    "GraphContext",
    "GraphGenerator",
    "RandomPairs",
    "RecursiveTree",
    "SpanningTree",
    "draw_edges",
    "from_json",
    "parameter_from_json",
    "parameter_to_json",
    "resolve",
    "to_json",
]
