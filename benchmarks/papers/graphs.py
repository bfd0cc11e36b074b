"""Su and Rousu 2013: Table 2 and Figure 1.

Folds, scaling, rivals and the choice of C are those of `benchmarks.graph_tables`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from benchmarks import graph_tables
from benchmarks.papers import elsewhere
from benchmarks.papers.boosting_figures import picture
from benchmarks.papers.tables import (
    Claim,
    Figure,
    Labels,
    Measure,
    Outcome,
    Row,
    Table,
    mean_of,
    paper,
)
from polyleaf import GraphClassifier, GraphEnsembleClassifier
from polyleaf.graphs.labels import stratified_folds

PAPER = "Su and Rousu 2013"
MEASURES = graph_tables.MEASURES
#: Methods of Table 2; MVE and AMM are in Figure 1 alone.
RIVALS = {"SVM": "SVM", "bagged SVMs": "Bagging", "AdaBoost.MH": "AdaBoost", "MTL": "MTL"}
METHODS = (*RIVALS, "MMCRF", "MAM")
#: Mean and deviation by data set: for every measure, in the order of METHODS; None: no positives.
TABLE_2: dict[str, tuple[tuple[tuple[float, float] | None, ...], ...]] = {
    "emotions": (
        ((77.3, 1.9), (74.1, 1.8), (76.8, 1.6), (79.8, 1.8), (79.2, 0.9), (80.5, 1.4)),
        ((21.2, 3.4), (20.9, 2.6), (23.8, 2.3), (25.5, 3.5), (26.5, 3.1), (30.4, 4.2)),
        ((57.1, 4.4), (61.5, 3.1), (66.2, 2.9), (64.6, 3.0), (64.6, 1.2), (66.3, 2.3)),
    ),
    "yeast": (
        ((80.0, 0.6), (78.4, 0.7), (74.8, 0.3), (79.3, 0.2), (79.7, 0.3), (79.9, 0.4)),
        ((14.0, 1.8), (13.1, 1.2), (7.5, 1.3), (11.3, 2.8), (13.8, 1.5), (14.0, 0.6)),
        ((62.6, 1.2), (65.5, 1.3), (63.5, 0.6), (60.2, 0.5), (62.4, 0.7), (62.4, 0.6)),
    ),
    "scene": (
        ((90.2, 0.3), (87.8, 0.8), (84.3, 0.4), (88.4, 0.6), (83.4, 0.2), (83.0, 0.2)),
        ((52.8, 1.0), (46.5, 2.5), (34.7, 1.8), (44.8, 3.0), (12.6, 0.7), (5.4, 0.5)),
        ((68.3, 0.9), (69.9, 1.9), (64.8, 0.8), (61.5, 2.4), (23.7, 1.2), (11.6, 0.9)),
    ),
    "enron": (
        ((93.6, 0.2), (93.7, 0.1), (86.2, 0.2), (93.5, 0.1), (94.9, 0.1), (95.0, 0.2)),
        ((0.4, 0.1), (0.1, 0.2), (0.0, 0.0), (0.4, 0.3), (11.7, 1.2), (12.1, 1.0)),
        ((29.4, 1.0), (38.8, 1.5), (42.3, 1.1), None, (53.8, 1.3), (53.7, 0.7)),
    ),
    "cal500": (
        ((86.3, 0.3), (86.0, 0.2), (74.9, 0.4), (86.2, 0.2), (86.3, 0.2), (86.3, 0.3)),
        ((0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)),
        ((31.4, 0.8), (40.1, 0.3), (44.3, 0.5), (28.6, 0.6), (32.7, 0.9), (32.3, 0.9)),
    ),
    "medical": (
        ((97.4, 0.1), (97.4, 0.1), (91.4, 0.3), (97.4, 0.1), (97.9, 0.1), (97.9, 0.1)),
        ((8.2, 2.3), (8.2, 1.6), (5.1, 1.0), (8.2, 1.2), (35.9, 2.1), (36.9, 4.6)),
        (None, None, (33.7, 1.1), None, (49.5, 3.5), (50.3, 3.5)),
    ),
    "circle10": (
        ((94.8, 0.9), (92.9, 0.9), (98.0, 0.4), (93.7, 1.4), (96.7, 0.7), (97.5, 0.3)),
        ((69.1, 4.0), (64.8, 3.2), (86.0, 2.0), (66.8, 3.4), (75.2, 5.6), (82.3, 2.2)),
        ((97.0, 0.5), (96.0, 0.5), (98.8, 0.2), (96.4, 0.9), (98.1, 0.4), (98.6, 0.2)),
    ),
    "circle50": (
        ((94.1, 0.3), (91.7, 0.3), (96.6, 0.2), (93.8, 0.7), (96.0, 0.1), (97.9, 0.2)),
        ((29.7, 2.5), (21.7, 2.6), (28.9, 3.6), (27.7, 3.4), (30.8, 1.9), (53.8, 2.2)),
        ((96.0, 0.3), (94.5, 0.2), (97.6, 0.1), (95.7, 0.5), (97.2, 0.1), (98.6, 0.1)),
    ),
}
Records = list[dict[str, Any]]


@cache
def _data(name: str) -> tuple[Any, Any, Any]:
    X, Y = graph_tables.load(name)
    folds = stratified_folds(Y.astype(np.int32), graph_tables.N_FOLDS, np.random.default_rng(0))
    return X, Y, folds


@cache
def _constant(name: str, method: str) -> float:
    X, Y, _ = _data(name)
    if method not in ("MMCRF", "MAM"):
        return float(graph_tables.constant_of(X, Y, RIVALS[method]))
    return float(
        graph_tables.tune(
            X,
            Y,
            lambda C: GraphEnsembleClassifier.paper("mam", C=C, n_estimators=5, random_state=0),
        )
    )


def table_row(labels: Labels, repeat: int) -> Outcome:
    """Fit a method on one fold."""
    name, method = labels["data"], labels["method"]
    X, Y, folds = _data(name)
    train, test = folds != repeat, folds == repeat
    C = _constant(name, method)
    if method == "MAM":
        made = paper(GraphEnsembleClassifier, "mam", C=C, random_state=0, n_jobs=1)
    elif method == "MMCRF":
        made = paper(GraphClassifier, "mmcrf", C=C, random_state=repeat)
    else:
        rival = graph_tables.make_rival(RIVALS[method], C)
        found = graph_tables.measure(Y[test], rival.fit(X[train], Y[train]).predict(X[test]))
        return Outcome(dict(zip(MEASURES, found)), f"rival: {method} with the constant {C:g}")
    model = made.estimator.fit(X[train], Y[train])
    found = graph_tables.measure(Y[test], model.predict(X[test]))
    return Outcome(dict(zip(MEASURES, found)), made.settings)


def curve_row(labels: Labels, repeat: int) -> Outcome:
    """Measure the first 1, 5, 20 and 60 members on one fold."""
    X, Y, folds = _data(labels["data"])
    train, test = folds != repeat, folds == repeat
    C = _constant(labels["data"], "MAM")
    made = paper(GraphEnsembleClassifier, labels["method"].lower(), C=C, random_state=0, n_jobs=1)
    found = [
        graph_tables.measure(Y[test], predicted)[0]
        for t, predicted in enumerate(
            made.estimator.fit(X[train], Y[train]).staged_predict(X[test]), start=1
        )
        if t in MEMBERS
    ]
    return Outcome({"members": list(MEMBERS), "accuracy": found}, made.settings)


MEMBERS = (1, 5, 10, 20, 40, 60)
_CURVES = ("emotions", "circle10", "circle50")


def _top_two(measure: str) -> Any:
    def check(records: Records) -> tuple[bool | None, str]:
        found: dict[str, dict[str, float]] = {}
        for line in records:
            found.setdefault(line["row"]["data"], {})[line["row"]["method"]] = mean_of(
                line, measure
            )
        whole = {name: each for name, each in found.items() if len(each) == len(METHODS)}
        if not whole:
            return None, "no data set has all methods"
        counts = dict.fromkeys(METHODS, 0)
        for each in whole.values():
            second = sorted((round(value, 1) for value in each.values()), reverse=True)[1]
            for method, value in each.items():
                counts[method] += round(value, 1) >= second
        shown = ", ".join(f"{method} {count}" for method, count in counts.items())
        first = counts["MAM"] == max(counts.values())
        return first, f"{shown}, of {len(whole)} data sets"

    return check


def _above(records: Records) -> tuple[bool | None, str]:
    """Tell whether MAM is above single graphs."""
    found: dict[str, dict[str, float]] = {}
    for line in records:
        mean = mean_of(line, MEASURES[0])
        found.setdefault(line["row"]["data"], {})[line["row"]["method"]] = mean
    gaps = {n: e["MAM"] - e["MMCRF"] for n, e in found.items() if {"MAM", "MMCRF"} <= set(e)}
    if not gaps:
        return None, "not measured"
    return min(gaps.values()) >= -0.05, ", ".join(f"{n} {gap:+.1f}" for n, gap in gaps.items())


def _early(records: Records) -> tuple[bool | None, str]:
    gaps = {}
    for line in records:
        row = line["row"]
        curve = np.mean(line["values"]["accuracy"], axis=0)
        gaps[f"{row['data']} {row['method']}"] = curve[-1] - curve[MEMBERS.index(20)]
    if not gaps:
        return None, "not measured"
    shown = ", ".join(f"{name} {gap:+.2f}" for name, gap in gaps.items())
    return max(gaps.values()) < 0.3, f"from 20 to 60 members: {shown}"


def _ends_above(better: str, worse: str) -> Any:
    """Make the check that one way to combine members ends above another."""

    def check(records: Records) -> tuple[bool | None, str]:
        ends: dict[str, dict[str, float]] = {}
        for line in records:
            end = float(np.mean(line["values"]["accuracy"], axis=0)[-1])
            ends.setdefault(line["row"]["data"], {})[line["row"]["method"]] = end
        gaps = {n: e[better] - e[worse] for n, e in ends.items() if {better, worse} <= set(e)}
        if not gaps:
            return None, "not measured"
        shown = ", ".join(f"{name} {gap:+.2f}" for name, gap in gaps.items())
        return min(gaps.values()) >= 0, f"points of microlabel accuracy: {shown}"

    return check


def draw_curves(records: Records, axes: Any) -> None:
    """Draw Figure 1."""
    for name, axis in zip(_CURVES, axes, strict=True):
        for line in records:
            if line["row"]["data"] == name:
                curve = np.mean(line["values"]["accuracy"], axis=0)
                axis.plot(MEMBERS, curve, "o-", label=line["row"]["method"])
        axis.set(title=name, xlabel="members")
    axes[0].set_ylabel("microlabel accuracy, %")
    axes[0].legend()


_CIRCLE = (
    "the generator is not given in the paper; ours has the numbers and densities of its Table "
    "1, so "
    "that these are other data"
)
_WHY: tuple[tuple[Labels, str], ...] = (
    ({"data": "circle10"}, _CIRCLE),
    ({"data": "circle50"}, _CIRCLE),
    (
        {"data": "scene"},
        "graphs of the paper predict next to nothing here, as ours do when regularised a hundred "
        "times as strongly ({doc}`/benchmarks/graphs`)",
    ),
    (
        {"data": "cal500", "method": "MAM"},
        "a tenth of 502 rows chooses C = 0.01; microlabel accuracy is the same up to 0.5",
    ),
    (
        {"method": "AdaBoost.MH"},
        "trees of up to 100 leaves with real-valued votes; theirs is not told",
    ),
    (
        {"method": "SVM"},
        "an intercept of its own, rows of length 1, C chosen on a tenth of the rows",
    ),
    ({"method": "bagged SVMs"}, "as for SVM"),
    ({"method": "MTL"}, "an intercept among the features; the paper's program is not told"),
    (
        {},
        "members are trained to a relative duality gap of 1 %; the authors' program takes a fixed "
        "number of steps",
    ),
)

TABLES = (
    Table(
        name="su2013-table2",
        paper=PAPER,
        title="Table 2: graphs and rivals",
        protocol=(
            "Five folds with like numbers of labels, C (and the rivals' constants) chosen on a "
            "tenth "
            "of the rows, 60 members, in per cent. MMCRF is a single random tree."
        ),
        differs=(
            "Fingerprint and NCI60 are not public; circle data are generated with the published "
            "densities."
        ),
        measures=tuple(Measure(name, digits=1) for name in MEASURES),
        rows=tuple(
            Row(
                {"data": name, "method": method},
                {
                    measure: Figure(*figures[m][place])  # type: ignore[misc]
                    for m, measure in enumerate(MEASURES)
                    if figures[m][place] is not None
                },
            )
            for name, figures in TABLE_2.items()
            for place, method in enumerate(METHODS)
        ),
        work=table_row,
        repeats=graph_tables.N_FOLDS,
        across="method",
        elsewhere=tuple(
            Row({"data": data, "method": method}, {measure: figure})
            for measure, text in elsewhere.GRAPHS.items()
            for data, method, figure in elsewhere.figures(text, METHODS)
        ),
        quick=({"data": "emotions", "method": "MAM"}, {"data": "emotions", "method": "SVM"}),
        quick_repeats=graph_tables.N_FOLDS,
        why=_WHY,
        claims=(
            Claim("MAM is most often among the best two (microlabel)", _top_two(MEASURES[0])),
            Claim("MAM is most often among the best two (multilabel)", _top_two(MEASURES[1])),
            Claim("MAM is most often among the best two (F1)", _top_two(MEASURES[2])),
            Claim("MAM is above its members (microlabel accuracy)", _above),
        ),
    ),
    Table(
        name="su2013-figure1",
        paper=PAPER,
        title="Figure 1: number of members",
        protocol="Microlabel accuracy of the first 1, 5, 10, 20, 40 and 60 members.",
        differs="Three of the ten data sets.",
        measures=(),
        rows=tuple(
            Row({"data": name, "method": method})
            for name in _CURVES
            for method in ("MVE", "AMM", "MAM")
        ),
        work=curve_row,
        repeats=graph_tables.N_FOLDS,
        across="method",
        quick=({"data": "emotions", "method": "MVE"},),
        claims=(
            Claim("curves converge with a small ensemble", _early),
            Claim("MAM ends above AMM (nine of ten data sets)", _ends_above("MAM", "AMM")),
            Claim("AMM ends above MVE (eight of ten data sets)", _ends_above("AMM", "MVE")),
        ),
        draw=picture(draw_curves, (1, 3)),
    ),
)
