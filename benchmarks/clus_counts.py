"""Why forests of CLUS differ from ours of like settings: ``python -m benchmarks.clus_counts``.

With two rows per leaf and √p features, CLUS counts a row that was drawn twice as two, so that it
may be a leaf of its own, and rounds √p up; ours counts rows and rounds down. Our trees are learnt
here with neither, one and both of CLUS's ways to count: aRRMSE, with the difference from ours and
its standard error over divisions. With ``--clus`` CLUS itself stands beside (see
`benchmarks.clus`).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.papers.forest_numbers import ENSEMBLES, errors, fold
from benchmarks.papers.runs import Runs, markdown
from benchmarks.papers.systems import CopiedRows, clus
from benchmarks.papers.tables import paper
from polyleaf.datasets import make_correlated_targets

#: Generated sets of 400 rows, a quarter for test: features and targets.
GENERATED = {"5 features": (5, 8), "10 features": (10, 4)}


def parts_of(name: str, number: int) -> tuple[Any, ...]:
    """Give training and test rows of a division."""
    if name not in GENERATED:
        return fold(name, number)
    p, d = GENERATED[name]
    X, Y = make_correlated_targets(400, p, d, random_state=number)
    return X[:300], Y[:300], X[300:], Y[300:]


def forest(n_features: int, seed: int) -> Any:
    """Make a random forest of ours that tries so many features."""
    made = paper(
        ENSEMBLES["RF"], "multi-target", max_features=n_features, random_state=seed, n_jobs=1
    )
    return made.estimator


#: By name: an ensemble, from the number of features and a seed.
WAYS: dict[str, Callable[[int, int], Any]] = {
    "ours": lambda p, seed: forest(math.isqrt(p), seed),
    "√p rounded up": lambda p, seed: forest(math.ceil(math.sqrt(p)), seed),
    "and draws counted": lambda p, seed: CopiedRows("RF", seed),
}


CLUS = "CLUS"


def error_of(name: str, way: str, number: int) -> float:
    """Measure a way to count on one division."""
    parts = parts_of(name, number)
    X, Y, X_test, Y_test = parts
    if way == CLUS:
        predicted = clus(parts, "RF", number)[0]
    else:
        predicted = WAYS[way](X.shape[1], number).fit(X, Y).predict(X_test)
    return errors(Y_test, predicted, np.mean(Y, axis=0))[0]


def show(runs: Runs, names: list[str]) -> str:
    """Write means of ours, and differences of the others."""
    rows = []
    for name in names:
        base = runs.values("aRRMSE", data=name, way="ours")
        cells = [name, f"{base.mean():.3f}"]
        for way in [*list(WAYS)[1:], CLUS]:
            other = runs.values("aRRMSE", data=name, way=way)
            n = min(len(base), len(other))
            if not n:
                cells.append("")
                continue
            gap = other[:n] - base[:n]
            error = gap.std(ddof=1) / np.sqrt(n) if n > 1 else 0.0
            cells.append(f"{gap.mean():+.4f} ± {error:.4f}")
        rows.append(cells)
    return markdown(["", *WAYS, CLUS], rows)


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    public = ["enb", "jura", "atp1d", "collembola"]
    parser.add_argument("--data", nargs="+", default=[*GENERATED, *public])
    parser.add_argument("--divisions", type=int, default=10)
    parser.add_argument("--clus", action="store_true", help="CLUS itself, too")
    options = parser.parse_args()
    runs = Runs("clus-counts")
    for number in range(options.divisions):
        for name in options.data:
            for way in (*WAYS, *([CLUS] if options.clus else [])):
                runs.measure(
                    {"data": name, "way": way, "division": number},
                    lambda: {"aRRMSE": error_of(name, way, number)},  # noqa: B023
                )
    print(show(runs, options.data))


if __name__ == "__main__":
    main()
