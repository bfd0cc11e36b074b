"""Graphs over the labels: random trees, trees learnt from the labels, and a user's own edges."""

from polyleaf.graphs._base import GraphContext, GraphGenerator, draw_edges
from polyleaf.graphs._data_driven import ChowLiu
from polyleaf.graphs._given import Edges
from polyleaf.graphs._random import RandomPairs, RecursiveTree, SpanningTree
from polyleaf.graphs._registry import (
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
