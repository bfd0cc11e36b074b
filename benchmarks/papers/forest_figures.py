"""Figures of Joly et al. 2014 and Breskvar et al. 2018 drawn again.

``python -m benchmarks.papers.forest_figures`` draws:

- ``size``: LRAP of a single tree and of forests against the size m of a Gaussian view of
  delicious' labels, one view for the forest (Alg. 1) and one per tree (Alg. 2): Figure 1 of 001.
- ``features``: LRAP against the number k of features, for several m: Figure 4, and Figure 2 with
  bibtex in the place of data that are not public.
- ``kinds``: LRAP against m for all kinds of projections: Figure 3.
- ``saturation``: aRRMSE against the number of trees, random output selections and all targets:
  the saturation curves of 004.

Runs are kept and skipped the next time; ``--out`` names the folder for the pictures.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import polyleaf
from benchmarks.papers.forests import TABLE_1, fit_and_score, random_split
from benchmarks.papers.pictures import save
from benchmarks.papers.runs import Runs
from benchmarks.real_data import REAL_DATA
from polyleaf import projections
from polyleaf.metrics import relative_root_mean_squared_error

SIZES = (1, 2, 4, 7, 15, 25, 50, 100)
FEATURES = {"bibtex": (1, 10, 43, 150, 500, 1836), "delicious": (1, 5, 22, 50, 100, 250, 500)}
KINDS: dict[str, Callable[[int], projections.Projection]] = {
    "Gaussian": projections.Gaussian,
    "Rademacher": projections.Rademacher,
    "Hadamard": projections.Hadamard,
    "Achlioptas": projections.Achlioptas,
    "sparse Rademacher": projections.SparseRademacher,
    "sub-sampled labels": lambda size: projections.Subsample(
        size, replace=True, first_sees_all=False
    ),
    "PCA": projections.PCA,
}
SATURATION_DATA = ("atp1d", "osales", "wq", "rf1")


def _delicious(number: int) -> tuple[Any, ...]:
    return random_split("delicious", TABLE_1["delicious"]["n_train"], number)


def _measure(runs: Runs, key: dict[str, Any], parts: tuple[Any, ...], jobs: int, **k: Any) -> None:
    if runs.has(key):
        return
    model = polyleaf.RandomForestClassifier(random_state=key["split"], n_jobs=jobs, **k)
    runs.measure(key, lambda: fit_and_score(model, parts))


def run_size(splits: int, jobs: int) -> Runs:
    """Measure Figure 1."""
    runs = Runs("forests-figure-size")
    for number in range(splits):
        parts = _delicious(number)
        for trees in (1, 100):
            for size in (None, *SIZES):
                for scope in ("tree", "forest"):
                    if (size is None or trees == 1) and scope == "forest":
                        continue
                    view = None if size is None else projections.Gaussian(size)
                    key = {"trees": trees, "size": size, "scope": scope, "split": number}
                    _measure(
                        runs,
                        key,
                        parts,
                        jobs,
                        n_estimators=trees,
                        projection=view,
                        projection_scope=scope,
                        bootstrap=trees > 1,
                        max_features="sqrt" if trees > 1 else None,
                    )
    return runs


def run_features(splits: int, jobs: int) -> Runs:
    """Measure Figures 2 and 4."""
    runs = Runs("forests-figure-features")
    for number in range(splits):
        for name, widths in FEATURES.items():
            parts = random_split(name, TABLE_1[name]["n_train"], number)
            for size in _small_sizes(name):
                view = None if size is None else projections.Gaussian(size)
                for k in widths:
                    key = {"data": name, "size": size, "k": k, "split": number}
                    _measure(runs, key, parts, jobs, projection=view, max_features=k)
    return runs


def _small_sizes(name: str) -> tuple[int | None, ...]:
    """All labels, and 1, ln d and 2 ln d combinations of them."""
    log = round(np.log(REAL_DATA[name].d))
    return None, 1, log, 2 * log


def run_kinds(splits: int, jobs: int) -> Runs:
    """Measure Figure 3."""
    runs = Runs("forests-figure-kinds")
    for number in range(splits):
        parts = _delicious(number)
        _measure(runs, {"kind": "all labels", "size": None, "split": number}, parts, jobs)
        for kind, make in KINDS.items():
            for size in (1, 4, 7, 25, 100):
                key = {"kind": kind, "size": size, "split": number}
                _measure(runs, key, parts, jobs, projection=make(size))
    return runs


def run_saturation(splits: int, jobs: int) -> Runs:
    """Measure the saturation curves."""
    runs = Runs("forests-figure-saturation")
    makers: dict[str, Callable[..., Any]] = {
        "all targets": lambda **k: polyleaf.RandomForestRegressor(projection=None, **k),
        "1/2, out of bag": lambda **k: polyleaf.RandomForestRegressor(aggregation="oob", **k),
        "3/4, subspace": lambda **k: polyleaf.RandomForestRegressor(
            projection=projections.Subsample(0.75), aggregation="subspace", **k
        ),
        "1/2, total": lambda **k: polyleaf.RandomForestRegressor(
            projection=projections.Subsample(0.5), aggregation="total", **k
        ),
    }
    for number in range(splits):
        for name in SATURATION_DATA:
            parts = random_split(name, int(0.67 * REAL_DATA[name].n), number)
            for method, make in makers.items():
                model = make(n_estimators=250, random_state=number, n_jobs=jobs)
                key = {"data": name, "method": method, "split": number}
                runs.measure(key, lambda model=model, parts=parts: _error_curve(model, parts))
    return runs


def _error_curve(model: Any, parts: tuple[Any, ...]) -> dict[str, Any]:
    """Measure the error by the first tree, the first two, and so on."""
    X, Y, X_test, Y_test = parts
    means = Y.mean(axis=0)
    errors = [
        relative_root_mean_squared_error(Y_test, predicted, train_mean=means)
        for predicted in model.fit(X, Y).staged_predict(X_test)
    ]
    return {"curve": [round(float(error), 5) for error in errors]}


def _mean(runs: Runs, **key: Any) -> float:
    values = runs.values("lrap", **key)
    return float(values.mean()) if values.size else float("nan")


def draw_size(runs: Runs, axes: Any) -> None:
    """Draw Figure 1."""
    for axis, trees, title in zip(axes, (1, 100), ("one tree", "100 trees")):
        axis.axhline(_mean(runs, trees=trees, size=None), color="0.4", ls="--", label="all labels")
        for scope, label in (
            ("tree", "a view per tree (Alg. 2)"),
            ("forest", "one view (Alg. 1)"),
        ):
            if trees == 1 and scope == "forest":
                continue
            shown = [_mean(runs, trees=trees, size=size, scope=scope) for size in SIZES]
            axis.plot(SIZES, shown, "o-", label=label if trees > 1 else "on a view")
        axis.set(title=f"delicious, {title}", xlabel="size m of the view", xscale="log")
        axis.legend()
    axes[0].set_ylabel("LRAP")


def draw_features(runs: Runs, axes: Any) -> None:
    """Draw Figures 2 and 4."""
    for axis, (name, widths) in zip(axes, FEATURES.items()):
        for size in _small_sizes(name):
            shown = [_mean(runs, data=name, size=size, k=k) for k in widths]
            axis.plot(widths, shown, "o-", label="all labels" if size is None else f"m = {size}")
        axis.set(title=f"{name}, 100 trees", xlabel="features tried per node", xscale="log")
        axis.legend()
    axes[0].set_ylabel("LRAP")


def draw_kinds(runs: Runs, axes: Any) -> None:
    """Draw Figure 3."""
    axes.axhline(_mean(runs, kind="all labels"), color="0.4", ls="--", label="all labels")
    sizes = (1, 4, 7, 25, 100)
    for kind in KINDS:
        axes.plot(sizes, [_mean(runs, kind=kind, size=m) for m in sizes], "o-", label=kind)
    axes.set(
        title="delicious, 100 trees", xlabel="size m of the view", ylabel="LRAP", xscale="log"
    )
    axes.legend(fontsize="small")


def draw_saturation(runs: Runs, axes: Any) -> None:
    """Draw the curves over the number of trees."""
    for axis, name in zip(axes.ravel(), SATURATION_DATA):
        for method in dict.fromkeys(row["method"] for row in runs.rows):
            curves = [
                row["curve"]
                for row in runs.rows
                if row["data"] == name and row["method"] == method
            ]
            if curves:
                axis.plot(np.arange(1, 251), np.mean(curves, axis=0), label=method)
        axis.set(title=name, xlabel="trees", ylabel="aRRMSE", xscale="log")
    axes.ravel()[0].legend(fontsize="small")


FIGURES: dict[str, tuple[Callable[..., Runs], Callable[[Runs, Any], None], tuple[int, int]]] = {
    "size": (run_size, draw_size, (1, 2)),
    "features": (run_features, draw_features, (1, 2)),
    "kinds": (run_kinds, draw_kinds, (1, 1)),
    "saturation": (run_saturation, draw_saturation, (2, 2)),
}


def main() -> None:
    """Measure and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", nargs="*", default=list(FIGURES))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks/figures"))
    arguments = parser.parse_args()
    for name in arguments.figures:
        run, draw, shape = FIGURES[name]
        runs = run(arguments.splits, arguments.jobs)
        save(arguments.out / f"forests-{name}.png", draw, runs, shape, (5.2, 3.6))


if __name__ == "__main__":
    main()
