"""Table 2 and Figure 1 of Su and Rousu 2013: graph ensembles and rivals on the same folds.

``python -m benchmarks.graph_tables run`` fits what is not yet in the file of results, one line
per data set, method and fold, so that it can be stopped and started again;
``python -m benchmarks.graph_tables report`` prints the table with the published figures beside,
and ``... figure curves.png`` draws the learning curves.

Features are scaled to [0, 1], texts by TF-IDF, rows to length 1; the kernel is linear, without an
intercept, as in the paper. C (and the rivals' own constants) are chosen on a tenth of the rows,
by the microlabel accuracy of a 5-fold cross-validation there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import minmax_scale, normalize

from benchmarks.graph_rivals import BaggedSVMs, LabelwiseSVM, MultiTaskFeatures
from benchmarks.real_data import REAL_DATA, data_folder
from polyleaf import GraphClassifier, GraphEnsembleClassifier
from polyleaf.datasets import make_circle_labels
from polyleaf.experiments import AdaBoostMH
from polyleaf.graphs.labels import stratified_folds

RESULTS = Path(__file__).resolve().parent / "results" / "graph_tables.jsonl"
N_FOLDS = 5
GRID = (0.01, 0.1, 0.5, 1.0, 5.0, 10.0)
MEASURES = ("microlabel accuracy", "multilabel accuracy", "microlabel F1")
TEXTS = ("enron", "medical")
SETS = ("emotions", "yeast", "scene", "enron", "cal500", "medical")
#: Labels, density and share of unions: those of Table 1, and the same without unions.
CIRCLES = {
    "circle10": (10, 0.85, 0.5),
    "circle50": (50, 0.71, 0.5),
    "lines10": (10, 0.85, 0.0),
    "lines50": (50, 0.71, 0.0),
}
METHODS = ("SVM", "Bagging", "AdaBoost", "MTL", "graphs")
AGGREGATIONS = ("mve", "amm", "mam")
#: Mean and standard deviation of MAM in Table 2, by data set and in the order of MEASURES.
PUBLISHED = {
    "emotions": ((80.5, 1.4), (30.4, 4.2), (66.3, 2.3)),
    "yeast": ((79.9, 0.4), (14.0, 0.6), (62.4, 0.6)),
    "scene": ((83.0, 0.2), (5.4, 0.5), (11.6, 0.9)),
    "enron": ((95.0, 0.2), (12.1, 1.0), (53.7, 0.7)),
    "cal500": ((86.3, 0.3), (0.0, 0.0), (32.3, 0.9)),
    "medical": ((97.9, 0.1), (36.9, 4.6), (50.3, 3.5)),
}


def load(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Read or generate a data set, scaled as the module says."""
    if name in CIRCLES:
        n_labels, density, unions = CIRCLES[name]
        X, Y = make_circle_labels(
            1000, n_labels, density=density, union_share=unions, random_state=0
        )
        return X, Y.astype(int)
    folder = data_folder()
    if folder is None:
        raise SystemExit("There is no folder of public data; see benchmarks/real_data.py.")
    data = REAL_DATA[name].load(folder)
    X, Y = (np.asarray(a.toarray() if hasattr(a, "toarray") else a) for a in (data.X, data.Y))
    X = X.astype(float)
    X = TfidfTransformer().fit_transform(X).toarray() if name in TEXTS else minmax_scale(X)
    return normalize(X), Y.astype(int)


def measure(Y: NDArray[Any], predicted: NDArray[Any]) -> list[float]:
    """Give the three measures, in per cent."""
    right = predicted == Y
    f1 = 2.0 * (predicted * Y).sum() / max(1, predicted.sum() + Y.sum())
    return [100.0 * right.mean(), 100.0 * right.all(axis=1).mean(), 100.0 * f1]


def make_rival(method: str, constant: float) -> Any:
    """Make a rival with its constant, if it has one."""
    if method == "SVM":
        return LabelwiseSVM(constant)
    if method == "Bagging":
        return BaggedSVMs(constant)
    return MultiTaskFeatures(constant) if method == "MTL" else AdaBoostMH(random_state=0)


def make_graphs(constant: float, n_members: int, n_jobs: int = 1) -> GraphEnsembleClassifier:
    """Make an ensemble as in the paper."""
    return GraphEnsembleClassifier(
        n_estimators=n_members,
        kernel="linear",
        C=constant,
        scale_features=False,
        intercept_scaling=0.0,
        calibration_folds=None,
        random_state=0,
        n_jobs=n_jobs,
    )


def tune(X: NDArray[Any], Y: NDArray[Any], make: Callable[[float], Any]) -> float:
    """Choose a constant of the grid on a tenth of the rows."""
    rng = np.random.default_rng(1)
    rows = rng.permutation(len(X))[: round(0.1 * len(X))]
    X, Y = X[rows], Y[rows]
    fold = stratified_folds(Y.astype(np.int32), N_FOLDS, rng)
    scores = []
    for constant in GRID:
        predicted = np.zeros_like(Y)
        for f in range(N_FOLDS):
            model = make(constant).fit(X[fold != f], Y[fold != f])
            predicted[fold == f] = model.predict(X[fold == f])
        scores.append(measure(Y, predicted)[0])
    return GRID[int(np.argmax(scores))]


def run_graphs(
    X: NDArray[Any], Y: NDArray[Any], test: NDArray[np.bool_], constant: float, n_members: int
) -> dict[str, Any]:
    """Fit one ensemble; measure its prefixes by all three aggregations, and single graphs."""
    model = make_graphs(constant, n_members, n_jobs=2).fit(X[~test], Y[~test])
    row: dict[str, Any] = {"diversity": model.diversity_, "coherence": model.coherence_}
    for aggregation in AGGREGATIONS:
        # Members do not depend on how they are combined: none is trained again.
        model.set_params(aggregation=aggregation, warm_start=True).fit(X[~test], Y[~test])
        row[aggregation] = [measure(Y[test], P) for P in model.staged_predict(X[test])]
    singles = []
    for seed in range(min(n_members, 10)):
        single = GraphClassifier(
            kernel="linear",
            C=constant,
            scale_features=False,
            intercept_scaling=0.0,
            calibration_folds=None,
            random_state=seed,
        )
        singles.append(measure(Y[test], single.fit(X[~test], Y[~test]).predict(X[test])))
    row["mmcrf"] = np.mean(singles, axis=0).tolist()
    return row


def run(
    names: Sequence[str],
    methods: Sequence[str],
    n_members: int,
    path: Path,
    given: float | None = None,
) -> None:
    """Fit what the file of results lacks; `given` is a constant to take instead of tuning it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = {(row["data"], row["method"], row["fold"]) for row in read(path)}
    for name in names:
        X, Y = load(name)
        fold = stratified_folds(Y.astype(np.int32), N_FOLDS, np.random.default_rng(0))
        for method in methods:
            left = [f for f in range(N_FOLDS) if (name, method, f) not in done]
            if not left:
                continue
            constant = constant_of(X, Y, method) if given is None else given
            for f in left:
                start = time.process_time()
                row: dict[str, Any] = {"data": name, "method": method, "fold": f, "C": constant}
                test = fold == f
                if method == "graphs":
                    row |= run_graphs(X, Y, test, constant, n_members)
                else:
                    rival = make_rival(method, constant).fit(X[~test], Y[~test])
                    row["measures"] = measure(Y[test], rival.predict(X[test]))
                row["seconds"] = time.process_time() - start
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(f"{name} {method} fold {f}: {row['seconds']:.0f} s", flush=True)


def constant_of(X: NDArray[Any], Y: NDArray[Any], method: str) -> float:
    """Tune a method's constant; AdaBoost has none, and bagging takes that of the SVM."""
    if method == "AdaBoost":
        return float("nan")
    if method == "graphs":
        return tune(X, Y, lambda constant: make_graphs(constant, 5))
    name = "SVM" if method == "Bagging" else method
    return tune(X, Y, lambda constant: make_rival(name, constant))


def read(path: Path) -> list[dict[str, Any]]:
    """Read the results so far."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def collect(rows: list[dict[str, Any]]) -> dict[tuple[str, str], NDArray[Any]]:
    """Give the measures of every data set and method, of shape (n_folds, 3)."""
    found: dict[tuple[str, str], list[Any]] = {}
    for row in rows:
        if row["method"] != "graphs":
            found.setdefault((row["data"], row["method"]), []).append(row["measures"])
            continue
        found.setdefault((row["data"], "MMCRF"), []).append(row["mmcrf"])
        for name in AGGREGATIONS:
            found.setdefault((row["data"], name.upper()), []).append(row[name][-1])
    return {key: np.array(values) for key, values in found.items()}


def report(path: Path) -> str:
    """Write the table in Markdown, and count the figures within one standard deviation."""
    rows = read(path)
    table = collect(rows)
    methods = [m for m in (*METHODS[:-1], "MMCRF", "MVE", "AMM", "MAM") if _has(table, m)]
    of_graphs = [row for row in rows if row["method"] == "graphs"]
    sizes = {row["data"]: len(row["mam"]) for row in of_graphs}
    constants = {row["data"]: f"{row['C']:g}" for row in of_graphs}
    lines, n_reached, n_known = [], 0, 0
    for k, measure_name in enumerate(MEASURES):
        head = ["data", "C", "T", *methods, "MAM, published"]
        lines += [f"**{measure_name}**", "", _line(head), _line(["---"] * len(head))]
        for name in (*SETS, *CIRCLES):
            if not any(key[0] == name for key in table):
                continue
            cells = [_cell(table.get((name, method)), k) for method in methods]
            published = PUBLISHED.get(name)
            shown = "" if published is None else "{:.1f} ± {:.1f}".format(*published[k])
            if published is not None and (name, "MAM") in table:
                mean, deviation = published[k]
                n_known += 1
                n_reached += bool(round(table[name, "MAM"][:, k].mean(), 1) >= mean - deviation)
            known = [constants.get(name, ""), sizes.get(name, "")]
            lines.append(_line([name, *known, *cells, shown]))
        lines.append("")
    lines.append(f"MAM within one standard deviation of Table 2, or better: {n_reached}/{n_known}")
    return "\n".join(lines)


def _has(table: dict[tuple[str, str], NDArray[Any]], method: str) -> bool:
    return any(key[1] == method for key in table)


def _cell(values: NDArray[Any] | None, k: int) -> str:
    return "" if values is None else f"{values[:, k].mean():.1f} ± {values[:, k].std():.1f}"


def _line(cells: Sequence[Any]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def figure(source: Path, target: Path) -> None:
    """Draw microlabel accuracy over the number of members, with single graphs as a line."""
    import matplotlib.pyplot as plt

    rows = [row for row in read(source) if row["method"] == "graphs"]
    drawn = {row["data"] for row in rows}
    names = [name for name in (*SETS, "circle10", "circle50") if name in drawn]
    n_rows = -(-len(names) // 3)
    figure, axes = plt.subplots(
        n_rows, 3, figsize=(9, 2.2 * n_rows), squeeze=False, layout="constrained"
    )
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    for ax, name in zip(axes.flat, names):
        own = [row for row in rows if row["data"] == name]
        for aggregation in AGGREGATIONS:
            curve = np.mean([row[aggregation] for row in own], axis=0)[:, 0]
            ax.plot(np.arange(1, len(curve) + 1), curve, label=aggregation.upper())
        ax.axhline(np.mean([row["mmcrf"][0] for row in own]), ls="--", c="grey", label="MMCRF")
        ax.set_title(name, fontsize="medium")
    figure.supxlabel("members", fontsize="medium")
    figure.supylabel("microlabel accuracy (%)", fontsize="medium")
    handles = axes.flat[0].get_legend_handles_labels()
    figure.legend(*handles, frameon=False, ncols=4, loc="outside upper center")
    figure.savefig(target, dpi=90)


def main(argv: Sequence[str] | None = None) -> int:
    """Run, report or draw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graph_tables", description=__doc__)
    parser.add_argument("action", choices=("run", "report", "figure"))
    parser.add_argument("target", nargs="?", type=Path, help="of a figure")
    parser.add_argument("--data", nargs="+", choices=(*SETS, *CIRCLES), default=[*SETS, *CIRCLES])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--members", type=int, default=60, help="T (default 60)")
    parser.add_argument("--constant", type=float, help="take this C instead of tuning it")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args(argv)
    if options.action == "run":
        warnings.simplefilter("ignore", ConvergenceWarning)
        run(options.data, options.methods, options.members, options.results, options.constant)
    elif options.action == "report":
        print(report(options.results))
    else:
        figure(options.results, options.target or options.results.with_suffix(".png"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
