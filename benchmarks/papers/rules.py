"""Rapp et al. 2020 measured again: Table 1 on real data, Figure 1 on synthetic problems.

``python -m benchmarks.papers.rules table`` fits the four variants of the rule learner, and binary
relevance, label powerset and a classifier chain on XGBoost (``--methods`` also has them on
polyleaf's trees), and prints our losses beside the published ones with average ranks; see
`benchmarks.papers.rules_table` for the protocol.

``python -m benchmarks.papers.rules published`` tells on how many rows the published losses were
counted, and so how sure they are.

``python -m benchmarks.papers.rules figure`` measures the losses along the rules on the three
synthetic problems, and draws them if ``--out`` names a picture.

``python -m benchmarks.papers.rules bins`` measures what label binning costs and saves.

Finished runs are kept, so that a stopped command goes on where it was; ``--seconds`` stops it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from benchmarks.papers.rules_published import (
    BASELINES,
    MEASURES,
    METHODS,
    OURS,
    PUBLISHED,
    VARIANTS,
    rows_behind,
)
from benchmarks.papers.rules_table import read, row_losses, run_table, show_table
from benchmarks.papers.runs import Runs, markdown, take
from polyleaf import RuleClassifier
from polyleaf.datasets import make_linear_labels

Labels = NDArray[np.bool_]

PROBLEMS = ("independent", "marginal", "conditional")
LABEL_BINS = (None, 4, 16, 32)


def make_rules(variant: str, n_rules: int, penalty: float, seed: int) -> RuleClassifier:
    """Make a learner with the paper's settings but binned thresholds."""
    loss, head = VARIANTS[variant]
    return RuleClassifier(
        n_rules=n_rules,
        loss=loss,
        head=head,
        learning_rate=0.3,
        l2_regularization=penalty,
        step="newton",
        set_probabilities="chain_rule",
        random_state=seed,
    )


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


def curve(
    model: RuleClassifier, X: Any, Y: Labels, stages: Iterable[int]
) -> Iterator[tuple[int, dict[str, float]]]:
    """Measure the first so many rules (`staged_predict` would decode after each of them)."""
    for t in stages:
        yield t, measures(model.select(range(t)).predict(X), Y)


def run_figure(n_rules: int, seed: int, end: float) -> Runs:
    """Measure the losses along the rules: 10,000 rows to learn from and as many to measure."""
    runs = Runs("rules-figure1")
    for problem in PROBLEMS:
        X, Y = make_linear_labels(20_000, dependence=problem, random_state=seed)
        clean = make_linear_labels(20_000, dependence=problem, noise=0.0, random_state=seed)[1]
        Y_test = Y[10_000:] == 1
        runs.measure(
            {"problem": problem, "method": "Bayes", "seed": seed},
            lambda c=clean, y=Y_test: measures(c[10_000:], y),
        )
        for variant in VARIANTS:
            if time.monotonic() > end:
                break

            def work(X: Any = X, Y: Any = Y, variant: str = variant) -> dict[str, Any]:
                model = make_rules(variant, n_rules, 16.0, seed).fit(X[:10_000], Y[:10_000])
                found = dict(curve(model, X[10_000:], Y[10_000:] == 1, _stages(n_rules)))
                columns = {m: [losses[m] for losses in found.values()] for m in MEASURES}
                return {"stages": list(found), **{f"{m} curve": c for m, c in columns.items()}}

            runs.measure({"problem": problem, "method": variant, "seed": seed}, work)
    return runs


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
            model = make_rules("ew multi", n_rules, 1.0, seed).set_params(
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


def _stages(n_rules: int) -> list[int]:
    return [2**i for i in range(20) if 2**i < n_rules] + [n_rules]


def _curves(runs: Runs, problem: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in runs.rows:
        if row["problem"] == problem and row["method"] in VARIANTS:
            yield row["method"], row


def show_figure(runs: Runs) -> str:
    """Write Hamming / subset 0/1 loss by the number of rules."""
    tables = []
    for problem in PROBLEMS:
        bayes = [float(runs.values(m, problem=problem, method="Bayes").mean()) for m in MEASURES]
        rows: list[list[str]] = []
        stages: list[int] = []
        for variant, row in _curves(runs, problem):
            stages = row["stages"]
            pairs = zip(row[f"{MEASURES[1]} curve"], row[f"{MEASURES[0]} curve"])
            rows.append([variant, *(f"{h:.1f} / {s:.1f}" for h, s in pairs)])
        title = f"{problem}: best {bayes[1]:.1f} / {bayes[0]:.1f}"
        tables.append(markdown([title, *map(str, stages)], rows))
    return "\n\n".join(tables)


def draw_figure(runs: Runs, path: Path) -> None:
    """Draw Figure 1: each curve starts at the upper right and goes down as rules are added."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12.5, 4.2), layout="constrained")
    for problem, ax in zip(PROBLEMS, axes):
        for (variant, row), marker in zip(_curves(runs, problem), "osd^"):
            hamming, subset = row[f"{MEASURES[1]} curve"], row[f"{MEASURES[0]} curve"]
            ax.plot(hamming, subset, marker=marker, markersize=4, linewidth=1, label=variant)
        best = [runs.values(m, problem=problem, method="Bayes").mean() for m in MEASURES[1::-1]]
        ax.plot(*best, "k*", markersize=11, label="best possible", zorder=0)
        ax.set(title=f"{problem}", xlabel="Hamming loss, %", ylabel="subset 0/1 loss, %")
    axes[0].legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def show_published() -> str:
    """Write on how many rows the published subset losses were counted, and what that leaves open.

    The error is the standard deviation of a share of so many rows; the spread is the number of
    rows between the best and the worst of the seven methods.
    """
    rows = []
    for name in PUBLISHED:
        losses = np.array(PUBLISHED[name][0]) / 100
        n_all, n_counted = read(name)[1].shape[0], rows_behind(name)
        error = 100 * np.sqrt(np.mean(losses * (1 - losses)) / n_counted)
        spread = np.ptp(np.round(losses * n_counted))
        share = f"{n_counted} ({100 * n_counted / n_all:.0f} %)"
        rows.append([name, str(n_all), share, f"{error:.1f}", f"{spread:.0f}"])
    return markdown(["", "rows", "counted", "error, %", "best to worst, rows"], rows)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("table", "published", "figure", "bins"))
    choices = [*PUBLISHED, "corel5k"]  # the last for label binning only
    parser.add_argument("--data", nargs="+", choices=choices, default=list(PUBLISHED))
    known = [*METHODS, *(name + OURS for name in BASELINES)]
    parser.add_argument("--methods", nargs="+", choices=known, default=list(METHODS))
    parser.add_argument("--rules", type=int, help="default: the table's own, else 1000")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=np.inf, help="start no run after this")
    parser.add_argument("--out", type=Path, help="picture to draw the figure to")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    if options.what == "table":
        names = [name for name in options.data if name in PUBLISHED]
        run_table(names, options.methods, options.rules, options.seed, end)
        print(show_table(names, options.methods))
        return
    if options.what == "published":
        print(show_published())
        return
    n_rules = options.rules or 1000
    if options.what == "bins":
        runs = run_bins(options.data, n_rules, options.seed)
        print(show_bins(runs, options.data, n_rules))
        return
    runs = run_figure(n_rules, options.seed, end)
    print(show_figure(runs))
    if options.out is not None:
        draw_figure(runs, options.out)


if __name__ == "__main__":
    main()
