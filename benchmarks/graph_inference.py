"""How often inference on the union of all graphs finds MAM's best labelling, and proves it.

``python -m benchmarks.graph_inference`` fits ensembles to four folds of data sets and labels the
fifth by the searches that are meant for many labels. With few labels they are made to work by idle
labels, so that there are too many labellings to look at all, and compared with the best of all.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from benchmarks.graph_tables import N_FOLDS, load, make_graphs
from polyleaf.graphs.label_graph import LabelGraph
from polyleaf.graphs.labels import stratified_folds

#: Constant and number of members.
ENSEMBLES = {
    "emotions": (10.0, 30),
    "circle10": (10.0, 30),
    "yeast": (1.0, 20),
    "circle50": (10.0, 10),
    "enron": (0.5, 20),
}
_IDLE = 20


def with_idle_labels(
    graph: LabelGraph, potentials: NDArray[Any]
) -> tuple[LabelGraph, NDArray[Any]]:
    """Add labels without edges that are best left at 0."""
    n_labels = graph.n_labels
    wider = LabelGraph(np.full(n_labels + _IDLE, 2, np.int32), graph.edges)
    idle = np.full((len(potentials), _IDLE), -1.0)
    return wider, np.hstack([potentials[:, :n_labels], idle, potentials[:, n_labels:]])


def inference(name: str, constant: float, n_members: int) -> tuple[int, int, str, str, float]:
    """Count labels and edges; tell how often the best labelling was found and proven.

    Also what the labellings score less than the best ones, as a share of these.
    """
    X, Y = load(name)
    test = stratified_folds(Y.astype(np.int32), N_FOLDS, np.random.default_rng(0)) == 0
    model = make_graphs(constant, n_members).fit(X[~test], Y[~test])
    graph = model._model.consensus.graph
    potentials = X[test] @ model._model.consensus_parameters.T
    found = graph.infer(potentials)
    is_best, lost = "", ""
    if graph.is_exact:
        best = found.scores
        found = LabelGraph.infer(*with_idle_labels(graph, potentials))
        short = best - found.scores
        is_best = f"{100 * np.mean(short <= 1e-9 * np.abs(best).mean()):.1f} %"
        lost = f"{100 * short.mean() / best.mean():.3f} %"
    return graph.n_labels, len(graph.edges), is_best, lost, float(found.is_certified.mean())


def main() -> int:
    """Compare and print a table in Markdown."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("| data | labels | edges | best labelling found | score lost | proven |")
    print("|---|---|---|---|---|---|", flush=True)
    for name, (constant, n_members) in ENSEMBLES.items():
        n_labels, n_edges, is_best, lost, proven = inference(name, constant, n_members)
        print(
            f"| {name} | {n_labels} | {n_edges} | {is_best} | {lost} | {100 * proven:.1f} % |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
