"""Which views and features forests have by default: ``python -m benchmarks.forest_defaults``.

- ``defaults``: selections and aggregations compared, for the defaults of the regressors.
- ``auto``: `projection="auto"` against fixed views.

Every finished run is kept; a second call goes on where the first was stopped.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import polyleaf
from benchmarks.papers.forest_labels import random_split
from benchmarks.papers.runs import Runs, markdown
from benchmarks.real_data import REAL_DATA
from polyleaf import projections
from polyleaf.metrics import (
    label_ranking_average_precision_score,
    macro_r2_score,
    relative_root_mean_squared_error,
)

#: Regression data sets that are not near-duplicates of each other.
REGRESSION = (
    "atp1d",
    "enb",
    "jura",
    "osales",
    "rf1",
    "scpf",
    "sf2",
    "wq",
    "births2",
    "collembola",
)
MULTILABEL = ("emotions", "scene", "yeast", "enron", "medical", "birds", "cal500", "corel5k")


def fit_and_score(model: Any, parts: tuple[Any, ...]) -> dict[str, Any]:
    """Measure a model: its score, the processor time of its fit, its size."""
    X_train, Y_train, X_test, Y_test = parts
    start = time.process_time()
    model.fit(X_train, Y_train)
    fit_time = time.process_time() - start
    start = time.process_time()
    if hasattr(model, "predict_proba"):
        scores = model.predict_proba(X_test)
        measured = {
            "lrap": label_ranking_average_precision_score(Y_test, scores, empty_rows="drop")
        }
    else:
        predicted = model.predict(X_test)
        means = np.nanmean(Y_train, axis=0)
        measured = {
            "arrmse": relative_root_mean_squared_error(Y_test, predicted, train_mean=means),
            "r2": macro_r2_score(Y_test, predicted),
        }
    n_test = Y_test.shape[0]
    return {
        **measured,
        "fit_cpu_s": fit_time,
        "predict_cpu_us_per_row": (time.process_time() - start) / n_test * 1e6,
        "n_nodes": int(model._forest.structure.n_nodes),
    }


def run_defaults(arguments: argparse.Namespace) -> Runs:
    """Compare selections, aggregations and numbers of features on regression data."""
    runs = Runs("forests-defaults")
    kinds = {
        "rf": polyleaf.RandomForestRegressor,
        "et": polyleaf.ExtraTreesRegressor,
        "bag": polyleaf.BaggedTreesRegressor,
    }
    views: dict[str, Any] = {
        "all": None,
        "sub 1/4": projections.Subsample(0.25),
        "sub 1/2": projections.Subsample(0.5),
        "sub 3/4": projections.Subsample(0.75),
        "gauss ln": projections.Gaussian("log"),
        "single": projections.RoundRobin(),
    }
    for number in range(arguments.splits):
        for name in arguments.data or REGRESSION:
            parts = random_split(name, int(REAL_DATA[name].n * 0.67), number)
            for kind, make in kinds.items():
                for view, projection in views.items():
                    if arguments.views and view not in arguments.views:
                        continue
                    for aggregation in ("total", "subspace", "oob"):
                        for features in ("sqrt", 0.33, None):
                            is_idle = view in ("all", "gauss ln", "single")
                            if is_idle and aggregation == "subspace":
                                continue
                            if aggregation == "oob" and kind == "et":
                                continue
                            if kind == "bag" and features is not None:
                                continue
                            key = {
                                "data": name,
                                "kind": kind,
                                "view": view,
                                "aggregation": aggregation,
                                "features": str(features),
                                "split": number,
                            }
                            model = make(
                                projection=projection,
                                aggregation=aggregation,
                                max_features=features,
                                random_state=number,
                                n_jobs=arguments.jobs,
                            )
                            runs.measure(
                                key, lambda model=model, parts=parts: fit_and_score(model, parts)
                            )
    return runs


def show_defaults(runs: Runs) -> str:
    """Write the mean aRRMSE and the mean rank within each kind of forest."""
    tables = []
    for kind in ("rf", "et", "bag"):
        rows = [row for row in runs.rows if row["kind"] == kind]
        settings = sorted({(r["view"], r["aggregation"], r["features"]) for r in rows})
        cases = sorted({(r["data"], r["split"]) for r in rows})
        found = {
            (r["view"], r["aggregation"], r["features"], r["data"], r["split"]): r["arrmse"]
            for r in rows
        }
        scores = np.array([[found.get((*s, *c), np.nan) for c in cases] for s in settings])
        # Those that were measured most often, on the cases that they share.
        n_cases = np.count_nonzero(~np.isnan(scores), axis=1)
        often = n_cases == n_cases.max()
        settings = [setting for setting, kept in zip(settings, often) if kept]
        scores = scores[often]
        whole = scores[:, ~np.isnan(scores).any(axis=0)]
        ranks = whole.argsort(axis=0).argsort(axis=0).mean(axis=1) + 1
        order = np.argsort(ranks)
        lines = [[*settings[i], f"{whole[i].mean():.4f}", f"{ranks[i]:.2f}"] for i in order]
        cases_shown = f"aRRMSE, {whole.shape[1]} cases"
        header = [f"{kind}: view", "aggregation", "max_features", cases_shown, "mean rank"]
        tables.append(markdown(header, lines))
    return "\n\n".join(tables)


def run_auto(arguments: argparse.Namespace) -> Runs:
    """Compare `projection="auto"` with fixed views."""
    runs = Runs(arguments.name or "forests-auto")
    fixed: dict[str, Any] = {
        "all": None,
        "sub 1/2": projections.Subsample(0.5),
        "gauss ln": projections.Gaussian("log"),
        "gauss sqrt": projections.Gaussian("sqrt"),
        "sparse ln": projections.SparseRademacher("log"),
        "auto": "auto",
    }
    for number in range(arguments.splits):
        for name in arguments.data or (*MULTILABEL, *REGRESSION):
            parts = random_split(name, int(REAL_DATA[name].n * 0.67), number)
            is_regression = REAL_DATA[name].task == "regression"
            make: Any = (
                polyleaf.RandomForestRegressor
                if is_regression
                else polyleaf.RandomForestClassifier
            )
            for view, projection in fixed.items():
                for features in ("sqrt", 0.33, None) if view != "auto" else ("sqrt",):
                    key = {"data": name, "view": view, "features": str(features), "split": number}
                    model = make(
                        projection=projection,
                        max_features=features,
                        aggregation="total",
                        random_state=number,
                        n_jobs=arguments.jobs,
                    )
                    runs.measure(key, lambda model=model, parts=parts: fit_and_score(model, parts))
    return runs


def show_auto(runs: Runs) -> str:
    """Write the score of auto beside the best and the default fixed choice of each data set."""
    rows = []
    for name in dict.fromkeys(row["data"] for row in runs.rows):
        field = "r2" if REAL_DATA[name].task == "regression" else "lrap"
        settings = {(r["view"], r["features"]) for r in runs.rows if r["data"] == name}
        means = {
            s: runs.values(field, data=name, view=s[0], features=s[1]) for s in sorted(settings)
        }
        auto = means.pop(("auto", "sqrt"), np.array([np.nan]))
        best = max(means, key=lambda s: means[s].mean())
        rows.append(
            [
                name,
                f"{auto.mean():.4f}",
                f"{means[best].mean():.4f} ± {means[best].std(ddof=1):.4f}",
                f"{best[0]}, {best[1]}",
                f"{means['all', 'sqrt'].mean():.4f}",
                "yes" if auto.mean() >= means[best].mean() - means[best].std(ddof=1) else "no",
            ]
        )
    header = ["data", "auto", "best fixed", "which", "all outputs, sqrt", "within 1 sd"]
    return markdown(header, rows)


COMMANDS: dict[str, tuple[Callable[..., Runs], Callable[[Runs], str]]] = {
    "defaults": (run_defaults, show_defaults),
    "auto": (run_auto, show_auto),
}


def main() -> None:
    """Run one of the experiments and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=COMMANDS)
    parser.add_argument("--data", nargs="*", help="data sets; all of the table by default")
    parser.add_argument("--splits", type=int, default=10, help="random divisions")
    parser.add_argument("--views", nargs="*", help="of the table of defaults; all by default")
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("--name", default=None, help="file of results, if not the usual one")
    parser.add_argument("--show", action="store_true", help="print what is there; run nothing")
    arguments = parser.parse_args()
    run, show = COMMANDS[arguments.table]
    stored = arguments.name or f"forests-{arguments.table}"
    print(show(Runs(stored) if arguments.show else run(arguments)))


if __name__ == "__main__":
    main()
