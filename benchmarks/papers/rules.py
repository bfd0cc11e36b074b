"""Rapp et al. 2020: Table 1 on real data, Figure 1 on synthetic problems."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.papers.boosting_figures import picture
from benchmarks.papers.rules_published import MEASURES, METHODS, PUBLISHED, VARIANTS, rows_behind
from benchmarks.papers.rules_table import (
    SETTINGS,
    choose,
    cross_validate,
    goal_of,
    make_rules,
    read,
    row_losses,
)
from benchmarks.papers.tables import (
    Claim,
    Figure,
    Labels,
    Measure,
    Outcome,
    Row,
    Table,
    grid,
    mean_of,
)
from polyleaf.datasets import make_linear_labels

PAPER = "Rapp et al. 2020"
PROBLEMS = ("independent", "marginal", "conditional")
STAGES = (1, 2, 4, 8, 16, 32, 128, 1000)
PENALTY = 16.0
Records = list[dict[str, Any]]


def table_row(labels: Labels, repeat: int) -> Outcome:
    """Measure a method on a data set by BBC-CV."""
    method = labels["method"]
    settings, losses = cross_validate(method, read(labels["data"]), None, repeat)
    found = choose(settings, losses, goal_of(method), repeat)
    values = {name: found[name] for name in MEASURES}
    # Single draws, thinned, for how sure average ranks are.
    values |= {f"{name} draws": found[f"{name} draws"][::25] for name in MEASURES}
    if method in VARIANTS:
        made = make_rules(method, 6000, *SETTINGS[0], repeat)
        return Outcome(values, f"{made.settings}; shrinkage and penalty of {SETTINGS}")
    return Outcome(values, f"rival: {method} on XGBoost, StoppedTrees of {len(settings)} settings")


def _place(measure: str) -> int:
    return MEASURES.index(measure)


def _ranks(records: Records, measure: str) -> tuple[list[str], Any, int]:
    """Average ranks over the data sets that all methods have been measured on."""
    found: dict[str, dict[str, float]] = {}
    for line in records:
        found.setdefault(line["row"]["data"], {})[line["row"]["method"]] = mean_of(line, measure)
    names = [name for name, each in found.items() if len(each) == len(METHODS)]
    if not names:
        return list(METHODS), None, 0
    sign = -1 if measure == "example F1" else 1
    losses = np.array([[found[name][m] for m in METHODS] for name in names]).round(2)
    return list(METHODS), rankdata(sign * losses, axis=1).mean(axis=0), len(names)


def _order(measure: str, first: tuple[str, ...]) -> Any:
    def check(records: Records) -> tuple[bool | None, str]:
        methods, ranks, n = _ranks(records, measure)
        if ranks is None:
            return None, "no data set has all methods"
        order = np.argsort(ranks, kind="stable")
        shown = ", ".join(f"{methods[i]} {ranks[i]:.2f}" for i in order)
        theirs = np.array([PUBLISHED[name][_place(measure)] for name in PUBLISHED])
        sign = -1 if measure == "example F1" else 1
        given = rankdata(sign * theirs, axis=1).mean(axis=0)
        published = ", ".join(f"{METHODS[i]} {given[i]:.2f}" for i in np.argsort(given))
        right = tuple(methods[i] for i in order[: len(first)]) == first
        return right, f"{shown} ({n} data sets); published: {published}"

    return check


def _sure(records: Records) -> tuple[bool | None, str]:
    """Tell on how many of the single draws the first method stays first."""
    drawn: dict[str, dict[str, Any]] = {}
    for line in records:
        values = line.get("values", {}).get("subset 0/1 draws")
        if values is not None:
            drawn.setdefault(line["row"]["data"], {})[line["row"]["method"]] = values[0]
    whole = [each for each in drawn.values() if len(each) == len(METHODS)]
    if len(whole) < 2:
        return None, (
            "the single draws of our full run were not kept; the published losses are counts of "
            f"{', '.join(str(rows_behind(name)) for name in PUBLISHED)} rows"
        )
    losses = np.array([[each[m] for m in METHODS] for each in whole])
    ranks = rankdata(losses, axis=1).mean(axis=0)
    share = np.mean(ranks.argmin(axis=0) == METHODS.index("ew multi"))
    return bool(share > 0.95), f"first on {share:.0%} of the draws, {len(whole)} data sets"


def _variants(records: Records) -> tuple[bool | None, str]:
    """Compare complete and single heads of the example-wise loss."""
    found: dict[str, dict[str, float]] = {}
    for line in records:
        mean = mean_of(line, "subset 0/1")
        found.setdefault(line["row"]["data"], {})[line["row"]["method"]] = mean
    pairs = {
        n: (e["ew multi"], e["ew single"])
        for n, e in found.items()
        if {"ew multi", "ew single"} <= set(e)
    }
    if not pairs:
        return None, "not measured"
    wins = sum(a < b for a, b in pairs.values())
    return wins == len(pairs), f"on {wins} of {len(pairs)} data sets"


_WHY: tuple[tuple[Labels, str], ...] = (
    (
        {"data": "birds"},
        "the published losses were counted on one draw of 235 rows; all methods, the rivals too, "
        "are 5 to 9 points higher on ours, which points to easier rows there",
    ),
    (
        {"data": "emotions"},
        "one draw of 210 rows, whose counts have a deviation of 3.2 points, against our mean of "
        "500",
    ),
    (
        {"data": "medical"},
        "not explained: 3 to 6 points for rules; five folds and a smaller grid than the paper's",
    ),
    (
        {"data": "slashdot"},
        "XGBoost sees the zeros of text as missing and refits on all rows after early stopping",
    ),
    (
        {},
        "one published draw (deviation 1 to 3 points), five folds instead of ten, a smaller grid",
    ),
)
_ERRORS = {name: rows_behind(name) for name in PUBLISHED}


def _deviation(name: str, loss: float) -> float:
    """Give the deviation of a share that was counted on so many rows, in per cent."""
    share = loss / 100
    return 100 * float(np.sqrt(share * (1 - share) / _ERRORS[name]))


@cache
def _problem(name: str, seed: int) -> tuple[Any, Any]:
    return make_linear_labels(20_000, dependence=name, random_state=seed)


def figure_row(labels: Labels, repeat: int) -> Outcome:
    """Measure losses along the rules, on 10,000 rows to learn from and as many to measure."""
    name, method = labels["problem"], labels["method"]
    X, Y = _problem(name, repeat)
    truth = Y[10_000:] == 1
    if method == "best possible":
        clean = make_linear_labels(20_000, dependence=name, noise=0.0, random_state=repeat)[1]
        subset, hamming, _ = 100 * row_losses(clean[10_000:], truth).mean(axis=1)
        return Outcome({"Hamming": hamming, "subset 0/1": subset}, "rival: labels without noise")
    made = make_rules(method, STAGES[-1], 0.3, PENALTY, repeat)
    model = made.estimator.fit(X[:10_000], Y[:10_000])
    curves = [
        100 * row_losses(model.select(range(t)).predict(X[10_000:]), truth).mean(axis=1)
        for t in STAGES
    ]
    subset, hamming, _ = np.transpose(curves)
    return Outcome(
        {
            "Hamming": hamming[-1],
            "subset 0/1": subset[-1],
            "rules": list(STAGES),
            "Hamming curve": hamming.tolist(),
            "subset curve": subset.tolist(),
        },
        made.settings,
    )


#: Section 5.1: what a perfect model loses, Hamming and subset 0/1.
BAYES = {"independent": (10.0, None), "marginal": (10.0, 47.0), "conditional": (10.0, 10.0)}


def _near(records: Records) -> tuple[bool | None, str]:
    seen = {}
    for name in PROBLEMS:
        own = {
            r["row"]["method"]: mean_of(r, "subset 0/1")
            for r in records
            if r["row"]["problem"] == name
        }
        if "best possible" in own and len(own) > 1:
            best = own.pop("best possible")
            seen[name] = max(own.values()) - best
    if not seen:
        return None, "not measured"
    shown = ", ".join(f"{name}: {gap:+.1f} points" for name, gap in seen.items())
    return max(seen.values()) < 2.0, f"the worst variant above the best possible: {shown}"


def draw_figure(records: Records, axes: Any) -> None:
    """Draw Figure 1: each curve starts at the upper right and goes down as rules are added."""
    for name, axis in zip(PROBLEMS, axes, strict=True):
        own = {line["row"]["method"]: line for line in records if line["row"]["problem"] == name}
        for method, marker in zip(VARIANTS, "osd^", strict=True):
            values = own[method]["values"]
            axis.plot(
                values["Hamming curve"][0],
                values["subset curve"][0],
                marker=marker,
                markersize=4,
                linewidth=1,
                label=method,
            )
        best = own["best possible"]
        point = [mean_of(best, measure) for measure in ("Hamming", "subset 0/1")]
        axis.plot(*point, "k*", markersize=11, label="best possible", zorder=0)
        axis.set(title=name, xlabel="Hamming loss, %", ylabel="subset 0/1 loss, %")
    axes[0].legend(fontsize="small")


TABLES = (
    Table(
        name="rapp2020-table1",
        paper=PAPER,
        title="Table 1: rules beside XGBoost",
        protocol=(
            "Losses in per cent, settings chosen and measured by BBC-CV: cross-validation, then "
            "the "
            "setting that is best on rows drawn with replacement is measured on the others, 500 "
            "times. BR, LP and CC are XGBoost by label, label set and chain (best of ten orders)."
        ),
        differs=(
            "Five folds; rules and XGBoost choose from the same six pairs of shrinkage and "
            "penalty instead of 18, up to 6,000 rules (10,000), thresholds from 255 bins (XGBoost "
            "64), at most 2,000 rounds and 150,000 trees for all label sets. Published losses are "
            "whole numbers of rows of *one* draw: their deviation below is that of such a count, "
            "the most it can be."
        ),
        earlier="four pairs for rules and three for XGBoost.",
        measures=tuple(Measure(name, name == "example F1", 2) for name in MEASURES),
        rows=tuple(
            Row(
                {"data": name, "method": method},
                {
                    measure: Figure(
                        PUBLISHED[name][m][place],
                        _deviation(name, PUBLISHED[name][m][place]),
                    )
                    for m, measure in enumerate(MEASURES)
                },
            )
            for name in PUBLISHED
            for place, method in enumerate(METHODS)
        ),
        work=table_row,
        repeats=1,
        across="method",
        quick=({"data": "emotions", "method": "lw single"},),
        why=_WHY,
        claims=(
            Claim(
                "by subset loss the order is ew multi, LP, ew single",
                _order("subset 0/1", ("ew multi", "LP", "ew single")),
            ),
            Claim("by example F1 ew multi is first", _order("example F1", ("ew multi",))),
            Claim("by Hamming loss ew multi is first", _order("Hamming", ("ew multi",))),
            Claim("complete heads beat single ones (ew, subset loss)", _variants),
            Claim("'first' with its uncertainty: on single draws, too", _sure),
        ),
        needs=("data", "xgboost"),
    ),
    Table(
        name="rapp2020-figure1",
        paper=PAPER,
        title="Figure 1: three synthetic problems",
        protocol=(
            "Losses in per cent of 1,000 rules on 10,000 rows to learn from and 10,000 to "
            "measure; "
            "learning rate 0.3, L2 of 16."
        ),
        differs="Thresholds from 255 bins; the paper's problems are drawn anew.",
        measures=(Measure("Hamming", False, 1), Measure("subset 0/1", False, 1)),
        rows=tuple(
            Row(
                labels,
                {
                    measure: Figure(value, 0.5)
                    for measure, value in zip(("Hamming", "subset 0/1"), BAYES[labels["problem"]])
                    if value is not None and labels["method"] == "best possible"
                },
            )
            for labels in grid(problem=PROBLEMS, method=("best possible", *VARIANTS))
        ),
        work=figure_row,
        repeats=1,
        across="method",
        quick=(
            {"problem": "conditional", "method": "best possible"},
            {"problem": "conditional", "method": "ew multi"},
        ),
        claims=(Claim("all variants end next to the best possible losses", _near),),
        draw=picture(draw_figure, (1, 3)),
        needs=(),
    ),
)
