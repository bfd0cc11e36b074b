"""Joly et al. 2014 and Breskvar et al. 2018 measured again.

``python -m benchmarks.papers.forests {table1,table11,...}``:

- ``table1``: LRAP of forests on Gaussian views of the labels (Tables 1 and 3 of Joly et al. 2014),
  rows without labels left out, with the published figures beside.
- ``table11``: aRRMSE of random output selections (Table 11 of Breskvar et al. 2018), with
  single-target ensembles, number of nodes and time.
- ``defaults``: selections and aggregations compared, for the defaults of the regressors.
- ``auto``: `projection="auto"` against fixed views.

Every finished run is kept; a second call goes on where the first was stopped.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

import polyleaf
from benchmarks.papers.runs import Runs, load, markdown, take
from benchmarks.real_data import REAL_DATA
from polyleaf import projections
from polyleaf.metrics import (
    label_ranking_average_precision_score,
    macro_r2_score,
    relative_root_mean_squared_error,
)

#: Training rows and published LRAP (mean, standard deviation): forest, m = 1, ln d, d; Table 1
#: with random forests, Table 3 with extra trees.
TABLE_1: dict[str, dict[str, Any]] = {
    "emotions": {
        "n_train": 391,
        "rf": [(0.800, 0.014), (0.800, 0.010), (0.810, 0.014), (0.810, 0.016)],
        "et": [(0.81, 0.01), (0.81, 0.014), (0.80, 0.013), (0.81, 0.014)],
    },
    "scene": {
        "n_train": 1211,
        "rf": [(0.870, 0.003), (0.875, 0.007), (0.872, 0.004), (0.872, 0.004)],
        "et": [(0.873, 0.004), (0.876, 0.003), (0.877, 0.007), (0.878, 0.006)],
    },
    "yeast": {
        "n_train": 1500,
        "rf": [(0.759, 0.008), (0.748, 0.006), (0.758, 0.004), (0.758, 0.005)],
        "et": [(0.757, 0.008), (0.746, 0.004), (0.752, 0.009), (0.757, 0.01)],
    },
    "genbase": {
        "n_train": 463,
        "rf": [(0.992, 0.004), (0.994, 0.002), (0.994, 0.004), (0.993, 0.004)],
        "et": [(0.987, 0.005), (0.991, 0.004), (0.992, 0.001), (0.992, 0.005)],
    },
    "medical": {
        "n_train": 333,
        "rf": [(0.848, 0.009), (0.836, 0.011), (0.842, 0.014), (0.841, 0.009)],
        "et": [(0.855, 0.008), (0.867, 0.009), (0.872, 0.006), (0.862, 0.008)],
    },
    "enron": {
        "n_train": 1123,
        "rf": [(0.683, 0.009), (0.680, 0.006), (0.685, 0.009), (0.686, 0.008)],
        "et": [(0.66, 0.01), (0.65, 0.01), (0.663, 0.008), (0.66, 0.01)],
    },
    "bibtex": {
        "n_train": 4880,
        "rf": [(0.566, 0.004), (0.513, 0.006), (0.548, 0.007), (0.564, 0.008)],
        "et": [(0.584, 0.005), (0.538, 0.005), (0.564, 0.004), (0.583, 0.004)],
    },
    "cal500": {
        "n_train": 376,
        "rf": [(0.504, 0.011), (0.504, 0.004), (0.506, 0.007), (0.502, 0.010)],
        "et": [(0.5, 0.007), (0.502, 0.008), (0.499, 0.007), (0.503, 0.009)],
    },
    "corel5k": {
        "n_train": 4500,
        "rf": [(0.303, 0.012), (0.309, 0.011), (0.307, 0.011), (0.299, 0.013)],
        "et": [(0.285, 0.009), (0.313, 0.011), (0.309, 0.009), (0.285, 0.011)],
    },
    "delicious": {
        "n_train": 12920,
        "rf": [(0.384, 0.004), (0.381, 0.003), (0.382, 0.002), (0.383, 0.004)],
        "et": [(0.354, 0.003), (0.36, 0.004), (0.358, 0.004), (0.355, 0.003)],
    },
}
SIZES: tuple[Any, ...] = (None, 1, "log", 1.0)
CLASSIFIERS = {"rf": polyleaf.RandomForestClassifier, "et": polyleaf.ExtraTreesClassifier}

#: Published aRRMSE: Bag-ROS, RF-ROS, ET-ROS, RP-RF, RP-ET.
TABLE_11: dict[str, tuple[float, ...]] = {
    "atp1d": (0.38, 0.412, 0.374, 0.435, 0.427),
    "atp7d": (0.467, 0.517, 0.436, 0.413, 0.326),
    "osales": (0.69, 0.733, 0.698, 0.646, 0.647),
    "rf1": (0.145, 0.152, 0.147, 0.14, 0.136),
    "wq": (0.899, 0.899, 0.894, 0.902, 0.901),
}


def _rademacher() -> projections.Projection:
    return projections.Rademacher(n_components="log")


#: As the paper sets them, whatever the defaults are: 100 trees, two rows per leaf (as in CLUS),
#: the root of the number of features for random forests, and all of them for the others.
_OF_PAPER = {
    "n_estimators": 100,
    "min_samples_leaf": 2,
    "category_penalty": 0.0,
    "aggregation": "total",
}
_BAGS = partial(polyleaf.BaggedTreesRegressor, max_features=None, **_OF_PAPER)
_RANDOM = partial(polyleaf.RandomForestRegressor, max_features="sqrt", **_OF_PAPER)
_EXTRA = partial(polyleaf.ExtraTreesRegressor, max_features=None, **_OF_PAPER)
METHODS_11: dict[str, Callable[..., Any]] = {
    "Bag-ROS": partial(_BAGS, projection=projections.Subsample(0.5), aggregation="total"),
    "RF-ROS": partial(_RANDOM, projection=projections.Subsample(0.75), aggregation="subspace"),
    "ET-ROS": partial(_EXTRA, projection=projections.Subsample(0.75), aggregation="subspace"),
    "RP-RF": partial(_RANDOM, projection=_rademacher(), aggregation="total"),
    "RP-ET": partial(_EXTRA, projection=_rademacher(), aggregation="total"),
    "Bag-ST": partial(_BAGS, projection="round_robin"),
    "RF-ST": partial(_RANDOM, projection="round_robin"),
    "ET-ST": partial(_EXTRA, projection="round_robin"),
}

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


def random_split(name: str, n_train: int, number: int) -> tuple[Any, ...]:
    """Divide a data set at random into training and test rows."""
    X, Y = load(name)
    order = np.random.default_rng(number).permutation(Y.shape[0])
    train, test = np.sort(order[:n_train]), np.sort(order[n_train:])
    return take(X, train), take(Y, train), take(X, test), take(Y, test)


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


def gaussian(size: Any) -> projections.Projection | None:
    """Make the view of Table 1: None for all labels."""
    return None if size is None else projections.Gaussian(n_components=size)


def run_table1(arguments: argparse.Namespace) -> Runs:
    """Measure Tables 1 and 3 of Joly et al. 2014."""
    runs = Runs("forests-table1")
    for number in range(arguments.splits):
        for name in arguments.data or TABLE_1:
            parts = None
            for kind, make in CLASSIFIERS.items():
                for size in SIZES:
                    # A dense view of all 983 labels takes as long as everything else together.
                    if (
                        name == "delicious"
                        and size is SIZES[-1]
                        and number >= arguments.dense_splits
                    ):
                        continue
                    key = {"data": name, "kind": kind, "size": str(size), "split": number}
                    if runs.has(key):
                        continue
                    if parts is None:
                        parts = random_split(name, TABLE_1[name]["n_train"], number)
                    model = make(
                        projection=gaussian(size), random_state=number, n_jobs=arguments.jobs
                    )
                    runs.measure(key, lambda model=model, parts=parts: fit_and_score(model, parts))
    return runs


def show_table1(runs: Runs) -> str:
    """Write Tables 1 and 3, ours beside the published figure."""
    lines = []
    for kind, title in (("rf", "Random forests"), ("et", "Extra trees")):
        rows = []
        for name, published in TABLE_1.items():
            cells = [name]
            for size, (mean, std) in zip(SIZES, published[kind]):
                ours = runs.mean_and_std("lrap", data=name, kind=kind, size=str(size))
                cells.append(f"{ours} ({mean:.3f} ± {std:.3f})")
            cells.append(str(runs.values("lrap", data=name, kind=kind, size="None").size))
            rows.append(cells)
        header = [title, "all labels", "m = 1", "m = ln d", "m = d", "splits"]
        lines.append(markdown(header, rows))
    return "\n\n".join(lines)


def run_table11(arguments: argparse.Namespace) -> Runs:
    """Measure Table 11 of Breskvar et al. 2018 by ten-fold cross-validation."""
    runs = Runs("forests-table11-two-rows")
    for name in arguments.data or TABLE_11:
        X, Y = load(name)
        folds = KFold(10, shuffle=True, random_state=0)
        for number, (train, test) in enumerate(folds.split(np.zeros(Y.shape[0]))):
            parts = take(X, train), take(Y, train), take(X, test), take(Y, test)
            for method, make in METHODS_11.items():
                key = {"data": name, "method": method, "fold": number}
                model = make(random_state=number, n_jobs=arguments.jobs)
                runs.measure(key, lambda model=model, parts=parts: fit_and_score(model, parts))
    return runs


def show_table11(runs: Runs) -> str:
    """Write Table 11, ours beside the published figure, and what it took."""
    header = ["aRRMSE", *METHODS_11]
    rows, costs = [], []
    for name, published in TABLE_11.items():
        cells, cost = [name], [name]
        for method, figure in zip(METHODS_11, [*published, None, None, None]):
            ours = runs.mean_and_std("arrmse", data=name, method=method)
            cells.append(ours if figure is None else f"{ours} ({figure:.3f})")
            nodes = runs.values("n_nodes", data=name, method=method)
            times = runs.values("fit_cpu_s", data=name, method=method)
            speed = runs.values("predict_cpu_us_per_row", data=name, method=method)
            cost.append(
                f"{nodes.mean():,.0f} / {times.mean():.2f} / {speed.mean():.0f}"
                if nodes.size
                else "-"
            )
        rows.append(cells)
        costs.append(cost)
    second = ["nodes / s to fit / µs per row", *METHODS_11]
    return markdown(header, rows) + "\n\n" + markdown(second, costs)


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
    "table1": (run_table1, show_table1),
    "table11": (run_table11, show_table11),
    "defaults": (run_defaults, show_defaults),
    "auto": (run_auto, show_auto),
}


def main() -> None:
    """Run one of the experiments and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=COMMANDS)
    parser.add_argument("--data", nargs="*", help="data sets; all of the table by default")
    parser.add_argument("--splits", type=int, default=10, help="random divisions")
    parser.add_argument(
        "--dense-splits", type=int, default=1, help="divisions of delicious with m = d"
    )
    parser.add_argument("--views", nargs="*", help="of the table of defaults; all by default")
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("--name", default=None, help="file of results, if not the usual one")
    parser.add_argument("--show", action="store_true", help="print what is there; run nothing")
    arguments = parser.parse_args()
    run, show = COMMANDS[arguments.table]
    names = {"table1": "forests-table1", "table11": "forests-table11-two-rows"}
    stored = arguments.name or names.get(arguments.table, f"forests-{arguments.table}")
    print(show(Runs(stored) if arguments.show else run(arguments)))


if __name__ == "__main__":
    main()
