"""How often message passing on the union of all graphs finds MAM's best labelling.

``python -m benchmarks.graph_inference`` fits ensembles to four folds of data sets with few labels
and compares their predictions on the fifth with the best of all labellings.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from benchmarks.graph_tables import N_FOLDS, load, make_graphs
from polyleaf.graphs.training import stratified_folds

#: Constant and number of members.
ENSEMBLES = {"emotions": (10.0, 30), "circle10": (10.0, 30), "yeast": (1.0, 20)}


def agreement(name: str, constant: float, n_members: int) -> tuple[int, float, float]:
    """Count the edges; give the share of rows with the best labelling, and what scores lack.

    The last is the mean over rows of what the labelling found scores less than the best one, as a
    share of the mean best score.
    """
    X, Y = load(name)
    test = stratified_folds(Y.astype(np.int32), N_FOLDS, np.random.default_rng(0)) == 0
    model = make_graphs(constant, n_members).fit(X[~test], Y[~test])
    potentials = X[test] @ model._model.consensus_parameters.T

    def terms(labels: NDArray[Any]) -> NDArray[Any]:
        pairs = labels[:, model.edges_[:, 0]] * labels[:, model.edges_[:, 1]]
        return np.concatenate([labels, pairs], axis=1)

    labellings = np.array(list(itertools.product((0, 1), repeat=Y.shape[1])))
    best = (potentials @ terms(labellings).T).max(axis=1)
    short = best - (potentials * terms(model.predict(X[test]))).sum(axis=1)
    share = float(np.mean(short <= 1e-9 * best.mean()))
    return len(model.edges_), share, float(short.mean() / best.mean())


def main() -> int:
    """Compare and print a table in Markdown."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("| data | edges | best labelling found | score lost |\n|---|---|---|---|")
    for name, (constant, n_members) in ENSEMBLES.items():
        n_edges, share, lost = agreement(name, constant, n_members)
        print(f"| {name} | {n_edges} | {100 * share:.1f} % | {100 * lost:.3f} % |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
