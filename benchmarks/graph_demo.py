"""Graphs beside linear models on the problems of the demo, over many draws.

``python -m benchmarks.graph_demo``: 200 rows to learn from, as in a fold of `make demo`, and 2,000
to measure. The demo itself has 300 rows of one draw, in which a single row is 0.003 of example F1:
``--folds`` repeats its cross-validation on such draws and counts in how many graphs are ahead.
Beside one logistic regression per label (as in the demo, and with less regularisation) stands one
for whole label sets, and the labels before they were flipped: what a joint linear model, and any
model, can reach.
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
from polyleaf.datasets import MultiLabelKFold, make_circle_labels, make_linear_labels
from polyleaf.experiments import LabelPowerset, OneModelPerLabel
from polyleaf.metrics import example_f1_score, hamming_loss, subset_zero_one_loss

N_TRAIN, N_TEST, N_DEMO = 200, 2000, 300
MEASURES = {
    "example F1": example_f1_score,
    "Hamming loss": hamming_loss,
    "subset 0/1 loss": subset_zero_one_loss,
}


def make_problem(name: str, seed: int, n: int = N_TRAIN + N_TEST) -> tuple[Any, Any, Any]:
    """Generate X, Y and the best possible predictions of one of the demo's problems."""
    if name == "circle":
        X, Y = make_circle_labels(n, 10, union_share=0.5, random_state=seed)
        return X, Y, Y
    X, Y = make_linear_labels(n, dependence="conditional", random_state=seed)
    _, clean = make_linear_labels(n, dependence="conditional", noise=0.0, random_state=seed)
    return X, Y, clean


def methods() -> dict[str, Any]:
    """Make the models; graphs with their defaults."""
    linear, close = LogisticRegression(max_iter=300), LogisticRegression(C=100.0, max_iter=300)
    return {
        "linear": make_pipeline(StandardScaler(), OneModelPerLabel(linear)),
        "linear, C = 100": make_pipeline(StandardScaler(), OneModelPerLabel(close)),
        "linear, whole label sets": make_pipeline(StandardScaler(), LabelPowerset(linear)),
        "one graph": GraphClassifier(calibration_folds=None, random_state=0),
        "ensemble": GraphEnsembleClassifier(calibration_folds=None, random_state=0),
    }


def measure(name: str, seed: int) -> dict[str, list[float]]:
    """Fit all methods to one draw of a problem; give their measures."""
    X, Y, best = make_problem(name, seed)
    guesses = {"best possible": best[N_TRAIN:]}
    for method, model in methods().items():
        guesses[method] = model.fit(X[:N_TRAIN], Y[:N_TRAIN]).predict(X[N_TRAIN:])
    return {
        method: [float(score(Y[N_TRAIN:], guess)) for score in MEASURES.values()]
        for method, guess in guesses.items()
    }


def compare_by_folds(name: str, n_draws: int) -> list[list[str]]:
    """Cross-validate on draws as large as the demo's; give rows of the other table."""
    draws = []
    for seed in range(n_draws):
        X, Y, best = make_problem(name, seed, n=N_DEMO)
        guesses = {"linear": np.zeros_like(Y), "ensemble": np.zeros_like(Y), "best possible": best}
        for train, test in MultiLabelKFold(3, random_state=seed).split(X, Y):
            for method in ("linear", "ensemble"):
                model = methods()[method].fit(X[train], Y[train])
                guesses[method][test] = model.predict(X[test])
        draws.append(
            [[score(Y, guess) for score in MEASURES.values()] for guess in guesses.values()]
        )
    values = np.array(draws)  # draws, methods, measures
    rows = []
    for k, measure_name in enumerate(MEASURES):
        gain = (values[:, 1, k] - values[:, 0, k]) * (1 if measure_name == "example F1" else -1)
        means = [f"{mean:.4f}" for mean in values[:, :, k].mean(axis=0)]
        counts = [f"{(gain > 0).sum()}", f"{(gain == 0).sum()}", f"{(gain < 0).sum()}"]
        rows.append([name, measure_name, *means, *counts])
    return rows


def rows_of(name: str, n_draws: int) -> list[list[str]]:
    """Measure draws of a problem; give rows of the table."""
    draws = [measure(name, seed) for seed in range(n_draws)]
    linear = np.array([draw["linear"] for draw in draws])
    rows = []
    for method in ("best possible", *methods()):
        values = np.array([draw[method] for draw in draws])
        gain = values - linear
        error = gain.std(axis=0, ddof=1) / np.sqrt(n_draws)
        cells = [f"{values[:, k].mean():.4f}" for k in range(len(MEASURES))]
        if method != "linear":
            cells = [
                f"{cell} ({gain[:, k].mean():+.4f} ± {error[k]:.4f})"
                for k, cell in enumerate(cells)
            ]
        rows.append([name, method, *cells])
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graph_demo", description=__doc__)
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument(
        "--data",
        nargs="+",
        choices=("linear-dependent", "circle"),
        default=["linear-dependent", "circle"],
    )
    parser.add_argument("--folds", action="store_true", help="cross-validate as the demo does")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    if options.folds:
        rows = [row for name in options.data for row in compare_by_folds(name, options.draws)]
        names = ["linear", "ensemble", "best possible", "graphs ahead", "tied", "behind"]
        print(markdown(["problem", "measure", *names], rows))
        return 0
    rows = [row for name in options.data for row in rows_of(name, options.draws)]
    print(markdown(["problem", "method", *MEASURES], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
