"""Graphs over the labels: random trees, trees learnt from the labels, and a user's own edges."""

from polyleaf.graphs.generators.base import GraphContext, GraphGenerator, draw_edges
from polyleaf.graphs.generators.data_driven import ChowLiu
from polyleaf.graphs.generators.given import Edges
from polyleaf.graphs.generators.random import RandomPairs, RecursiveTree, SpanningTree
from polyleaf.graphs.generators.registry import (
    GRAPHS,
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
