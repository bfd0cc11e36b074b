"""The page of `benchmarks.scaling`: curves, exponents and the share of the machine's bound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scaling import CURVES, DEPTH, ROOT

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

Boosted trees of depth 6 on normal features: polyleaf beside the quickest rival that has trees of
the kind, LightGBM on quantised gradients for one output and XGBoost's vector leaves for several.
One size changes along a curve. Made by `python -m benchmarks.scaling measure` and
`python -m benchmarks.scaling page` on {cpu}, {cores} cores, {instruction_set}, with XGBoost
{xgboost} and LightGBM {lightgbm}. Every point is one fit in a process of its own, with binning.
Times are processor seconds of one thread (over threads: seconds by the clock), on a machine that
other work shared; memory is the peak of the fit over the data and the imported library.

The *exponent* is that of the upper half of the curve: 1 is linear. The *bound* is the time that
the additions to histograms alone would take at {rate:.0f} G per second and core, with one addition
per row, feature and channel (and one for the count) in the root, and in half of the rows of each
level below it. The last column is the bound over our time: what part of it such additions would
need if there were nothing else to do.
"""
COLUMNS = ("polyleaf, s", "rival, s", "ratio", "polyleaf, MB", "rival, MB", "bound over time")

Row = dict[str, Any]


def bound_of(row: Row) -> float:
    """Give the seconds that additions to histograms would take if nothing else had to be done."""
    lanes = max(row["outputs"] + 1, 2)
    adds = row["rows"] * row["features"] * row["trees"] * PASSES * lanes
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


def write_page(rows: list[Row], results: Path) -> None:
    """Write the page and its pictures."""
    facts = json.loads(results.with_suffix(".machine.json").read_text())
    packages = facts["packages"]
    text = INTRODUCTION.format(
        cpu=facts["cpu"],
        cores=facts["cores"],
        instruction_set=facts["instruction_set"],
        rate=ADDS_PER_SECOND / 1e9,
        **{name: packages[name] for name in ("xgboost", "lightgbm")},
    )
    lines = text.splitlines() + [""]
    for curve in CURVES:
        lines += section(curve, [row for row in rows if row["curve"] == curve])
    PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(f"{PAGE.name} written")


def section(curve: str, rows: list[Row]) -> list[str]:
    """Give the lines of one curve, and draw it."""
    ours, rivals = (
        sorted((row for row in rows if row["method"] == method), key=lambda row: row[curve])
        for method in ("polyleaf", "rival")
    )
    if not ours:
        return []
    clock = clock_of(curve)
    fixed = {name: size for name, size in CURVES[curve][0].__dict__.items() if name != curve}
    given = ", ".join(f"{size:,} {name}" for name, size in fixed.items())
    lines = [f"## By {curve}", "", f"With {given}.", ""]
    if len(ours) > 2:
        draw(curve, ours, rivals)
        lines += [f"![Time and memory by {curve}](figures/speed-{curve}.png)", ""]
    lines += [
        "| " + " | ".join((curve, *COLUMNS)) + " |",
        "|---|---|---|---|---|---|---|",
    ]
    by_size = {row[curve]: row for row in rivals}
    for row in ours:
        rival = by_size.get(row[curve])
        other = ["-", "-", "-"]
        if rival:
            ratio = rival[clock] / row[clock]
            megabytes = f"{rival['peak_bytes'] / 1e6:,.0f}"
            other = [f"{rival[clock]:.2f} ({rival['library']})", f"{ratio:.1f}", megabytes]
        lines.append(
            f"| {row[curve]:,} | {row[clock]:.2f} | {other[0]} | {other[1]} "
            f"| {row['peak_bytes'] / 1e6:,.0f} | {other[2]} "
            f"| {bound_of(row) / row[clock]:.0%} |"
        )
    found = [
        f"{name} {value:.2f}"
        for name, of_method in (("polyleaf", ours), ("the rival", rivals))
        if (value := exponent(*columns(curve, of_method, clock))) is not None
    ]
    lines += ["", f"Exponents: {', '.join(found)}.", ""] if found else [""]
    return lines


def columns(curve: str, rows: list[Row], of: str) -> tuple[list[float], list[float]]:
    """Give sizes and what was measured."""
    return [float(row[curve]) for row in rows], [float(row[of]) for row in rows]


def draw(curve: str, ours: list[Row], rivals: list[Row]) -> None:
    """Draw time and memory, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    clock = clock_of(curve)
    measures = ((clock, clock.replace("_", " "), 1.0), ("peak_bytes", "peak memory, MB", 1e6))
    for ax, (of, label, unit) in zip(axes, measures, strict=True):
        for rows, name, style in ((ours, "polyleaf", "o-"), (rivals, "rival", "s--")):
            sizes, values = columns(curve, rows, of)
            ax.loglog(sizes, np.maximum(np.array(values) / unit, 1e-3), style, label=name)
        if of == clock:
            sizes, _ = columns(curve, ours, of)
            ax.loglog(sizes, [bound_of(row) for row in ours], ":", color="0.5", label="bound")
        ax.set_xlabel(curve)
        ax.set_ylabel(label)
        ax.grid(alpha=0.3)
    axes[0].legend()
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / f"speed-{curve}.png", dpi=110)
    plt.close(figure)
