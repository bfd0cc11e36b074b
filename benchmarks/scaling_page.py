"""The page of `benchmarks.scaling`: curves, exponents and the share of the machine's bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.scaling import CURVES, DEPTH, ROOT, WORDS

PAGE = ROOT / "docs/benchmarks/speed_curves.md"
FIGURES = ROOT / "docs/benchmarks/figures"

#: Additions to sums in the second-level cache that one core makes in a second, where one operation
#: adds 16 numbers: what a loop that does nothing else reached on a processor with AVX-512.
ADDS_PER_SECOND = 20e9
#: Rows that are added up per tree, over all rows: the root, and half the rows of every level below
#: it, since the larger child is what the smaller one leaves.
PASSES = 1.0 + 0.5 * (DEPTH - 1)

INTRODUCTION = """\
# Curves of time and memory

polyleaf beside the best rival that can run: one size changes along a curve. Made by
`python -m benchmarks.scaling measure` and `python -m benchmarks.scaling page` on {cpu}, {cores}
cores, {instruction_set}, with XGBoost {xgboost}, LightGBM {lightgbm} and scikit-learn
{sklearn}. Every point is one fit in a process of its own, with binning; points are kept in
`benchmarks/records/scaling.jsonl`, and a further run measures those that are missing. Times are
processor seconds of one thread (over threads: seconds by the clock), on a machine that other work
shared (load {load}); memory is the peak of the fit over the data and the imported library.

Numbers are boosted trees of depth 6 on normal features, beside LightGBM on quantised gradients
(one output) and XGBoost's vector leaves (several). Words are the same on a sparse X of {words}
words per row. Labels are random forests on a sparse Y of two to eight labels per row, in a view of
log(d) Gaussian combinations, beside scikit-learn's on a dense one. A method is left out of larger
points once it was slow; "over 300 s" are points that did not end in time.

The *exponent* is that of the upper half of the curve: 1 is linear. The *bound* is the time that
the additions to histograms alone would take at {rate:.0f} G per second and core, with one addition
per row, feature (or word) and channel (and one for the count) in the root, and in half of the rows
of each level below it. The last column is the bound over our time: what part of it such additions
would need if there were nothing else to do.
"""
TITLES = {
    "rows": "By rows",
    "rows-1": "By rows, one output",
    "features": "By features",
    "words": "By features, sparse",
    "outputs": "By outputs",
    "labels": "By labels, sparse",
    "threads": "By threads",
    "trees": "By trees",
}
COLUMNS = ("polyleaf, s", "rival, s", "ratio", "polyleaf, MB", "rival, MB", "bound over time")

Row = dict[str, Any]


def bound_of(row: Row) -> float | None:
    """Give the seconds that additions to histograms would take if nothing else had to be done."""
    if row["kind"] == "labels":  # trees of no given depth
        return None
    lanes = max(row["outputs"] + 1, 2)
    width = WORDS if row["kind"] == "words" else row["features"]
    adds = row["rows"] * width * row["trees"] * PASSES * lanes
    return float(adds / (ADDS_PER_SECOND * row["threads"]))


def clock_of(curve: str) -> str:
    """Say which time a curve shows."""
    return "seconds" if curve == "threads" else "processor_seconds"


def exponent(sizes: list[float], seconds: list[float]) -> float | None:
    """Fit the exponent of the upper half of a curve; None for fewer than three points."""
    if len(sizes) < 3:
        return None
    n_used = max(2, (len(sizes) + 1) // 2)
    slope, _ = np.polyfit(np.log(sizes[-n_used:]), np.log(seconds[-n_used:]), 1)
    return float(slope)


def write_page(rows: list[Row]) -> None:
    """Write the page and its pictures."""
    facts = rows[-1]["machine"]
    packages, loads = facts["packages"], [row["machine"]["load_average"] for row in rows]
    text = INTRODUCTION.format(
        cpu=facts["cpu"],
        cores=facts["cores"],
        instruction_set=facts["instruction_set"],
        rate=ADDS_PER_SECOND / 1e9,
        words=WORDS,
        sklearn=packages["scikit-learn"],
        load=f"{min(loads):.0f} to {max(loads):.0f}",
        **{name: packages[name] for name in ("xgboost", "lightgbm")},
    )
    lines = text.splitlines() + [""]
    for curve in CURVES:
        lines += section(curve, [row for row in rows if row["curve"] == curve])
    PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(f"{PAGE.name} written")


def section(curve: str, rows: list[Row]) -> list[str]:
    """Give the lines of one curve, and draw it."""
    size = CURVES[curve].size
    by_method = {
        method: {
            row[size]: row
            for row in sorted(rows, key=lambda row: row[size])
            if row["method"] == method
        }
        for method in ("polyleaf", "rival")
    }
    if not by_method["polyleaf"]:
        return []
    fixed = {name: value for name, value in CURVES[curve].point.__dict__.items() if name != size}
    given = ", ".join(f"{value:,} {name}" for name, value in fixed.items() if name != "kind")
    lines = [f"## {TITLES[curve]}", "", f"With {given}.", ""]
    ours, rivals = (
        [row for row in of_method.values() if "failure" not in row]
        for of_method in by_method.values()
    )
    clock = clock_of(curve)
    if len(ours) > 2:
        draw(curve, ours, rivals)
        lines += [f"![Time and memory]({FIGURES.name}/speed-{curve}.png)", ""]
    lines += [
        "| " + " | ".join((size, *COLUMNS)) + " |",
        "|---|---|---|---|---|---|---|",
    ]
    for at, row in by_method["polyleaf"].items():
        rival = by_method["rival"].get(at)
        lines.append(f"| {at:,} | " + " | ".join(cells(row, rival, clock)) + " |")
    found = [
        f"{name} {value:.2f}"
        for name, of_method in (("polyleaf", ours), ("the rival", rivals))
        if (value := exponent(*columns(size, of_method, clock))) is not None
    ]
    return [*lines, "", f"Exponents: {', '.join(found)}.", ""] if found else [*lines, ""]


def cells(row: Row, rival: Row | None, clock: str) -> list[str]:
    """Give the cells of one size but the first."""
    own, own_memory, share = row.get("failure", ""), "-", "-"
    if "failure" not in row:
        own, own_memory = f"{row[clock]:.2f}", f"{row['peak_bytes'] / 1e6:,.0f}"
        bound = bound_of(row)
        share = "-" if bound is None else f"{bound / row[clock]:.0%}"
    if rival is None:
        return [own, "-", "-", own_memory, "-", share]
    if "failure" in rival:
        return [own, f"{rival['failure']} ({rival['library']})", "-", own_memory, "-", share]
    ratio = "-" if "failure" in row else f"{rival[clock] / row[clock]:.1f}"
    its = f"{rival[clock]:.2f} ({rival['library']})"
    return [own, its, ratio, own_memory, f"{rival['peak_bytes'] / 1e6:,.0f}", share]


def columns(size: str, rows: list[Row], of: str) -> tuple[list[float], list[float]]:
    """Give sizes and what was measured."""
    return [float(row[size]) for row in rows], [float(row[of]) for row in rows]


def draw(curve: str, ours: list[Row], rivals: list[Row]) -> None:
    """Draw time and memory, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    clock, size = clock_of(curve), CURVES[curve].size
    measures = ((clock, clock.replace("_", " "), 1.0), ("peak_bytes", "peak memory, MB", 1e6))
    for ax, (of, label, unit) in zip(axes, measures, strict=True):
        for rows, name, style in ((ours, "polyleaf", "o-"), (rivals, "rival", "s--")):
            sizes, values = columns(size, rows, of)
            ax.loglog(sizes, np.maximum(np.array(values) / unit, 1e-3), style, label=name)
        bounds = [bound for row in ours if (bound := bound_of(row)) is not None]
        if of == clock and bounds:
            ax.loglog(columns(size, ours, of)[0], bounds, ":", color="0.5", label="bound")
        ax.set_xlabel(size)
        ax.set_ylabel(label)
        ax.grid(alpha=0.3)
    axes[0].legend()
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / f"speed-{curve}.png", dpi=110)
    plt.close(figure)
