"""What completing dual variables on the union of all graphs does to MAM.

Section 3.3 of Su and Rousu 2013.

``python -m benchmarks.graph_completion`` fits ten members to four folds of a data set, for some
C, with missing edges at zero and with locally consistent ones, and prints microlabel accuracy on
the fifth fold beside the mean size of the pairs' potentials there.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.graph_tables import CIRCLES, N_FOLDS, SETS, load, make_graphs, measure
from polyleaf.graphs.labels import stratified_folds

CONSTANTS = (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0)


def compare(name: str, constant: float, n_members: int = 10) -> list[tuple[float, float]]:
    """Give accuracy and mean size of potentials of pairs, without and with completion."""
    X, Y = load(name)
    test = stratified_folds(Y.astype(np.int32), N_FOLDS, np.random.default_rng(0)) == 0
    outcomes = []
    for completion in ("zero", "consistent"):
        model = make_graphs(constant, n_members).set_params(completion=completion)
        model.fit(X[~test], Y[~test])
        pairs = model._model.consensus_parameters[Y.shape[1] :]
        size = float(np.abs(X[test] @ pairs.T).mean())
        outcomes.append((measure(Y[test], model.predict(X[test]))[0], size))
    return outcomes


def main(argv: Sequence[str] | None = None) -> int:
    """Compare and print a table in Markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.graph_completion", description=__doc__
    )
    parser.add_argument(
        "--data", nargs="+", choices=(*SETS, *CIRCLES), default=["emotions", "circle10"]
    )
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("| data | C | zero | size | consistent | size |\n|---|---|---|---|---|---|")
    for name in options.data:
        for constant in CONSTANTS:
            cells = [f"{accuracy:.1f} | {size:.2g}" for accuracy, size in compare(name, constant)]
            print(f"| {name} | {constant:g} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
