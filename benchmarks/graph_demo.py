"""Graphs beside a linear model per label on the problems of the demo, over many draws.

``python -m benchmarks.graph_demo``: 200 rows to learn from, as in a fold of `make demo`, and 2,000
to measure. The demo itself has 300 rows of one draw, in which a single row is 0.003 of example F1.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.papers.runs import markdown
from polyleaf import GraphClassifier, GraphEnsembleClassifier
from polyleaf.datasets import make_circle_labels, make_linear_labels
from polyleaf.experiments import OneModelPerLabel
from polyleaf.metrics import example_f1_score, subset_zero_one_loss

N_TRAIN, N_TEST = 200, 2000


def problems(seed: int) -> dict[str, tuple[Any, Any]]:
    """Generate the demo's problems of dependent labels."""
    n = N_TRAIN + N_TEST
    return {
        "linear-dependent": make_linear_labels(n, dependence="conditional", random_state=seed),
        "circle": make_circle_labels(n, 10, random_state=seed),
    }


def methods() -> dict[str, Any]:
    """Make the models, with their defaults."""
    linear = OneModelPerLabel(LogisticRegression(max_iter=300))
    return {
        "linear": make_pipeline(StandardScaler(), linear),
        "one graph": GraphClassifier(calibration_folds=None, random_state=0),
        "ensemble": GraphEnsembleClassifier(calibration_folds=None, random_state=0),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graph_demo", description=__doc__)
    parser.add_argument("--draws", type=int, default=12)
    n_draws = parser.parse_args(argv).draws
    warnings.simplefilter("ignore")
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for seed in range(n_draws):
        for problem, (X, Y) in problems(seed).items():
            for name, model in methods().items():
                guess = model.fit(X[:N_TRAIN], Y[:N_TRAIN]).predict(X[N_TRAIN:])
                truth = Y[N_TRAIN:]
                scores = example_f1_score(truth, guess), subset_zero_one_loss(truth, guess)
                found.setdefault((problem, name), []).append(scores)
    rows = []
    for (problem, name), values in found.items():
        each = np.array(values)
        gain = each - np.array(found[problem, "linear"])
        cells = [
            f"{each[:, k].mean():.4f} ({gain[:, k].mean():+.4f} ± "
            f"{gain[:, k].std(ddof=1) / np.sqrt(n_draws):.4f})"
            for k in (0, 1)
        ]
        rows.append([problem, name, *cells])
    print(markdown(["problem", "method", "example F1", "subset 0/1 loss"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
