"""Figures 1 and 3 to 6 of Joly et al. 2019 drawn again.

``python -m benchmarks.papers.boosting_figures``.

Test score against the processor time of training, with the paper's settings: stumps, all features,
learning rate 0.1.

- ``convergence``: single targets (st-gbrt), all targets (gbmort) and one sub-sampled target
  (gbrt-rpo) on the three friedman1 problems: Figure 1.
- ``schemes``: kinds of projections of Algorithm 3, on delicious (Figure 3) and friedman1-ind
  (Figure 4).
- ``size``: the size q of the projection of Algorithm 4 on delicious, against time (Figure 5) and
  after 100 rounds (Figure 6). Leaves are Newton steps, which take less time than means of
  gradients with an optimal step: what remains is mostly the search for splits.

Of delicious 2,000 of the 12,920 training rows and 1,000 test rows are used. Runs are kept and
skipped the next time; ``--out`` names the folder for the pictures.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.boosting import METHODS, N_FEATURES, N_TRAIN, PROBLEMS, problem
from benchmarks.papers.pictures import save
from benchmarks.papers.runs import Runs, load
from polyleaf import BoostingClassifier, BoostingRegressor, projections
from polyleaf.metrics import label_ranking_average_precision_score, macro_r2_score

STUMPS: dict[str, Any] = {
    "learning_rate": 0.1,
    "max_depth": None,
    "max_leaf_nodes": 2,
    "l2_regularization": 0.0,
    "random_state": 0,
    "n_jobs": 1,
}
SCHEMES: dict[str, projections.Projection] = {
    "Gaussian": projections.Gaussian(1),
    "Achlioptas": projections.Achlioptas(1),
    "sparse Rademacher": projections.SparseRademacher(1),
    "one output": projections.Subsample(1, first_sees_all=False),
}
SIZES = (1, 20, 98, 196, 491)


@cache
def delicious() -> tuple[Any, ...]:
    """Read the rows of delicious that are used: training features and labels, and for test."""
    X, Y = load("delicious")
    order = np.random.default_rng(0).permutation(X.shape[0])
    train, test = order[:2000], order[12_920:13_920]
    return X[train].toarray(), Y[train].toarray(), X[test].toarray(), Y[test].toarray()


def curve(model: Any, parts: tuple[Any, ...], score: Callable[..., float]) -> dict[str, Any]:
    """Train, and score the model after some numbers of rounds: 25, or 12 for labels."""
    X, Y, X_test, Y_test = parts
    clock: list[float] = []
    start = time.process_time()
    model.fit(X, Y, callbacks=[lambda progress: clock.append(time.process_time() - start)])
    is_labels = isinstance(model, BoostingClassifier)
    stages_shown = np.geomspace(1, len(clock), 12 if is_labels else 25)
    shown = set(stages_shown.round().astype(int).tolist())
    stages = (model.staged_predict_proba if is_labels else model.staged_predict)(X_test)
    found = [
        (number, clock[number - 1], score(Y_test, predicted))
        for number, predicted in enumerate(stages, start=1)
        if number in shown
    ]
    rounds, seconds, scores = zip(*found, strict=True)
    return {"rounds": rounds, "seconds": seconds, "score": [float(s) for s in scores]}


def friedman(structure: str) -> tuple[Any, ...]:
    """Generate one of the problems, divided."""
    X, Y = problem(structure, 0, N_FEATURES, seed=0)
    return X[:N_TRAIN], Y[:N_TRAIN], X[N_TRAIN:], Y[N_TRAIN:]


def run_convergence() -> Runs:
    """Measure Figure 1."""
    runs = Runs("boosting-figure-convergence")
    for structure in PROBLEMS:
        for method in ("st-gbrt", "gbmort", "gbrt-rpo"):
            n_rounds = 1000 if method == "st-gbrt" else 10_000
            model = BoostingRegressor(**METHODS[method], **STUMPS, n_estimators=n_rounds)
            runs.measure(
                {"structure": structure, "method": method},
                lambda: curve(model, friedman(structure), macro_r2_score),  # noqa: B023
            )
    return runs


def run_schemes() -> Runs:
    """Measure Figures 3 and 4."""
    runs = Runs("boosting-figure-schemes")
    for kind, projection in SCHEMES.items():
        view: dict[str, Any] = {"projection": projection, "leaf_fit": "linear"}
        numbers = BoostingRegressor(**view, **STUMPS, n_estimators=10_000)
        runs.measure(
            {"data": "friedman1-ind", "kind": kind},
            lambda: curve(numbers, friedman("ind"), macro_r2_score),  # noqa: B023
        )
        labels = BoostingClassifier(**view, **STUMPS, n_estimators=100)
        runs.measure(
            {"data": "delicious", "kind": kind},
            lambda: curve(labels, delicious(), label_ranking_average_precision_score),  # noqa: B023
        )
    return runs


def run_size() -> Runs:
    """Measure Figures 5 and 6."""
    runs = Runs("boosting-figure-size")
    makers: dict[str, Callable[[int], projections.Projection]] = {
        "Gaussian": projections.Gaussian,
        "outputs": lambda q: projections.Subsample(q, first_sees_all=False),
    }
    views: list[tuple[str, int, projections.Projection | None]] = [("all", 0, None)]
    views += [(kind, q, make(q)) for q in SIZES for kind, make in makers.items()]
    for kind, q, view in views:
        model = BoostingClassifier(projection=view, **STUMPS, n_estimators=100)
        runs.measure(
            {"kind": kind, "q": q},
            lambda: curve(model, delicious(), label_ranking_average_precision_score),  # noqa: B023
        )
    return runs


def rows_with(runs: Runs, **key: Any) -> list[dict[str, Any]]:
    """Give the runs with a key."""
    return [row for row in runs.rows if all(row[k] == v for k, v in key.items())]


def draw_convergence(runs: Runs, axes: Any) -> None:
    """Draw Figure 1."""
    for axis, structure in zip(axes, PROBLEMS, strict=True):
        for row in rows_with(runs, structure=structure):
            axis.plot(row["seconds"], row["score"], label=row["method"])
        axis.set(title=f"friedman1-{structure}", xlabel="seconds", xscale="log", ylim=(0, 0.95))
    axes[0].set_ylabel("macro-r2")
    axes[0].legend()


def draw_schemes(runs: Runs, axes: Any) -> None:
    """Draw Figures 3 and 4."""
    for axis, name in zip(axes, ("delicious", "friedman1-ind"), strict=True):
        for row in rows_with(runs, data=name):
            axis.plot(row["seconds"], row["score"], label=row["kind"])
        axis.set(title=name, xlabel="seconds", xscale="log")
    axes[0].set_ylabel("LRAP")
    axes[1].set_ylabel("macro-r2")
    axes[1].legend()


def draw_size(runs: Runs, axes: Any) -> None:
    """Draw Figures 5 and 6."""
    (everything,) = rows_with(runs, kind="all")
    for axis, kind in zip(axes[0], ("Gaussian", "outputs"), strict=True):
        for q in (1, 98, 196, 491):
            (row,) = rows_with(runs, kind=kind, q=q)
            axis.plot(row["seconds"], row["score"], label=f"q = {q}")
        axis.plot(everything["seconds"], everything["score"], "k--", label="all labels")
        what = "combinations" if kind == "Gaussian" else "sub-sampled labels"
        axis.set(title=f"delicious, q {what}", xlabel="seconds", ylabel="LRAP", xscale="log")
    axes[0, 0].legend()
    for axis, field, label in zip(axes[1], ("score", "seconds"), ("LRAP", "seconds"), strict=True):
        for kind in ("Gaussian", "outputs"):
            shown = [rows_with(runs, kind=kind, q=q)[0][field][-1] for q in SIZES]
            axis.plot(SIZES, shown, "o-", label="Gaussian" if kind == "Gaussian" else "labels")
        axis.axhline(everything[field][-1], color="k", ls="--", label="all labels")
        axis.set(title="delicious, 100 rounds", xlabel="q", ylabel=label, xscale="log")
    axes[1, 0].legend()


FIGURES: dict[str, tuple[Callable[[], Runs], Callable[[Runs, Any], None], tuple[int, int]]] = {
    "convergence": (run_convergence, draw_convergence, (1, 3)),
    "schemes": (run_schemes, draw_schemes, (1, 2)),
    "size": (run_size, draw_size, (2, 2)),
}


def main() -> None:
    """Measure and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", nargs="*", default=list(FIGURES))
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks/figures"))
    arguments = parser.parse_args()
    for name in arguments.figures:
        run, draw, shape = FIGURES[name]
        save(arguments.out / f"boosting-{name}.png", draw, run(), shape, (3.9, 3.1))


if __name__ == "__main__":
    main()
