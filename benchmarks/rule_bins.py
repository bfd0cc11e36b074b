"""What label binning costs and saves (Rapp et al. 2021): ``python -m benchmarks.rule_bins``.

Finished runs are kept, so that a stopped command goes on where it was.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from benchmarks.papers.rules_published import MEASURES, PUBLISHED
from benchmarks.papers.rules_table import make_rules, read, row_losses
from benchmarks.papers.runs import Runs, markdown, take
from polyleaf import RuleClassifier

Labels = NDArray[np.bool_]
LABEL_BINS = (None, 4, 16, 32)


def measures(predicted: Any, truth: Labels) -> dict[str, float]:
    """Compute the three measures in per cent; rows without labels on both sides have F1 = 1."""
    means = 100 * row_losses(predicted, truth).mean(axis=1)
    return dict(zip(MEASURES, means.tolist()))


def split(name: str, seed: int) -> tuple[Any, Labels, Any, Labels]:
    """Divide a data set into two thirds and one third."""
    X, labels = read(name)
    order = np.random.default_rng(seed).permutation(len(labels))
    train, test = np.sort(order[: 2 * len(labels) // 3]), np.sort(order[2 * len(labels) // 3 :])
    return take(X, train), labels[train], take(X, test), labels[test]


def run_bins(names: list[str], n_rules: int, seed: int) -> Runs:
    """Fit example-wise complete heads with and without label binning."""
    runs = Runs("rules-bins")
    for name in names:
        parts = None
        for bins in LABEL_BINS:
            key = {"data": name, "bins": bins, "rules": n_rules, "seed": seed}
            if runs.has(key):
                continue
            parts = parts or split(name, seed)
            model = make_rules("ew multi", n_rules, 0.3, 1.0, seed).estimator.set_params(
                label_bins=bins, n_jobs=1
            )
            runs.measure(key, lambda m=model, p=parts: _fit_and_measure(m, p))
    return runs


def _fit_and_measure(model: RuleClassifier, parts: tuple[Any, ...]) -> dict[str, Any]:
    X, Y, X_test, Y_test = parts
    start = time.process_time()
    model.fit(X, Y * 1)
    seconds = time.process_time() - start
    margins = np.where(Y, -1.0, 1.0) * model.decision_function(X)
    zeros = np.zeros((len(Y), 1))
    loss = float(logsumexp(np.hstack([zeros, margins]), axis=1).mean())  # (7)
    return {**measures(model.predict(X_test), Y_test), "train loss": loss, "cpu_s": seconds}


def show_bins(runs: Runs, names: list[str], n_rules: int) -> str:
    """Write losses and times by the number of bins, averaged over seeds."""
    fields = ("train loss", *MEASURES[:2], "cpu_s")
    rows = []
    for name in names:
        for bins in LABEL_BINS:
            found = [runs.values(f, data=name, bins=bins, rules=n_rules) for f in fields]
            if all(values.size for values in found):
                shown = "none" if bins is None else str(bins)
                rows.append([name, shown, *(f"{values.mean():.3g}" for values in found)])
    return markdown(["", "bins", "training loss", "subset 0/1, %", "Hamming, %", "CPU s"], rows)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    choices = [*PUBLISHED, "corel5k"]
    parser.add_argument("--data", nargs="+", choices=choices, default=list(PUBLISHED))
    parser.add_argument("--rules", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    runs = run_bins(options.data, options.rules, options.seed)
    print(show_bins(runs, options.data, options.rules))


if __name__ == "__main__":
    main()
