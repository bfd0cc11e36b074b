"""Max-margin labelling on graphs over the labels, and the graphs: random, learnt or given.

To read the room in the order of a fit: `estimators` (what users construct), `base` (fit and
predictions of both), `training` (`train_graphs`, the way of a fit), then what it uses: `labels`
and `kernels` (Y and X as it needs them), `generators` (graphs to train on), `solver` (one member),
`completion`, `label_graph` (scores of labellings, combined), `model` and `fitted` (the result and
its file). `reading` and `plots` show a fitted model.
"""

from polyleaf.graphs.generators import (
    ChowLiu,
    Edges,
    GraphContext,
    GraphGenerator,
    RandomPairs,
    RecursiveTree,
    SpanningTree,
    draw_edges,
)
from polyleaf.graphs.registry import (
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
